"""What is known about the request under way: its id, and who sent it once that is proved."""

from __future__ import annotations

from contextvars import ContextVar, Token
from dataclasses import dataclass, field


@dataclass
class RequestNotes:
    """Notes on one request.

    One object for the whole request and not one variable per fact: threads and tasks started for the request
    copy the context, so they see this object, and what they add to it is seen by the log line at the end.
    """

    request_id: str
    user_id: str | None = None
    extra: dict[str, object] = field(default_factory=dict)


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


def begin_notes(notes: RequestNotes) -> Token[RequestNotes | None]:
    """Make these the notes of the request under way; hand the token to `end_notes`."""
    return _notes.set(notes)


def end_notes(token: Token[RequestNotes | None]) -> None:
    """Put back what was there before `begin_notes`."""
    _notes.reset(token)
