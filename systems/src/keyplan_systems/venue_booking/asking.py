"""What every use has at hand: the connection, the venue, time and new ids; and how lists are read page by page."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Generic, TypeVar

from keyplan import Page
from keyplan.client.connection import Connection
from keyplan.client.errors import CursorError
from keyplan.clock import Clock
from keyplan.design.declaring.patterns import Call
from keyplan_systems.venue_booking.domain.refusals import InvalidRequestError
from keyplan_systems.venue_booking.domain.venue import Venue, moment
from keyplan_systems.web.notes import leave_out

MOST_LISTED: Final = 100
"""The most entries of one page of any list."""
_ID_CHARACTERS: Final = 64

Stored = TypeVar("Stored")
Told = TypeVar("Told")


@dataclass(frozen=True)
class Listed(Generic[Told]):
    """A page of a list; `cursor` leads to the next one, None at the end."""

    entries: tuple[Told, ...]
    cursor: str | None


@dataclass(frozen=True)
class Asking:
    """What uses are made of. Threads may share it."""

    connection: Connection
    clock: Clock
    venue: Venue

    def now(self) -> datetime:
        """This moment in UTC."""
        return moment(self.clock.now())

    def new_id(self) -> str:
        """An id that nothing else has."""
        return str(uuid.UUID(int=self.clock.random.getrandbits(128), version=4))

    def listed(
        self, call: Call[Page[Stored]], told: Callable[[Stored], Told], limit: int, cursor: str | None
    ) -> Listed[Told]:
        """Return a page of a query's results, without items that cannot be read: the answer says how many these are.

        Raises InvalidRequestError for an invalid limit or cursor.
        """
        if not 1 <= limit <= MOST_LISTED:
            raise InvalidRequestError(f"Ask for 1 to {MOST_LISTED} entries, not {limit}.", {"field": "first"})
        try:
            page = self.connection.run(call, limit=limit, cursor=cursor, unreadable=leave_out)
        except CursorError as error:
            raise InvalidRequestError("This cursor is not one of this list.", {"field": "after"}) from error
        return Listed(tuple(told(item) for item in page.items), page.cursor)


def is_id(text: str) -> bool:
    """Whether it can be an id of a booking or an event: these are made here, so anything else is nobody's."""
    return 0 < len(text) <= _ID_CHARACTERS and text.isascii() and text.replace("-", "").isalnum()
