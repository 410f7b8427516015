"""Basic types of the forum: IDs, permission levels, threads and their status, changes, and errors.

    ForumError
    +-- BadRequestError        the request is malformed or contradicts the thread's state (HTTP 400)
    +-- NotAllowedError        the user may not do this (HTTP 403)
    |   +-- WrongThreadError   the thread token is valid for another thread (HTTP 403)
    +-- BadTokenError          the thread token is forged, expired or of another kind (HTTP 401)

A thread belongs to one item (a task) and one participant (a user or a team). If a pair has no row, its thread was never
started. Once it was opened, it can never return to that state.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Final

CLOSED_READABLE_MS: Final = 14 * 24 * 3600 * 1000
"""Time after the closing of a thread in which helpers who validated the item may still read it, in milliseconds."""

MAX_MESSAGE_COUNT: Final = 2**31 - 1
"""Greatest message count that is stored. It fits into a 32-bit integer column."""

_ID = re.compile(r"[0-9]{1,19}")


class ForumError(Exception):
    """Base class of errors for rejected requests. The message describes what to do."""

    status: int = 400


class BadRequestError(ForumError):
    """Raised if a request is malformed or contradicts the state of the thread."""


class NotAllowedError(ForumError):
    """Raised if the user has no permission for a request."""

    status = 403


class WrongThreadError(NotAllowedError):
    """Raised if a valid token was issued for another thread."""


class BadTokenError(ForumError):
    """Raised if a token is forged, expired or of another kind."""

    status = 401


class Status(StrEnum):
    """The stored states of a thread. The two waiting states are both called open."""

    WAITING_FOR_PARTICIPANT = "waiting_for_participant"
    WAITING_FOR_TRAINER = "waiting_for_trainer"
    CLOSED = "closed"

    @property
    def is_open(self) -> bool:
        """Whether a response is still expected."""
        return self is not Status.CLOSED


NOT_STARTED: Final = "not_started"
"""Status that is returned for a pair without a row. It is never stored, so a thread never returns to it."""


class View(IntEnum):
    """The access of a group to an item."""

    NONE = 0
    INFO = 1
    CONTENT = 2
    CONTENT_WITH_DESCENDANTS = 3
    SOLUTION = 4


class GrantView(IntEnum):
    """The access to an item that a group may grant to others."""

    NONE = 0
    ENTER = 1
    CONTENT = 2
    CONTENT_WITH_DESCENDANTS = 3
    SOLUTION = 4
    SOLUTION_WITH_GRANT = 5


class Watch(IntEnum):
    """The access of a group to other users' work on an item."""

    NONE = 0
    RESULT = 1
    ANSWER = 2
    ANSWER_WITH_GRANT = 3


class GroupKind(StrEnum):
    """The kind of a group. Users and teams can be participants, and everyone is a member of the all-users group."""

    USER = "user"
    TEAM = "team"
    GROUP = "group"
    ALL_USERS = "all_users"


@dataclass(frozen=True, slots=True)
class ThreadKey:
    """The pair that identifies a thread."""

    item_id: str
    participant_id: str


@dataclass(frozen=True, slots=True)
class Thread:
    """A stored thread. Times are in milliseconds since the Unix epoch, and `revision` counts status changes."""

    key: ThreadKey
    status: Status
    helper_group_id: str
    message_count: int
    latest_update_at_ms: int
    closed_at_ms: int | None
    revision: int


@dataclass(frozen=True, slots=True)
class ThreadUpdate:
    """A requested change of a thread. None leaves a field unchanged."""

    status: Status | None = None
    helper_group_id: str | None = None
    message_count: int | None = None
    message_count_increment: int | None = None

    @property
    def touches_more_than_status(self) -> bool:
        """Whether the request contains the helper group or the message count."""
        rest = (self.helper_group_id, self.message_count, self.message_count_increment)
        return any(field is not None for field in rest)


class LogKind(StrEnum):
    """The kinds of event log entries that result from status changes of a thread."""

    THREAD_OPENED = "thread_opened"
    THREAD_CLOSED = "thread_closed"


@dataclass(frozen=True, slots=True)
class LogEntry:
    """An entry for the event log. `key` is the same in every attempt, and each key is written once."""

    key: str
    kind: LogKind
    thread: ThreadKey
    user_id: str
    at_ms: int


def checked_id(value: str, name: str) -> str:
    """Return the ID if it has 1 to 19 decimal digits, so that it cannot contain a key separator.

    Raises `BadRequestError` otherwise.
    """
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise BadRequestError(f"{name} must be 1 to 19 decimal digits, not {value!r}")
    return value
