"""The basic types of the forum: IDs, permission levels, threads, thread statuses, requested changes, and exceptions.

    ForumError
    +-- BadRequestError        the request is malformed or contradicts the thread's state (HTTP 400)
    +-- NotAllowedError        the user may not do this (HTTP 403)
    |   +-- WrongThreadError   the thread token is valid for another thread (HTTP 403)
    +-- BadTokenError          the thread token is forged, expired or of another kind (HTTP 401)

A thread belongs to one item (a task) and one participant (a user or a team). If the pair has no row in SQL, its thread
has not been started. A thread that was opened cannot return to this state.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Final

CLOSED_READABLE_MS: Final = 14 * 24 * 3600 * 1000
"""Time in milliseconds after which a closed thread can no longer be read by helpers who have a validated result on the
item.
"""

MAX_MESSAGE_COUNT: Final = 2**31 - 1
"""Maximum message count of a thread, which is the maximum value of a 32-bit integer column."""

_ID = re.compile(r"[0-9]{1,19}")


class ForumError(Exception):
    """Base class of the exceptions for rejected requests. The message describes how to correct the request."""

    status: int = 400


class BadRequestError(ForumError):
    """Raised if a request is malformed or contradicts the state of the thread."""


class NotAllowedError(ForumError):
    """Raised if the user does not have the permission that a request requires."""

    status = 403


class WrongThreadError(NotAllowedError):
    """Raised if a thread token is valid but was issued for a different thread."""


class BadTokenError(ForumError):
    """Raised if a thread token is forged, expired, or not a thread token."""

    status = 401


class Status(StrEnum):
    """The stored status of a thread. A thread with one of the two waiting statuses is open."""

    WAITING_FOR_PARTICIPANT = "waiting_for_participant"
    WAITING_FOR_TRAINER = "waiting_for_trainer"
    CLOSED = "closed"

    @property
    def is_open(self) -> bool:
        """Whether a thread with this status is open, which means that the participant or the helpers are expected to
        respond.
        """
        return self is not Status.CLOSED


NOT_STARTED: Final = "not_started"
"""Status that is returned for a thread without a row in SQL. This status is never stored, because a thread that has
been started cannot return to it.
"""


class View(IntEnum):
    """The levels of a group's permission to view an item."""

    NONE = 0
    INFO = 1
    CONTENT = 2
    CONTENT_WITH_DESCENDANTS = 3
    SOLUTION = 4


class GrantView(IntEnum):
    """The levels of a group's permission to grant others the permission to view an item."""

    NONE = 0
    ENTER = 1
    CONTENT = 2
    CONTENT_WITH_DESCENDANTS = 3
    SOLUTION = 4
    SOLUTION_WITH_GRANT = 5


class Watch(IntEnum):
    """The levels of a group's permission to view other users' work on an item."""

    NONE = 0
    RESULT = 1
    ANSWER = 2
    ANSWER_WITH_GRANT = 3


class GroupKind(StrEnum):
    """The kind of a group. Users and teams are also groups and can be participants. Every user belongs to the group of
    all users.
    """

    USER = "user"
    TEAM = "team"
    GROUP = "group"
    ALL_USERS = "all_users"


@dataclass(frozen=True, slots=True)
class ThreadKey:
    """The key of a thread, which consists of the IDs of the item and the participant."""

    item_id: str
    participant_id: str


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread as stored in SQL. Times are in epoch milliseconds, and `revision` counts status changes."""

    key: ThreadKey
    status: Status
    helper_group_id: str
    message_count: int
    latest_update_at_ms: int
    closed_at_ms: int | None
    revision: int


@dataclass(frozen=True, slots=True)
class ThreadUpdate:
    """A requested change to a thread. Fields with the value None stay unchanged."""

    status: Status | None = None
    helper_group_id: str | None = None
    message_count: int | None = None
    message_count_increment: int | None = None

    @property
    def touches_more_than_status(self) -> bool:
        """Whether the request changes fields other than the status: the helper group or the message count."""
        fields = (self.helper_group_id, self.message_count, self.message_count_increment)
        return any(field is not None for field in fields)


class LogKind(StrEnum):
    """The kind of an event log entry for a status change: a thread was opened or closed."""

    THREAD_OPENED = "thread_opened"
    THREAD_CLOSED = "thread_closed"


@dataclass(frozen=True, slots=True)
class LogEntry:
    """An entry to write to the event log. `key` identifies the entry, so that repeated writes store it only once."""

    key: str
    kind: LogKind
    thread: ThreadKey
    user_id: str
    at_ms: int


def checked_id(value: str, name: str) -> str:
    """Return `value` if it is an ID of 1 to 19 decimal digits. Such an ID cannot contain a key separator.

    Raises BadRequestError for any other value. `name` identifies the value in the error message.
    """
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise BadRequestError(f"{name} must be 1 to 19 decimal digits, not {value!r}")
    return value
