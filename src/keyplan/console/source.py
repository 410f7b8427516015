"""The database that the console shows: an embedded engine, a database file, an endpoint, or Amazon DynamoDB."""

from __future__ import annotations

import shlex
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from keyplan import limits
from keyplan.client.connect import boto_client, target_of
from keyplan.client.transports import BotoTransport
from keyplan.console.access import is_read
from keyplan.engine.observing import DATA_OPERATIONS
from keyplan.errors import AccessDeniedError, ServiceError, UnknownOperationError
from keyplan.streams.streams import STREAM_OPERATIONS, streams_client

if TYPE_CHECKING:
    from keyplan.engine.engine import Engine

_MAX_RECEIPTS: Final = 500
_CONNECT_S, _READ_S = 5, 60
_ATTEMPTS: Final = 10
_SERVE_URL: Final = "http://127.0.0.1:8000"

_current: ContextVar[list[CallReceipt] | None] = ContextVar("keyplan_console_calls", default=None)


@dataclass(frozen=True)
class CallReceipt:
    """The duration, consumed capacity and outcome of one call to the database."""

    operation: str
    table: str
    latency_ms: float
    capacity: tuple[Mapping[str, Any], ...] = ()
    """The ConsumedCapacity elements in the response, one for each table."""
    error: str = ""
    """The error code, or an empty string for a successful call."""
    items: int | None = None
    """The number of returned items, or None if the response does not contain a list of items."""
    scanned: int | None = None
    request: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def units(self) -> float:
        """Return the total number of consumed capacity units."""
        return float(sum(float(part.get("CapacityUnits", 0)) for part in self.capacity))

    @property
    def is_unmetered(self) -> bool:
        """Return True if a successful operation on items reported no consumed capacity."""
        return self.operation in DATA_OPERATIONS and not self.error and not self.capacity

    @property
    def index_units(self) -> dict[str, float]:
        """Return the consumed capacity units of each index."""
        return {
            index: float(units.get("CapacityUnits", 0))
            for part in self.capacity
            for member in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")
            for index, units in (part.get(member) or {}).items()
        }


