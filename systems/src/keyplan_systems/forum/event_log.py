"""The event log of all threads. Each event is stored once and gets a number within its thread, without gaps. Events can
be read by number or by time.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Final

from keyplan import Page
from keyplan.client.connection import Connection
from keyplan.client.errors import AlreadyExistsError, RunError, TransactionFailedError, WriteConflictError
from keyplan.client.requests import Retries
from keyplan.clock import Clock
from keyplan_systems.forum import design
from keyplan_systems.forum.domain import BadRequestError
from keyplan_systems.forum.entities import Event, EventType, Head, Mark, Place
from keyplan_systems.forum.relational.threads import now_ms
from keyplan_systems.web.request_context import omit_unreadable

AHEAD_MS: Final = 60_000
"""Maximum number of milliseconds by which the time of an event may be later than the current time."""

_RETRIES: Final = Retries(attempts=40, first_s=0.005, most_s=0.25)
_LOCK_COUNT: Final = 64


@dataclass(frozen=True, slots=True)
class Draft:
    """A new event that has not been stored, so it does not have a number yet.

    An event whose `event_id` is already stored in the thread is not stored again. `at_ms` is the time at which the
    event occurred, or None for the current time.
    """

    place: Place
    event_id: str
    type: EventType
    at_ms: int | None = None
    user_id: str | None = None
    attempt_id: str | None = None
    answer_id: str | None = None
    score: float | None = None
    validated: bool | None = None
    score_improved: bool | None = None
    content: str | None = None


@dataclass(frozen=True, slots=True)
class AppendResult:
    """A stored event. `is_new` is True if the call to `append` stored the event, and False if it was already stored."""

    event: Event
    is_new: bool


class EventLog:
    """Stores and reads the events of all threads. Several threads and processes can use it concurrently."""

    def __init__(self, db: Connection, clock: Clock) -> None:
        self._db, self._clock = db, clock
        # Writers to the same thread in this process take turns, so that they do not conflict. Between processes, the
        # condition on the version of the head ensures that only one of them succeeds.
        self._locks = tuple(threading.Lock() for _ in range(_LOCK_COUNT))

    def append(self, draft: Draft) -> AppendResult:
        """Store an event as the next event of its thread. If the thread already contains an event with the same ID,
        return the stored event.

        An event without a time gets the current time or the latest time in the thread, whichever is later. Raises
        BadRequestError if the event's time is in the future, and RunError if the database fails.
        """
        self.check_time(draft)
        with self._locks[hash(draft.place) % _LOCK_COUNT]:
            for attempt in range(1, _RETRIES.attempts):
                appended = self._try_append(draft)
                if appended is not None:
                    return appended
                self._clock.wait(threading.Event(), _RETRIES.wait_s(attempt, self._clock))
            appended = self._try_append(draft)
        if appended is None:
            raise WriteConflictError(f"too many concurrent writes to the thread of event {draft.event_id}")
        return appended

    def check_time(self, draft: Draft) -> None:
        """Raise BadRequestError if the event's time is more than AHEAD_MS in the future."""
        if draft.at_ms is not None and draft.at_ms > now_ms(self._clock) + AHEAD_MS:
            raise BadRequestError("an event in the future cannot be stored")

    def last_seq(self, place: Place) -> int:
        """Return the number of a thread's newest event, or 0 if the thread has no events."""
        head = self._db.run(design.head_of(place))
        return 0 if head is None else head.last_seq

    def events_after(self, place: Place, seq: int, limit: int = 100) -> list[Event]:
        """Return up to `limit` events after number `seq`, in the order of storage. Unreadable events are omitted.

        The events are read from an index that is eventually consistent, so the newest events may be missing. If they
        are, call the method again.
        """
        events: list[Event] = []
        unreadable: list[RunError] = []
        page = self._db.run(design.events_since(place, seq), limit=limit, unreadable=unreadable.append)
        last = seq
        for event in page:
            missing = event.seq - last - 1
            if missing > len(unreadable):
                break
            for _ in range(missing):
                omit_unreadable(unreadable.pop(0))
            events.append(event)
            last = event.seq
        return events

    def history(self, place: Place, limit: int, cursor: str | None) -> Page[Event]:
        """Return a page of a thread's events, sorted by the time at which they occurred, newest first.

        Raises CursorError for an invalid cursor.
        """
        return self._db.run(design.history(place), limit=limit, cursor=cursor, unreadable=omit_unreadable)

    def messages(self, place: Place, limit: int, cursor: str | None) -> Page[Event]:
        """Return a page of a thread's messages, newest first. Raises CursorError for an invalid cursor."""
        return self._db.run(design.messages(place), limit=limit, cursor=cursor, unreadable=omit_unreadable)

    def _try_append(self, draft: Draft) -> AppendResult | None:
        """Try once to store the event. If the thread already contains an event with the same ID, return the stored
        event. Return None if a concurrent request has stored another event in the thread.
        """
        head = self._db.run(design.head_of(draft.place))
        event = self._next_event(draft, head)
        place = {"participant_id": event.participant_id, "item_id": event.item_id}
        mark = Mark(**place, event_id=event.event_id, at_ms=event.at_ms, event_seq=event.seq)
        last_ms = event.at_ms if head is None else max(head.last_ms, event.at_ms)
        new_head = Head(**place, last_ms=last_ms, last_seq=0 if head is None else head.last_seq)
        store = design.store_first_event if head is None else design.store_event
        try:
            self._db.run(store(new_head, mark, event))
        except TransactionFailedError as error:
            return self._resolve_conflict(draft, error)
        return AppendResult(event, is_new=True)

    def _resolve_conflict(self, draft: Draft, error: TransactionFailedError) -> AppendResult | None:
        head, mark, event = error.reasons
        if isinstance(mark, AlreadyExistsError):
            return AppendResult(self._stored_event(draft), is_new=False)
        if head is None and event is None:
            raise error
        return None

    def _stored_event(self, draft: Draft) -> Event:
        mark = self._db.run(design.mark_of(draft.place, draft.event_id))
        event = None if mark is None else self._db.run(design.event_at(draft.place, mark.at_ms, mark.event_seq))
        if event is None:
            raise RunError(f"event {draft.event_id} is missing, although it is marked as stored")
        return event

    def _next_event(self, draft: Draft, head: Head | None) -> Event:
        last_ms, last_seq = (0, 0) if head is None else (head.last_ms, head.last_seq)
        at_ms = max(now_ms(self._clock), last_ms) if draft.at_ms is None else draft.at_ms
        return Event(
            participant_id=draft.place.participant_id,
            item_id=draft.place.item_id,
            at_ms=at_ms,
            seq=last_seq + 1,
            event_id=draft.event_id,
            type=draft.type,
            user_id=draft.user_id,
            attempt_id=draft.attempt_id,
            answer_id=draft.answer_id,
            score=draft.score,
            validated=draft.validated,
            score_improved=draft.score_improved,
            content=draft.content,
        )
