"""The operations of venue booking, grouped by topic."""

from __future__ import annotations

from dataclasses import dataclass

from keyplan.client.connection import Connection
from keyplan.clock import Clock
from keyplan_systems.venue_booking.base import Base
from keyplan_systems.venue_booking.domain.venue import Venue
from keyplan_systems.venue_booking.service_bookings import Bookings
from keyplan_systems.venue_booking.service_calendar import Calendar
from keyplan_systems.venue_booking.service_records import Records
from keyplan_systems.venue_booking.service_users import Users


@dataclass(frozen=True)
class Service:
    """All operations of venue booking, grouped by topic. Instances are thread-safe."""

    base: Base
    users: Users
    bookings: Bookings
    calendar: Calendar
    records: Records

    @classmethod
    def from_connection(cls, connection: Connection, clock: Clock, venue: Venue | None = None) -> Service:
        """Return the service that uses a connection. If `venue` is None, the default rules are used."""
        base = Base(connection, clock, venue or Venue())
        users = Users(base)
        bookings = Bookings(base, users)
        calendar = Calendar(base)
        return cls(base, users, bookings, calendar, Records(base, bookings, calendar))
