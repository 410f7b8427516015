"""Blocking connections, and the functions that convert calls to request programs (generators that yield requests).

`run_call` and similar functions validate a call, choose its program and translate errors. They serve both kinds of
connections: `Connection` waits by blocking, `AsyncConnection` by awaiting.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from types import TracebackType
from typing import Any, TypeVar, Unpack, overload

from keyplan.client import pages, reads, tables, transactions, writes
from keyplan.client.errors import TooManyResultsError
from keyplan.client.failures import KEY_VALUE_ERRORS, FirstAttemptError, key_value_error, rejection_error
from keyplan.client.pages import PageOptions, RangeReader, Unreadable, report_once
from keyplan.client.requests import Context, Program, Request, Response, Transport, drive, fail_first
from keyplan.client.tables import Declared, PlanTable
from keyplan.client.transports import EngineTransport
from keyplan.design.conditions.builders import KeyCondition
from keyplan.design.declaring.patterns import Call, Page, Pattern, TransactionCall, WriteCall
from keyplan.design.declaring.table_faults import table_faults
from keyplan.design.declaring.transactions import Transaction
from keyplan.design.declaring.undeclared import (
    FindCountOptions,
    FindOptions,
    delete_call,
    get_call,
    put_call,
    query_call,
)
from keyplan.design.entities import Entity, ReadModel, View
from keyplan.design.planning.indexes import all_faults
from keyplan.design.planning.plan import Plan
from keyplan.design.requests.writer import Arguments
from keyplan.errors import KeyplanError, ServiceError

R = TypeVar("R")
_DEFAULTS = PageOptions()
_MAX_READY = 8192


def page_options(**options: Any) -> PageOptions:
    """Convert keyword arguments to PageOptions. Raises TypeError for an unknown option."""
    for name in options:
        if name not in _OPTION_NAMES:
            raise TypeError(f"run() got an unexpected keyword argument {name!r}")
    return PageOptions(**options) if any(value is not None for value in options.values()) else _DEFAULTS


_OPTION_NAMES = frozenset(PageOptions.__dataclass_fields__)


@lru_cache(maxsize=4096)
def range_reader(plan: Plan) -> RangeReader:
    """Return the cached object that reads the results of a query or scan."""
    return RangeReader(plan)


def _not_a_call_text(value: object) -> str:
    if isinstance(value, Pattern):
        return f"expected a pattern call such as {value.name}(...), got the pattern itself"
    return f"expected a pattern call, got {value!r}"


def run_call(
    context: Context, call: Call[R], options: PageOptions = _DEFAULTS, *, arguments: Arguments | None = None
) -> Program[R]:
    """Run one call and return its result. Raises TypeError if the object is not a pattern call.

    `arguments` is set when the fast path (`DirectCalls`) has already sent the first request of the call. It contains
    the arguments of that request, including the time.
    """
    try:
        plan = call.pattern.plan
    except AttributeError:
        raise TypeError(_not_a_call_text(call)) from None
    if options is not _DEFAULTS:
        options.check(call.pattern.call_text)
    if plan not in context.ready:
        yield from _prepare(context, plan)
    result: R = yield from _translate_errors(context, [plan], lambda: _program(context, call, plan, options, arguments))
    return result


def _program(
    context: Context, call: Call[Any], plan: Plan, options: PageOptions, known_arguments: Arguments | None
) -> Program[Any]:
    operation = plan.operation
    arguments = context.arguments(call.arguments) if known_arguments is None else known_arguments
    if operation == "GetItem":
        return reads.get(context, plan, arguments)
    if operation in {"Query", "Scan"}:
        if plan.select == "count":
            return pages.count(context, range_reader(plan), arguments)
        return pages.page(context, range_reader(plan), arguments, options)
    if operation == "BatchGetItem":
        return reads.batch_get(context, plan, arguments)
    if operation == "BatchWriteItem":
        return writes.batch_write(context, plan, arguments)
    if operation == "TransactWriteItems":
        return transactions.transact(context, list(flatten_writes([call])), None, plan.pattern)
    assert isinstance(call, WriteCall), "every other operation writes one item"
    return writes.write(context, call, arguments)


class FindPageOptions(FindOptions, total=False):
    """The options of an ad-hoc query that returns one page."""

    limit: int | None
    """The maximum number of results."""
    page_size: int | None
    """The maximum number of items that one request reads before filtering."""
    cursor: str | None
    """The cursor of the previous page. The results continue after that page."""
    unreadable: Unreadable | None
    """A function that is called with the error for each item that cannot be read as its entity.

    Such items are omitted from the results.
    """


class FindAllOptions(FindOptions, total=False):
    """The options of an ad-hoc query that reads all pages."""

    page_size: int | None
    """The maximum number of items that one request reads before filtering."""
    unreadable: Unreadable | None
    """A function that is called with the error for each item that cannot be read as its entity.

    Such items are omitted from the results.
    """


def query_program(context: Context, terms: Sequence[Any], options: Mapping[str, Any]) -> Program[Any]:
    """Return the request program (a generator that yields requests) for an ad-hoc query.

    `terms` contains the query's entities and key condition.
    """
    query_options = dict(options)
    page_settings = {name: query_options.pop(name) for name in _PAGE_OPTIONS if name in query_options}
    return run_call(
        context, query_call(terms, query_options), PageOptions(**page_settings) if page_settings else _DEFAULTS
    )


def pages_call(method: str, terms: Sequence[Any], options: Mapping[str, Any]) -> Call[Any]:
    """Return the pattern call or ad-hoc query that a method such as `iterate` reads page by page.

    `terms` contains either a pattern call, or the entities and key condition of an ad-hoc query. `options` are the
    options of the query. `method` is the name of the called method, for error messages.
    """
    if len(terms) != 1 or options:
        return query_call(terms, options, method=method)
    (call,) = terms
    if not isinstance(call, Call):
        raise TypeError(_not_a_call_text(call))
    check_pages(call)
    return call


_PAGE_OPTIONS = ("limit", "page_size", "cursor", "unreadable")


def check_pages(call: Call[Any]) -> None:
    """Raise TypeError if a call is not a query or scan that returns pages."""
    plan = call.pattern.plan
    if plan.operation not in {"Query", "Scan"} or plan.select == "count":
        raise TypeError(f"{call!r} does not return pages: use run; iterate and all are for queries and scans")


def flatten_writes(calls: Sequence[Call[Any]]) -> Iterator[WriteCall[Any]]:
    """Yield the individual writes of all calls, including the writes of transactions. Raises TypeError for a read."""
    for call in calls:
        if isinstance(call.pattern, Transaction):
            yield from call.pattern.calls(call.arguments)
        elif isinstance(call, WriteCall):
            yield call
        else:
            raise TypeError(f"{call!r} does not write a single item, and cannot be part of a transaction")


def transact_calls(context: Context, calls: Sequence[Call[Any]], token: str | None) -> Program[None]:
    """Apply the writes of several calls in one transaction."""
    if not calls:
        return
    plans = [call.pattern.plan for call in calls]
    for plan in plans:
        if plan not in context.ready:
            yield from _prepare(context, plan)
    yield from _translate_errors(
        context, plans, lambda: transactions.transact(context, list(flatten_writes(calls)), token), "transact"
    )


def transact_get_calls(context: Context, calls: Sequence[Call[Any]]) -> Program[tuple[Any, ...]]:
    """Read one item per call in one transaction, as of the same point in time."""
    return _get_all(context, calls, "transact_get", reads.transact_get)


def batch_get_calls(context: Context, calls: Sequence[Call[Any]]) -> Program[tuple[Any, ...]]:
    """Read one item per call in batches, not necessarily as of the same point in time."""
    return _get_all(context, calls, "batch_get", reads.get_several)


def _get_all(
    context: Context,
    calls: Sequence[Call[Any]],
    name: str,
    read_all: Callable[[Context, Sequence[tuple[Plan, Arguments]]], Program[tuple[Any, ...]]],
) -> Program[tuple[Any, ...]]:
    gets = []
    for call in calls:
        plan = call.pattern.plan
        if plan.operation != "GetItem":
            raise TypeError(f"{call!r} is not a read of one item")
        if plan not in context.ready:
            yield from _prepare(context, plan)
        gets.append((plan, context.arguments(call.arguments)))
    if not gets:
        return ()
    plans = [plan for plan, _ in gets]
    results: tuple[Any, ...] = yield from _translate_errors(context, plans, lambda: read_all(context, gets), name)
    return results


class DirectCalls:
    """A fast path for calls that need a single request. Each pattern is compiled once to a plain function.

    The fast path sends the request directly, without a program (a generator that yields requests), so it cannot retry.
    After an error, the call is repeated with `run_call`, which treats the error as the response to its first request.
    If the connection has a meter, every call runs as a program, because each request is measured.
    """

    def __init__(self, context: Context, immediate: Callable[[str], Callable[[str, Request], Response] | None]) -> None:
        """Create the fast path of a connection.

        `immediate` returns a function that sends requests for the given operation without waiting, or None if the
        transport does not support this.
        """
        self._context, self._immediate = context, immediate
        self._by_pattern: dict[object, Callable[[Call[Any]], Any]] = {}
        self.find = self._by_pattern.get
        """A function that returns the compiled function for a pattern, or None if the pattern is not compiled."""

    def compile(self, pattern: object) -> Callable[[Call[Any]], Any] | None:
        """Return a function that runs calls to a pattern by sending their request directly.

        Return None if a call can require several requests, if the connection has a meter, or if its transport cannot
        send requests directly.
        """
        plan = pattern.plan if isinstance(pattern, Pattern) else None
        if plan is None or plan not in self._context.ready or self._context.meter is not None:
            return None
        compiler = _COMPILERS.get(plan.operation)
        send = self._immediate(plan.operation)
        if compiler is None or send is None or plan.keeps_unique:
            return None
        if len(self._by_pattern) >= _MAX_READY:
            self._by_pattern.clear()
        run = self._by_pattern[pattern] = compiler(self._context, plan, send)
        return run


_COMPILERS = {
    "GetItem": reads.direct_get,
    "PutItem": writes.direct_write,
    "UpdateItem": writes.direct_write,
    "DeleteItem": writes.direct_write,
}


def _translate_errors(
    context: Context, plans: Sequence[Plan], create_program: Callable[[], Program[Any]], joint_name: str = ""
) -> Program[Any]:
    """Run a program (a generator that yields requests) and translate its errors to public errors.

    `create_program` creates the program. If `plans` contains several plans, `joint_name` is the name of the joint
    operation in the meter's labels, such as "transact" in `transact(take, give)`.
    """
    plan = plans[0]
    try:
        program = create_program()
        if context.meter is not None:
            names = ", ".join(dict.fromkeys(step_plan.undeclared or step_plan.pattern for step_plan in plans))
            program = context.meter.measured(f"{joint_name}({names})" if joint_name else names, program)
        return (yield from program)
    except ServiceError as error:
        raise rejection_error(plan, context.table(plan.schema), error) from error
    except KeyplanError:
        raise
    except KEY_VALUE_ERRORS as error:
        raise key_value_error(plan, error) from error


def _prepare(context: Context, plan: Plan) -> Program[None]:
    """Raise DesignError if a plan or its table is invalid, and create missing tables if the connection is configured to
    do so.
    """
    for fault in all_faults(plan):
        raise fault.error()
    for step in plan.steps or (plan,):
        if step.schema not in context.tables:
            table = PlanTable(step.schema, step.siblings or step.entities)
            for fault in table_faults(table):
                raise fault.error()
            if context.creates_tables:
                yield from tables.create_tables(context, [table], wait=True)
    if len(context.ready) >= _MAX_READY:
        context.ready.clear()  # limits memory use; plans are then checked again
    context.ready.add(plan)


T = TypeVar("T")
E = TypeVar("E", bound=Entity)
M = TypeVar("M", bound=ReadModel)
V = TypeVar("V", bound=View[Any])
E2 = TypeVar("E2", bound=Entity)
E3 = TypeVar("E3", bound=Entity)
E4 = TypeVar("E4", bound=Entity)
E5 = TypeVar("E5", bound=Entity)
E6 = TypeVar("E6", bound=Entity)
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")


class Connection:
    """A blocking connection, which threads can share."""

    def __init__(self, transport: Transport, context: Context) -> None:
        self.transport, self.context = transport, context
        call = self._call = transport.call
        prepared = transport.prepared if isinstance(transport, EngineTransport) else None

        def immediate(operation: str) -> Callable[[str, Request], Response]:
            """Return the function that sends requests for an operation directly.

            If the `_call` attribute of the connection was replaced, for example in a test, the function calls the
            replacement.
            """
            return prepared(operation) if prepared is not None and self._call is call else self._call

        self._direct = DirectCalls(context, immediate)
        self._find = self._direct.find
        self._never = threading.Event()

    def _drive(self, program: Program[R]) -> R:
        return drive(program, self._call, self._wait)

    def _wait(self, seconds: float) -> None:
        self.context.clock.wait(self._never, seconds)

    @overload
    def run(
        self,
        call: Call[Page[T]],
        *,
        limit: int | None = None,
        page_size: int | None = None,
        cursor: str | None = None,
        unreadable: Unreadable | None = None,
        segment: tuple[int, int] | None = None,
    ) -> Page[T]: ...
    @overload
    def run(self, call: Call[R]) -> R: ...
    def run(self, call: Call[Any], **options: Any) -> Any:
        """Run a pattern call and return its result: an item or None, a Page, an int, or a list.

        Queries and scans accept these options. `limit` is the maximum number of results, and `page_size` is the maximum
        number of items that one request reads before filtering. `cursor` is the cursor of the previous page.
        `unreadable` is a function that is called with the error for each item that cannot be read as its entity. Such
        items are omitted from the results. Without this function, UnreadableItemError is raised. Scans also accept
        `segment`, a tuple of the segment's index and the number of segments. For example, (0, 4) reads the first of
        four segments.

        Raises RunError if DynamoDB returns an error. Raises DesignError if the pattern or its table is invalid.
        """
        try:
            direct = self._find(call.pattern) or self._direct.compile(call.pattern)
        except AttributeError:
            direct = None  # not a call: the program raises the error
        if direct is None or options:
            return self._drive(run_call(self.context, call, page_options(**options)))
        try:
            return direct(call)
        except FirstAttemptError as failure:
            failed = failure
        program = run_call(self.context, call, arguments=failed.arguments)
        return drive(program, fail_first(failed.error, self._call), self._wait)

    # Ad-hoc calls.

    def create(self, item: E, /) -> E:
        """Create an item and return it as stored.

        This is an ad-hoc call, which needs no declared pattern. It is planned and checked like a pattern call, and
        meters count it as undeclared.

        Raises AlreadyExistsError if an item with the same key exists, DesignError if the call is invalid, and TypeError
        if a key value has the wrong type.
        """
        return self.run(put_call("create", item))

    def put(self, item: E, /) -> E:
        """Write a complete item and return it as stored. If an item with the same key exists, it is replaced."""
        return self.run(put_call("put", item))

    def get(self, entity: type[M], /, *, consistent: bool = False, expired: bool = False, **key: object) -> M | None:
        """Return the item with the given primary key, or None if it does not exist.

        Example: `db.get(Task, user_id="ada", task_id="1")`. If `consistent` is True, the read is strongly consistent,
        which doubles its price. If `expired` is True, the item is returned even if its expiry time has passed.
        """
        return self.run(get_call(entity, key, consistent=consistent, expired=expired))

    def delete(self, entity: type[E], /, **key: object) -> E | None:
        """Delete the item with the given primary key and return it. Return None if it did not exist."""
        return self.run(delete_call(entity, key))

    @overload
    def query(self, first: type[E], condition: KeyCondition, /, **options: Unpack[FindPageOptions]) -> Page[E]: ...
    @overload
    def query(self, first: type[V], condition: KeyCondition, /, **options: Unpack[FindPageOptions]) -> Page[V]: ...
    @overload
    def query(
        self, first: type[E], second: type[E2], condition: KeyCondition, /, **options: Unpack[FindPageOptions]
    ) -> Page[E | E2]: ...
    @overload
    def query(
        self,
        first: type[E],
        second: type[E2],
        third: type[E3],
        condition: KeyCondition,
        /,
        **options: Unpack[FindPageOptions],
    ) -> Page[E | E2 | E3]: ...
    @overload
    def query(
        self,
        first: type[E],
        second: type[E2],
        third: type[E3],
        fourth: type[E4],
        condition: KeyCondition,
        /,
        **options: Unpack[FindPageOptions],
    ) -> Page[E | E2 | E3 | E4]: ...
    @overload
    def query(
        self,
        first: type[E],
        second: type[E2],
        third: type[E3],
        fourth: type[E4],
        fifth: type[E5],
        condition: KeyCondition,
        /,
        **options: Unpack[FindPageOptions],
    ) -> Page[E | E2 | E3 | E4 | E5]: ...
    @overload
    def query(
        self,
        first: type[E],
        second: type[E2],
        third: type[E3],
        fourth: type[E4],
        fifth: type[E5],
        sixth: type[E6],
        condition: KeyCondition,
        /,
        **options: Unpack[FindPageOptions],
    ) -> Page[E | E2 | E3 | E4 | E5 | E6]: ...
    @overload
    def query(
        self,
        first: type[E],
        second: type[E] | KeyCondition,
        /,
        *terms: type[E] | KeyCondition,
        **options: Unpack[FindPageOptions],
    ) -> Page[E]: ...
    def query(self, *terms: Any, **options: Any) -> Any:
        """Query one partition, and return a page of items of one or more entities.

        Example: `db.query(Task, pk(user_id="ada").sk < day)`. `index` is the name of the index to query. `limit` is the
        maximum number of results, and `page_size` is the maximum number of items that one request reads before
        filtering. The options `descending`, `cursor`, `consistent`, `expired`, `hydrate` and `unreadable` have the same
        meaning as in declared queries. If the value of a sort key field is None, this field and all later fields are
        omitted from the condition.
        """
        return self._drive(query_program(self.context, terms, options))

    # Reading all pages, and running several calls together.

    @overload
    def iterate(
        self,
        call: Call[Page[T]],
        /,
        *,
        page_size: int | None = None,
        unreadable: Unreadable | None = None,
        segment: tuple[int, int] | None = None,
    ) -> Iterator[T]: ...
    @overload
    def iterate(self, first: type[E], condition: KeyCondition, /, **options: Unpack[FindAllOptions]) -> Iterator[E]: ...
    @overload
    def iterate(self, first: type[V], condition: KeyCondition, /, **options: Unpack[FindAllOptions]) -> Iterator[V]: ...
    @overload
    def iterate(
        self,
        first: type[E],
        second: type[E] | KeyCondition,
        /,
        *terms: type[E] | KeyCondition,
        **options: Unpack[FindAllOptions],
    ) -> Iterator[E]: ...
    def iterate(
        self,
        *terms: Any,
        page_size: int | None = None,
        unreadable: Unreadable | None = None,
        segment: tuple[int, int] | None = None,
        **options: Any,
    ) -> Iterator[Any]:
        """Yield every result of a query or scan, reading pages as needed.

        Pass a pattern call, or the entities, key condition and options of an ad-hoc query: `db.iterate(Task,
        pk(user_id="ada"), index="due")`. `unreadable` has the same meaning as in `run`, and is called once for each
        item. `segment` also has the same meaning as in `run`. To scan a table in parallel, run one thread, process or
        machine for each segment.
        """
        return self._pages(pages_call("iterate", terms, options), page_size, unreadable, segment)

    def _pages(
        self,
        call: Call[Page[T]],
        page_size: int | None,
        unreadable: Unreadable | None = None,
        segment: tuple[int, int] | None = None,
    ) -> Iterator[T]:
        report, cursor = report_once(unreadable), None
        while True:
            # A limit that the pattern declares is the size of each page, not the end of the iteration.
            page = self.run(call, page_size=page_size, cursor=cursor, unreadable=report, segment=segment)
            yield from page.items
            cursor = page.cursor
            if cursor is None:
                return

    @overload
    def all(self, call: Call[Page[T]], /, *, at_most: int | None = None, page_size: int | None = None) -> list[T]: ...
    @overload
    def all(
        self,
        first: type[E],
        condition: KeyCondition,
        /,
        *,
        at_most: int | None = None,
        **options: Unpack[FindAllOptions],
    ) -> list[E]: ...
    @overload
    def all(
        self,
        first: type[V],
        condition: KeyCondition,
        /,
        *,
        at_most: int | None = None,
        **options: Unpack[FindAllOptions],
    ) -> list[V]: ...
    @overload
    def all(
        self,
        first: type[E],
        second: type[E] | KeyCondition,
        /,
        *terms: type[E] | KeyCondition,
        at_most: int | None = None,
        **options: Unpack[FindAllOptions],
    ) -> list[E]: ...
    def all(
        self,
        *terms: Any,
        at_most: int | None = None,
        page_size: int | None = None,
        unreadable: Unreadable | None = None,
        **options: Any,
    ) -> list[Any]:
        """Return every result of a query or scan as a list.

        Pass a pattern call, or the entities, key condition and options of an ad-hoc query, as for `iterate`. Raises
        TooManyResultsError if the query or scan has more than `at_most` results.
        """
        call = pages_call("all", terms, options)
        results: list[Any] = []
        for result in self._pages(call, page_size, unreadable):
            if len(results) == at_most:
                raise TooManyResultsError(f"{call.pattern.name} has more than {at_most} results")
            results.append(result)
        return results

    def count(
        self,
        first: type[Entity],
        condition: type[Entity] | KeyCondition,
        /,
        *terms: type[Entity] | KeyCondition,
        **options: Unpack[FindCountOptions],
    ) -> int:
        """Return the number of items that match an ad-hoc query.

        DynamoDB reads all items in the key range to count them. The options `index`, `consistent` and `expired` have
        the same meaning as in declared counts.
        """
        total: int = self.run(query_call((first, condition, *terms), options, kind="count"))
        return total

    def transact(self, *calls: WriteCall[Any] | TransactionCall[Any], token: str | None = None) -> None:
        """Apply writes to one or more tables in a single transaction. Either all writes are applied or none.

        `token` is the idempotency token. A transaction that is repeated with the same token within ten minutes is
        applied only once.

        Raises TransactionFailedError if none of the writes were applied. Its `reasons` attribute contains one element
        for each write, in order: the error of that write, or None if the write did not fail.
        """
        self._drive(transact_calls(self.context, calls, token))

    @overload
    def transact_get(self, first: Call[A], /) -> tuple[A]: ...
    @overload
    def transact_get(self, first: Call[A], second: Call[B], /) -> tuple[A, B]: ...
    @overload
    def transact_get(self, first: Call[A], second: Call[B], third: Call[C], /) -> tuple[A, B, C]: ...
    @overload
    def transact_get(
        self, first: Call[A], second: Call[B], third: Call[C], fourth: Call[D], /
    ) -> tuple[A, B, C, D]: ...
    @overload
    def transact_get(self, *calls: Call[R]) -> tuple[R, ...]: ...
    def transact_get(self, *calls: Call[Any]) -> tuple[Any, ...]:
        """Read items by key in a single transaction, and return them in the order of the calls.

        All items are read as of the same point in time. Missing items are None.
        """
        return self._drive(transact_get_calls(self.context, calls))

    @overload
    def batch_get(self, first: Call[A], /) -> tuple[A]: ...
    @overload
    def batch_get(self, first: Call[A], second: Call[B], /) -> tuple[A, B]: ...
    @overload
    def batch_get(self, first: Call[A], second: Call[B], third: Call[C], /) -> tuple[A, B, C]: ...
    @overload
    def batch_get(self, first: Call[A], second: Call[B], third: Call[C], fourth: Call[D], /) -> tuple[A, B, C, D]: ...
    @overload
    def batch_get(self, *calls: Call[R]) -> tuple[R, ...]: ...
    def batch_get(self, *calls: Call[Any]) -> tuple[Any, ...]:
        """Read items by key from one or more tables, and return them in the order of the calls. Missing items are None.

        One request is sent for every 100 items. If one read of a table is strongly consistent, all reads of that table
        are strongly consistent. The items are not read at the same point in time.
        """
        return self._drive(batch_get_calls(self.context, calls))

    def create_tables(self, *declared: Declared, wait: bool = True) -> None:
        """Create missing tables with their indexes, TTL and stream.

        If TTL is declared, it is also enabled on existing tables. If `wait` is True, wait until all tables are active,
        and then enable point-in-time recovery for the tables that declare it. Raises TableDiffersError if an existing
        table differs from its declaration in any other way.
        """
        self._drive(tables.create_tables(self.context, declared, wait=wait))

    def describe(self, table: Declared) -> dict[str, Any] | None:
        """Return the TableDescription that DynamoDB's DescribeTable operation returns, or None if the table does not
        exist.
        """
        description = self._drive(tables.describe(self.context, self.context.table(table.schema)))
        return None if description is None else dict(description)

    def table_name(self, table: Declared) -> str:
        """Return the physical name of a table, including the connection's prefix."""
        return self.context.table(table.schema)

    def close(self) -> None:
        """Close the connection. An engine that was passed to `connect` stays open."""
        self.transport.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
