"""Common parts of the operations: the connection, the venue, the current time, ID generation, and paged lists."""

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
from keyplan_systems.venue_booking.domain.venue import Venue, utc_datetime
from keyplan_systems.web.request_context import omit_unreadable

MAX_PAGE_SIZE: Final = 100
"""Maximum number of elements per page of a list."""
_ID_CHARACTERS: Final = 64

Stored = TypeVar("Stored")
Entry = TypeVar("Entry")


@dataclass(frozen=True)
class ResultPage(Generic[Entry]):
    """A page of a list. `cursor` is the argument for reading the next page, or None on the last page."""

    entries: tuple[Entry, ...]
    cursor: str | None


@dataclass(frozen=True)
class Base:
    """The objects that all operations need: the connection, the clock and the venue. Instances are thread-safe."""

    connection: Connection
    clock: Clock
    venue: Venue

    def now(self) -> datetime:
        """Return the current time in UTC."""
        return utc_datetime(self.clock.now())

    def new_id(self) -> str:
        """Return a new unique ID."""
        return str(uuid.UUID(int=self.clock.random.getrandbits(128), version=4))

    def read_page(
        self, call: Call[Page[Stored]], convert: Callable[[Stored], Entry], limit: int, cursor: str | None
    ) -> ResultPage[Entry]:
        """Run a query and return a page of at most `limit` results, each converted with `convert`.

        `cursor` selects the page; None selects the first one. Unreadable items are omitted, and the HTTP response
        reports their number. Raises InvalidRequestError if the limit or the cursor is invalid.
        """
        if not 1 <= limit <= MAX_PAGE_SIZE:
            raise InvalidRequestError(f"Request 1 to {MAX_PAGE_SIZE} entries, not {limit}.", {"field": "first"})
        try:
            page = self.connection.run(call, limit=limit, cursor=cursor, unreadable=omit_unreadable)
        except CursorError as error:
            raise InvalidRequestError("This cursor does not belong to this list.", {"field": "after"}) from error
        return ResultPage(tuple(convert(item) for item in page.items), page.cursor)


def is_id(text: str) -> bool:
    """Return True if the text has the format of a booking or event ID."""
    return 0 < len(text) <= _ID_CHARACTERS and text.isascii() and text.replace("-", "").isalnum()
