"""The routes for users and administration."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Response
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
    Counts,
    NewUser,
    TaskPage,
    UserAnswer,
    UserChanges,
    UserDeletion,
    UserPage,
)
from keyplan_systems.todo.bodies import user_body
from keyplan_systems.todo.entities import UserId
from keyplan_systems.todo.refusals import InvalidError
from keyplan_systems.todo.service import Service
from keyplan_systems.web.application import api_router
from keyplan_systems.web.authentication import require_role
from keyplan_systems.web.request_context import with_unreadable

ADMINISTRATORS = "administrators"


def user_routes(service: Service) -> APIRouter:
    """Return the routes with which callers read, create, change and delete their own user record."""
    router = api_router(prefix=PREFIX, tags=["users"])

    @router.post("/users", status_code=201, response_model=UserAnswer, summary="Create the caller's user")
    def create(http: HttpRequest, person: CurrentPerson, key: Key, user: NewUser) -> Response:
        fields = user.model_dump(exclude_unset=True)
        return answer_response(service.users.create(request_of(http, person, key, fields), person, fields))

    @router.get("/users", response_model=UserAnswer, summary="Get the caller's user, which is created on first use")
    def current(person: CurrentPerson) -> Response:
        return json_response(user_body(service.users.current(person)))

    @router.put("/users", response_model=UserAnswer, summary="Change fields of the caller's user")
    def change(
        http: HttpRequest, person: CurrentPerson, key: Key, changes: UserChanges, seen_version: SeenVersion = None
    ) -> Response:
        fields = changes.model_dump(exclude_unset=True)
        if not fields:
            raise InvalidError("The request has no changes: send at least one field.")
        request = request_of(http, person, key, fields, seen_version)
        return answer_response(service.users.change(request, person, fields, version_of(seen_version)))

    @router.delete("/users", status_code=202, response_model=UserDeletion, summary="Start deleting the caller's user")
    def delete(http: HttpRequest, person: CurrentPerson, key: Key) -> Response:
        return answer_response(service.users.delete(request_of(http, person, key), person.user_id))

    return router


def administration_routes(service: Service) -> APIRouter:
    """Return the routes for administrators. They scan the whole table, as the published design of the to-do system
    specifies.
    """
    administrators = Depends(require_role(ADMINISTRATORS))
    router = api_router(prefix=f"{PREFIX}/admin", tags=["administration"], dependencies=[administrators])

    @router.get("/users", response_model=UserPage, summary="List all users with a scan")
    def users(limit: Limit = 25, cursor: Cursor = None) -> Response:
        page = service.users.page(limit, cursor)
        return json_response(with_unreadable({"users": [user_body(user) for user in page], "cursor": page.cursor}))

    @router.delete(
        "/users/{user_id}/email",
        response_model=UserAnswer,
        summary="Release a user's reserved address, which becomes unverified",
    )
    def release(http: HttpRequest, person: CurrentPerson, key: Key, user_id: UserId) -> Response:
        return answer_response(service.users.release_address(request_of(http, person, key), user_id))

    @router.get("/tasks/counts", response_model=Counts, summary="Count the tasks of all users with a scan")
    def counts() -> Response:
        return json_response(with_unreadable(service.lists.counts_of_all()))

    @router.get("/tasks/search", response_model=TaskPage, summary="Search the tasks of all users with a scan")
    def search(text: Text, limit: Limit = 25, cursor: Cursor = None) -> Response:
        page = service.lists.search_all(text, limit, cursor)
        return page_response(page.items, page.cursor)

    return router
