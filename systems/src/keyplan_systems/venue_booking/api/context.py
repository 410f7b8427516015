"""The context of a GraphQL request: the caller, the operations, and data loaders that batch reads.

The operations block, so resolvers run them in threads and await the results. Each request has its own loaders, so data
that was loaded for one caller is never visible to another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date
from typing import Final, ParamSpec, TypeAlias, TypeVar, cast

import strawberry
from starlette.concurrency import run_in_threadpool
from strawberry.dataloader import DataLoader
from strawberry.fastapi import BaseContext
from strawberry.types import Info

from keyplan_systems.venue_booking.domain.bookings import Booking
from keyplan_systems.venue_booking.domain.events import Event
from keyplan_systems.venue_booking.domain.refusals import InvalidRequestError
from keyplan_systems.venue_booking.domain.users import ADMINISTRATORS, User, actor_from
from keyplan_systems.venue_booking.service import Service
from keyplan_systems.venue_booking.service_users import Person
from keyplan_systems.web.idempotency import Request, fingerprint
from keyplan_systems.web.tokens import Principal

BATCH_KEYS: Final = 100
"""Maximum number of keys in one batch read."""
BATCH_MONTHS: Final = 13

P = ParamSpec("P")
T = TypeVar("T")


class Context(BaseContext):
    """The context of a GraphQL request: the service, the caller, and the data loaders."""

    def __init__(self, service: Service, principal: Principal) -> None:
        super().__init__()
        self.service = service
        self.person = person_of(principal)
        self.actor = self.person.actor
        self.users: DataLoader[str, User | None] = DataLoader(self._users, BATCH_KEYS)
        self.bookings: DataLoader[str, Booking | None] = DataLoader(self._bookings, BATCH_KEYS)
        self.events: DataLoader[str, Event | None] = DataLoader(self._events, BATCH_KEYS)
        self.months: DataLoader[date, list[Event]] = DataLoader(self._months, BATCH_MONTHS)

    async def _users(self, ids: Sequence[str]) -> list[User | None]:
        return await run_blocking(self.service.users.get_many, list(ids))

    async def _bookings(self, ids: Sequence[str]) -> list[Booking | None]:
        return await run_blocking(self.service.bookings.get_many, list(ids))

    async def _events(self, ids: Sequence[str]) -> list[Event | None]:
        return await run_blocking(self.service.calendar.get_many, list(ids))

    async def _months(self, months: Sequence[date]) -> list[list[Event]]:
        """Return one list of events for each month in `months`. Each month is given by its first day."""
        events = await run_blocking(self.service.calendar.events_in, list(months))
        return [[event for event in events if event.date.replace(day=1) == month] for month in months]


RequestInfo: TypeAlias = Info[Context, None]


def field(description: str) -> Callable[[T], T]:
    """Return a decorator that turns a method into the resolver of a GraphQL field with this description.

    The type annotations of the library's own decorator do not support methods.
    """
    return cast("Callable[[T], T]", strawberry.field(description=description))


KEY_CHARACTERS: Final = 128
_KEY = re.compile(rf"[!-~]{{1,{KEY_CHARACTERS}}}")


def idempotent_request(info: RequestInfo, key: str | None, *content: object) -> Request | None:
    """Return a mutation's idempotency key together with a fingerprint of the mutation, or None if `key` is None.

    The fingerprint is a hash of the mutation's name and its arguments, which are passed as `content`. A request that
    repeats a key with different arguments is rejected. Raises InvalidRequestError if the key is invalid.
    """
    if key is None:
        return None
    if _KEY.fullmatch(key) is None:
        message = f"An idempotency key has 1 to {KEY_CHARACTERS} printable ASCII characters without spaces."
        raise InvalidRequestError(message, {"field": "idempotencyKey"})
    return Request(info.context.actor.user_id, key, fingerprint("mutation", info.field_name, content))


async def run_blocking(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a blocking operation in a thread and return its result."""
    return await run_in_threadpool(function, *args, **kwargs)


def person_of(principal: Principal) -> Person:
    """Return the user that a verified token identifies.

    The email address is treated as verified only if the token states that it is verified.
    """
    groups = (ADMINISTRATORS,) if principal.has_role(ADMINISTRATORS) else ()
    claims = principal.claims
    return Person(
        actor_from(principal.subject, groups),
        _text(claims.get("email")),
        _text(claims.get("name")),
        principal.verified_email is not None,
        _text(claims.get("phone_number")),
    )


def _text(claim: object) -> str | None:
    return claim if isinstance(claim, str) and claim else None
