"""The HTTP routes of the forum. They parse requests, call the service, and build responses."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, FastAPI, Query, Request, Response
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as NoConnectionError

from keyplan.client.errors import CursorError, ThrottledError, UnavailableError, WriteConflictError
from keyplan.clock import Clock
from keyplan_systems.forum.bodies import FactsBody, Grant, NewMessage, ReadStatus, ThreadChange
from keyplan_systems.forum.domain import BadRequestError, ForumError, NotAllowedError, Thread, ThreadKey, checked_id
from keyplan_systems.forum.relational.lists import DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, ListedThread, ThreadPosition
from keyplan_systems.forum.relational.threads import thread_key
from keyplan_systems.forum.service import Service, place_of
from keyplan_systems.forum.tokens import ThreadRights
from keyplan_systems.forum.wire import event_body, notification_body
from keyplan_systems.web.application import add_routes, api_router, web_application
from keyplan_systems.web.authentication import Caller, admit, require_role, unauthorized
from keyplan_systems.web.health import Check
from keyplan_systems.web.problems import Problem, ProblemStyle
from keyplan_systems.web.request_context import with_unreadable
from keyplan_systems.web.tokens import Principal, TokenVerifier

PLATFORM: Final = "platform"
"""Role of the learning platform's backend, which reports attempts, submissions and grades."""

MESSAGES_DEFAULT, MESSAGES_MAX = 10, 20
MAX_SEQ: Final = 10**10 - 1
"""Maximum sequence number of an event. In keys, sequence numbers are padded with zeros to ten digits."""
NextCursor = Annotated[str | None, Query(alias="next", description="Cursor from the previous page.")]
PageLimit = Annotated[int, Query(ge=1, le=MAX_PAGE_SIZE, description="Maximum number of entries.")]

router = api_router()
_bearer = HTTPBearer(auto_error=False, scheme_name="ThreadToken", description="The token for one thread.")


def service_of(request: Request) -> Service:
    """Return the forum's service, which is stored in the state of the application that received the request."""
    service = request.app.state.service
    assert isinstance(service, Service), "the application sets it"
    return service


ServiceDependency = Annotated[Service, Depends(service_of)]


def user_of(caller: Principal) -> str:
    """Return the caller's user ID on the platform. Raises NotAllowedError if the token's subject is not a user ID."""
    try:
        return checked_id(caller.subject, "the token's subject")
    except BadRequestError as error:
        raise NotAllowedError(str(error)) from error


def rights_of(
    request: Request,
    item_id: str,
    participant_id: str,
    service: ServiceDependency,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
) -> ThreadRights:
    """Return the user's rights in the thread that the path identifies, as certified by the request's thread token.

    Raises a subclass of ForumError for an invalid token, and TooManyRequestsError if the user exceeds the rate limit.
    """
    if credentials is None:
        raise unauthorized()
    rights = service.checker.check_for(credentials.credentials, thread_key(item_id, participant_id))
    admit(request, rights.user_id)
    return rights


Rights = Annotated[ThreadRights, Depends(rights_of)]


def _thread_body(thread: Thread) -> dict[str, Any]:
    return {
        "item_id": thread.key.item_id,
        "participant_id": thread.key.participant_id,
        "status": str(thread.status),
        "helper_group_id": thread.helper_group_id,
        "message_count": thread.message_count,
        "latest_update_at": thread.latest_update_at_ms,
    }


# Threads.


@router.get("/items/{item_id}/participant/{participant_id}/thread", tags=["threads"])
def thread(item_id: str, participant_id: str, caller: Caller, service: ServiceDependency) -> dict[str, Any]:
    """Return a thread's status and a token that grants access to the thread's messages. The token is valid for two
    hours.

    The status is `not_started` if the thread does not exist.
    """
    view = service.thread(user_of(caller), thread_key(item_id, participant_id))
    return {"item_id": item_id, "participant_id": participant_id, "status": view.status, "token": view.token}


@router.put("/items/{item_id}/participant/{participant_id}/thread", tags=["threads"])
def update(
    item_id: str, participant_id: str, body: ThreadChange, caller: Caller, service: ServiceDependency
) -> dict[str, Any]:
    """Open, close or change a thread. The thread is created if it does not exist.

    If the request changes nothing and the caller does not have permission to read the thread, the response contains
    only the requested status.
    """
    changed = service.update(user_of(caller), thread_key(item_id, participant_id), body.update())
    if changed is None:
        return {"item_id": item_id, "participant_id": participant_id, "status": body.status}
    return _thread_body(changed)


