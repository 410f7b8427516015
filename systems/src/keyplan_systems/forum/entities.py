"""The DynamoDB entities of the forum: events, event numbers, WebSocket connections and their subscriptions, statuses,
processes, follows, and notifications.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field, StringConstraints

from keyplan import GSI, TTL, Bytes, Distinct, Entity, Table, Volume, key

MAX_CHARACTERS: Final = 8_000
"""Maximum number of characters of a message. Any message of this length fits into the maximum size of a WebSocket
message (128 KB).
"""

MAX_WATCHED: Final = 50
"""Maximum number of threads that a connection can watch. Because of this limit, a single transaction can delete a
connection and all its subscriptions.
"""

Id = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,19}$")]
"""ID of a user, team or item on the platform. It consists of digits, so it cannot contain a key separator."""

EventId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]{1,100}$")]
"""ID of an event, chosen by the sender. A sender that sends the event again uses the same ID."""

Milliseconds = Annotated[int, Field(ge=0, lt=10**13)]
"""Time in epoch milliseconds. Until the year 2286, it has at most thirteen digits."""


class EventType(StrEnum):
    """The types of events in a thread. GRADE_UPDATED is an addition to the published design that the forum
    implements.
    """

    THREAD_OPENED = "thread_opened"
    ATTEMPT_STARTED = "attempt_started"
    SUBMISSION = "submission"
    THREAD_CLOSED = "thread_closed"
    MESSAGE = "message"
    GRADE_UPDATED = "grade_updated"
    """A submission was graded, for the first time or again."""


@dataclass(frozen=True, slots=True)
class Place:
    """The IDs that identify a thread, in the order in which they occur in keys: participant, then item."""

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
    """An event in a thread. The event's key contains the time at which it occurred."""

    participant_id: Id
    item_id: Id
    at_ms: Milliseconds
    seq: int
    """Number of the event within its thread: 1, 2, 3, ... in the order of storage, without gaps."""
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
        """The IDs of the event's thread."""
        return Place(self.participant_id, self.item_id)


@forum.entity(
    key=key("THREADMARK#{participant_id}#{item_id}", "{event_id}"),
    volume=Volume(count=THREADS * SAMPLE, bytes=Bytes(180), distinct=_OF_A_THREAD),
)
class Mark(Entity):
    """An item that contains the key of a stored event. It prevents a second event with the same ID from
    being stored.
    """

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
    """An item that contains the number of a thread's newest event.

    Each write of an event also updates this item, on the condition that its version is unchanged. Therefore no two
    events of a thread have the same number.
    """

    participant_id: Id
    item_id: Id
    last_ms: Milliseconds
    """Latest time of all events in the thread. A new event without a time gets this time or the current time, whichever
    is later.
    """
    last_seq: int = 0


@forum.entity(
    key=key("THREADSUB#{participant_id}#{item_id}", "{connection_id}"),
    volume=Volume(count=2_000, bytes=Bytes(260), distinct=_OF_A_THREAD),
)
class Subscription(Entity):
    """A WebSocket connection's subscription to a thread."""

    participant_id: Id
    item_id: Id
    connection_id: str
    server_id: str | None = None
    """ID of the process to which the connection belongs. None in items that were stored before this
    attribute existed.
    """
    user_id: Id
    ttl: int
    """Time in epoch seconds at which the subscription expires."""

    @property
    def place(self) -> Place:
        """The IDs of the watched thread."""
        return Place(self.participant_id, self.item_id)


@forum.entity(
    key=key("THREADSTATUS#{participant_id}#{item_id}", "STATUS"),
    volume=Volume(count=THREADS, bytes=Bytes(140), distinct=_OF_A_THREAD),
)
class StatusCopy(Entity):
    """A copy of a thread's status in DynamoDB. The original status is stored in SQL. The table's stream reports changes
    to the copy to the watchers on all processes.
    """

    participant_id: Id
    item_id: Id
    status: str
    revision: int
    """Revision of the thread in SQL. A copy is never replaced by a copy with an earlier revision."""

    @property
    def place(self) -> Place:
        """The IDs of the thread whose status is copied."""
        return Place(self.participant_id, self.item_id)


@forum.entity(key=key("SERVERS", "{server_id}"), volume=Volume(count=4, bytes=Bytes(100)))
class Server(Entity):
    """The registration of a process that accepts WebSocket connections. After the registration expires, the connections
    of the process are treated as closed.
    """

    server_id: str
    ttl: int
    """Time in epoch seconds at which the registration expires, unless the process renews it."""


@forum.entity(
    key=key("CONN#{connection_id}", "CONN"),
    version="version",
    volume=Volume(
        count=2_000, bytes=Bytes(200, p99=2_500), distinct={"connection_id": 2_000}, present={"threads": 0.7}
    ),
)
class Connected(Entity):
    """An open WebSocket connection, with its watched threads in the format `participant#item`."""

    connection_id: str
    user_id: Id
    threads: Annotated[frozenset[str], Field(max_length=MAX_WATCHED)] = frozenset()
    version: int = 0
    ttl: int

    def places(self) -> list[Place]:
        """Return the IDs of the watched threads."""
        return [Place(*text.split("#")) for text in sorted(self.threads)]


@forum.entity(
    key=key("THREADFOLLOW#{participant_id}#{item_id}", "{user_id}"),
    volume=Volume(count=3 * THREADS, bytes=Bytes(160), distinct=_OF_A_THREAD, present={"ttl": 0.6}),
)
class Follow(Entity):
    """A record that a user follows a thread and is therefore notified about new messages."""

    participant_id: Id
    item_id: Id
    user_id: Id
    status_seq: int = 0
    """Number of the last event `thread_opened` or `thread_closed` that was applied to this record."""
    ttl: int | None = None
    """Time in epoch seconds at which the record expires. None while the thread is open."""

    @property
    def place(self) -> Place:
        """The IDs of the followed thread."""
        return Place(self.participant_id, self.item_id)


@forum.entity(
    key=key("NOTIF#{user_id}", "{at_ms:013d}#{event_id}"),
    volume=Volume(count=400_000, bytes=Bytes(420, p99=700), distinct={"user_id": Distinct(20_000, hottest=0.001)}),
)
class Notification(Entity):
    """A user's notification about a message in a followed thread."""

    user_id: Id
    at_ms: Milliseconds
    event_id: EventId
    participant_id: Id
    item_id: Id
    author_id: Id
    excerpt: Annotated[str, StringConstraints(max_length=200)]
    is_read: bool = False
    ttl: int
    """Time in epoch seconds at which the notification expires."""

    @property
    def place(self) -> Place:
        """The IDs of the message's thread."""
        return Place(self.participant_id, self.item_id)
