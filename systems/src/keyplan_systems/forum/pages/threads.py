"""Pages for a thread: its timeline, and forms to open it, write messages, change its status and follow it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeAlias

from fastapi import Depends, Query
from pydantic import ValidationError
from starlette.responses import JSONResponse, Response

from keyplan_systems.forum.bodies import NewMessage
from keyplan_systems.forum.domain import (
    BadRequestError,
    ForumError,
    NotAllowedError,
    Status,
    ThreadKey,
    ThreadUpdate,
)
from keyplan_systems.forum.entities import MAX_CHARACTERS, Event, EventType
from keyplan_systems.forum.pages.base import NOTES, PAGES, STATUS_WORDS, CurrentReader, Reader, note_of, router, time_of
from keyplan_systems.forum.relational.choices import help_choices
from keyplan_systems.forum.relational.people import names_of, titles_of
from keyplan_systems.forum.relational.threads import ThreadView, thread_key
from keyplan_systems.forum.service import ConflictError, place_of
from keyplan_systems.forum.wire import event_body
from keyplan_systems.web.browsing import Form
from keyplan_systems.web.problems import Problem

EVENTS: Final = 30
"""Number of events per page of the timeline."""
_THREAD: Final = "/threads/{item_id}/{participant_id}"


@dataclass(frozen=True)
class ThreadReader(Reader):
    """The signed-in user of a request, together with the thread that the page shows."""

    key: ThreadKey

    @property
    def path(self) -> str:
        """The path of the thread's page, relative to the forum's pages."""
        return f"app/threads/{self.key.item_id}/{self.key.participant_id}"

    def view(self) -> ThreadView:
        """Return the thread. Raises NotAllowedError if the user may not read it."""
        return self.service.thread(self.user_id, self.key)


def current_thread(item_id: str, participant_id: str, reader: CurrentReader) -> ThreadReader:
    """Return the signed-in user and the thread that the URL identifies. Raises BadRequestError if an ID in the URL is
    invalid.
    """
    return ThreadReader(reader.request, reader.service, reader.user_id, thread_key(item_id, participant_id))


CurrentThread: TypeAlias = Annotated[ThreadReader, Depends(current_thread)]


@router.get(_THREAD)
def thread(
    reader: CurrentThread,
    before: Annotated[str | None, Query()] = None,
) -> Response:
    """Show a thread, and mark the notifications about it as read."""
    return _page(reader, before=before)


@router.get(f"{_THREAD}/state")
def state(reader: CurrentThread) -> Response:
    """Return the part of the thread's page that shows the status, the watchers and the available actions, as HTML."""
    view = reader.view()
    return PAGES.render(reader.request, "thread_state.html.j2", words=STATUS_WORDS, **_state(reader, view))


@router.get(f"{_THREAD}/people")
def people(reader: CurrentThread) -> Response:
    """Return a JSON object that maps user IDs to names, for the users who appear in the thread's newest events."""
    view = reader.view()
    events = reader.service.history(view.rights, EVENTS, None)
    return JSONResponse(names_of(reader.service.database, _users(events)))


@router.post(f"{_THREAD}/messages")
def write(reader: CurrentThread, form: Form) -> Response:
    """Store a message and increment the thread's message count. If requested in the form, also change the status to the
    one in which the other party is expected to respond.
    """
    view = reader.view()
    try:
        message = _message(form)
        posted = reader.service.post(view.rights, str(message.uuid), message.text)
    except (BadRequestError, ConflictError, NotAllowedError) as error:
        if reader.wants_json:
            raise Problem(error.status, _reason(error, reader.view())) from error
        return _rejected(reader, form, error)
    if posted.is_new:
        _count_message(reader, view, hand_over=form.get("hand_over") == "yes")
    return reader.respond(f"{reader.path}#end", body=event_body(posted.event))


@router.post(f"{_THREAD}/open")
def open_thread(reader: CurrentThread, form: Form) -> Response:
    """Open a thread that is closed or has not been started, and store its first message."""
    view = reader.view()
    requested = Status.WAITING_FOR_TRAINER if view.rights.is_mine else Status.WAITING_FOR_PARTICIPANT
    try:
        message = _message(form)
        reader.service.update(reader.user_id, reader.key, ThreadUpdate(requested, form.get("helper") or None))
        posted = reader.service.post(reader.view().rights, str(message.uuid), message.text)
    except (BadRequestError, ConflictError, NotAllowedError) as error:
        return _rejected(reader, form, error)
    if posted.is_new:
        _count_message(reader, view, hand_over=False)
    return reader.respond(f"{reader.path}#end", "The thread is open.")


@router.post(f"{_THREAD}/status")
def switch(reader: CurrentThread, form: Form) -> Response:
    """Change the status of an open thread, or close it."""
    requested = form.get("status", "")
    if requested not in tuple(Status):
        raise Problem(400, "Choose a status.")
    try:
        reader.service.update(reader.user_id, reader.key, ThreadUpdate(Status(requested)))
    except ForumError as error:
        view = reader.view()
        label = STATUS_WORDS[view.status][0].lower()
        problem = f"This is not possible: the thread is now {label}."
        if reader.wants_json:
            raise Problem(409, problem) from error
        return _page(reader, problem=problem)
    return reader.respond(reader.path, f"Status: {STATUS_WORDS[requested][0].lower()}.")


@router.post(f"{_THREAD}/follow")
def follow(reader: CurrentThread, form: Form) -> Response:
    """Follow the thread, or stop following it."""
    view = reader.view()
    if form.get("follow") == "yes":
        reader.service.follow(view.rights)
        return reader.respond(reader.path, "You are notified of new messages.")
    reader.service.followers.unfollow(place_of(reader.key), reader.user_id)
    return reader.respond(reader.path, "You are no longer notified of new messages.")