@router.get("/threads", tags=["threads"])
def list_threads(
    caller: Caller,
    service: ServiceDependency,
    *,
    watched_group_id: str | None = None,
    is_mine: bool | None = None,
    limit: PageLimit = DEFAULT_PAGE_SIZE,
    after: NextCursor = None,
) -> dict[str, Any]:
    """List threads that the caller may read, most recently updated first.

    `watched_group_id` selects the threads of the members of a group. `is_mine=true` selects the caller's own threads,
    and `is_mine=false` the threads of other users.
    """
    page = service.threads(user_of(caller), watched_group_id, is_mine, limit, parse_position(after))
    return {"threads": [_listed_body(entry) for entry in page.threads], "next": position_text(page.after)}


@router.post("/items/{item_id}/help-grants", status_code=204, tags=["threads"])
def grant_help(item_id: str, body: Grant, caller: Caller, service: ServiceDependency) -> None:
    """Permit a group to ask another group for help on an item."""
    service.grant_help(user_of(caller), body.group_id, item_id, body.helper_group_id)


def _listed_body(entry: ListedThread) -> dict[str, Any]:
    return {**_thread_body(entry.thread), "item_title": entry.item_title, "participant_name": entry.participant_name}


def position_text(after: ThreadPosition | None) -> str | None:
    """Return a page position as text for the response field `next`. The next page of threads starts after this
    position. Return None if `after` is None, because then no next page exists.
    """
    return None if after is None else f"{after.latest_update_at_ms}-{after.key.item_id}-{after.key.participant_id}"


def parse_position(text: str | None) -> ThreadPosition | None:
    """Parse a position that was returned in the response field `next`. Raises BadRequestError if it is invalid."""
    if text is None:
        return None
    match = re.fullmatch(r"([0-9]{1,15})-([0-9]{1,19})-([0-9]{1,19})", text)
    if match is None:
        raise BadRequestError("next is not a cursor of this list")
    return ThreadPosition(int(match[1]), ThreadKey(match[2], match[3]))


# Messages and events.

_THREAD: Final = "/thread/{item_id}/{participant_id}"


@router.get(f"{_THREAD}/messages", tags=["messages"])
def messages(
    rights: Rights,
    service: ServiceDependency,
    limit: Annotated[int, Query(ge=1, le=MESSAGES_MAX)] = MESSAGES_DEFAULT,
    cursor: NextCursor = None,
) -> dict[str, Any]:
    """Return a thread's messages, newest first."""
    page = service.messages(rights, limit, cursor)
    return with_unreadable({"messages": [event_body(event) for event in page], "next": page.cursor})


@router.post(f"{_THREAD}/messages", status_code=201, tags=["messages"])
def post(body: NewMessage, rights: Rights, service: ServiceDependency) -> dict[str, Any]:
    """Store a message. If a request with the same uuid is repeated, the message is not stored again, and the response
    is the same.
    """
    return event_body(service.post(rights, str(body.uuid), body.text).event)


@router.get(f"{_THREAD}/events", tags=["messages"])
def history(
    rights: Rights, service: ServiceDependency, limit: PageLimit = 20, cursor: NextCursor = None
) -> dict[str, Any]:
    """Return a thread's events, sorted by the time at which they occurred, newest first."""
    page = service.history(rights, limit, cursor)
    return with_unreadable({"events": [event_body(event) for event in page], "next": page.cursor})


@router.get(f"{_THREAD}/arrivals", tags=["messages"])
def arrivals(
    rights: Rights, service: ServiceDependency, since: Annotated[int, Query(ge=0, le=MAX_SEQ)], limit: PageLimit = 100
) -> dict[str, Any]:
    """Return the events that were stored after the event with the number `since`, in the order of storage and without
    gaps.

    If the number of the last returned event is less than `last_seq` in the response, request the events after it.
    """
    place = place_of(rights.key)
    last_seq = service.log.last_seq(place)
    events = [event_body(event) for event in service.log.events_after(place, since, limit)]
    return with_unreadable({"events": events, "last_seq": last_seq})


