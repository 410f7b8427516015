"""An unmodified boto3 client for an endpoint or for moto in this process."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from bench.targets.model import InProcess, Settings, TargetError
from bench.workload import Call, Request

REGION = "us-east-1"


def boto3_client(url: str | None) -> Any:
    """Return a DynamoDB client with fake credentials. Raises TargetError if boto3 is not installed."""
    try:
        import boto3  # noqa: PLC0415 - only where it is measured
    except ImportError as error:
        raise TargetError("boto3 is not installed: `pip install boto3`") from error
    return boto3.client(
        "dynamodb",
        region_name=REGION,
        endpoint_url=url,
        aws_access_key_id="bench",
        aws_secret_access_key="bench",
    )


def client_call(client: Any, call: Call) -> Callable[[], Request]:
    """Return a function that runs a call with the client's method."""
    method = re.sub(r"(?<!^)(?=[A-Z])", "_", call.name).lower()
    return partial(getattr(client, method), **call.request)


@contextlib.contextmanager
def moto_target(name: str, settings: Settings) -> Iterator[InProcess]:
    """Open a boto3 client for moto in this process, which is how moto is normally used."""
    try:
        from moto import __version__, mock_aws  # noqa: PLC0415 - only where it is measured
    except ImportError as error:
        raise TargetError("moto is not installed: `pip install 'moto[dynamodb]'`") from error
    with mock_aws():
        yield InProcess(
            name, f"{__version__}, in memory, under boto3", settings, partial(client_call, boto3_client(None))
        )


@contextlib.contextmanager
def boto3_on_endpoint(name: str, url: str, note: str, settings: Settings) -> Iterator[InProcess]:
    """Open a boto3 client for an endpoint on this machine."""
    client = boto3_client(url)
    try:
        yield InProcess(name, f"{note}, under boto3", settings, partial(client_call, client))
    finally:
        client.close()
