"""Vocabulary of the forum: IDs, permission levels, threads and their status, requested changes, and errors.

    ForumError
    +-- BadRequestError        a malformed request, or one that contradicts the thread's state (HTTP 400)
    +-- NotAllowedError        the user may not do this (HTTP 403)
    |   +-- WrongThreadError   a valid thread token, but of another thread (HTTP 403)
    +-- BadTokenError          a thread token that is forged, expired or of another kind (HTTP 401)

A thread belongs to one item (a task) and one participant (a user or a team). A pair without a row was never
started; it can be opened, but it can never return to that state.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Final

CLOSED_READABLE_MS: Final = 14 * 24 * 3600 * 1000
"""How long after closing a helper who validated the item may still read the thread, in milliseconds."""

MAX_MESSAGE_COUNT: Final = 2**31 - 1
"""Greatest stored message count: a 32-bit integer on every database."""

_ID = re.compile(r"[0-9]{1,19}")


class ForumError(Exception):
    """Refusal of a request; the text says what to do."""

    status: int = 400


class BadRequestError(ForumError):
    """Malformed request, or one that contradicts the state of the thread."""


class NotAllowedError(ForumError):
    """Request that the user has no permission for."""

    status = 403


class WrongThreadError(NotAllowedError):
    """Valid token that was issued for another thread."""


class BadTokenError(ForumError):
    """Token that is forged, expired or of another kind."""

    status = 401


class Status(StrEnum):
    """Stored states of a thread. The two waiting states together are called open."""

    WAITING_FOR_PARTICIPANT = "waiting_for_participant"
    WAITING_FOR_TRAINER = "waiting_for_trainer"
    CLOSED = "closed"

    @property
    def is_open(self) -> bool:
        """True if an answer is still expected."""
        return self is not Status.CLOSED


NOT_STARTED: Final = "not_started"
"""Reported status of a pair without a row; never stored, so a thread never returns to it."""


class View(IntEnum):
    """Access of a group to an item."""

    NONE = 0
    INFO = 1
    CONTENT = 2
    CONTENT_WITH_DESCENDANTS = 3
    SOLUTION = 4


class GrantView(IntEnum):
    """Access to an item that a group may grant to others."""

    NONE = 0
    ENTER = 1
    CONTENT = 2
    CONTENT_WITH_DESCENDANTS = 3
    SOLUTION = 4
    SOLUTION_WITH_GRANT = 5


class Watch(IntEnum):
    """Access of a group to others' work on an item."""

    NONE = 0
    RESULT = 1
    ANSWER = 2
    ANSWER_WITH_GRANT = 3


class GroupKind(StrEnum):
    """Kind of a group. Users and teams can be participants; everybody is a member of the all-users group."""

    USER = "user"
    TEAM = "team"
    GROUP = "group"
    ALL_USERS = "all_users"


@dataclass(frozen=True, slots=True)
class ThreadKey:
    """Pair that identifies a thread."""

    item_id: str
    participant_id: str


@dataclass(frozen=True, slots=True)
class Thread:
    """Stored thread. Times are milliseconds since the Unix epoch; `revision` counts changes of status."""

    key: ThreadKey
    status: Status
    helper_group_id: str
    message_count: int
    latest_update_at_ms: int
    closed_at_ms: int | None
    revision: int


@dataclass(frozen=True, slots=True)
class ThreadUpdate:
    """Requested change of a thread; None leaves a field unchanged."""

    status: Status | None = None
    helper_group_id: str | None = None
    message_count: int | None = None
    message_count_increment: int | None = None

    @property
    def touches_more_than_status(self) -> bool:
        """True if the request contains the asked group or the message count."""
        rest = (self.helper_group_id, self.message_count, self.message_count_increment)
        return any(field is not None for field in rest)


class LogKind(StrEnum):
    """Kinds of event-log entries that result from a thread's status."""

    THREAD_OPENED = "thread_opened"
    THREAD_CLOSED = "thread_closed"


@dataclass(frozen=True, slots=True)
class LogEntry:
    """Entry for the event log. `key` is the same however often the entry is written: write it once per key."""

    key: str
    kind: LogKind
    thread: ThreadKey
    user_id: str
    at_ms: int


def checked_id(value: str, name: str) -> str:
    """Return the ID if it has 1 to 19 decimal digits, so that it cannot contain a separator of a composed key.

    Raises `BadRequestError` otherwise.
    """
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise BadRequestError(f"{name} must be 1 to 19 decimal digits, not {value!r}")
    return value
