"""Runs a design's patterns on the console's database, and records requests, responses and consumed capacity."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson
from pydantic import BaseModel

from keyplan.client.connection import Connection
from keyplan.client.requests import Context, Retries
from keyplan.clock import SystemClock
from keyplan.console.access import is_read
from keyplan.console.data.documents import item_path
from keyplan.console.source import Source
from keyplan.cost.estimate import price_of_call
from keyplan.cost.expected import Expected
from keyplan.cost.prices import PriceBook
from keyplan.cost.units import ConsumedUnits, consumed_units, total
from keyplan.design.declaring.patterns import Page, Pattern
from keyplan.design.entities import ReadModel, viewed_entity
from keyplan.design.requests.items import item_builder
from keyplan.errors import KeyplanError, ServiceError
from keyplan.export.examples import command, plain
from keyplan.verify.answers import entities_in

PAGE: Final = 50
"""The number of results on a page, unless the pattern has a limit."""
_ATTEMPTS: Final = 3
_FIXED_MEMBERS: Final = frozenset({"ReturnConsumedCapacity"})


@dataclass(frozen=True)
class RecordedRequest:
    """A request that a pattern call sent, with its response and cost.

    If a call is stopped before its first write, the write is also recorded, but not sent.
    """

    operation: str
    request: Mapping[str, Any]
    latency_ms: float = 0.0
    consumed: ConsumedUnits = field(default_factory=ConsumedUnits)
    error: str = ""
    answer: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Return the request as JSON."""
        return request_text(self.request)

    @property
    def command(self) -> str:
        """Return an AWS CLI command that sends the request."""
        return command(self.operation, {k: v for k, v in self.request.items() if k not in _FIXED_MEMBERS})


def request_text(request: Mapping[str, Any]) -> str:
    """Return a request as indented JSON, with binary values as base64."""
    return orjson.dumps(plain(request), option=orjson.OPT_INDENT_2).decode()


class _Stopped(KeyplanError):  # noqa: N818 - not an error: it ends a rehearsal
    """Raised to stop a call before its first write."""


class SourceTransport:
    """A transport that sends the requests of a connection to the console's database and records them."""

    def __init__(self, source: Source, *, rehearses: bool = False) -> None:
        """Create a transport. If `rehearses` is True, a call is stopped before its first write."""
        self._source, self._rehearses = source, rehearses
        self.requests: list[RecordedRequest] = []

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Run an operation on the console's database. Raises ServiceError if it fails."""
        if self._rehearses and not is_read(operation, request):
            self.requests.append(RecordedRequest(operation, request))
            raise _Stopped
        started = time.perf_counter()
        try:
            response = self._source.call(operation, request)
        except ServiceError as error:
            self.requests.append(
                RecordedRequest(operation, request, _elapsed_ms(started), error=f"{error.code}: {error.message}")
            )
            raise
        self.requests.append(
            RecordedRequest(
                operation, request, _elapsed_ms(started), _consumed_units(operation, response), "", response
            )
        )
        return response

    def close(self) -> None:
        """Do nothing, because the console itself closes the database."""


def _elapsed_ms(started: float) -> float:
    return (time.perf_counter() - started) * 1000


def _consumed_units(operation: str, response: Mapping[str, Any]) -> ConsumedUnits:
    """Return the capacity units that a response reports.

    Databases other than keyplan's engine may report no units, or only some of them.
    """
    try:
        return consumed_units(operation, response)
    except (KeyError, TypeError):
        return ConsumedUnits()


def connection_of(source: Source | SourceTransport, cursor_key: bytes) -> Connection:
    """Return a connection that sends its requests to the console's database."""
    transport = SourceTransport(source) if isinstance(source, Source) else source
    context = Context(clock=SystemClock(), cursor_key=cursor_key, retries=Retries(attempts=_ATTEMPTS))
    return Connection(transport, context)


