"""Pages that list the user's threads, other users' threads, tasks on which to ask for help, and permissions to ask for
help.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlencode

from fastapi import Query
from starlette.responses import Response

from keyplan_systems.forum.api import parse_position, position_text
from keyplan_systems.forum.domain import ForumError, NotAllowedError, Status, Thread, checked_id
from keyplan_systems.forum.pages.base import CurrentReader, Reader, router
from keyplan_systems.forum.relational.choices import (
    grants_of,
    help_choices,
    participants_of,
    threads_to_answer,
    watched_groups,
)
from keyplan_systems.forum.relational.lists import ListedThread, ThreadPage
from keyplan_systems.forum.relational.people import names_of
from keyplan_systems.web.browsing import Form

_PAGE = 20
_FILTERS = (
    (Status.WAITING_FOR_TRAINER, "Waiting"),
    (Status.WAITING_FOR_PARTICIPANT, "Answered"),
    (Status.CLOSED, "Closed"),
)
_OWN_THREAD_FILTERS = (("", "All"), *_FILTERS)
_OTHER_THREAD_FILTERS = (*_FILTERS, ("all", "All"))


@dataclass(frozen=True)
class Row:
    """A thread as shown in a list."""

    listed_thread: ListedThread
    helper: str
    may_answer: bool

    @property
    def thread(self) -> Thread:
        """The listed thread."""
        return self.listed_thread.thread


@router.get("/")
def own_threads(
    reader: CurrentReader,
    status: str = "",
    after: Annotated[str | None, Query(alias="next")] = None,
) -> Response:
    """Show the user's threads, including those of the user's teams."""
    page = reader.service.threads(reader.user_id, None, True, _PAGE, parse_position(after), status=_status(status))
    answerable = () if page.threads or status else reader.service.threads(reader.user_id, None, False, 1, None).threads
    return reader.show(
        "threads.html.j2",
        heading="My threads",
        filters=_OWN_THREAD_FILTERS,
        chosen=status,
        groups=(),
        group="",
        rows=_rows(reader, page),
        next=_next(page, status=status),
        is_mine=True,
        has_others=bool(answerable),
    )


@router.get("/others")
def other_threads(
    reader: CurrentReader,
    status: str = Status.WAITING_FOR_TRAINER,
    group: str = "",
    after: Annotated[str | None, Query(alias="next")] = None,
) -> Response:
    """Show the threads of other users, starting with the thread that has waited longest for a response."""
    requested = _status(status)
    page = reader.service.threads(
        reader.user_id,
        group or None,
        None if group else False,
        _PAGE,
        parse_position(after),
        status=requested,
        oldest_first=requested is Status.WAITING_FOR_TRAINER,
    )
    return reader.show(
        "threads.html.j2",
        heading="To answer",
        filters=_OTHER_THREAD_FILTERS,
        chosen=status,
        groups=watched_groups(reader.service.database, reader.user_id),
        group=group,
        rows=_rows(reader, page),
        next=_next(page, status=status, group=group),
        is_mine=False,
        has_others=False,
    )


@router.get("/ask")
def ask(reader: CurrentReader, participant: str = "") -> Response:
    """Show the tasks on which the user may ask for help, for themselves or on behalf of a team or an observed
    participant.
    """
    people = participants_of(reader.service.database, reader.user_id)
    chosen = checked_id(participant, "participant") if participant else reader.user_id
    name = next((person.name for person in people if person.id == chosen), None)
    if name is None:
        raise NotAllowedError("You may not open threads for this participant.")
    return reader.show(
        "ask.html.j2",
        people=people,
        chosen=chosen,
        name=name,
        choices=help_choices(reader.service.database, reader.user_id, chosen),
        has_permissions=bool(grants_of(reader.service.database, reader.user_id).items),
    )


@router.get("/permissions")
def permissions(reader: CurrentReader) -> Response:
    """Show which groups may ask which other groups for help on the user's tasks."""
    return _permissions(reader)


@router.post("/permissions")
def grant(reader: CurrentReader, form: Form) -> Response:
    """Permit a group to ask another group for help on a task."""
    try:
        reader.service.grant_help(reader.user_id, form.get("group", ""), form.get("item", ""), form.get("helper", ""))
    except ForumError as error:
        text = "You may not give this permission: both groups must see the group to ask."
        return _permissions(reader, form, text if error.status == 403 else "Choose a group and a task.")
    return reader.respond("app/permissions", "The permission is given.")


def _permissions(reader: Reader, typed: Mapping[str, str] | None = None, problem: str = "") -> Response:
    return reader.show(
        "permissions.html.j2",
        400 if problem else 200,
        grants=grants_of(reader.service.database, reader.user_id),
        typed=typed or {},
        problem=problem,
    )


def _status(text: str) -> Status | None:
    """Return the status by which to filter threads, or None if `text` is not a status."""
    return Status(text) if text in tuple(Status) else None


def _rows(reader: Reader, page: ThreadPage) -> Sequence[Row]:
    threads = [row.thread for row in page.threads]
    names = names_of(reader.service.database, {thread.helper_group_id for thread in threads})
    answered = threads_to_answer(reader.service.database, reader.user_id, threads)
    return [Row(row, names.get(row.thread.helper_group_id, ""), row.thread.key in answered) for row in page.threads]


def _next(page: ThreadPage, **query: str) -> str:
    """Return the query string for the next page, or an empty string on the last page. `query` contains further
    parameters of the query string.
    """
    after = position_text(page.after)
    return "" if after is None else "?" + urlencode({**{k: v for k, v in query.items() if v}, "next": after})
