"""The routes for tasks."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response
from fastapi import Request as HttpRequest

from keyplan_systems.todo.api_dependencies import (
    PREFIX,
    CurrentPerson,
    Cursor,
    Key,
    Limit,
    SeenVersion,
    Text,
    answer_response,
    json_response,
    page_response,
    request_of,
    version_of,
)
from keyplan_systems.todo.api_shapes import (
    BulkAnswer,
    BulkStatus,
    CategoryInput,
    Counts,
    Day,
    DeletedCompleted,
    NewTask,
    TaskAnswer,
    TaskChanges,
    TaskList,
    TaskPage,
)
from keyplan_systems.todo.bodies import task_body
from keyplan_systems.todo.entities import Priority, Status, TaskId
from keyplan_systems.todo.refusals import InvalidError, MissingError
from keyplan_systems.todo.service import Service
from keyplan_systems.todo.service_lists import Order, TaskSelection
from keyplan_systems.web.application import api_router
from keyplan_systems.web.request_context import with_unreadable

TaskIdPath = Annotated[TaskId, Path(description="The task's ID.", examples=["019aa1f0-5c1e-7b3a-9f52-0c1d2e3f4a5b"])]
Zone = Annotated[str, Query(alias="time_zone", max_length=64, description="IANA time zone of the current day.")]


def task_routes(service: Service) -> APIRouter:
    """Return the routes that read, create, change and delete tasks."""
    router = api_router(prefix=PREFIX, tags=["tasks"])
    _add_writes(router, service)
    _add_bulk(router, service)
    _add_reads(router, service)
    _add_single(router, service)
    return router


def _add_writes(router: APIRouter, service: Service) -> None:
    @router.post("/tasks", status_code=201, response_model=TaskAnswer, summary="Create a task")
    def create(http: HttpRequest, person: CurrentPerson, key: Key, task: NewTask) -> Response:
        fields = task.model_dump(exclude_unset=True)
        return answer_response(service.tasks.create(request_of(http, person, key, _json(task)), person, fields))

    @router.put("/tasks/{task_id}", response_model=TaskAnswer, summary="Change fields of a task")
    def change(
        http: HttpRequest,
        person: CurrentPerson,
        key: Key,
        task_id: TaskIdPath,
        *,
        changes: TaskChanges,
        seen_version: SeenVersion = None,
    ) -> Response:
        fields = changes.model_dump(exclude_unset=True)
        if not fields:
            raise InvalidError("The request has no changes: send at least one field.")
        request = request_of(http, person, key, _json(changes), seen_version)
        return answer_response(service.tasks.change(request, person.user_id, task_id, fields, version_of(seen_version)))

    @router.delete("/tasks/{task_id}", status_code=204, response_class=Response, summary="Delete a task")
    def delete(
        http: HttpRequest, person: CurrentPerson, key: Key, task_id: TaskIdPath, seen_version: SeenVersion = None
    ) -> Response:
        request = request_of(http, person, key, None, seen_version)
        return answer_response(service.tasks.delete(request, person.user_id, task_id, version_of(seen_version)))


def _add_bulk(router: APIRouter, service: Service) -> None:
    @router.post("/tasks/bulk/status", response_model=BulkAnswer, summary="Set the status of several tasks")
    def change_statuses(http: HttpRequest, person: CurrentPerson, key: Key, bulk: BulkStatus) -> Response:
        request = request_of(http, person, key, _json(bulk))
        return answer_response(service.tasks.change_statuses(request, person.user_id, bulk.task_ids, bulk.status))

    @router.post("/tasks/bulk/delete-completed", response_model=DeletedCompleted, summary="Delete completed tasks")
    def delete_completed(http: HttpRequest, person: CurrentPerson, key: Key) -> Response:
        return answer_response(service.tasks.delete_completed(request_of(http, person, key), person.user_id))


def _add_reads(router: APIRouter, service: Service) -> None:
    @router.get("/tasks", response_model=TaskPage, summary="List tasks by status, due date, priority or category")
    def tasks(
        person: CurrentPerson,
        *,
        status: Status | None = None,
        priority: Priority | None = None,
        category: Annotated[CategoryInput | None, Query()] = None,
        due_on: Day | None = None,
        due_from: Day | None = None,
        due_to: Day | None = None,
        order: Order = "created",
        limit: Limit = 25,
        cursor: Cursor = None,
    ) -> Response:
        selection = TaskSelection(status, priority, category, due_on, due_from, due_to, order)
        page = service.lists.page(person.user_id, selection, limit, cursor)
        return page_response(page.items, page.cursor)

    @router.get("/tasks/overdue", response_model=TaskPage, summary="List open tasks that were due before today")
    def overdue(person: CurrentPerson, zone: Zone = "UTC", limit: Limit = 25, cursor: Cursor = None) -> Response:
        page = service.lists.overdue(person.user_id, zone, limit, cursor)
        return page_response(page.items, page.cursor)

    @router.get("/tasks/search", response_model=TaskPage, summary="Search tasks by title or description")
    def search(person: CurrentPerson, text: Text, limit: Limit = 25, cursor: Cursor = None) -> Response:
        page = service.lists.search(person.user_id, text, limit, cursor)
        return page_response(page.items, page.cursor)

    @router.get("/tasks/counts", response_model=Counts, summary="Count tasks per status and per priority")
    def counts(person: CurrentPerson) -> Response:
        return json_response(with_unreadable(service.lists.counts(person.user_id)))

    @router.get("/tasks/several", response_model=TaskList, summary="Get up to 100 tasks by their IDs")
    def several(
        person: CurrentPerson, task_ids: Annotated[list[TaskId], Query(alias="task_id", min_length=1, max_length=100)]
    ) -> Response:
        tasks = service.tasks.read_several(person.user_id, list(dict.fromkeys(task_ids)))
        return json_response({"tasks": [task_body(task) for task in tasks]})


def _add_single(router: APIRouter, service: Service) -> None:
    """Add the routes for a single task (/tasks/{task_id}) and for the caller's lists of tasks (/users/{user_id}/tasks).

    These routes must be added after all other routes below /tasks, because /tasks/{task_id} also matches the paths of
    those routes.
    """

    @router.get("/tasks/{task_id}", response_model=TaskAnswer, summary="Get a task")
    def task(person: CurrentPerson, task_id: TaskIdPath) -> Response:
        return json_response(task_body(service.tasks.read(person.user_id, task_id)))

    @router.get("/users/{user_id}/tasks", response_model=TaskPage, summary="List the caller's tasks")
    def tasks_of(
        person: CurrentPerson,
        user_id: str,
        *,
        status: Status | None = None,
        priority: Priority | None = None,
        category: Annotated[CategoryInput | None, Query()] = None,
        limit: Limit = 25,
        cursor: Cursor = None,
    ) -> Response:
        _require_same_user(person.user_id, user_id)
        page = service.lists.page(user_id, TaskSelection(status, priority, category), limit, cursor)
        return page_response(page.items, page.cursor)

    @router.get("/users/{user_id}/tasks/overdue", response_model=TaskPage, summary="List the caller's overdue tasks")
    def overdue_of(
        person: CurrentPerson, user_id: str, zone: Zone = "UTC", limit: Limit = 25, cursor: Cursor = None
    ) -> Response:
        _require_same_user(person.user_id, user_id)
        page = service.lists.overdue(user_id, zone, limit, cursor)
        return page_response(page.items, page.cursor)


def _require_same_user(caller: str, user_id: str) -> None:
    if caller != user_id:
        raise MissingError("No such user.")  # other callers must not learn whether the user exists


def _json(body: NewTask | TaskChanges | BulkStatus) -> Any:
    """Return the fields that the request contains, as JSON values for the fingerprint of the request."""
    return body.model_dump(mode="json", exclude_unset=True)
