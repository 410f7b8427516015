"""Reads, locks and writes the SQL rows of threads and of the outbox."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from sqlalchemy import insert, select, tuple_, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from keyplan_systems.forum.domain import LogEntry, Thread, ThreadKey
from keyplan_systems.forum.relational.models import OutboxRow, ThreadRow

THREAD_COLUMNS = (
    ThreadRow.item_id,
    ThreadRow.participant_id,
    ThreadRow.status,
    ThreadRow.helper_group_id,
    ThreadRow.message_count,
    ThreadRow.latest_update_at_ms,
    ThreadRow.closed_at_ms,
    ThreadRow.revision,
)


def thread_of(row: tuple[object, ...]) -> Thread:
    """Convert a row that was selected with THREAD_COLUMNS to a thread."""
    item_id, participant_id, *values = row
    return Thread(ThreadKey(str(item_id), str(participant_id)), *values)  # type: ignore[arg-type]  # columns in order


def threads_of(session: Session, keys: Collection[ThreadKey]) -> dict[ThreadKey, Thread]:
    """Return the threads with the given keys, as a mapping from key to thread. Threads that do not exist are omitted.
    The function executes a single SQL statement.
    """
    pairs = [(key.item_id, key.participant_id) for key in keys]
    rows = session.execute(
        select(*THREAD_COLUMNS).where(tuple_(ThreadRow.item_id, ThreadRow.participant_id).in_(pairs))
    )
    threads = (thread_of(tuple(row)) for row in rows)
    return {thread.key: thread for thread in threads}


def locked_thread(session: Session, key: ThreadKey) -> Thread | None:
    """Return a thread and lock its row until the end of the transaction.

    On SQLite, the whole database is already locked by BEGIN IMMEDIATE.
    """
    row = session.execute(
        select(*THREAD_COLUMNS)
        .where(ThreadRow.item_id == key.item_id, ThreadRow.participant_id == key.participant_id)
        .with_for_update()
    ).one_or_none()
    return None if row is None else thread_of(tuple(row))


def insert_thread(session: Session, thread: Thread) -> bool:
    """Insert the row of a new thread. Return False if a concurrent transaction has already inserted it."""
    try:
        with session.begin_nested():
            session.execute(insert(ThreadRow).values(**_key_columns(thread), **_state_columns(thread)))
    except IntegrityError:
        return False
    return True


def store_thread(session: Session, thread: Thread) -> None:
    """Update the row of a thread. The current transaction must have locked the row."""
    session.execute(
        update(ThreadRow)
        .where(ThreadRow.item_id == thread.key.item_id, ThreadRow.participant_id == thread.key.participant_id)
        .values(**_state_columns(thread))
    )


def add_entries(session: Session, entries: Iterable[LogEntry]) -> None:
    """Add event log entries to the outbox, in the same transaction as the status changes that they describe."""
    for entry in entries:
        session.execute(
            insert(OutboxRow).values(
                key=entry.key,
                kind=entry.kind,
                item_id=entry.thread.item_id,
                participant_id=entry.thread.participant_id,
                user_id=entry.user_id,
                at_ms=entry.at_ms,
            )
        )


def _key_columns(thread: Thread) -> dict[str, str]:
    return {"item_id": thread.key.item_id, "participant_id": thread.key.participant_id}


def _state_columns(thread: Thread) -> dict[str, object]:
    return {
        "status": thread.status,
        "helper_group_id": thread.helper_group_id,
        "message_count": thread.message_count,
        "latest_update_at_ms": thread.latest_update_at_ms,
        "closed_at_ms": thread.closed_at_ms,
        "revision": thread.revision,
    }
