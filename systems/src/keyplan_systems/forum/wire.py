"""Functions that convert events and notifications to JSON objects for HTTP responses and WebSocket messages."""

from __future__ import annotations

from typing import Any, Final

from keyplan_systems.forum.entities import Event, EventType, Notification, Place, StatusCopy
from keyplan_systems.forum.followers import notification_id

ACTIONS: Final = {
    EventType.THREAD_OPENED: "forum.thread.opened",
    EventType.ATTEMPT_STARTED: "forum.attempt.started",
    EventType.SUBMISSION: "forum.submission.new",
    EventType.THREAD_CLOSED: "forum.thread.closed",
    EventType.MESSAGE: "forum.message.new",
    EventType.GRADE_UPDATED: "forum.grade.update",
}

_OPTIONAL: Final = ("attempt_id", "answer_id", "score", "validated", "score_improved")


def event_body(event: Event) -> dict[str, Any]:
    """Return an event as a JSON object for an HTTP response. Fields that are None are omitted."""
    body: dict[str, Any] = {
        "type": str(event.type),
        "participant_id": event.participant_id,
        "item_id": event.item_id,
        "seq": event.seq,
        "time": event.at_ms,
    }
    if event.user_id is not None:
        body["author_id" if event.type is EventType.MESSAGE else "user_id"] = event.user_id
    if event.type is EventType.MESSAGE:
        body |= {"text": event.content, "uuid": event.event_id.removeprefix("message-")}
    values = {name: getattr(event, name) for name in _OPTIONAL}
    return body | {name: value for name, value in values.items() if value is not None}


def event_action(event: Event) -> dict[str, Any]:
    """Return the WebSocket message that reports an event to the watchers of its thread."""
    return {"action": ACTIONS[event.type], **event_body(event)}


def notification_body(notification: Notification) -> dict[str, Any]:
    """Return a notification as a JSON object for an HTTP response."""
    return {
        "id": notification_id(notification),
        "participant_id": notification.participant_id,
        "item_id": notification.item_id,
        "author_id": notification.author_id,
        "time": notification.at_ms,
        "excerpt": notification.excerpt,
        "is_read": notification.is_read,
    }


def notification_action(notification: Notification) -> dict[str, Any]:
    """Return the WebSocket message that reports a notification to its user."""
    return {"action": "forum.notification.new", **notification_body(notification)}


def status_action(copy: StatusCopy) -> dict[str, Any]:
    """Return the WebSocket message that reports a thread's new status."""
    return {
        "action": "forum.status.changed",
        "participant_id": copy.participant_id,
        "item_id": copy.item_id,
        "status": copy.status,
        "revision": copy.revision,
    }


def watchers_action(place: Place) -> dict[str, Any]:
    """Return the WebSocket message that reports that a thread's watchers have changed. It does not contain
    their names.
    """
    return {"action": "forum.watchers.changed", "participant_id": place.participant_id, "item_id": place.item_id}
