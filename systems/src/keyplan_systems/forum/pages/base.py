"""The base of the forum's pages: the signed-in user, rendering, the number of unread notifications, and labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Final, TypeAlias

from fastapi import Depends
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from keyplan.pages import Link, redirect
from keyplan_systems.forum.api import service_of, user_of
from keyplan_systems.forum.domain import NOT_STARTED, Status
from keyplan_systems.forum.entities import Event, EventType
from keyplan_systems.forum.followers import MAX_COUNTED
from keyplan_systems.forum.service import Service, place_of
from keyplan_systems.web.browsing import Person, page_router, system_pages

PAGES: Final = system_pages(
    "keyplan_systems.forum",
    "Forum",
    (
        Link("My threads", "app/", "chat"),
        Link("To answer", "app/others", "inbox"),
        Link("Ask for help", "app/ask", "plus"),
    ),
    accent="teal",
    scripts=("forum.js",),
)
router = page_router(PAGES)


@dataclass(frozen=True)
class Reader:
    """The signed-in user of a request, together with the request and the service."""

    request: Request
    service: Service
    user_id: str

    def show(self, template: str, status: int = 200, /, **context: Any) -> Response:
        """Render a page with the given template and HTTP status. The page header shows the number of unread
        notifications.
        """
        unread = self.service.followers.unread(self.user_id)
        counts: dict[str, Any] = {
            "unread": unread_text(len(unread)),
            "unread_by": Counter(notification.place for notification in unread),
        }
        return PAGES.render(self.request, template, status, me=self.user_id, **_WORDS, **counts, **context)

    @property
    def wants_json(self) -> bool:
        """Whether a script sent the request and expects JSON."""
        return "application/json" in self.request.headers.get("accept", "")

    def respond(self, path: str, flash: str = "", body: Mapping[str, Any] | None = None) -> Response:
        """Return the response to a submitted form. A script receives `body` as JSON. A browser is redirected to the
        page at `path`, which shows the message `flash`.
        """
        if self.wants_json:
            return JSONResponse(dict(body or {}))
        return redirect(f"{self.request.scope.get('root_path', '')}/{path}", flash)


def current_reader(request: Request, person: Person, service: Annotated[Service, Depends(service_of)]) -> Reader:
    """Return the signed-in user as a `Reader`. Raises NotAllowedError if the user does not belong to the forum."""
    return Reader(request, service, user_of(person))


CurrentReader: TypeAlias = Annotated[Reader, Depends(current_reader)]

STATUS_WORDS: Final[Mapping[str, tuple[str, str]]] = {
    NOT_STARTED: ("Not started", ""),
    Status.WAITING_FOR_TRAINER: ("Waiting for an answer", "warn"),
    Status.WAITING_FOR_PARTICIPANT: ("Answered", "accent"),
    Status.CLOSED: ("Closed", ""),
}
"""Mapping from each thread status to its label and color."""

NOTES: Final[Mapping[str, str]] = {
    EventType.THREAD_OPENED: "{user} opened the thread",
    EventType.THREAD_CLOSED: "{user} closed the thread",
    EventType.ATTEMPT_STARTED: "Started attempt {attempt}",
    EventType.SUBMISSION: "Submitted an answer in attempt {attempt}",
    EventType.GRADE_UPDATED: "Answer of attempt {attempt} was graded again",
}
"""Text that the timeline shows for each type of event except messages. `thread.js` has the same texts."""


def unread_text(count: int) -> str:
    """Return the text of the badge that shows the number of unread notifications. It is empty if the number is 0."""
    return f"{count}+" if count >= MAX_COUNTED else str(count) if count else ""


def time_of(at_ms: int) -> datetime:
    """Convert epoch milliseconds to a datetime in UTC for templates."""
    return datetime.fromtimestamp(at_ms / 1000, UTC)


_WORDS: Final[Mapping[str, Any]] = {"words": STATUS_WORDS, "time_of": time_of, "place_of": place_of}
"""Texts and functions that are available in all templates."""


def note_of(event: Event, names: Mapping[str, str]) -> str:
    """Return the text that the timeline shows for an event that is not a message. `names` maps user IDs to names."""
    text = NOTES[event.type].format(user=names.get(event.user_id or "", "Someone"), attempt=event.attempt_id)
    if event.score is not None:
        text += f": {event.score:g} points"
    if event.validated is not None:
        text += ", solved" if event.validated else ", not solved yet"
    return text
