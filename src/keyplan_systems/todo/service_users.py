"""Uses of users: come in on first use, read, changed, begun to be deleted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from keyplan.clock import Clock
from keyplan.connections.connection import Connection
from keyplan.connections.errors import AlreadyExistsError, UniqueTakenError
from keyplan.design import Page
from keyplan_systems.todo import design
from keyplan_systems.todo.bodies import user_body
from keyplan_systems.todo.domain import moment, stored_email
from keyplan_systems.todo.entities import Deletion, User
from keyplan_systems.todo.once import Answer, Once, Request, Work
from keyplan_systems.todo.refusals import ConflictError, InvalidError, MissingError

_LEAVING = "The user is being deleted."


@dataclass(frozen=True)
class Person:
    """Who a verified token speaks for."""

    user_id: str
    email: str | None
    name: str | None


class Users:
    """Uses of users."""

    def __init__(self, connection: Connection, clock: Clock, once: Once) -> None:
        self._connection, self._clock, self._once = connection, clock, once

    def current(self, person: Person) -> User:
        """The caller's user, made on first use. Raises RefusalError where that cannot be."""
        user = self._connection.run(design.user_by_id(person.user_id))
        if user is None:
            user = self._come_in(person)
        if user.deleting_since is not None:
            raise ConflictError(_LEAVING)
        return user

    def create(self, request: Request, person: Person, told: Mapping[str, Any]) -> Answer:
        """Make the caller's user, with what is told before what the token says."""

        def work() -> Work:
            if self._connection.run(design.user_by_id(person.user_id)) is not None:
                raise ConflictError("The user is there already.")
            user = self._made(person, told)
            return Work([design.create_user(user)], 201, user_body(user))

        return self._once.answer(request, work)

    def change(self, request: Request, person: Person, changes: Mapping[str, Any], seen: int | None) -> Answer:
        """Change e-mail address or name of the caller's user; `seen`: only at this version."""

        def work() -> Work:
            user = self.current(person)
            if seen not in {None, user.version}:
                raise ConflictError(f"The user has version {user.version}.")
            values = {**user.model_dump(), **_stored(changes), "updated_at": moment(self._clock)}
            changed = User.model_validate(values)
            body = user_body(changed.model_copy(update={"version": user.version + 1}))
            return Work([design.replace_user(changed)], 200, body)

        return self._once.answer(request, work)

    def delete(self, request: Request, user_id: str) -> Answer:
        """Begin the deletion of the caller's user: from now on nothing is added, and a job removes what is there."""

        def work() -> Work:
            user = self._connection.run(design.user_by_id(user_id))
            if user is None:
                raise MissingError("There is no such user.")
            if user.deleting_since is not None:
                raise ConflictError(_LEAVING)
            now = moment(self._clock)
            leaving = user.model_copy(update={"deleting_since": now, "updated_at": now})
            calls = [design.replace_user(leaving), design.begin_deletion(Deletion(user_id=user_id, since=now))]
            return Work(calls, 202, {"user_id": user_id, "status": "deleting"})

        return self._once.answer(request, work)

    def page(self, limit: int, cursor: str | None) -> Page[User]:
        """Some of all users, for administration: a scan."""
        return self._connection.run(design.all_users(), limit=limit, cursor=cursor)

    def _come_in(self, person: Person) -> User:
        try:
            return self._connection.run(design.create_user(self._made(person, {})))
        except UniqueTakenError as error:
            raise ConflictError("The token's e-mail address is another user's.") from error
        except AlreadyExistsError:
            found = self._connection.run(design.user_by_id(person.user_id))
            if found is None:
                raise ConflictError(_LEAVING) from None
            return found

    def _made(self, person: Person, told: Mapping[str, Any]) -> User:
        email = told.get("email") or person.email
        if email is None:
            raise InvalidError("Neither the request nor the token has an e-mail address: make the user with one.")
        name = told.get("name") or (person.name or "").strip() or email
        now = moment(self._clock)
        user = {"email": stored_email(email), "name": name[:100], "created_at": now, "updated_at": now}
        try:
            return User.model_validate({"user_id": person.user_id, "version": 1, **user})
        except ValidationError as error:  # what requests say has been checked, what tokens say has not
            raise InvalidError("No user can be made of what the token says.") from error


def _stored(changes: Mapping[str, Any]) -> dict[str, Any]:
    email = changes.get("email")
    return {**changes} if email is None else {**changes, "email": stored_email(email)}
