"""Requests and read units of operations: lists without a request for each entry, a month in one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from tests.systems.metered import Metered
from tests.systems.served_engine import ServedEngine
from tests.systems.venue_booking.samples import VENUE
from tests.systems.venue_booking.stage import Caller, Stage, connected, staged

from keyplan.client.connection import Connection
from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan_systems.venue_booking import reads
from keyplan_systems.venue_booking.domain.notices import NoticeKind
from keyplan_systems.venue_booking.domain.users import Status
from keyplan_systems.venue_booking.entities import NotificationItem
from keyplan_systems.venue_booking.writes import remember_letter


@pytest.fixture
def counting(engine: Engine | ServedEngine, clock: ManualClock) -> Iterator[Metered]:
    with connected(engine, clock) as connection:
        yield Metered(connection.transport)


@pytest.fixture
def stage(engine: Engine | ServedEngine, clock: ManualClock, counting: Metered, tmp_path: Path) -> Iterator[Stage]:
    with connected(engine, clock) as below:
        connection = Connection(counting, below.context)
        with staged(connection, clock, tmp_path / "keys", VENUE) as stage:
            yield stage


LIST = """
query ($status: BookingStatus!) {
  bookings(status: $status, first: 50) {
    entries { id conflicting user { name stats { total } } event { title booking { id user { email } } } }
  }
}
"""


@pytest.mark.parametrize("count", [2, 12])
def test_a_list_of_any_length_needs_the_same_number_of_requests(count: int, stage: Stage, counting: Metered) -> None:
    admin = stage.admin()
    for number in range(count):
        day = (date(2025, 11, 3) + timedelta(days=number)).isoformat()
        booking = stage.person(f"user{number}").request(date=day)
        admin.decide("approve", booking["id"])
    counting.reset()
    entries = admin.ask(LIST, status="APPROVED")["bookings"]["entries"]
    assert {entry["event"]["booking"]["user"]["email"] for entry in entries} == {
        f"user{number}@example.org" for number in range(count)
    }
    # The list; its users; its events; the bookings of these, whose users are known by then.
    assert Counter(counting.operations) == {"Query": 1, "BatchGetItem": 3}


@pytest.mark.parametrize("count", [2, 12])
def test_pending_bookings_are_compared_with_a_month_in_one_request(count: int, stage: Stage, counting: Metered) -> None:
    ada, admin = stage.person("ada"), stage.admin()
    for number in range(count):
        ada.request(date=(date(2025, 11, 3) + timedelta(days=number)).isoformat())
    counting.reset()
    entries = admin.ask(LIST, status="PENDING")["bookings"]["entries"]
    assert len(entries) == count
    assert Counter(counting.operations) == {"Query": 2, "BatchGetItem": 1}


def test_a_history_costs_two_requests(stage: Stage, counting: Metered) -> None:
    ada = stage.person("ada")
    for number in range(10):
        ada.request(date=(date(2025, 11, 3) + timedelta(days=number)).isoformat())
    counting.reset()
    result = ada.ask("{ myBookings { entries { booking { description user { name } event { id } } } } }")
    assert len(result["myBookings"]["entries"]) == 10
    assert Counter(counting.operations) == {"Query": 1, "BatchGetItem": 2}


def test_a_profile_reads_none_of_the_sent_letters(stage: Stage, counting: Metered) -> None:
    ada, query = stage.person("ada"), "{ profile { user { name } bookings { bookingId } } }"
    booking = ada.request()
    for letters in (0, 60):
        for number in range(letters):
            sent = NotificationItem(
                user_id="ada",
                notice_key=f"{booking['id']}.{number}.approved",
                kind=NoticeKind.APPROVED,
                booking_id=booking["id"],
                sent_at=datetime(2025, 11, 1, 12, number, tzinfo=UTC),
                refused=[],
            )
            stage.connection.run(remember_letter(sent))
        counting.reset()
        assert ada.ask(query)["profile"]["bookings"] == [{"bookingId": booking["id"]}]
        assert (counting.operations, counting.units) == (["Query"], 1), letters


MONTH = """
query ($first: Date!, $last: Date!) {
  availability(firstDate: $first, lastDate: $last) { date bookable durations slots { name state } }
}
"""


def test_a_month_of_availability_is_one_request_priced_by_its_bytes(stage: Stage, counting: Metered) -> None:
    ada, admin = stage.person("ada"), stage.admin()
    november = {"first": "2025-11-01", "last": "2025-11-30"}
    counting.reset()
    assert len(ada.ask(MONTH, **november)["availability"]) == 30
    assert (counting.operations, counting.units) == (["Query"], 0.5)
    for number in range(30):
        admin.event(date=(date(2025, 11, 1) + timedelta(days=number)).isoformat(), title="A market of some length")
    counting.reset()
    result = ada.ask(MONTH, **november)["availability"]
    assert all(slot["state"] == "TAKEN" for day in result for slot in day["slots"])
    assert counting.operations == ["Query"]
    # 90 slots of at most 512 bytes are at most 12 blocks of 4 KB, and half a unit each; asked day by day, 15 at least.
    assert counting.units <= 6


def test_a_range_over_three_months_costs_three_requests(stage: Stage, counting: Metered) -> None:
    ada = stage.person("ada")
    counting.reset()
    ada.ask(MONTH, first="2025-11-30", last="2026-01-02")
    assert counting.operations == ["Query"] * 3


def test_approving_a_full_day_is_one_read_and_one_transaction(stage: Stage, counting: Metered) -> None:
    ada, admin = stage.person("ada"), stage.admin()
    booking = ada.request()
    counting.reset()
    admin.decide("approve", booking["id"])
    assert counting.operations == ["GetItem", "TransactWriteItems"]
    (transaction,) = (request for request in counting.requests if "TransactItems" in request)
    assert len(transaction["TransactItems"]) == 9


def test_every_documented_pattern_is_one_request(stage: Stage, counting: Metered, ada: Caller, admin: Caller) -> None:
    booking = ada.request()
    event = admin.decide("approve", booking["id"])["eventId"]
    ask = admin.ask
    ask("mutation ($id: ID!) { recordPayment(input: {bookingId: $id, amountCents: 5000, method: CASH}) { id } }",
        id=booking["id"])  # fmt: skip
    ask("mutation ($id: ID!) { issueLockCode(eventId: $id) { digits } }", id=event)
    run = stage.connection.run
    calls = [
        reads.user_by_id("ada"),
        reads.booking_by_id(booking["id"]),
        reads.bookings_of_user("ada"),
        reads.slots_on_date(date(2025, 11, 15)),
        reads.bookings_with_status(Status.APPROVED),
        reads.slots_in_months([date(2025, 11, 1)]),
        reads.user_by_email("ada@example.org"),
        reads.payments_of_booking(booking["id"]),
        reads.notifications_of_user("ada"),
        reads.lock_code_of_event(event),
    ]
    for call in calls:
        counting.reset()
        result = run(call)
        assert len(counting.operations) == 1, call.pattern.name
        assert counting.units <= 1, call.pattern.name
        if call.pattern.name != "notifications_of_user":  # no letter has been sent yet
            assert result, call.pattern.name