@dataclass(frozen=True)
class RunResult:
    """The result of a pattern call, with its requests and cost."""

    requests: tuple[RecordedRequest, ...]
    expected: Expected
    cost: float | None
    """The on-demand price of the consumed units, or None if the responses do not report consumed capacity."""
    items: tuple[Mapping[str, Any], ...] = ()
    """The returned items as mappings from field names to values. The empty field name maps to the name of
    the entity.
    """
    entities: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    """The path of each returned item's page, relative to the console's root, or an empty string if the item's key is
    unknown.
    """
    count: int | None = None
    """The count that the pattern returned, or None if it does not return a count."""
    cursor: str = ""
    error: str = ""
    is_complete: bool = True
    """False if the call was stopped before its first write."""

    @property
    def consumed(self) -> ConsumedUnits:
        """Return the capacity units that all requests of the call consumed."""
        return total(request.consumed for request in self.requests)

    @property
    def latency_ms(self) -> float:
        """Return the total duration of all requests in milliseconds."""
        return sum(request.latency_ms for request in self.requests)

    @property
    def fields(self) -> list[str]:
        """Return the names of the fields that occur in the returned items, in the order of their first occurrence."""
        return list(dict.fromkeys(name for item in self.items for name in item))


class PatternRunner:
    """Runs patterns on the console's database."""

    def __init__(self, source: Source, book: PriceBook, cursor_key: bytes) -> None:
        self._source, self._book, self._cursor_key = source, book, cursor_key

    def run(
        self,
        pattern: Pattern[..., Any],
        arguments: Mapping[str, Any],
        expectation: Expected,
        *,
        cursor: str = "",
        rehearses: bool = False,
    ) -> RunResult:
        """Call a pattern. `expectation` is the predicted cost, and `cursor` is the cursor of the previous page.

        If `rehearses` is True, only the reads before the first write are sent.
        """
        transport = SourceTransport(self._source, rehearses=rehearses)
        connection = connection_of(transport, self._cursor_key)
        result: Any = None
        error = ""
        try:
            result = connection.run(pattern(**arguments), **_options(pattern, cursor))
        except _Stopped:
            return RunResult(tuple(transport.requests), expectation, None, is_complete=False)
        except (KeyplanError, TypeError, ValueError, ArithmeticError) as failure:
            error = str(failure)
        entities = entities_in(result)
        return RunResult(
            tuple(transport.requests),
            expectation,
            self._cost(pattern, transport.requests),
            tuple(_fields(entity) for entity in entities),
            tuple(type(entity).__name__ for entity in entities),
            tuple(_path(entity) for entity in entities),
            result if isinstance(result, int) and not isinstance(result, bool) else None,
            (result.cursor or "") if isinstance(result, Page) else "",
            error,
        )

    def _cost(self, pattern: Pattern[..., Any], requests: list[RecordedRequest]) -> float | None:
        consumed = total(request.consumed for request in requests)
        if not consumed.read and not consumed.write:
            return None
        return self._book.on_demand(consumed.reads, consumed.writes, pattern.plan.schema.table_class)

    def predicted_cost(self, pattern: Pattern[..., Any], expectation: Expected) -> float:
        """Return the predicted on-demand price of a call."""
        return price_of_call(pattern, expectation, self._book)


def _options(pattern: Pattern[..., Any], cursor: str) -> dict[str, Any]:
    plan = pattern.plan
    if plan.operation not in {"Query", "Scan"} or plan.select == "count":
        return {}
    options: dict[str, Any] = {"cursor": cursor} if cursor else {}
    if plan.limit is None and plan.page_size is None:
        options["limit"] = PAGE
    return options


def _fields(entity: BaseModel) -> dict[str, Any]:
    """Return the values of an item's fields as text, by field name."""
    try:
        values = entity.model_dump(mode="json", warnings=False)
    except ValueError:  # binary that is not UTF-8
        values = entity.model_dump(warnings=False)
    return {name: _text(value) for name, value in values.items()}


def _path(entity: ReadModel) -> str:
    """Return the path of an item's page. It is empty for a view that does not contain the fields of the key."""
    spec = vars(viewed_entity(type(entity))).get("__keyplan__")
    try:
        return item_path(spec.schema.name, item_builder(spec).key(vars(entity))) if spec is not None else ""
    except (KeyError, ValueError):
        return ""


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return orjson.dumps(value, default=repr, option=orjson.OPT_NON_STR_KEYS).decode()
