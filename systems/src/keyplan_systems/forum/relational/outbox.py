"""Transfers entries from the outbox to the event log, at least once and in order.

SQL is the source of truth for a thread's status. The event log is in a different database, and a transaction cannot
span both databases. Therefore a log entry is first stored in the outbox, together with the status change. It is then
transferred and marked as done. An entry can be transferred more than once, so the function that writes entries to the
event log must be idempotent for each key. A lease ensures that one process at a time transfers entries, which preserves
their order within a thread. The lease expires if its holder is killed. A holder that continues after its lease has
expired does no harm, because a repeated write changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from keyplan.clock import Clock
from keyplan_systems.forum.domain import LogEntry, ThreadKey
from keyplan_systems.forum.relational.models import OutboxLeaseRow, OutboxRow
from keyplan_systems.forum.relational.session import Database
from keyplan_systems.forum.relational.threads import now_ms
from keyplan_systems.web.system import UnfinishedError

LEASE_MS: Final = 30_000
"""Duration of an outbox lease in milliseconds. The lease is renewed after each entry, so its duration must be longer
than one write to the event log.
"""

PAGE_ROWS: Final = 100
_ERROR_CHARACTERS: Final = 500


@dataclass(frozen=True, slots=True)
class TransferResult:
    """The result of a transfer of outbox entries. `written` is the number of transferred entries.
    `lease_held_elsewhere` is True if the transfer ended because another process holds the lease.
    """

    written: int
    lease_held_elsewhere: bool = False


@dataclass(slots=True)
class _Transfer:
    """The state of a transfer of outbox entries. `fence` is the number of the lease that the transfer holds. The
    transfer ends if the lease table contains a higher number, because another process then holds the lease.
    """

    database: Database
    clock: Clock
    fence: int
    written: int = 0
    failed_threads: set[ThreadKey] = field(default_factory=set)
    errors: list[Exception] = field(default_factory=list)


def drain(database: Database, clock: Clock, write: Callable[[LogEntry], None]) -> TransferResult:
    """Transfer all pending outbox entries with `write`, oldest first, and mark each entry as done.

    Returns immediately if another process holds the lease. If `write` fails, the remaining entries of the same thread
    stay pending, but the entries of other threads are still transferred. In this case, an UnfinishedError is raised at
    the end. It contains all errors and the number of transferred entries.
    """
    with _lease(database, clock) as fence:
        if fence is None:
            return TransferResult(0, lease_held_elsewhere=True)
        transfer = _Transfer(database, clock, fence)
        is_complete = _write_all(transfer, write)
    if transfer.errors:
        raise UnfinishedError.from_errors(transfer.errors, transfer.written)
    return TransferResult(transfer.written, lease_held_elsewhere=not is_complete)


def count_pending(database: Database) -> int:
    """Return the number of pending entries in the outbox."""
    with database.read() as session:
        count = session.scalar(select(func.count()).select_from(OutboxRow).where(OutboxRow.done_at_ms.is_(None)))
    return count or 0


def delete_done_entries(database: Database, before_ms: int) -> int:
    """Delete the outbox entries that were marked as done before `before_ms` (epoch milliseconds), and return the number
    of deleted entries.
    """
    with database.write() as session:
        deleted = session.scalars(
            delete(OutboxRow).where(OutboxRow.done_at_ms < before_ms).returning(OutboxRow.id)
        ).all()
    return len(deleted)


def _write_all(transfer: _Transfer, write: Callable[[LogEntry], None]) -> bool:
    """Transfer all pending outbox entries, page by page. Return False if another process has acquired the lease."""
    last = 0
    while True:
        page = _page(transfer.database, last)
        if not page:
            return True
        for row_id, entry in page:
            last = row_id
            if entry.thread not in transfer.failed_threads and not _write_one(transfer, write, row_id, entry):
                return False


def _write_one(transfer: _Transfer, write: Callable[[LogEntry], None], row_id: int, entry: LogEntry) -> bool:
    """Transfer an outbox entry and mark it as done, or record the error if `write` fails. Return False if another
    process has acquired the lease.
    """
    try:
        write(entry)
    except Exception as error:  # noqa: BLE001 - every exception of the log is reported, and raised at the end
        transfer.failed_threads.add(entry.thread)
        transfer.errors.append(error)
        return _record_failure(transfer, row_id, error)
    transfer.written += 1
    with transfer.database.write() as session:
        values = {"done_at_ms": now_ms(transfer.clock), "attempts": OutboxRow.attempts + 1, "last_error": None}
        session.execute(update(OutboxRow).where(OutboxRow.id == row_id).values(values))
        return _renew_lease(session, transfer)


def _record_failure(transfer: _Transfer, row_id: int, error: Exception) -> bool:
    text = f"{type(error).__name__}: {error}"[:_ERROR_CHARACTERS]
    with transfer.database.write() as session:
        values = {"attempts": OutboxRow.attempts + 1, "last_error": text}
        session.execute(update(OutboxRow).where(OutboxRow.id == row_id).values(values))
        return _renew_lease(session, transfer)


def _page(database: Database, last: int) -> list[tuple[int, LogEntry]]:
    with database.read() as session:
        rows = session.scalars(
            select(OutboxRow)
            .where(OutboxRow.done_at_ms.is_(None), OutboxRow.id > last)
            .order_by(OutboxRow.id)
            .limit(PAGE_ROWS)
        ).all()
        return [(row.id, _entry(row)) for row in rows]


def _entry(row: OutboxRow) -> LogEntry:
    return LogEntry(row.key, row.kind, ThreadKey(row.item_id, row.participant_id), row.user_id, row.at_ms)


@contextmanager
def _lease(database: Database, clock: Clock) -> Iterator[int | None]:
    """Acquire the outbox lease and yield its number, or None if another process holds the lease. The lease is released
    at the end of the `with` block.
    """
    at_ms = now_ms(clock)
    with database.write() as session:
        fence = session.scalar(
            update(OutboxLeaseRow)
            .where(OutboxLeaseRow.until_ms <= at_ms)
            .values(fence=OutboxLeaseRow.fence + 1, until_ms=at_ms + LEASE_MS)
            .returning(OutboxLeaseRow.fence)
        )
    try:
        yield fence
    finally:
        if fence is not None:
            with database.write() as session:
                session.execute(update(OutboxLeaseRow).where(OutboxLeaseRow.fence == fence).values(until_ms=0))


def _renew_lease(session: Session, transfer: _Transfer) -> bool:
    lease_id = session.scalar(
        update(OutboxLeaseRow)
        .where(OutboxLeaseRow.fence == transfer.fence)
        .values(until_ms=now_ms(transfer.clock) + LEASE_MS)
        .returning(OutboxLeaseRow.id)
    )
    return lease_id is not None
