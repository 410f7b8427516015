"""The web pages of the to-do system: the list of tasks, a single task, and the dashboard of the data lake.

Every form contains an idempotency key. If a form is sent twice, because of a double click or a lost connection, it is
processed only once. `static/todo.js` sends forms without loading a new page. It keeps forms that cannot be sent, and
sends them again with their key.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Final
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from pydantic import ValidationError
from starlette.responses import Response

from keyplan import Page
from keyplan.clock import Clock
from keyplan.pages import Link, redirect
from keyplan_systems.todo.api_dependencies import person_of
from keyplan_systems.todo.api_shapes import NewTask, TaskChanges
from keyplan_systems.todo.dashboard import Dashboard
from keyplan_systems.todo.domain import URGENCY, fingerprint, today
from keyplan_systems.todo.entities import Priority, Status, Task
from keyplan_systems.todo.idempotency import Request as IdempotentRequest
from keyplan_systems.todo.quick_add import read_line
from keyplan_systems.todo.refusals import InvalidError, MissingError, RefusalError
from keyplan_systems.todo.service import Service
from keyplan_systems.todo.service_lists import Lists, TaskSelection
from keyplan_systems.web.browsing import Form, FormFields, Person, page_router, system_pages
from keyplan_systems.web.sign_in import local_path

PAGES = system_pages(
    "keyplan_systems.todo",
    "To-do",
    (Link("Tasks", "app/", "list"), Link("Dashboard", "app/dashboard", "chart")),
    accent="teal",
    scripts=("todo.js",),
)
VIEWS: Final = {"open": "Open", "today": "Today", "overdue": "Overdue", "week": "Next 7 days", "all": "All"}
_LIMIT: Final = 50
_OPEN: Final = (Status.IN_PROGRESS, Status.PENDING)
_ZONE: Final = "keyplan_zone"
"""Name of the cookie with the user's time zone, which a script sets. Without the cookie, UTC is used."""
_STATUSES: Final = [(status.value, status.value.replace("_", " ").capitalize()) for status in Status]
_PRIORITIES: Final = [(priority.value, priority.value.capitalize()) for priority in URGENCY]
_FORM_FIELDS: Final = ("title", "description", "status", "priority", "category", "due_date")


def page_routes(service: Service, clock: Clock, dashboard: Dashboard | None) -> APIRouter:
    """Return the routes of the pages. `dashboard` is None if the system runs without a lake."""
    router = page_router(PAGES)
    _add_lists(router, service, clock)
    _add_writes(router, service, clock)
    _add_task(router, service)

    @router.get("/dashboard")
    def figures(request: Request, person: Person) -> Response:
        statistics = None if dashboard is None else dashboard.figures_of(person.subject)
        return PAGES.render(request, "dashboard.html.j2", dashboard=statistics)

    return router


def _add_lists(router: APIRouter, service: Service, clock: Clock) -> None:
    @router.get("/")
    def tasks(request: Request, person: Person) -> Response:
        query = request.query_params
        view = query.get("view", "open")
        if view not in VIEWS:
            raise MissingError("This list does not exist.")
        filters = {name: query.get(name, "") for name in ("status", "priority", "category", "q")}
        day, user_id = _today(request, clock), person_of(person).user_id
        list_selection = ListSelection(view, filters, query.get("cursor"), _zone(request), day)
        service.users.current(person_of(person))
        sections = list_selection.sections(service.lists, user_id)
        linked_sections = [
            (title, page, _next(request, page.cursor, number)) for number, (title, page) in enumerate(sections)
        ]
        section_number = query.get("section")
        return PAGES.render(
            request,
            "tasks.html.j2",
            view=view,
            views=VIEWS,
            filters=filters,
            today=day,
            sections=[
                section for number, section in enumerate(linked_sections) if section_number in {None, str(number)}
            ],
            statuses=[("", "Any"), *_STATUSES],
            priorities=[("", "Any"), *_PRIORITIES],
            new_key=_new_key,
            back=request.url.path + (f"?{request.url.query}" if request.url.query else ""),
        )


