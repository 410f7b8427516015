"""Operations on threads in SQL: reading a thread, changing a thread, and granting the permission to ask for help."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import insert
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from keyplan.clock import Clock
from keyplan_systems.forum.domain import (
    NOT_STARTED,
    NotAllowedError,
    Thread,
    ThreadKey,
    ThreadUpdate,
    checked_id,
)
from keyplan_systems.forum.domain_facts import Facts
from keyplan_systems.forum.domain_status import Change, ThreadContext, changed_thread, check_participant, check_shape
from keyplan_systems.forum.permissions import is_observer, is_participant, may_grant_help, may_read, may_write
from keyplan_systems.forum.relational.facts import load_facts, load_thread_facts
from keyplan_systems.forum.relational.models import HelpGrantRow
from keyplan_systems.forum.relational.rows import (
    add_entries,
    insert_thread,
    locked_thread,
    store_thread,
    threads_of,
)
from keyplan_systems.forum.relational.session import Database
from keyplan_systems.forum.tokens import ThreadRights, ThreadTokenIssuer


@dataclass(frozen=True, slots=True)
class ThreadView:
    """A thread (or None if it has not been started), the user's rights in it, and a thread token that certifies these
    rights.
    """

    key: ThreadKey
    status: str
    thread: Thread | None
    rights: ThreadRights
    token: str


def thread_key(item_id: str, participant_id: str) -> ThreadKey:
    """Return the key of a thread. Raises BadRequestError unless both IDs consist of digits."""
    return ThreadKey(checked_id(item_id, "item_id"), checked_id(participant_id, "participant_id"))


def get_thread(database: Database, clock: Clock, issuer: ThreadTokenIssuer, user_id: str, key: ThreadKey) -> ThreadView:
    """Return a thread with a token that certifies the user's rights in the thread. The token is valid for two hours.

    Raises NotAllowedError if the user may not read the thread, and BadRequestError if the participant is not a user or
    a team.
    """
    with database.read() as session:
        facts = load_thread_facts(session, user_id, [key])
        thread = threads_of(session, [key]).get(key)
    if not may_read(facts, user_id, key, thread, now_ms(clock)):
        raise NotAllowedError("you may not read this thread")
    check_participant(facts, key)
    rights = rights_in(facts, user_id, key, thread)
    status = NOT_STARTED if thread is None else str(thread.status)
    return ThreadView(key, status, thread, rights, issuer.issue(rights))


def is_closed(database: Database, key: ThreadKey) -> bool:
    """Return True if the thread is closed. The result is False for a thread that has not been started."""
    with database.read() as session:
        thread = threads_of(session, [key]).get(key)
    return thread is not None and not thread.status.is_open


def readers_of(database: Database, clock: Clock, key: ThreadKey, users: Collection[str]) -> frozenset[str]:
    """Return the IDs of the given users who may read the thread."""
    with database.read() as session:
        facts = load_facts(session, {key.participant_id, *users}, {key.item_id})
        thread = threads_of(session, [key]).get(key)
    return frozenset(user_id for user_id in users if may_read(facts, user_id, key, thread, now_ms(clock)))


def rights_in(facts: Facts, user_id: str, key: ThreadKey, thread: Thread | None) -> ThreadRights:
    """Return the user's rights in the thread, for which a thread token can be issued."""
    return ThreadRights(
        key=key,
        user_id=user_id,
        is_mine=is_participant(facts, user_id, key),
        can_watch=is_observer(facts, user_id, key),
        can_write=may_write(facts, user_id, key, thread),
    )


def update_thread(
    database: Database, clock: Clock, user_id: str, key: ThreadKey, update: ThreadUpdate
) -> Thread | None:
    """Change or start a thread in one transaction that locks its row, and return the stored thread.

    If the status changes from open to closed or vice versa, the transaction also stores a log entry in the outbox. If
    the request changes nothing, the time of the thread's last update stays the same, and the result is None if the user
    may not read the thread. Raises BadRequestError or NotAllowedError if the change is rejected.
    """
    check_shape(update)
    with database.write() as session:
        thread, is_stored = _locked_update(session, clock, user_id, key, update)
        if not is_stored:
            # A concurrent transaction inserted the row between the read and the insert: read again.
            thread, is_stored = _locked_update(session, clock, user_id, key, update)
        if not is_stored:
            raise RuntimeError(f"the row of thread {key} can be neither read nor inserted")
        return thread


def grant_help(database: Database, giver_id: str, receiver_id: str, item_id: str, helper_group_id: str) -> None:
    """Permit the group `receiver_id` to ask the helper group for help on an item, and on the items below it that
    inherit the grant.

    A repeated call changes nothing. Raises NotAllowedError if the giver may not grant this permission.
    """
    for value, name in ((receiver_id, "receiver"), (item_id, "item_id"), (helper_group_id, "helper_group_id")):
        checked_id(value, name)
    with database.write() as session:
        facts = load_facts(session, {giver_id, receiver_id}, {item_id}, {helper_group_id})
        if receiver_id not in facts.groups or not may_grant_help(
            facts, giver_id, receiver_id, item_id, helper_group_id
        ):
            raise NotAllowedError("you may not permit this group to request help on this item")
        _insert_grant(session, receiver_id, item_id, helper_group_id)


def now_ms(clock: Clock) -> int:
    """Return the current time in epoch milliseconds."""
    return int(clock.now() * 1000)


def _locked_update(
    session: Session, clock: Clock, user_id: str, key: ThreadKey, update: ThreadUpdate
) -> tuple[Thread | None, bool]:
    """Lock the thread's row, compute the change, and write it.

    The first element of the result is the stored thread, or None if nothing changed and the user may not read the
    thread. The second element is False if nothing was written because a concurrent transaction has inserted the row.
    """
    helpers = () if update.helper_group_id is None else (checked_id(update.helper_group_id, "helper_group_id"),)
    thread = locked_thread(session, key)
    facts = load_thread_facts(session, user_id, [key], helpers)
    at_ms = now_ms(clock)
    change = changed_thread(ThreadContext(facts, user_id, key, thread), update, at_ms)
    if change is None:
        assert thread is not None, "without a row, the update always changes the thread"
        return thread if may_read(facts, user_id, key, thread, at_ms) else None, True
    return change.thread, _store_change(session, thread, change)


def _store_change(session: Session, thread: Thread | None, change: Change) -> bool:
    if thread is not None:
        store_thread(session, change.thread)
    elif not insert_thread(session, change.thread):
        return False
    add_entries(session, change.entries)
    return True


def _insert_grant(session: Session, receiver_id: str, item_id: str, helper_group_id: str) -> None:
    row = {"group_id": receiver_id, "item_id": item_id, "helper_group_id": helper_group_id}
    try:
        with session.begin_nested():
            session.execute(insert(HelpGrantRow).values(**row))
    except IntegrityError:
        # Already granted; any other violated constraint shows as a row that is still missing.
        if session.get(HelpGrantRow, tuple(row.values())) is None:
            raise
