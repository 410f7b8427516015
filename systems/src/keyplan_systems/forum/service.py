"""The operations that users and the platform perform on threads in SQL, on the event log, and on notifications."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from keyplan import Inserted, Page
from keyplan.client.connection import Connection
from keyplan.client.errors import RunError
from keyplan.clock import Clock
from keyplan_systems.forum.connections import Connections
from keyplan_systems.forum.domain import ForumError, LogEntry, NotAllowedError, Status, Thread, ThreadKey, ThreadUpdate
from keyplan_systems.forum.entities import Event, EventType, Place
from keyplan_systems.forum.event_log import AppendResult, Draft, EventLog
from keyplan_systems.forum.followers import Followers
from keyplan_systems.forum.relational import lists, threads
from keyplan_systems.forum.relational.lists import ThreadPage, ThreadPosition
from keyplan_systems.forum.relational.outbox import drain
from keyplan_systems.forum.relational.people import people_of
from keyplan_systems.forum.relational.session import Database
from keyplan_systems.forum.relational.threads import ThreadView
from keyplan_systems.forum.tokens import ThreadRights, ThreadTokenChecker, ThreadTokenIssuer

_log = logging.getLogger(__name__)


class ConflictError(ForumError):
    """Raised if a message ID is already used for a different message."""

    status = 409


@dataclass(frozen=True, slots=True)
class Fact:
    """An attempt, submission or grade that the platform reports. It may have occurred long before the report."""

    type: EventType
    at_ms: int
    attempt_id: str
    answer_id: str | None = None
    score: float | None = None
    validated: bool | None = None
    score_improved: bool | None = None

    @property
    def event_id(self) -> str:
        """The ID of the event. Every report of the same attempt, submission or grade has the same event ID."""
        match self.type:
            case EventType.ATTEMPT_STARTED:
                return f"attempt-{self.attempt_id}"
            case EventType.SUBMISSION:
                return f"submission-{self.attempt_id}-{self.answer_id}"
            case _:
                return f"grade-{self.attempt_id}-{self.answer_id}-{self.at_ms}"


@dataclass(frozen=True)
class Service:
    """All operations of the forum. Instances are thread-safe."""

    database: Database
    clock: Clock
    issuer: ThreadTokenIssuer
    checker: ThreadTokenChecker
    log: EventLog
    connections: Connections
    followers: Followers

    @classmethod
    def from_connections(cls, db: Connection, database: Database, clock: Clock, key: Ed25519PrivateKey) -> Service:
        """Return the service that uses a DynamoDB connection and a SQL database. `key` is the private key that signs
        thread tokens.
        """
        issuer = ThreadTokenIssuer(key, clock)
        connections = Connections(db, clock)
        followers = Followers(db, clock, connections)
        return cls(database, clock, issuer, issuer.checker(), EventLog(db, clock), connections, followers)

    # Threads; SQL is the source of truth.

    def thread(self, user_id: str, key: ThreadKey) -> ThreadView:
        """Return a thread with a token that certifies the user's rights in the thread.

        Raises NotAllowedError if the user may not read the thread, and BadRequestError for an invalid participant.
        """
        return threads.get_thread(self.database, self.clock, self.issuer, user_id, key)

    def update(self, user_id: str, key: ThreadKey, update: ThreadUpdate) -> Thread | None:
        """Change or start a thread, and return it. Return None if the request changes nothing and the user may not read
        the thread.

        Raises NotAllowedError or BadRequestError if the change is rejected.
        """
        changed = threads.update_thread(self.database, self.clock, user_id, key, update)
        if changed is not None and update.status is not None:
            self._copy_status(changed)
        return changed

    def threads(
        self,
        user_id: str,
        watched_group_id: str | None,
        is_mine: bool | None,
        limit: int,
        after: ThreadPosition | None,
        *,
        status: Status | None = None,
        oldest_first: bool = False,
    ) -> ThreadPage:
        """Return a page of the threads that the user may read. See `list_threads` for the parameters."""
        return lists.list_threads(
            self.database,
            self.clock,
            user_id,
            watched_group_id=watched_group_id,
            is_mine=is_mine,
            status=status,
            oldest_first=oldest_first,
            limit=limit,
            after=after,
        )

    def grant_help(self, giver_id: str, receiver_id: str, item_id: str, helper_group_id: str) -> None:
        """Permit the group `receiver_id` to ask the helper group for help on an item. Raises NotAllowedError if the
        giver may not grant this permission.
        """
        threads.grant_help(self.database, giver_id, receiver_id, item_id, helper_group_id)

    def _copy_status(self, thread: Thread) -> None:
        """Store a copy of a thread's status for its watchers.

        Errors are logged and not raised, because pages also read the status from SQL.
        """
        try:
            self.connections.copy_status(place_of(thread.key), str(thread.status), thread.revision)
        except RunError:
            _log.exception("copying a thread's status failed", extra={"thread": str(thread.key)})

    # The log.

    def post(self, rights: ThreadRights, message_id: str, content: str) -> AppendResult:
        """Store a message. If the thread already contains this message, return the stored message.

        Raises NotAllowedError if the user may not write to the thread, and ConflictError if the ID is already used for
        a different message.
        """
        if not rights.can_write:
            raise NotAllowedError("you may not write to this thread")
        draft = Draft(
            place_of(rights.key),
            f"message-{message_id}",
            EventType.MESSAGE,
            user_id=rights.user_id,
            content=content,
        )
        appended = self.log.append(draft)
        if (appended.event.user_id, appended.event.content) != (rights.user_id, content):
            raise ConflictError("this uuid is already used for a different message")
        return appended

    def record(self, place: Place, facts: Sequence[Fact]) -> list[AppendResult]:
        """Store attempts, submissions and grades that the platform reports. Events that already exist are not stored a
        second time.

        Raises BadRequestError if an event has a time in the future. In this case, none of the events are stored.
        """
        drafts = [_draft(place, fact) for fact in facts]
        for draft in drafts:
            self.log.check_time(draft)
        return [self.log.append(draft) for draft in drafts]

    def messages(self, rights: ThreadRights, limit: int, cursor: str | None) -> Page[Event]:
        """Return a page of a thread's messages, newest first. Raises CursorError for an invalid cursor."""
        return self.log.messages(place_of(rights.key), limit, cursor)

    def history(self, rights: ThreadRights, limit: int, cursor: str | None) -> Page[Event]:
        """Return a page of a thread's events, sorted by the time at which they occurred, newest first.

        Raises CursorError for an invalid cursor.
        """
        return self.log.history(place_of(rights.key), limit, cursor)

    def follow(self, rights: ThreadRights) -> None:
        """Make the user follow the thread. If the thread is closed, the follow record expires after two weeks."""
        place = place_of(rights.key)
        was_closed = threads.is_closed(self.database, rights.key)
        self.followers.follow(place, rights.user_id, expires=was_closed)
        seq = self.log.last_seq(place)  # read before the status, so that it misses only later openings
        if threads.is_closed(self.database, rights.key):
            self.followers.let_expire(place, rights.user_id, seq)
        elif was_closed:
            self.followers.make_permanent(place, rights.user_id, seq)

    def notify(self, change: Inserted[Event]) -> None:
        """Notify the followers of a thread about a new message. Followers who may no longer read the thread are not
        notified.
        """
        message = change.new
        followers = self.followers.users_to_notify(message)
        if followers:
            key = ThreadKey(message.item_id, message.participant_id)
            for user_id in sorted(threads.readers_of(self.database, self.clock, key, followers)):
                self.followers.notify(user_id, message)

    # Entries of the outbox.

    def transfer_log(self) -> int:
        """Transfer pending event log entries from the outbox to the event log, and return the number of transferred
        entries.

        Raises UnfinishedError if some of the entries could not be transferred.
        """
        return drain(self.database, self.clock, self.write_entry).written

    def write_entry(self, entry: LogEntry) -> None:
        """Write an entry about the opening or closing of a thread to the event log, and update the follow records of
        the thread.

        Repeated calls change nothing.
        """
        draft = Draft(
            place_of(entry.thread), entry.key, EventType(entry.kind), at_ms=entry.at_ms, user_id=entry.user_id
        )
        event = self.log.append(draft).event
        people = people_of(self.database, entry.thread.participant_id) | {entry.user_id}
        self.followers.apply_status_change(event, sorted(people))


def place_of(key: ThreadKey) -> Place:
    """Convert a thread's key to a `Place`, which the event log uses to identify threads."""
    return Place(key.participant_id, key.item_id)


def _draft(place: Place, fact: Fact) -> Draft:
    return Draft(
        place,
        fact.event_id,
        fact.type,
        at_ms=fact.at_ms,
        attempt_id=fact.attempt_id,
        answer_id=fact.answer_id,
        score=fact.score,
        validated=fact.validated,
        score_improved=fact.score_improved,
    )