def _rejected(reader: ThreadReader, form: Mapping[str, str], error: ForumError) -> Response:
    """Return the thread's page with the error and the text that the user has entered. If the message ID is already in
    use, the form contains a new ID.
    """
    typed = {name: value for name, value in form.items() if name != "uuid" or not isinstance(error, ConflictError)}
    return _page(reader, typed=typed, error=error, problem=_reason(error, reader.view()))


def _page(
    reader: ThreadReader,
    *,
    before: str | None = None,
    typed: Mapping[str, str] | None = None,
    error: ForumError | None = None,
    problem: str = "",
) -> Response:
    """Return the thread's page. After a rejected form, `error` is the exception that determines the status code,
    `problem` is the error message to show, and `typed` contains the submitted form values to show again.
    """
    view, place, service = reader.view(), place_of(reader.key), reader.service
    newest_seq = service.log.last_seq(place)  # read first, so that it never counts an event that is not shown
    page = service.history(view.rights, EVENTS, before)
    events = sorted(page, key=lambda event: (event.at_ms, event.seq))
    unread = [notification for notification in service.followers.unread(reader.user_id) if notification.place == place]
    service.followers.mark_all_read(unread)
    names = names_of(service.database, _users(events))
    return reader.show(
        "thread.html.j2",
        200 if not problem else 409 if error is None else error.status,
        events=[(event, time_of(event.at_ms), _note(event, names)) for event in events],
        new_from=_first_unread(events, {notification.event_id for notification in unread}),
        names=names,
        notes={str(kind): text for kind, text in NOTES.items()},
        since=_since(events, newest_seq),
        before=before,
        earlier=page.cursor,
        typed=typed or {},
        problem=problem,
        uuid=str(uuid.uuid4()),
        max_characters=MAX_CHARACTERS,
        **_state(reader, view),
    )


def _state(reader: ThreadReader, view: ThreadView) -> dict[str, Any]:
    key, place, service, user_id = reader.key, place_of(reader.key), reader.service, reader.user_id
    watchers = service.connections.users(place)
    helper = "" if view.thread is None else view.thread.helper_group_id
    names = names_of(service.database, {*watchers, key.participant_id, helper})
    is_open = view.thread is not None and view.thread.status.is_open
    choices = () if is_open else help_choices(service.database, user_id, key.participant_id, key.item_id)
    return {
        "key": key,
        "view": view,
        "title": titles_of(service.database, {key.item_id}).get(key.item_id, key.item_id),
        "participant": names.get(key.participant_id, key.participant_id),
        "helper": names.get(helper, ""),
        "watchers": sorted(names.get(watcher, watcher) for watcher in watchers if watcher != user_id),
        "is_watched_by_me": user_id in watchers,
        "is_following": service.followers.is_following(place, user_id),
        "is_open": is_open,
        "helpers": choices[0].helpers if choices else (),
    }


def _message(form: Mapping[str, str]) -> NewMessage:
    """Convert a form to a message. Raises BadRequestError with a message for users if the form is invalid."""
    text = form.get("text", "").replace("\r\n", "\n")
    if not text:
        raise BadRequestError("Write a message first.")
    if len(text) > MAX_CHARACTERS:
        raise BadRequestError(f"A message has at most {MAX_CHARACTERS:,} characters; yours has {len(text):,}.")
    try:
        return NewMessage(text=text, uuid=form.get("uuid", ""))  # type: ignore[arg-type]  # pydantic converts it
    except ValidationError as error:
        raise BadRequestError("This message cannot be stored. Reload the page and try again.") from error


def _count_message(reader: ThreadReader, view: ThreadView, *, hand_over: bool) -> None:
    """Increment the thread's message count. If `hand_over` is True, also change the status to the one in which the
    other party is expected to respond.

    A thread that was closed concurrently stays closed.
    """
    requested = Status.WAITING_FOR_TRAINER if view.rights.is_mine else Status.WAITING_FOR_PARTICIPANT
    for status in (requested, None) if hand_over else (None,):
        try:
            reader.service.update(reader.user_id, reader.key, ThreadUpdate(status, message_count_increment=1))
        except ForumError:
            continue
        return


def _reason(error: ForumError, view: ThreadView) -> str:
    if isinstance(error, ConflictError):
        return "Your previous message was sent. Send again to send this text too."
    if isinstance(error, NotAllowedError):
        is_closed = view.thread is not None and not view.thread.status.is_open
        return "The thread is closed." if is_closed else "You may not write to this thread."
    return str(error) if str(error)[:1].isupper() else "Choose a group to ask."


def _note(event: Event, names: Mapping[str, str]) -> str:
    return "" if event.type is EventType.MESSAGE else note_of(event, names)


def _users(events: Any) -> set[str]:
    return {event.user_id for event in events if event.user_id is not None}


def _first_unread(events: list[Event], event_ids: set[str]) -> int:
    """Return the number of the first event with an unread notification, or 0 if no such event exists. `event_ids`
    contains the IDs of all events with unread notifications.
    """
    return next((event.seq for event in events if event.event_id in event_ids), 0)


def _since(events: list[Event], newest_seq: int) -> int:
    """Return the event number after which the page's script starts to request events.

    If one of the recent events is missing from the page, the result is the number before the missing event. Otherwise,
    it is `newest_seq`, the number of the newest event. An event may be missing because the history is eventually
    consistent, or because the event was stored with a past time and belongs to an older page.
    """
    seqs = {event.seq for event in events}
    return next(
        (seq - 1 for seq in range(max(1, newest_seq - EVENTS + 1), newest_seq + 1) if seq not in seqs), newest_seq
    )
