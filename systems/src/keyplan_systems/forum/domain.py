"""The forum's words: ids, levels of permission, a thread and its status, a wished change, and what can go wrong.

    ForumError
    +-- BadRequestError        the wish itself is malformed or contradicts the thread's state (HTTP 400)
    +-- NotAllowedError        the user may not do this (HTTP 403)
    |   +-- WrongThreadError   a valid thread token, but of another thread (HTTP 403)
    +-- BadTokenError          a thread token that is forged, expired or of another kind (HTTP 401)

A thread belongs to one item (a task) and one participant (a user or a team). A pair without a row was never
started; it can be opened but never be returned to that state.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Final

CLOSED_READABLE_MS: Final = 14 * 24 * 3600 * 1000
"""How long after closing a helper who validated the item may still read the thread, in milliseconds."""

MESSAGE_COUNT_MOST: Final = 2**31 - 1
"""The greatest message count that is stored: a 32-bit integer on every database."""

_ID = re.compile(r"[0-9]{1,19}")


class ForumError(Exception):
    """Whatever the forum refuses; the text says what to do."""

    status: int = 400


class BadRequestError(ForumError):
    """The wish is malformed, or contradicts the state of the thread."""


class NotAllowedError(ForumError):
    """The user may not do this."""

    status = 403


class WrongThreadError(NotAllowedError):
    """The token is good, but was issued for another thread."""


class BadTokenError(ForumError):
    """The token is forged, expired or of another kind."""

    status = 401


class Status(StrEnum):
    """The stored states of a thread. The two waiting states together are called open."""

    WAITING_FOR_PARTICIPANT = "waiting_for_participant"
    WAITING_FOR_TRAINER = "waiting_for_trainer"
    CLOSED = "closed"

    @property
    def is_open(self) -> bool:
        """Whether somebody is still expected to answer."""
        return self is not Status.CLOSED


NOT_STARTED: Final = "not_started"
"""What is told about a pair that has no row; never a stored state, so never one to return to."""


class View(IntEnum):
    """How much of an item a group sees."""

    NONE = 0
    INFO = 1
    CONTENT = 2
    CONTENT_WITH_DESCENDANTS = 3
    SOLUTION = 4


class GrantView(IntEnum):
    """How much of an item a group may show to others."""

    NONE = 0
    ENTER = 1
    CONTENT = 2
    CONTENT_WITH_DESCENDANTS = 3
    SOLUTION = 4
    SOLUTION_WITH_GRANT = 5


class Watch(IntEnum):
    """How much of others' work on an item a group may watch."""

    NONE = 0
    RESULT = 1
    ANSWER = 2
    ANSWER_WITH_GRANT = 3


class GroupKind(StrEnum):
    """What a group is. Users and teams can be participants; everybody is a member of the all-users group."""

    USER = "user"
    TEAM = "team"
    GROUP = "group"
    ALL_USERS = "all_users"


@dataclass(frozen=True, slots=True)
class ThreadKey:
    """The pair that names a thread."""

    item_id: str
    participant_id: str


@dataclass(frozen=True, slots=True)
class Thread:
    """A stored thread. Times are milliseconds since the Unix epoch; `revision` counts changes of status."""

    key: ThreadKey
    status: Status
    helper_group_id: str
    message_count: int
    latest_update_at_ms: int
    closed_at_ms: int | None
    revision: int


@dataclass(frozen=True, slots=True)
class ThreadUpdate:
    """What a caller wishes to change; None leaves a field as it is."""

    status: Status | None = None
    helper_group_id: str | None = None
    message_count: int | None = None
    message_count_increment: int | None = None

    @property
    def touches_more_than_status(self) -> bool:
        """Whether the asked group or the message count is part of the wish."""
        rest = (self.helper_group_id, self.message_count, self.message_count_increment)
        return any(field is not None for field in rest)


class LogKind(StrEnum):
    """The entries of the event log that follow from a thread's status."""

    THREAD_OPENED = "thread_opened"
    THREAD_CLOSED = "thread_closed"


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One line for the event log. `key` is the same however often the entry is written: write it once per key."""

    key: str
    kind: LogKind
    thread: ThreadKey
    user_id: str
    at_ms: int


def checked_id(value: str, name: str) -> str:
    """The id itself if it is 1 to 19 decimal digits, so that it can never hold a separator of a composed key.

    Raises `BadRequestError` otherwise.
    """
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise BadRequestError(f"{name} must be 1 to 19 decimal digits, not {value!r}")
    return value
