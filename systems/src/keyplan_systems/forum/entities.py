"""The DynamoDB entities of the forum: events, marks, heads, watchers, statuses, servers, follows, notifications."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field, StringConstraints

from keyplan import GSI, TTL, Bytes, Distinct, Entity, Table, Volume, key

MAX_CHARACTERS: Final = 8_000
"""Maximum number of characters of a message. Whatever the characters are, it fits into a websocket message of 128
KB."""

MAX_WATCHED: Final = 50
"""Maximum number of threads per connection, because one transaction deletes all items of a connection."""

Id = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,19}$")]
"""ID on the platform. It consists of digits, so that it never contains the separator of a key."""

EventId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]{1,100}$")]
"""ID of an event that its sender chooses. A repeated event has the same ID."""

Milliseconds = Annotated[int, Field(ge=0, lt=10**13)]
"""Timestamp in milliseconds since the Unix epoch: thirteen digits, until the year 2286."""


class EventType(StrEnum):
    """The kinds of events in a thread. The published design defines the first five."""

    THREAD_OPENED = "thread_opened"
    ATTEMPT_STARTED = "attempt_started"
    SUBMISSION = "submission"
    THREAD_CLOSED = "thread_closed"
    MESSAGE = "message"
    GRADE_UPDATED = "grade_updated"
    """A submission was graded, or graded again."""


@dataclass(frozen=True, slots=True)
class Place:
    """The IDs of a thread as keys contain them, with the participant first."""

    participant_id: str
    item_id: str


THREADS, SAMPLE = 60_000, 24
"""Average number of threads, and of events per thread."""

forum = Table(
    "forum",
    pk="PK",
    sk="time",
    ttl=TTL("ttl", means="old subscriptions, follows of closed threads and old notifications are removed"),
    stream="NEW_AND_OLD_IMAGES",
    indexes=[GSI("arrivals", pk=("participant_id", "item_id"), sk="seq")],
    point_in_time_recovery=True,
    deletion_protection=True,
)

_PARTICIPANTS, _ITEMS = Distinct(20_000, hottest=0.001), Distinct(500, hottest=0.02)
_OF_A_THREAD = {"participant_id": _PARTICIPANTS, "item_id": _ITEMS}


@forum.entity(
    key=key("THREADEV#{participant_id}#{item_id}", "{at_ms:013d}#{seq:010d}"),
    volume=Volume(
        count=THREADS * SAMPLE,
        bytes=Bytes(600, p99=9_000),
        distinct={
            **_OF_A_THREAD,
            "type": {
                EventType.MESSAGE: 0.5,
                EventType.SUBMISSION: 0.25,
                EventType.ATTEMPT_STARTED: 0.1,
                EventType.GRADE_UPDATED: 0.05,
                EventType.THREAD_OPENED: 0.05,
                EventType.THREAD_CLOSED: 0.05,
            },
        },
    ),
)
class Event(Entity):
    """An event in a thread. Its key contains its time, and `seq` is its number in the order of storage."""

    participant_id: Id
    item_id: Id
    at_ms: Milliseconds
    seq: int
    """Position 1, 2, 3, ... in the order of storage, without a gap; breaks ties of `at_ms`."""
    event_id: EventId
    type: EventType
    user_id: Id | None = None
    attempt_id: Id | None = None
    answer_id: Id | None = None
    score: Annotated[float, Field(ge=0, le=100)] | None = None
    validated: bool | None = None
    score_improved: bool | None = None
    content: Annotated[str, StringConstraints(min_length=1, max_length=MAX_CHARACTERS)] | None = None

    @property
    def place(self) -> Place:
        """The thread of the event."""
        return Place(self.participant_id, self.item_id)


@forum.entity(
    key=key("THREADMARK#{participant_id}#{item_id}", "{event_id}"),
    volume=Volume(count=THREADS * SAMPLE, bytes=Bytes(180), distinct=_OF_A_THREAD),
)
class Mark(Entity):
    """A record of the key under which an event is stored, so that repeated events are not stored again."""

    participant_id: Id
    item_id: Id
    event_id: EventId
    at_ms: Milliseconds
    event_seq: int


@forum.entity(
    key=key("THREADHEAD#{participant_id}#{item_id}", "HEAD"),
    version="last_seq",
    volume=Volume(count=THREADS, bytes=Bytes(160), distinct=_OF_A_THREAD),
)
class Head(Entity):
    """The newest position of a thread.

    Every event writes it on condition of the version that was read, so events never share a seq.
    """

    participant_id: Id
    item_id: Id
    last_ms: Milliseconds
    """Latest time of an event; a new event is never earlier."""
    last_seq: int = 0


@forum.entity(
    key=key("THREADSUB#{participant_id}#{item_id}", "{connection_id}"),
    volume=Volume(count=2_000, bytes=Bytes(260), distinct=_OF_A_THREAD),
)
class Subscription(Entity):
    """The subscription of a connection to a thread."""

    participant_id: Id
    item_id: Id
    connection_id: str
    server_id: str | None = None
    """ID of the process with the connection. None in items that were stored before this attribute existed."""
    user_id: Id
    ttl: int
    """Seconds since 1970."""

    @property
    def place(self) -> Place:
        """The watched thread."""
        return Place(self.participant_id, self.item_id)


@forum.entity(
    key=key("THREADSTATUS#{participant_id}#{item_id}", "STATUS"),
    volume=Volume(count=THREADS, bytes=Bytes(140), distinct=_OF_A_THREAD),
)
class StatusCopy(Entity):
    """A copy of a thread's status in SQL, whose changes reach the watchers of all processes."""

    participant_id: Id
    item_id: Id
    status: str
    revision: int
    """Revision of the thread in SQL; the copy never returns to an earlier one."""

    @property
    def place(self) -> Place:
        """The thread of the status."""
        return Place(self.participant_id, self.item_id)


