"""Transfer of the outbox to the event log, at least once and in order.

SQL is the source of truth for a thread's status. The event log is another database, and no transaction spans both.
Therefore an entry is stored together with the status. Afterwards, it is transferred and marked as done. It may be
transferred several times, so `write` must be idempotent per key. A lease ensures that one drainer works at a time,
which preserves the order of a thread's entries. It is not a lock: the lease of a dead drainer expires. A drainer that
continues after its lease has expired does no harm, because a repeated write changes nothing.
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
"""Duration of a lease without renewal; longer than one write to the event log."""

PAGE_ROWS: Final = 100
_ERROR_CHARACTERS: Final = 500


@dataclass(frozen=True, slots=True)
class Drained:
    """The result of one run: the number of written entries, and whether it stopped early because of another drainer."""

    written: int
    left_to_another: bool = False


@dataclass(slots=True)
class _Run:
    """A running drainer. `fence` is the number of its lease. A greater number in the table ends the run."""

    database: Database
    clock: Clock
    fence: int
    written: int = 0
    stuck: set[ThreadKey] = field(default_factory=set)
    errors: list[Exception] = field(default_factory=list)


def drain(database: Database, clock: Clock, write: Callable[[LogEntry], None]) -> Drained:
    """Write every pending entry with `write`, oldest first, and mark it as done afterwards.

    Returns immediately if another drainer works. If `write` fails, the remaining entries of that thread wait for the
    next run, and all other threads continue. Finally, an UnfinishedError with the failures and the number of written
    entries is raised.
    """
    with _lease(database, clock) as fence:
        if fence is None:
            return Drained(0, left_to_another=True)
        run = _Run(database, clock, fence)
        written = _write_all(run, write)
    if run.errors:
        raise UnfinishedError.of(run.errors, run.written)
    return Drained(run.written, left_to_another=not written)


def waiting(database: Database) -> int:
    """Return the number of entries that are not in the event log yet."""
    with database.read() as session:
        count = session.scalar(select(func.count()).select_from(OutboxRow).where(OutboxRow.done_at_ms.is_(None)))
    return count or 0


def forget_done(database: Database, before_ms: int) -> int:
    """Delete entries that were marked as done before a time in milliseconds, and return their number."""
    with database.write() as session:
        gone = session.scalars(delete(OutboxRow).where(OutboxRow.done_at_ms < before_ms).returning(OutboxRow.id)).all()
    return len(gone)


def _write_all(run: _Run, write: Callable[[LogEntry], None]) -> bool:
    """Process the outbox in pages. Return False if the lease was lost."""
    last = 0
    while True:
        page = _page(run.database, last)
        if not page:
            return True
        for row_id, entry in page:
            last = row_id
            if entry.thread not in run.stuck and not _write_one(run, write, row_id, entry):
                return False


def _write_one(run: _Run, write: Callable[[LogEntry], None], row_id: int, entry: LogEntry) -> bool:
    """Write and mark one entry. Return False if another drainer has taken over."""
    try:
        write(entry)
    except Exception as error:  # noqa: BLE001 - whatever the log raises is kept, reported, and raised at the end
        run.stuck.add(entry.thread)
        run.errors.append(error)
        return _noted(run, row_id, error)
    run.written += 1
    with run.database.write() as session:
        done = {"done_at_ms": now_ms(run.clock), "attempts": OutboxRow.attempts + 1, "last_error": None}
        session.execute(update(OutboxRow).where(OutboxRow.id == row_id).values(done))
        return _renewed(session, run)


def _noted(run: _Run, row_id: int, error: Exception) -> bool:
    text = f"{type(error).__name__}: {error}"[:_ERROR_CHARACTERS]
    with run.database.write() as session:
        failed = {"attempts": OutboxRow.attempts + 1, "last_error": text}
        session.execute(update(OutboxRow).where(OutboxRow.id == row_id).values(failed))
        return _renewed(session, run)


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
    """Yield the number of the acquired lease, or None while another drainer works. Release it at the end."""
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


def _renewed(session: Session, run: _Run) -> bool:
    ours = session.scalar(
        update(OutboxLeaseRow)
        .where(OutboxLeaseRow.fence == run.fence)
        .values(until_ms=now_ms(run.clock) + LEASE_MS)
        .returning(OutboxLeaseRow.id)
    )
    return ours is not None