class Source:
    """The database that all pages of the console use. Threads can share this object."""

    def __init__(
        self,
        name: str,
        call: Callable[[str, dict[str, Any]], dict[str, Any]],
        *,
        kind: str,
        engine: Engine | None = None,
        close: Callable[[], None] = lambda: None,
        endpoint: str = "",
        region: str = "",
        database: str = "",
    ) -> None:
        """Create a source. Usually, use `file`, `endpoint_url`, `aws` or `from_engine` instead.

        `name` is shown in the header of pages. `call` runs an operation, and `close` releases the database. `kind` is
        "engine", "endpoint" or "aws". `database` is the database file of an engine that only this source uses.
        """
        self.name = name
        """The name in the header of pages, such as the name of the file or the endpoint."""
        self.kind = kind
        """The kind of the source: "engine", "endpoint" or "aws"."""
        self.engine = engine
        """The engine in this process, or None."""
        self.endpoint, self.region = endpoint, region
        """The URL at which other programs can use the database, or an empty string, and the database's AWS Region."""
        self.read_only = False
        self.receipts: deque[CallReceipt] = deque(maxlen=_MAX_RECEIPTS)
        """The receipts of the latest calls of all pages, the oldest first."""
        self._call, self.close = call, close
        self._database = database
        self._unsupported: dict[str, str] = {}

    @classmethod
    def from_engine(cls, engine: Engine, name: str = "embedded engine", *, owned: bool = False) -> Source:
        """Return a source for an engine in this process. If `owned` is True, closing the source also closes
        the engine.
        """
        close = engine.close if owned else lambda: None
        database = name if owned else ""
        return cls(
            name, engine.call, kind="engine", engine=engine, close=close, region=engine.region, database=database
        )

    @classmethod
    def file(cls, path: str) -> Source:
        """Return a source for a database file, or for a temporary database if `path` is ":memory:".

        Raises StorageError if the file cannot be opened.
        """
        from keyplan.engine.engine import Engine  # noqa: PLC0415 - endpoints need no engine

        engine = Engine.memory() if path == ":memory:" else Engine.open(path)
        return cls.from_engine(engine, path, owned=True)

    @classmethod
    def endpoint_url(cls, url: str) -> Source:
        """Return a source for a server at a URL such as http://127.0.0.1:8000.

        Raises ValueError for an invalid URL, and ImportError if boto3 is not installed.
        """
        target = target_of(url)
        if target.endpoint is None:
            raise ValueError(f"expected a URL such as http://127.0.0.1:8000, got {url!r}")
        return cls._remote(url, url, kind="endpoint", endpoint=url)

    @classmethod
    def aws(cls, region: str) -> Source:
        """Return a source for DynamoDB in a Region. The AWS SDK's default credentials are used.

        Raises ImportError if boto3 is not installed.
        """
        return cls._remote(f"DynamoDB {region}", f"aws://{region}", kind="aws", region=region)

    @classmethod
    def _remote(cls, name: str, url: str, *, kind: str, endpoint: str = "", region: str = "") -> Source:
        client = boto_client(
            target_of(url), connect_timeout=_CONNECT_S, read_timeout=_READ_S, parameter_validation=False
        )
        tables, streams = BotoTransport(client), BotoTransport(streams_client(client))

        def call(operation: str, request: dict[str, Any]) -> dict[str, Any]:
            response = (streams if operation in STREAM_OPERATIONS else tables).call(operation, request)
            response.pop("ResponseMetadata", None)
            return response

        def close() -> None:
            tables.close()
            streams.close()

        region_name = region or str(client.meta.region_name)
        return cls(name, call, kind=kind, close=close, endpoint=endpoint, region=region_name)

    @property
    def option(self) -> str:
        """Return the option of `keyplan console` that selects the same database, with a leading space.

        Return an empty string for an engine without an endpoint and without a file.
        """
        if self.kind == "aws":
            return f" --aws {self.region}"
        if self.endpoint:
            return f" --endpoint {shlex.quote(self.endpoint)}"
        return f" --db {shlex.quote(self._database)}" if self._database else ""

    @property
    def reachable_url(self) -> str:
        """Return the URL for code that uses the database, or an empty string for DynamoDB.

        For an engine without an endpoint, this is the default URL of `keyplan serve`.
        """
        return "" if self.kind == "aws" else self.endpoint or _SERVE_URL

    @property
    def cli_options(self) -> str:
        """Return the options of an AWS CLI command for the database, with a leading space."""
        url = self.reachable_url
        return f" --region {self.region or 'us-east-1'}" + (f" --endpoint-url {shlex.quote(url)}" if url else "")

    def supports(self, operation: str) -> bool:
        """Return False if the engine does not support an operation, or if the endpoint has already rejected it as
        unknown.

        Otherwise, return True.
        """
        if self.engine is not None:
            return operation in self.engine.operations
        return operation not in self._unsupported

    @property
    def unsupported(self) -> Mapping[str, str]:
        """Return the endpoint's error message for each operation that it rejected as unknown, by operation."""
        return self._unsupported

    def call(self, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Run an operation, and record its duration and consumed capacity.

        Requests and responses have DynamoDB's JSON format, with binary values as bytes. Raises AccessDeniedError for a
        write in read-only mode, UnknownOperationError for an unsupported operation, NoAnswerError if the endpoint
        cannot be reached, and another ServiceError if the database returns an error.
        """
        sent_request = dict(request)
        if self.read_only and not is_read(operation, sent_request):
            raise AccessDeniedError(f"the console is read-only: {operation} is not allowed")
        if operation in DATA_OPERATIONS:
            sent_request.setdefault("ReturnConsumedCapacity", "INDEXES")
        start = time.perf_counter()
        try:
            response = self._call(operation, sent_request)
        except ServiceError as error:
            if isinstance(error, UnknownOperationError):
                self._unsupported[operation] = error.message
            self._record(operation, sent_request, start, {}, error.code)
            raise
        self._record(operation, sent_request, start, response, "")
        return response

    def write_batch(self, table: str, requests: Sequence[Mapping[str, Any]]) -> int:
        """Put or delete items in requests of up to 25 items, and return the number of processed items.

        Unprocessed items are retried a limited number of times.
        """
        written_count = 0
        for start in range(0, len(requests), limits.BATCH_WRITE_ITEMS):
            unprocessed = list(requests[start : start + limits.BATCH_WRITE_ITEMS])
            written_count += len(unprocessed)
            for _ in range(_ATTEMPTS):
                response = self.call("BatchWriteItem", {"RequestItems": {table: unprocessed}})
                unprocessed = (response.get("UnprocessedItems") or {}).get(table, [])
                if not unprocessed:
                    break
            written_count -= len(unprocessed)
        return written_count

    def _record(
        self, operation: str, request: dict[str, Any], start: float, response: dict[str, Any], error: str
    ) -> None:
        capacity = response.get("ConsumedCapacity") or ()
        items = response.get("Items", response.get("Records"))
        receipt = CallReceipt(
            operation,
            str(request.get("TableName", "")),
            (time.perf_counter() - start) * 1000,
            (capacity,) if isinstance(capacity, dict) else tuple(capacity),
            error,
            None if items is None else len(items),
            response.get("ScannedCount"),
            request,
        )
        self.receipts.append(receipt)
        current = _current.get()
        if current is not None:
            current.append(receipt)


@contextmanager
def record_calls() -> Iterator[list[CallReceipt]]:
    """Collect a CallReceipt for each call to the database in the `with` block.

    Calls in other threads are included if the threads use a copy of the block's context.
    """
    receipts: list[CallReceipt] = []
    token = _current.set(receipts)
    try:
        yield receipts
    finally:
        _current.reset(token)


def is_console_call() -> bool:
    """Return True during a call that the console itself makes. Such calls are not counted as load."""
    return _current.get() is not None


def receipts_of_page() -> list[CallReceipt]:
    """Return the receipts of the database calls that have been made so far for the current page."""
    return list(_current.get() or ())