@router.post(f"{_THREAD}/events", tags=["messages"], dependencies=[Depends(require_role(PLATFORM))])
def record_events(item_id: str, participant_id: str, body: FactsBody, service: ServiceDependency) -> dict[str, Any]:
    """Record attempts, submissions and grades that the platform reports. The events may have occurred in the past.
    Repeating a report changes nothing.
    """
    results = service.record(place_of(thread_key(item_id, participant_id)), [fact.fact() for fact in body.events])
    return {
        "events": [event_body(appended.event) for appended in results],
        "new": sum(appended.is_new for appended in results),
    }


# Follows and notifications.


@router.get(f"{_THREAD}/follow", tags=["notifications"])
def is_following(rights: Rights, service: ServiceDependency) -> dict[str, bool]:
    """Return whether the user follows the thread and is therefore notified about new messages."""
    return {"follows": service.followers.is_following(place_of(rights.key), rights.user_id)}


@router.put(f"{_THREAD}/follow", status_code=204, tags=["notifications"])
def follow(rights: Rights, service: ServiceDependency) -> None:
    """Subscribe the user to notifications about new messages in the thread."""
    service.follow(rights)


@router.delete(f"{_THREAD}/follow", status_code=204, tags=["notifications"])
def unfollow(rights: Rights, service: ServiceDependency) -> None:
    """Unsubscribe the user from notifications about new messages in the thread."""
    service.followers.unfollow(place_of(rights.key), rights.user_id)


@router.get("/notifications", tags=["notifications"])
def notifications(
    caller: Caller, service: ServiceDependency, limit: PageLimit = 20, cursor: NextCursor = None
) -> dict[str, Any]:
    """Return the caller's notifications, newest first."""
    page = service.followers.notifications(user_of(caller), limit, cursor)
    return with_unreadable(
        {"notifications": [notification_body(notification) for notification in page], "next": page.cursor}
    )


@router.delete("/notifications", tags=["notifications"])
def drop_all(caller: Caller, service: ServiceDependency) -> dict[str, int]:
    """Delete all notifications of the caller."""
    return {"deleted": service.followers.drop_all(user_of(caller))}


@router.put("/notifications/{notification_id}", tags=["notifications"])
def mark(notification_id: str, body: ReadStatus, caller: Caller, service: ServiceDependency) -> dict[str, Any]:
    """Mark a notification as read or unread."""
    return notification_body(service.followers.set_read(user_of(caller), notification_id, is_read=body.is_read))


@router.delete("/notifications/{notification_id}", status_code=204, tags=["notifications"])
def drop(notification_id: str, caller: Caller, service: ServiceDependency) -> Response:
    """Delete a notification."""
    service.followers.drop(user_of(caller), notification_id)
    return Response(status_code=204)


def _rejected(error: ForumError) -> Problem:
    return unauthorized(str(error)) if error.status == 401 else Problem(error.status, str(error))


def _busy(_error: Exception) -> Problem:
    return Problem(503, "The database is busy.", headers={"Retry-After": "1"})


def _unavailable(_error: Exception) -> Problem:
    """Return the `Problem` (error response) with status 503 for an error that shows that the SQL database is
    unavailable or locked.
    """
    return Problem(503, "The database is not responding.", headers={"Retry-After": "5"})


TRANSLATIONS: Mapping[type[Exception], Callable[[Any], Problem]] = {
    ForumError: _rejected,
    CursorError: lambda _error: Problem(400, "The next cursor does not belong to this list.", code="invalid"),
    ThrottledError: _busy,
    WriteConflictError: _busy,
    UnavailableError: _unavailable,
    OperationalError: _unavailable,
    NoConnectionError: _unavailable,
}


def application(
    service: Service,
    verifier: TokenVerifier,
    clock: Clock,
    checks: Mapping[str, Check],
    *,
    sockets: APIRouter | None = None,
    lifespan: Callable[[FastAPI], AbstractAsyncContextManager[Any]] | None = None,
) -> FastAPI:
    """Return the FastAPI application that serves the HTTP API.

    `sockets` contains the WebSocket route. `lifespan` starts and stops the delivery of events to WebSocket connections.
    """
    app = web_application(
        "Forum",
        style=ProblemStyle(invalid_status=400),
        translations=TRANSLATIONS,
        verifier=verifier,
        checks=checks,
        clock=clock,
        lifespan=lifespan,
    )
    app.state.service = service
    add_routes(app, router)
    if sockets is not None:
        app.include_router(sockets)
    return app