@forum.entity(key=key("SERVERS", "{server_id}"), volume=Volume(count=4, bytes=Bytes(100)))
class Server(Entity):
    """A process with connections. It renews its item, and connections of an expired process count as closed."""

    server_id: str
    ttl: int
    """Seconds since 1970."""


@forum.entity(
    key=key("CONN#{connection_id}", "CONN"),
    version="version",
    volume=Volume(
        count=2_000, bytes=Bytes(200, p99=2_500), distinct={"connection_id": 2_000}, present={"threads": 0.7}
    ),
)
class Connected(Entity):
    """An open websocket, with its watched threads as `participant#item`."""

    connection_id: str
    user_id: Id
    threads: Annotated[frozenset[str], Field(max_length=MAX_WATCHED)] = frozenset()
    version: int = 0
    ttl: int

    def places(self) -> list[Place]:
        """Return the watched threads."""
        return [Place(*text.split("#")) for text in sorted(self.threads)]


@forum.entity(
    key=key("THREADFOLLOW#{participant_id}#{item_id}", "{user_id}"),
    volume=Volume(count=3 * THREADS, bytes=Bytes(160), distinct=_OF_A_THREAD, present={"ttl": 0.6}),
)
class Follow(Entity):
    """The request of a user for notifications of new messages."""

    participant_id: Id
    item_id: Id
    user_id: Id
    status_seq: int = 0
    """Sequence number of the last opening or closing that was applied."""
    ttl: int | None = None
    """Expiry in seconds since 1970; None while the thread is open."""

    @property
    def place(self) -> Place:
        """The followed thread."""
        return Place(self.participant_id, self.item_id)


@forum.entity(
    key=key("NOTIF#{user_id}", "{at_ms:013d}#{event_id}"),
    volume=Volume(count=400_000, bytes=Bytes(420, p99=700), distinct={"user_id": Distinct(20_000, hottest=0.001)}),
)
class Notification(Entity):
    """A notification of a message in a thread that the user follows."""

    user_id: Id
    at_ms: Milliseconds
    event_id: EventId
    participant_id: Id
    item_id: Id
    author_id: Id
    excerpt: Annotated[str, StringConstraints(max_length=200)]
    is_read: bool = False
    ttl: int
    """Seconds since 1970."""

    @property
    def place(self) -> Place:
        """The thread of the message."""
        return Place(self.participant_id, self.item_id)
