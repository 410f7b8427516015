"""Information about the current request, such as its ID, its authenticated user, and the number of omitted items."""

from __future__ import annotations

import logging
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from typing import Any

_log = logging.getLogger(__name__)


@dataclass
class RequestContext:
    """Information about one request.

    Threads and tasks that are started for a request copy its context variables and therefore share this object. The log
    line at the end of the request contains all values that they add to it.
    """

    request_id: str
    user_id: str | None = None
    extra: dict[str, object] = field(default_factory=dict)
    unreadable: int = 0
    """Number of items that were omitted from the response because they cannot be read."""


_context: ContextVar[RequestContext | None] = ContextVar("keyplan_request_context", default=None)


def current_context() -> RequestContext | None:
    """Return the information about the current request, or None outside of a request."""
    return _context.get()


def current_request_id() -> str | None:
    """Return the ID of the current request, or None outside of a request."""
    context = _context.get()
    return None if context is None else context.request_id


def set_user(user_id: str) -> None:
    """Set the user of the current request, for its log line. Does nothing outside of a request."""
    context = _context.get()
    if context is not None:
        context.user_id = user_id


def add_log_field(name: str, value: object) -> None:
    """Add a field to the log line of the current request. Does nothing outside of a request."""
    context = _context.get()
    if context is not None:
        context.extra[name] = value


def omit_unreadable(error: Exception) -> None:
    """Log and count an unreadable item. Pass this function as the parameter `unreadable` of a read that should omit
    such items.

    The number of omitted items is returned in the response header X-Unreadable-Items. With `with_unreadable`, it is
    also returned in the body.
    """
    _log.error("cannot read an item; omitting it from the list", exc_info=error)
    context = _context.get()
    if context is not None:
        context.unreadable += 1


def with_unreadable(body: dict[str, Any]) -> dict[str, Any]:
    """Return the body of a list response. If unreadable items were omitted from the list, the returned body contains
    their number as `unreadable`.
    """
    context = _context.get()
    return body if context is None or not context.unreadable else {**body, "unreadable": context.unreadable}


def enter_context(context: RequestContext) -> Token[RequestContext | None]:
    """Set `context` as the information about the current request. Pass the returned token to `leave_context`."""
    return _context.set(context)


def leave_context(token: Token[RequestContext | None]) -> None:
    """Restore the information that was current before the call to `enter_context` that returned the token."""
    _context.reset(token)
