"""The service as change consumers reach it: one call for tables and streams alike, repeated until it is answered."""

from __future__ import annotations

import threading
from typing import Any

from keyplan.client.connection import Connection
from keyplan.client.context import Context
from keyplan.client.sending import send
from keyplan.client.steps import Answer, Request, Transport, drive
from keyplan.client.tables import Declared, create_tables
from keyplan.client.transports import BotoTransport
from keyplan.clock import Clock, SystemClock
from keyplan.design.tables import Table
from keyplan.streams.errors import ConsumerSetupError

STREAM_OPERATIONS = frozenset({"ListStreams", "DescribeStream", "GetShardIterator", "GetRecords"})


class Service:
    """A database. Raises ServiceError for answers, RunError when it gives up."""

    def __init__(self, db: Connection | Transport, *, clock: Clock | None = None) -> None:
        self._db = db
        self._transport = db.transport if isinstance(db, Connection) else db
        self.clock: Clock = clock or (db.context.clock if isinstance(db, Connection) else SystemClock())
        self._context = Context(self.clock, cursor_key=b"")
        self._never = threading.Event()

    @property
    def is_embedded(self) -> bool:
        """Whether the engine is in this process, so that tables may be made as they are needed."""
        return not isinstance(self._transport, BotoTransport)

    def table_name(self, table: Table) -> str:
        """The real name of a table."""
        return self._db.table_name(table) if isinstance(self._db, Connection) else table.name

    def call(self, operation: str, request: Request) -> Answer:
        """The answer of an operation."""
        return self._send(self._transport, operation, request)

    def create(self, table: Declared) -> None:
        """Make a table under its declared name, or see that it is there as declared."""
        drive(create_tables(self._context, [table], wait=True), self._transport.call, self._wait)

    def _send(self, transport: Transport, operation: str, request: Request) -> Answer:
        return drive(send(self._context, operation, request), transport.call, self._wait)

    def _wait(self, seconds: float) -> None:
        self.clock.wait(self._never, seconds)


class StreamService(Service):
    """A database and its streams."""

    def __init__(self, db: Connection | Transport, *, streams: Any = None, clock: Clock | None = None) -> None:
        """`streams`: a boto3 client of dynamodbstreams, where the one that is derived from `db` will not do.

        For an engine whose ShardIds have under 28 characters it needs `Config(parameter_validation=False)`.
        """
        super().__init__(db, clock=clock)
        self._streams = _streams_transport(self._transport, streams)
        self._is_derived = streams is None and self._streams is not self._transport

    def call(self, operation: str, request: Request) -> Answer:
        """The answer of an operation."""
        return self._send(self._streams if operation in STREAM_OPERATIONS else self._transport, operation, request)

    def close(self) -> None:
        """Give back the connections of the client that was derived; another call opens them anew."""
        if self._is_derived:
            self._streams.close()


def _streams_transport(transport: Transport, client: Any) -> Transport:
    if client is not None:
        return BotoTransport(client)
    return BotoTransport(_streams_client(transport.client)) if isinstance(transport, BotoTransport) else transport


def _streams_client(client: Any) -> Any:
    """Return a client of the streams that belong to a client's tables: same region, endpoint and settings.

    It does not validate parameters: botocore refuses ShardIds of under 28 characters, which other engines have.
    """
    import boto3  # noqa: PLC0415 - an extra; here is a client of it
    from botocore.config import Config  # noqa: PLC0415 - comes with it

    if client.meta.service_model.service_name != "dynamodb":
        raise ConsumerSetupError(f"a client of dynamodb is needed, not of {client.meta.service_model.service_name}")
    config = client.meta.config.merge(Config(parameter_validation=False))
    options: dict[str, Any] = {"region_name": client.meta.region_name, "config": config}
    if ".amazonaws." not in client.meta.endpoint_url:  # Amazon's streams have an endpoint of their own
        options["endpoint_url"] = client.meta.endpoint_url
        if boto3.Session().get_credentials() is None:
            options.update(aws_access_key_id="keyplan", aws_secret_access_key="keyplan")  # noqa: S106 - not secret
    return boto3.client("dynamodbstreams", **options)
