"""`keyplan serve` in a process of its own: what each system's suite runs over once more."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from keyplan.connections.transports import BotoTransport

# Forked from a process that has imported the command already: a server for each test then starts in milliseconds.
_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(["keyplan.cli.main", "keyplan.server.launch", "pydantic.fields", "uvloop"])


class Elsewhere:
    """A served database, called with what an engine is called with."""

    def __init__(self, url: str) -> None:
        self.url = url

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Run one operation; the answer without what only HTTP has. Raises ServiceError."""
        answer = _transport(self.url, operation in _STREAMS).call(operation, request)
        answer.pop("ResponseMetadata")
        return answer


_STREAMS = frozenset({"DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"})


@cache
def _session() -> Any:
    return boto3.Session(aws_access_key_id="keyplan", aws_secret_access_key="keyplan", region_name="us-east-1")


@cache
def _transport(url: str, streams: bool) -> BotoTransport:
    config = Config(retries={"total_max_attempts": 1, "mode": "standard"})
    name = "dynamodbstreams" if streams else "dynamodb"
    return BotoTransport(_session().client(name, endpoint_url=url, config=config))


@contextmanager
def served(folder: Path) -> Iterator[Elsewhere]:
    """A new database file in a folder, served until the block ends."""
    hears, says = multiprocessing.Pipe(duplex=False)
    arguments = ["serve", "--db", str(folder / "served.db"), "--port", "0", "--durability", "normal"]
    process = _processes.Process(target=_run, args=(says, arguments))
    process.start()
    says.close()
    with open(hears.fileno(), closefd=False) as output:  # noqa: PTH123 - a pipe, not a path
        url = output.readline().split()[-1]
    try:
        yield Elsewhere(url)
    finally:
        process.terminate()
        process.join(30)
        assert process.exitcode == 0, "the server did not end well"
        hears.close()


def _run(says: Connection, arguments: list[str]) -> None:
    """The command, in the new process; it says where it listens through the pipe."""
    os.dup2(says.fileno(), 1)
    from keyplan.cli.main import app  # noqa: PLC0415 - imported where it runs

    app(arguments)
