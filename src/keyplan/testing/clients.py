"""boto3 clients and resources that an engine answers, made in microseconds.

Making a client costs boto3 several milliseconds, nearly all of it for what is the same in every
client. So one of each kind is made per process and copied: a copy has event handlers of its own, and
what a test registers there, or attaches, ends with it.
"""

from __future__ import annotations

import copy
import functools
from typing import Any

from keyplan.testing.boto import attach
from keyplan.testing.operation import Answering

try:
    import boto3
except ModuleNotFoundError as missing:
    raise ImportError("boto3 is needed for this: install keyplan[aws]") from missing

REGION = "us-east-1"


def make_client(service: str, engine: Answering) -> Any:
    """A boto3 client of `dynamodb` or `dynamodbstreams`, answered by the engine."""
    client = _copy_of(_client(service))
    attach(client, engine)
    return client


def make_resource(engine: Answering) -> Any:
    """A boto3 resource of DynamoDB, answered by the engine."""
    made = _resource()
    resource = copy.copy(made)
    resource.meta = copy.copy(made.meta)
    resource.meta.client = _copy_of(made.meta.client)
    attach(resource, engine)
    return resource


@functools.cache
def _session() -> boto3.Session:
    return boto3.Session(
        region_name=REGION,
        aws_access_key_id="keyplan",
        aws_secret_access_key="keyplan",  # noqa: S106  nothing is ever signed with it
    )


@functools.cache
def _client(service: str) -> Any:
    return _session().client(service)  # type: ignore[call-overload]


@functools.cache
def _resource() -> Any:
    return _session().resource("dynamodb")


def _copy_of(client: Any) -> Any:
    # Not copy.copy: it asks the new object for `__setstate__` before it has any attribute, and a
    # client looks for attributes it lacks among its event handlers, without end.
    copied = object.__new__(type(client))
    vars(copied).update(vars(client))
    copied.meta = copy.copy(client.meta)
    copied.meta.events = copy.copy(client.meta.events)
    return copied
