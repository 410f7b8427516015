"""Connections: what runs calls, waiting for each answer."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from types import TracebackType
from typing import Any, TypeVar, overload

from keyplan.client import runner, tables
from keyplan.client.errors import TooManyResultsError
from keyplan.client.pages import PageRequest, Unreadable, report_once
from keyplan.client.requests import Context, Program, Transport, drive
from keyplan.client.tables import Declared
from keyplan.design.declaring.patterns import Call, Page, TransactionCall, WriteCall

T = TypeVar("T")
R = TypeVar("R")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")


class Connection:
    """Runs calls of patterns. Threads may share it."""

    def __init__(self, transport: Transport, context: Context) -> None:
        self.transport, self.context = transport, context
        self._call = transport.call
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
    def run(
        self,
        call: Call[Any],
        *,
        limit: int | None = None,
        page_size: int | None = None,
        cursor: str | None = None,
        unreadable: Unreadable | None = None,
        segment: tuple[int, int] | None = None,
    ) -> Any:
        """Run a call, and give what its pattern gives.

        Of queries and scans: `limit` counts results, `page_size` the items that one request evaluates, `cursor`
        goes on where a page ended, `unreadable` is told of each item that cannot be read as its entity, which is then
        left out; without it such an item raises UnreadableItemError. Of scans: `segment` reads one part of several,
        such as (0, 4) the first of four. Raises RunError for what the service answers, DesignError for what cannot
        work.
        """
        return self._drive(runner.run(self.context, call, PageRequest(limit, page_size, cursor, unreadable, segment)))

    def iterate(
        self,
        call: Call[Page[T]],
        *,
        page_size: int | None = None,
        unreadable: Unreadable | None = None,
        segment: tuple[int, int] | None = None,
    ) -> Iterator[T]:
        """Every result of a query or scan, read page by page as they are taken.

        `unreadable` as of `run`, told once of each item: for work that must go on behind it. `segment` as of `run`:
        each of several threads, processes or machines goes through its own part of a table.
        """
        runner.check_pages(call)
        told, cursor = report_once(unreadable), None
        while True:
            # A limit that the pattern itself states is how many are read at a time, not where it ends.
            page = self.run(call, page_size=page_size, cursor=cursor, unreadable=told, segment=segment)
            yield from page.items
            cursor = page.cursor
            if cursor is None:
                return

    def all(self, call: Call[Page[T]], *, at_most: int | None = None, page_size: int | None = None) -> list[T]:
        """Every result of a query or scan. Raises TooManyResultsError where there are more than `at_most`."""
        found: list[T] = []
        for one in self.iterate(call, page_size=page_size):
            if len(found) == at_most:
                raise TooManyResultsError(f"{call.pattern.name} has more than {at_most} results")
            found.append(one)
        return found

    def transact(self, *calls: WriteCall[Any] | TransactionCall[Any], token: str | None = None) -> None:
        """Apply writes together or not at all, in one or more tables.

        `token`: the same for every attempt of one transaction; within ten minutes it is applied once. Raises
        TransactionFailedError, whose `reasons` has an error or None for each write.
        """
        self._drive(runner.transact(self.context, calls, token))

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
        """Read items by key, all as they are at one moment."""
        return self._drive(runner.transact_get(self.context, calls))

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
        """Read items by key, of one or several tables and entities, in one request for each hundred.

        Where one read of a table is consistent, all of that table are. The items are not of one moment.
        """
        return self._drive(runner.batch_get(self.context, calls))

    def create_tables(self, *declared: Declared, wait: bool = True) -> None:
        """Make tables that are missing, with indexes, expiry and stream.

        Raises TableDiffersError where one is there that is not as declared; calling again changes nothing.
        """
        self._drive(tables.create_tables(self.context, declared, wait=wait))

    def describe(self, table: Declared) -> dict[str, Any] | None:
        """What the service says of a table: a TableDescription; None where it is not there."""
        found = self._drive(tables.describe(self.context, self.context.table(table.schema)))
        return None if found is None else dict(found)

    def table_name(self, table: Declared) -> str:
        """The real name of a table."""
        return self.context.table(table.schema)

    def close(self) -> None:
        """Give back what the connection holds; an engine that was handed in stays open."""
        self.transport.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