@dataclass(frozen=True)
class ListSelection:
    """The user's selection on the page of tasks.

    The selection consists of a view or filters, the page cursor, the user's time zone, and the current date in that
    zone.
    """

    view: str
    filters: Mapping[str, str]
    cursor: str | None
    zone: str
    day: date

    def sections(self, lists: Lists, user_id: str) -> Sequence[tuple[str, Page[Task]]]:
        """Return the sections of the page, each as a title and a page of tasks."""
        if self.view == "open":
            titles = {Status.IN_PROGRESS: "In progress", Status.PENDING: "To do"}
            return [(title, self._page(lists, user_id, TaskSelection(status))) for status, title in titles.items()]
        if self.view == "overdue":
            return [("Overdue", lists.overdue(user_id, self.zone, _LIMIT, self.cursor))]
        if self.view == "today":
            return [("Due today", _open_only(self._page(lists, user_id, TaskSelection(due_on=self.day))))]
        if self.view == "week":
            selection = TaskSelection(due_from=self.day, due_to=self.day + timedelta(days=6))
            return [("Due in the next 7 days", _open_only(self._page(lists, user_id, selection)))]
        text, status, priority = (self.filters[name] for name in ("q", "status", "priority"))
        if text:
            return [(f"Tasks with “{text}”", lists.search(user_id, text, _LIMIT, self.cursor))]
        selection = TaskSelection(
            Status(status) if status in set(Status) else None,
            Priority(priority) if priority in set(Priority) else None,
            self.filters["category"] or None,
        )
        return [("Tasks", self._page(lists, user_id, selection))]

    def _page(self, lists: Lists, user_id: str, selection: TaskSelection) -> Page[Task]:
        return lists.page(user_id, selection, _LIMIT, self.cursor)


def _open_only(page: Page[Task]) -> Page[Task]:
    return Page(tuple(task for task in page if task.status in _OPEN), page.cursor)


def _next(request: Request, cursor: str | None, section: int) -> str | None:
    if cursor is None:
        return None
    return "?" + urlencode({**request.query_params, "cursor": cursor, "section": str(section)})


def _add_writes(router: APIRouter, service: Service, clock: Clock) -> None:
    @router.post("/tasks")
    def add(request: Request, person: Person, form: Form) -> Response:
        owner = person_of(person)
        fields = read_line(form.get("line", ""), _today(request, clock))
        if not fields["title"]:
            return redirect(_back(request, form), "The title is missing: describe the task.")
        try:
            task = NewTask.model_validate({**fields, **_iso(fields)})
        except ValidationError as error:
            return redirect(_back(request, form), _reason(error))
        request_of_form = _idempotent_request(owner.user_id, form, "add", {**fields, **_iso(fields)})
        service.tasks.create(request_of_form, owner, task.model_dump(exclude_unset=True))
        due_text = f", due {task.due_date:%d %b %Y}" if task.due_date else ""
        return redirect(_back(request, form), f"Added “{task.title}”{due_text}.")

    @router.post("/tasks/bulk")
    def change_several(request: Request, person: Person, form: Form) -> Response:
        user_id, action, chosen = person_of(person).user_id, form.get("action", ""), form.all("task")[:100]
        if action == "delete-completed":
            return redirect(_back(request, form), _deleted_completed(service, user_id, form))
        if not chosen:
            return redirect(_back(request, form), "Select tasks first.")
        if action == "delete":
            deleted = sum(_delete(service, user_id, task_id, form) for task_id in dict.fromkeys(chosen))
            return redirect(_back(request, form), f"Deleted {_tasks(deleted)}.")
        if action not in set(Status):
            raise InvalidError("This action does not exist.")
        request_of_form = _idempotent_request(user_id, form, action, chosen)
        service.tasks.change_statuses(request_of_form, user_id, chosen, Status(action))
        return redirect(_back(request, form), f"{_tasks(len(chosen))}: {action.replace('_', ' ')}.")


def _deleted_completed(service: Service, user_id: str, form: FormFields) -> str:
    service.tasks.delete_completed(_idempotent_request(user_id, form, "delete-completed", None), user_id)
    return "Deleted completed tasks."


