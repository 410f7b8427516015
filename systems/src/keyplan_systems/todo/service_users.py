"""Operations on users: creating users on first use, reading and changing them, starting a deletion, and releasing email
addresses.

An address is reserved for a user only if the issuer of their token has verified it (`email_verified`). Any other
address is stored as unverified (`claimed_email`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from keyplan import Page
from keyplan.client.connection import Connection
from keyplan.client.errors import AlreadyExistsError, NotFoundError, UniqueTakenError, VersionConflictError
from keyplan.clock import Clock
from keyplan_systems.todo import design
from keyplan_systems.todo.bodies import user_body
from keyplan_systems.todo.domain import stored_email, utc_now
from keyplan_systems.todo.entities import Deletion, User
from keyplan_systems.todo.idempotency import Answer, IdempotencyKeys, Request, WritePlan
from keyplan_systems.todo.refusals import AddressTakenError, ConflictError, InvalidError, MissingError
from keyplan_systems.web.request_context import omit_unreadable

_BEING_DELETED = "The user is being deleted."


@dataclass(frozen=True)
class Person:
    """The user that a verified token identifies, with the email address and the name from the token."""

    user_id: str
    email: str | None
    name: str | None
    email_is_verified: bool = True
    """Whether the issuer of the token has verified the address."""

    def address(self) -> str | None:
        """Return the verified email address in normalized form, or None if the token does not contain a valid verified
        address.
        """
        if self.email is None or not self.email_is_verified:
            return None
        try:
            return stored_email(self.email)
        except InvalidError:
            return None


class Users:
    """Operations on users."""

    def __init__(self, connection: Connection, clock: Clock, idempotency: IdempotencyKeys) -> None:
        self._connection, self._clock, self._idempotency = connection, clock, idempotency

    def current(self, person: Person) -> User:
        """Return the caller's user record. If it does not exist, it is created from the token.

        Raises RefusalError if the record cannot be created.
        """
        user = self._connection.run(design.user_by_id(person.user_id))
        if user is None:
            user = self._create_user(person)
        if user.deleting_since is not None:
            raise ConflictError(_BEING_DELETED)
        return user

    def create(self, request: Request, person: Person, fields: Mapping[str, Any]) -> Answer:
        """Create the caller's user record. Fields that the request omits are copied from the token."""

        def make_plan() -> WritePlan:
            if self._connection.run(design.user_by_id(person.user_id)) is not None:
                raise ConflictError("The user already exists.")
            user = self._new_user(person, fields)
            return WritePlan([design.create_user(user)], 201, user_body(user))

        return self._execute(request, make_plan)

    def change(self, request: Request, person: Person, changes: Mapping[str, Any], seen_version: int | None) -> Answer:
        """Change the email address or name in the caller's user record.

        If `seen_version` is given, the record is changed only if it still has this version. An address that the
        caller's token verifies is reserved for the user. Any other address is stored as unverified and not reserved.
        """

        def make_plan() -> WritePlan:
            user = self.current(person)
            if seen_version not in {None, user.version}:
                raise ConflictError(f"The user has version {user.version}.")
            now = utc_now(self._clock)
            fields = {name: value for name, value in changes.items() if name != "email"}
            if changes.get("email") is not None:
                fields |= _address(person, changes["email"], now)
            changed = User.model_validate({**user.model_dump(), **fields, "updated_at": now})
            body = user_body(changed.model_copy(update={"version": user.version + 1}))
            return WritePlan([design.replace_user(changed)], 200, body)

        return self._execute(request, make_plan)

    def release_address(self, request: Request, user_id: str) -> Answer:
        """Release a user's reserved email address on behalf of an administrator, so that its owner can verify it.

        The user keeps the address as an unverified address.
        """

        def make_plan() -> WritePlan:
            user = self._connection.run(design.user_by_id(user_id))
            if user is None:
                raise MissingError("No such user.")
            if user.email is None:
                raise ConflictError("The user has no reserved email address.")
            changed = self._without_reserved_address(user)
            body = user_body(changed.model_copy(update={"version": user.version + 1}))
            return WritePlan([design.replace_user(changed)], 200, body)

        return self._idempotency.answer(request, make_plan)

    def delete(self, request: Request, user_id: str) -> Answer:
        """Start the deletion of the caller's user account. From then on, the user's writes are rejected, and a job
        deletes the user's tasks.
        """

        def make_plan() -> WritePlan:
            user = self._connection.run(design.user_by_id(user_id))
            if user is None:
                raise MissingError("No such user.")
            if user.deleting_since is not None:
                raise ConflictError(_BEING_DELETED)
            now = utc_now(self._clock)
            changed = user.model_copy(update={"deleting_since": now, "updated_at": now})
            calls = [design.replace_user(changed), design.begin_deletion(Deletion(user_id=user_id, since=now))]
            return WritePlan(calls, 202, {"user_id": user_id, "status": "deleting"})

        return self._idempotency.answer(request, make_plan)

    def page(self, limit: int, cursor: str | None) -> Page[User]:
        """Return a page of all users for administrators. The users are read with a scan."""
        return self._connection.run(design.all_users(), limit=limit, cursor=cursor, unreadable=omit_unreadable)

    def _create_user(self, person: Person) -> User:
        user = self._new_user(person, {})
        try:
            return self._store_user(user)
        except AddressTakenError as error:
            if not self._release_unverified(error.owner_id):
                raise ConflictError("The token's email address belongs to another user.") from error
            return self._store_user(user)

    def _store_user(self, user: User) -> User:
        try:
            return self._connection.run(design.create_user(user))
        except UniqueTakenError as error:
            raise AddressTakenError.from_error(error) from error
        except AlreadyExistsError:
            stored = self._connection.run(design.user_by_id(user.user_id))
            if stored is None:
                raise ConflictError(_BEING_DELETED) from None
            return stored

    def _execute(self, request: Request, make_plan: Callable[[], WritePlan]) -> Answer:
        """Execute a request once and return the response.

        If the requested email address is reserved for a user who never verified it, the address is released and the
        request is executed again.
        """
        try:
            return self._idempotency.answer(request, make_plan)
        except AddressTakenError as error:
            if not self._release_unverified(error.owner_id):
                raise
            return self._idempotency.answer(request, make_plan)

    def _release_unverified(self, holder_id: str | None) -> bool:
        """Release an email address that is reserved for the user `holder_id`, unless this user has verified it.

        Return False if the user has verified the address. Return True if the address was released or is not reserved
        any more.
        """
        holder = None if holder_id is None else self._connection.run(design.user_by_id(holder_id))
        if holder is None or holder.email is None:
            return True  # released since then
        if holder.email_verified_at is not None:
            return False
        try:
            self._connection.run(design.replace_user(self._without_reserved_address(holder)))
        except (VersionConflictError, NotFoundError):
            return self._release_unverified(holder_id)
        return True

    def _without_reserved_address(self, user: User) -> User:
        changes = {"email": None, "email_verified_at": None, "claimed_email": user.email}
        return user.model_copy(update={**changes, "updated_at": utc_now(self._clock)})

    def _new_user(self, person: Person, fields: Mapping[str, Any]) -> User:
        email = fields.get("email") or person.email
        if email is None:
            raise InvalidError("Neither the request nor the token has an email address: send one in the request.")
        now = utc_now(self._clock)
        address = _address(person, email, now)
        if fields.get("email") is None and address["email"] is None:
            raise InvalidError("The token's email address is not verified: verify it, or send another in the request.")
        name = fields.get("name") or (person.name or "").strip() or email
        user = {**address, "name": name[:100], "created_at": now, "updated_at": now}
        try:
            return User.model_validate({"user_id": person.user_id, "version": 1, **user})
        except ValidationError as error:  # request fields were validated before, but token claims were not
            raise InvalidError("The token does not contain a valid user.") from error


def _address(person: Person, email: str, now: datetime) -> dict[str, Any]:
    """Return the user fields that store an email address. The address becomes the user's reserved address if the token
    verifies it, or otherwise the user's unverified address.
    """
    address = stored_email(email)
    if address == person.address():
        return {"email": address, "email_verified_at": now, "claimed_email": None}
    return {"email": None, "email_verified_at": None, "claimed_email": address}
