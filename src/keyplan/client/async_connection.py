"""Asynchronous connections. They run the same request programs (generators that yield requests) as blocking
connections.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Coroutine
from types import TracebackType
from typing import Any, TypeVar, Unpack, overload

from keyplan.client import tables
from keyplan.client.connection import (
    DirectCalls,
    FindAllOptions,
    FindPageOptions,
    batch_get_calls,
    page_options,
    pages_call,
    query_program,
    run_call,
    transact_calls,
    transact_get_calls,
)
from keyplan.client.errors import TooManyResultsError
from keyplan.client.failures import FirstAttemptError
from keyplan.client.pages import Unreadable, report_once
from keyplan.client.requests import AsyncTransport, Context, Program, drive_async, fail_first_async
from keyplan.client.tables import Declared
from keyplan.clock import SystemClock
from keyplan.design.conditions.builders import KeyCondition
from keyplan.design.declaring.patterns import Call, Page, TransactionCall, WriteCall
from keyplan.design.declaring.undeclared import FindCountOptions, delete_call, get_call, put_call, query_call
from keyplan.design.entities import Entity, ReadModel, View

T = TypeVar("T")
R = TypeVar("R")
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


class AsyncConnection:
    """A connection for asyncio, which the tasks of one event loop can share."""

    def __init__(self, transport: AsyncTransport, context: Context) -> None:
        self.transport, self.context = transport, context
        self._direct = DirectCalls(context, transport.immediate)
        self._find = self._direct.find
        self._never = threading.Event()

    async def _drive(self, program: Program[R]) -> R:
        return await drive_async(program, self.transport.call, self._wait)

    async def _wait(self, seconds: float) -> None:
        if isinstance(self.context.clock, SystemClock):
            await asyncio.sleep(seconds)
        else:
            self.context.clock.wait(self._never, seconds)  # a test's clock returns without waiting

    @overload
    async def run(
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
    async def run(self, call: Call[R]) -> R: ...
    async def run(self, call: Call[Any], **options: Any) -> Any:
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
            return await self._drive(run_call(self.context, call, page_options(**options)))
        try:
            return direct(call)
        except FirstAttemptError as failure:
            failed = failure
        program = run_call(self.context, call, arguments=failed.arguments)
        return await drive_async(program, fail_first_async(failed.error, self.transport.call), self._wait)

    # Ad-hoc calls.

    def create(self, item: E, /) -> Coroutine[Any, Any, E]:
        """Create an item and return it as stored.

        This is an ad-hoc call, which needs no declared pattern. It is planned and checked like a pattern call, and
        meters count it as undeclared.

        Raises AlreadyExistsError if an item with the same key exists, DesignError if the call is invalid, and TypeError
        if a key value has the wrong type.
        """
        return self.run(put_call("create", item))

    def put(self, item: E, /) -> Coroutine[Any, Any, E]:
        """Write a complete item and return it as stored. If an item with the same key exists, it is replaced."""
        return self.run(put_call("put", item))

    def get(
        self, entity: type[M], /, *, consistent: bool = False, expired: bool = False, **key: object
    ) -> Coroutine[Any, Any, M | None]:
        """Return the item with the given primary key, or None if it does not exist.

        Example: `db.get(Task, user_id="ada", task_id="1")`. If `consistent` is True, the read is strongly consistent,
        which doubles its price. If `expired` is True, the item is returned even if its expiry time has passed.
        """
        return self.run(get_call(entity, key, consistent=consistent, expired=expired))

    def delete(self, entity: type[E], /, **key: object) -> Coroutine[Any, Any, E | None]:
        """Delete the item with the given primary key and return it. Return None if it did not exist."""
        return self.run(delete_call(entity, key))

    @overload
    def query(
        self, first: type[E], condition: KeyCondition, /, **options: Unpack[FindPageOptions]
    ) -> Coroutine[Any, Any, Page[E]]: ...
    @overload
    def query(
        self, first: type[V], condition: KeyCondition, /, **options: Unpack[FindPageOptions]
    ) -> Coroutine[Any, Any, Page[V]]: ...
    @overload
    def query(
        self, first: type[E], second: type[E2], condition: KeyCondition, /, **options: Unpack[FindPageOptions]
    ) -> Coroutine[Any, Any, Page[E | E2]]: ...
    @overload
    def query(
        self,
        first: type[E],
        second: type[E2],
        third: type[E3],
        condition: KeyCondition,
        /,
        **options: Unpack[FindPageOptions],
    ) -> Coroutine[Any, Any, Page[E | E2 | E3]]: ...
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
    ) -> Coroutine[Any, Any, Page[E | E2 | E3 | E4]]: ...
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
    ) -> Coroutine[Any, Any, Page[E | E2 | E3 | E4 | E5]]: ...
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
    ) -> Coroutine[Any, Any, Page[E | E2 | E3 | E4 | E5 | E6]]: ...
    @overload
    def query(
        self,
        first: type[E],
        second: type[E] | KeyCondition,
        /,
        *terms: type[E] | KeyCondition,
        **options: Unpack[FindPageOptions],
    ) -> Coroutine[Any, Any, Page[E]]: ...
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
    ) -> AsyncIterator[T]: ...
    @overload
    def iterate(
        self, first: type[E], condition: KeyCondition, /, **options: Unpack[FindAllOptions]
    ) -> AsyncIterator[E]: ...
    @overload
    def iterate(
        self, first: type[V], condition: KeyCondition, /, **options: Unpack[FindAllOptions]
    ) -> AsyncIterator[V]: ...
    @overload
    def iterate(
        self,
        first: type[E],
        second: type[E] | KeyCondition,
        /,
        *terms: type[E] | KeyCondition,
        **options: Unpack[FindAllOptions],
    ) -> AsyncIterator[E]: ...
    def iterate(
        self,
        *terms: Any,
        page_size: int | None = None,
        unreadable: Unreadable | None = None,
        segment: tuple[int, int] | None = None,
        **options: Any,
    ) -> AsyncIterator[Any]:
        """Yield every result of a query or scan, reading pages as needed.

        Pass a pattern call, or the entities, key condition and options of an ad-hoc query: `db.iterate(Task,
        pk(user_id="ada"), index="due")`. `unreadable` has the same meaning as in `run`, and is called once for each
        item. `segment` also has the same meaning as in `run`. To scan a table in parallel, run one task, process or
        machine for each segment.
        """
        return self._pages(pages_call("iterate", terms, options), page_size, unreadable, segment)

    async def _pages(
        self,
        call: Call[Page[T]],
        page_size: int | None,
        unreadable: Unreadable | None = None,
        segment: tuple[int, int] | None = None,
    ) -> AsyncIterator[T]:
        report, cursor = report_once(unreadable), None
        while True:
            # A limit that the pattern declares is the size of each page, not the end of the iteration.
            page = await self.run(call, page_size=page_size, cursor=cursor, unreadable=report, segment=segment)
            for result in page.items:
                yield result
            cursor = page.cursor
            if cursor is None:
                return

    @overload
    async def all(
        self, call: Call[Page[T]], /, *, at_most: int | None = None, page_size: int | None = None
    ) -> list[T]: ...
    @overload
    async def all(
        self,
        first: type[E],
        condition: KeyCondition,
        /,
        *,
        at_most: int | None = None,
        **options: Unpack[FindAllOptions],
    ) -> list[E]: ...
    @overload
    async def all(
        self,
        first: type[V],
        condition: KeyCondition,
        /,
        *,
        at_most: int | None = None,
        **options: Unpack[FindAllOptions],
    ) -> list[V]: ...
    @overload
    async def all(
        self,
        first: type[E],
        second: type[E] | KeyCondition,
        /,
        *terms: type[E] | KeyCondition,
        at_most: int | None = None,
        **options: Unpack[FindAllOptions],
    ) -> list[E]: ...
    async def all(
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
        async for result in self._pages(call, page_size, unreadable):
            if len(results) == at_most:
                raise TooManyResultsError(f"{call.pattern.name} has more than {at_most} results")
            results.append(result)
        return results

    async def count(
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
        total: int = await self.run(query_call((first, condition, *terms), options, kind="count"))
        return total

    async def transact(self, *calls: WriteCall[Any] | TransactionCall[Any], token: str | None = None) -> None:
        """Apply writes to one or more tables in a single transaction. Either all writes are applied or none.

        `token` is the idempotency token. A transaction that is repeated with the same token within ten minutes is
        applied only once.

        Raises TransactionFailedError if none of the writes were applied. Its `reasons` attribute contains one element
        for each write, in order: the error of that write, or None if the write did not fail.
        """
        await self._drive(transact_calls(self.context, calls, token))

    @overload
    async def transact_get(self, first: Call[A], /) -> tuple[A]: ...
    @overload
    async def transact_get(self, first: Call[A], second: Call[B], /) -> tuple[A, B]: ...
    @overload
    async def transact_get(self, first: Call[A], second: Call[B], third: Call[C], /) -> tuple[A, B, C]: ...
    @overload
    async def transact_get(
        self, first: Call[A], second: Call[B], third: Call[C], fourth: Call[D], /
    ) -> tuple[A, B, C, D]: ...
    @overload
    async def transact_get(self, *calls: Call[R]) -> tuple[R, ...]: ...
    async def transact_get(self, *calls: Call[Any]) -> tuple[Any, ...]:
        """Read items by key in a single transaction, and return them in the order of the calls.

        All items are read as of the same point in time. Missing items are None.
        """
        return await self._drive(transact_get_calls(self.context, calls))

    @overload
    async def batch_get(self, first: Call[A], /) -> tuple[A]: ...
    @overload
    async def batch_get(self, first: Call[A], second: Call[B], /) -> tuple[A, B]: ...
    @overload
    async def batch_get(self, first: Call[A], second: Call[B], third: Call[C], /) -> tuple[A, B, C]: ...
    @overload
    async def batch_get(
        self, first: Call[A], second: Call[B], third: Call[C], fourth: Call[D], /
    ) -> tuple[A, B, C, D]: ...
    @overload
    async def batch_get(self, *calls: Call[R]) -> tuple[R, ...]: ...
    async def batch_get(self, *calls: Call[Any]) -> tuple[Any, ...]:
        """Read items by key from one or more tables, and return them in the order of the calls. Missing items are None.

        One request is sent for every 100 items. If one read of a table is strongly consistent, all reads of that table
        are strongly consistent. The items are not read at the same point in time.
        """
        return await self._drive(batch_get_calls(self.context, calls))

    async def create_tables(self, *declared: Declared, wait: bool = True) -> None:
        """Create missing tables with their indexes, TTL and stream.

        If TTL is declared, it is also enabled on existing tables. If `wait` is True, wait until all tables are active,
        and then enable point-in-time recovery for the tables that declare it. Raises TableDiffersError if an existing
        table differs from its declaration in any other way.
        """
        await self._drive(tables.create_tables(self.context, declared, wait=wait))

    async def describe(self, table: Declared) -> dict[str, Any] | None:
        """Return the TableDescription that DynamoDB's DescribeTable operation returns, or None if the table does not
        exist.
        """
        description = await self._drive(tables.describe(self.context, self.context.table(table.schema)))
        return None if description is None else dict(description)

    def table_name(self, table: Declared) -> str:
        """Return the physical name of a table, including the connection's prefix."""
        return self.context.table(table.schema)

    async def close(self) -> None:
        """Close the connection. An engine that was passed to `connect_async` stays open."""
        await self.transport.close()

    async def __aenter__(self) -> AsyncConnection:
        return self

    async def __aexit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
