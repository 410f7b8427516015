"""Uses of users: who comes in, profiles, finding people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from keyplan.connections.errors import AlreadyExistsError
from keyplan_systems.venue_booking import reads, writes
from keyplan_systems.venue_booking.asking import Asking, Listed
from keyplan_systems.venue_booking.domain.contacts import normalise_email, normalise_phone, single_line
from keyplan_systems.venue_booking.domain.refusals import InvalidRequestError, StaleVersionError
from keyplan_systems.venue_booking.domain.requests import ProfileChange, parse
from keyplan_systems.venue_booking.domain.users import Actor, User, changed_profile, require_admin
from keyplan_systems.venue_booking.domain.venue import moment
from keyplan_systems.venue_booking.entities import NotificationItem, UserBookingItem, UserItem
from keyplan_systems.venue_booking.items import user_item, user_of
from keyplan_systems.venue_booking.writing import write

_ATTEMPTS: Final = 8
_NAME_CHARACTERS: Final = 100


@dataclass(frozen=True)
class Person:
    """Who a verified token speaks for; what it says beside the actor is taken into a new profile."""

    actor: Actor
    email: str | None = None
    name: str | None = None
    email_is_verified: bool = True
    phone: str | None = None


@dataclass(frozen=True)
class UserWithBookings:
    """A user and the copies of their bookings, the earliest date first."""

    user: User
    bookings: tuple[UserBookingItem, ...]


@dataclass(frozen=True)
class Users:
    """Uses of users."""

    asking: Asking

    def current(self, person: Person) -> User:
        """The caller's profile, made on first use of what the token says. Raises RefusalError where that cannot be."""
        found = self.find(person.actor.user_id)
        return found if found is not None else self._come_in(person)

    def find(self, user_id: str) -> User | None:
        """A user as they are now."""
        item = self.asking.connection.run(reads.user_by_id(user_id))
        return None if item is None else user_of(item)

    def change(self, person: Person, values: Mapping[str, Any], known_version: int | None = None) -> User:
        """Change the caller's profile; `known_version`: only if it is still that one.

        Who names no version wants the change on top of whatever is there, so it is made anew where another write
        was faster.
        """
        change = parse(ProfileChange, values)
        for attempt in range(1, _ATTEMPTS + 1):
            user = self.current(person)
            changed = changed_profile(user, change, self.asking.venue, known_version)
            try:
                self._replace(user, changed)
            except StaleVersionError:
                if known_version is not None or attempt == _ATTEMPTS:
                    raise
            else:
                return changed
        raise AssertionError("the last attempt returns or raises")

    def _replace(self, user: User, changed: User) -> None:
        call = writes.replace_user(user_item(changed, user.version))
        write(self.asking.connection, call, is_done=lambda: self.find(user.user_id) == changed)

    def by_email(self, actor: Actor, email: str) -> User | None:
        """The user with this address, for administrators. A profile of this second may not be found yet."""
        require_admin(actor)
        try:
            address = normalise_email(email)
        except ValueError as error:
            raise InvalidRequestError(f"Invalid input: email, {error}.", {"field": "email"}) from error
        found = self.asking.connection.run(reads.user_by_email(address))
        return user_of(found.items[0]) if found.items else None

    def all(self, actor: Actor, limit: int, cursor: str | None) -> Listed[User]:
        """All users in the order in which they came, for administrators."""
        require_admin(actor)
        return self.asking.listed(reads.all_users(), user_of, limit, cursor)

    def several(self, user_ids: list[str]) -> list[User | None]:
        """Some users, each in the place of its id."""
        items = self.asking.connection.run(reads.users_by_id(user_ids))
        return [None if item is None else user_of(item) for item in items]

    def with_bookings(self, person: Person) -> UserWithBookings:
        """The caller's profile and all their bookings, read together."""
        found = self.asking.connection.all(reads.user_with_bookings(person.actor.user_id))
        users = [item for item in found if isinstance(item, UserItem)]
        bookings = tuple(item for item in found if isinstance(item, UserBookingItem))
        return UserWithBookings(user_of(users[0]) if users else self._come_in(person), bookings)

    def notifications(self, person: Person, limit: int, cursor: str | None) -> Listed[NotificationItem]:
        """The letters that were sent about the caller's bookings, newest first."""
        call = reads.notifications_of_user(person.actor.user_id)
        return self.asking.listed(call, lambda item: item, limit, cursor)

    def _come_in(self, person: Person) -> User:
        user = self._made(person)
        try:
            write(self.asking.connection, writes.create_user(user_item(user, 0)))
        except Exception as error:
            # Somebody with the same token was faster: then the profile is there by now.
            if isinstance(error.__cause__, AlreadyExistsError) and (found := self.find(user.user_id)) is not None:
                return found
            raise
        return user

    def _made(self, person: Person) -> User:
        if person.email is None:
            raise InvalidRequestError("The token has no e-mail address, and a profile needs one.", {"field": "email"})
        if not person.email_is_verified:
            raise InvalidRequestError("The e-mail address of the token is not verified yet.", {"field": "email"})
        try:
            user = User(
                user_id=person.actor.user_id,
                email=normalise_email(person.email),
                name=single_line((person.name or "").strip() or person.email)[:_NAME_CHARACTERS],
                created_at=moment(self.asking.clock.now()),
                phone=self._phone(person),
                role=person.actor.role,
            )
            user_item(user, 0)
        except (ValueError, ValidationError) as error:
            raise InvalidRequestError("No profile can be made of what the token says.", {"field": "token"}) from error
        return user

    def _phone(self, person: Person) -> str | None:
        """The token's telephone number, if it can be one: it is optional, so nobody is kept out for a wrong one."""
        if person.phone is None:
            return None
        try:
            return normalise_phone(person.phone, self.asking.venue.country)
        except ValueError:
            return None
