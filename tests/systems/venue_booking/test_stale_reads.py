"""Reads that must return the latest writes, on a table whose eventually consistent reads are stale."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.systems.venue_booking.test_races import faulty

from keyplan.engine.faults.settings import Faults


@pytest.mark.embedded("faults on purpose")
def test_users_see_their_own_recent_writes(tmp_path: Path) -> None:
    with faulty(tmp_path, Faults(stale_reads=1.0, stale_s=60.0)) as world:
        ada, admin, clock = world.stage.person("ada"), world.stage.admin(), world.clock
        assert ada.ask("{ me { stats { pending } } }") == {"me": {"stats": {"pending": 0}}}
        clock.advance(3600)
        booking = ada.request()
        result = ada.ask(
            "query ($id: ID!) { booking(id: $id) { status } me { stats { pending } }"
            " myBookings { entries { bookingId } } profile { bookings { status } } }",
            id=booking["id"],
        )
        assert result == {
            "booking": {"status": "PENDING"},
            "me": {"stats": {"pending": 1}},
            "myBookings": {"entries": [{"bookingId": booking["id"]}]},
            "profile": {"bookings": [{"status": "PENDING"}]},
        }
        clock.advance(3600)
        event = admin.decide("approve", booking["id"])["eventId"]
        issued = admin.ask("mutation ($id: ID!) { issueLockCode(eventId: $id) { digits } }", id=event)
        pay = "mutation ($id: ID!) { recordPayment(input: { bookingId: $id, amountCents: 5, method: CASH }) { id } }"
        admin.ask(pay, id=booking["id"])
        result = ada.ask(
            "query ($id: ID!, $event: ID!, $day: Date!) { booking(id: $id) { status } eventsOn(date: $day) { kind }"
            " lockCode(eventId: $event) { digits } payments(bookingId: $id) { entries { amountCents } } }",
            id=booking["id"],
            event=event,
            day="2025-11-15",
        )
        assert result == {
            "booking": {"status": "APPROVED"},
            "lockCode": issued["issueLockCode"],
            "payments": {"entries": [{"amountCents": 5}]},
            "eventsOn": [{"kind": "PRIVATE_BOOKING"}],
        }
