"""Server of `keyplan serve` in its own process: each system's suite runs on it as well."""

from __future__ import annotations

import multiprocessing
import pkgutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import boto3
from tests.sdk import ONCE
from tests.systems.server_process import run

import keyplan
from keyplan.client.connection import Connection as Database
from keyplan.client.requests import Retries
from keyplan.client.transports import BotoTransport
from keyplan.clock import Clock
from keyplan.engine import operations
from keyplan.engine.engine import Engine
from keyplan.errors import InternalServerError, ProvisionedThroughputExceededError, ThrottlingError

# Forked from a process that has all imports loaded: a server for each test then starts in milliseconds.
_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(
    [
        "encodings.idna",
        "keyplan.server.launch",
        "uvloop",
        *(f"{operations.__name__}.{module.name}" for module in pkgutil.iter_modules(operations.__path__)),
    ]
)


class ServedEngine:
    """Served database with the interface of an engine."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._clients: dict[str, BotoTransport] = {}

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Run one operation and return the answer without HTTP metadata. Raises ServiceError."""
        name = "dynamodbstreams" if operation in _STREAMS else "dynamodb"
        client = self._clients.get(name)
        if client is None:
            client = self._clients[name] = _client(name, self.url)
        response = client.call(operation, request)
        response.pop("ResponseMetadata")
        return response

    def connect(self, **options: Any) -> Database:
        """Return a separate connection by the address, without reading boto3's models again, which takes 0.1 s."""
        return keyplan.connect(client=_client("dynamodb", self.url).client, **options)

    def close(self) -> None:
        """Close the connection."""
        for client in self._clients.values():
            client.close()


def connected(engine: Engine | ServedEngine, clock: Clock, attempts: int = 10) -> Database:
    """Return a connection with short waits before retries: to an engine, or to its server."""
    options: dict[str, Any] = {
        "clock": clock,
        "retries": Retries(attempts=attempts, first_s=0.002, most_s=0.1),
        "cursor_key": b"tests",
    }
    return engine.connect(**options) if isinstance(engine, ServedEngine) else keyplan.connect(engine=engine, **options)


_STREAMS = frozenset({"DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"})


@cache
def _session() -> Any:
    return boto3.Session(aws_access_key_id="keyplan", aws_secret_access_key="keyplan", region_name="us-east-1")


def _client(name: str, url: str) -> BotoTransport:
    return BotoTransport(_session().client(name, endpoint_url=url, config=ONCE))


@contextmanager
def served(folder: Path) -> Iterator[ServedEngine]:
    """Serve a new database file in a folder until the block ends."""
    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = _processes.Process(target=run, args=(sender, str(folder / "served.db")))
    process.start()
    sender.close()
    with open(receiver.fileno(), closefd=False) as output:
        url = output.readline().split()[-1]
    endpoint = ServedEngine(url)
    try:
        yield endpoint
    finally:
        endpoint.close()
        process.terminate()
        process.join(120)
        assert process.exitcode == 0, "the server did not end well"
        receiver.close()


def raw(engine: Engine | ServedEngine, operation: str, request: dict[str, Any]) -> dict[str, Any]:
    """Return an engine's answer, repeating the request while injected faults prevent it."""
    while True:
        try:
            response: dict[str, Any] = engine.call(operation, request)
        except (InternalServerError, ProvisionedThroughputExceededError, ThrottlingError):
            continue
        return response
