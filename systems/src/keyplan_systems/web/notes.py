"""Notes on the request under way: its id, who sent it once that is proved, and what its answer leaves out."""

from __future__ import annotations

import logging
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from typing import Any

_log = logging.getLogger(__name__)


@dataclass
class RequestNotes:
    """Notes on one request.

    One object for the whole request and not one variable per fact: threads and tasks started for the request
    copy the context, so they see this object, and what they add to it is seen by the log line at the end.
    """

    request_id: str
    user_id: str | None = None
    extra: dict[str, object] = field(default_factory=dict)
    unreadable: int = 0
    """How many items the answer leaves out because they cannot be read."""


_notes: ContextVar[RequestNotes | None] = ContextVar("keyplan_request_notes", default=None)


def current_notes() -> RequestNotes | None:
    """The notes on the request under way, or None outside of any."""
    return _notes.get()


def current_request_id() -> str | None:
    """The id of the request under way, or None outside of any."""
    notes = _notes.get()
    return None if notes is None else notes.request_id


def note_user(user_id: str) -> None:
    """Remember for the log who sent the request; nothing to do outside of one."""
    notes = _notes.get()
    if notes is not None:
        notes.user_id = user_id


def note(name: str, value: object) -> None:
    """Add a field to the request's log line; nothing to do outside of a request."""
    notes = _notes.get()
    if notes is not None:
        notes.extra[name] = value


def leave_out(error: Exception) -> None:
    """Log an item that cannot be read, and count it: pass this as `unreadable` where a list is answered without it.

    The answer says so: in the header X-Unreadable-Items, and with `with_unreadable` in its body.
    """
    _log.error("an item cannot be read and is left out", exc_info=error)
    notes = _notes.get()
    if notes is not None:
        notes.unreadable += 1


def with_unreadable(body: dict[str, Any]) -> dict[str, Any]:
    """Return the body of a list, with how many items it leaves out as `unreadable` if it does."""
    notes = _notes.get()
    return body if notes is None or not notes.unreadable else {**body, "unreadable": notes.unreadable}


def begin_notes(notes: RequestNotes) -> Token[RequestNotes | None]:
    """Make these the notes of the request under way; hand the token to `end_notes`."""
    return _notes.set(notes)


def end_notes(token: Token[RequestNotes | None]) -> None:
    """Put back what was there before `begin_notes`."""
    _notes.reset(token)