def _delete(service: Service, user_id: str, task_id: str, form: FormFields) -> bool:
    """Delete a task. Return False if it no longer exists."""
    request_of_form = IdempotentRequest(user_id, f"{_key(form)}-{task_id}", fingerprint("FORM", "delete", task_id))
    try:
        service.tasks.delete(request_of_form, user_id, task_id, None)
    except MissingError:
        return False
    return True


def _add_task(router: APIRouter, service: Service) -> None:
    def render_task(
        request: Request, task: Task, errors: dict[str, str], typed: dict[str, str], status: int = 200
    ) -> Response:
        values = {name: getattr(task, name) or "" for name in _FORM_FIELDS} | typed
        return PAGES.render(
            request,
            "task.html.j2",
            status,
            task=task,
            values=values,
            errors=errors,
            statuses=_STATUSES,
            priorities=[("", "None"), *_PRIORITIES],
            new_key=_new_key,
        )

    @router.get("/tasks/{task_id}")
    def task(request: Request, person: Person, task_id: str) -> Response:
        return render_task(request, service.tasks.read(person_of(person).user_id, task_id), {}, {})

    @router.post("/tasks/{task_id}")
    def change(request: Request, person: Person, task_id: str, form: Form) -> Response:
        user_id = person_of(person).user_id
        typed = {name: form[name] for name in _FORM_FIELDS if name in form}
        try:
            changes = TaskChanges.model_validate({name: value or None for name, value in typed.items()})
            version = int(form["version"]) if form.get("version", "").isdecimal() else None
            fields = changes.model_dump(exclude_unset=True)
            request_of_form = _idempotent_request(user_id, form, f"change {task_id}", [typed, version])
            service.tasks.change(request_of_form, user_id, task_id, fields, version)
        except ValidationError as error:
            return render_task(request, service.tasks.read(user_id, task_id), _errors(error), typed, 422)
        except MissingError:
            raise
        except RefusalError:
            message = "Somebody changed this task since you opened it. Your text is kept; check it and save again."
            return render_task(request, service.tasks.read(user_id, task_id), {"title": message}, typed, 409)
        return redirect(_back(request, form), "Saved.")

    @router.post("/tasks/{task_id}/delete")
    def delete(request: Request, person: Person, task_id: str, form: Form) -> Response:
        _delete(service, person_of(person).user_id, task_id, form)
        return redirect(_back(request, form), "Task deleted.")


def _idempotent_request(user_id: str, form: FormFields, action: str, content: Any) -> IdempotentRequest:
    """Return the idempotent request for a form, given the action and the submitted values. If the form is sent again
    with the same key, the first response is returned.
    """
    return IdempotentRequest(user_id, _key(form), fingerprint("FORM", action, content))


def _key(form: FormFields) -> str:
    key = form.get("key", "")
    if not (0 < len(key) <= 100 and key.isascii() and key.isprintable() and " " not in key):
        raise InvalidError("The form has no valid key: reload the page.")
    return key


def _new_key() -> str:
    return uuid.uuid4().hex


def _back(request: Request, form: FormFields) -> str:
    """Return the path of the list of tasks from which the form was sent. The form field `back` contains this path. If
    the field's value is invalid, return the path of the first list.
    """
    start = f"{request.scope.get('root_path', '')}/app/"
    back = local_path(form.get("back"))
    return back if back.startswith(start) else start


def _zone(request: Request) -> str:
    return request.cookies.get(_ZONE, "UTC")


def _today(request: Request, clock: Clock) -> date:
    """Return the current date in the user's time zone, or in UTC if the user's time zone is unknown."""
    try:
        return today(clock, _zone(request))
    except InvalidError:
        return today(clock)


def _iso(fields: dict[str, Any]) -> dict[str, str]:
    return {name: value.isoformat() for name, value in fields.items() if isinstance(value, date)}


def _tasks(count: int) -> str:
    return f"{count} task" if count == 1 else f"{count} tasks"


def _errors(error: ValidationError) -> dict[str, str]:
    return {str(part["loc"][0]) if part["loc"] else "title": part["msg"] for part in error.errors()}


def _reason(error: ValidationError) -> str:
    return "; ".join(f"{name}: {message}" for name, message in _errors(error).items())
