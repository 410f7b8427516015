"""Slots that events hold and leave free; payments, lock codes, profiles."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.systems.venue_booking.samples import ADMIN, DAY, NOW, OWNER, STRANGER, VENUE, event

from keyplan_systems.venue_booking.domain.events import SlotState, availability, dates, event_of_request
from keyplan_systems.venue_booking.domain.records import (
    PaymentMethod,
    PaymentRequest,
    check_can_view_lock_code,
    new_lock_code,
    record_payment,
)
from keyplan_systems.venue_booking.domain.refusals import InvalidRequestError, NotAllowedError, StaleVersionError
from keyplan_systems.venue_booking.domain.requests import EventKind, EventRequest, ProfileChange, parse
from keyplan_systems.venue_booking.domain.users import Actor, Role, User, actor_from, changed_profile
from keyplan_systems.venue_booking.domain.venue import Venue


def test_a_date_with_a_morning_event_leaves_afternoon_and_evening() -> None:
    (day,) = availability(VENUE, DAY, DAY, [event()], NOW)
    assert day.slots == {"MORNING": SlotState.TAKEN, "AFTERNOON": SlotState.FREE, "EVENING": SlotState.FREE}
    assert day.durations == ("HALF_DAY_AFTERNOON", "EVENING")
    assert (day.is_free("MORNING"), day.is_free("AFTERNOON"), day.is_free("NIGHT")) == (False, True, False)


def test_a_closure_is_distinguished_from_an_event() -> None:
    (day,) = availability(VENUE, DAY, DAY, [event(kind=EventKind.CLOSURE, slots=VENUE.slot_names)], NOW)
    assert set(day.slots.values()) == {SlotState.CLOSED}
    assert day.durations == ()


def test_dates_before_the_lead_time_are_free_but_not_bookable() -> None:
    days = availability(VENUE, date(2025, 10, 23), date(2025, 10, 24), [], NOW)
    assert [day.bookable for day in days] == [False, True]
    assert days[0].slots["MORNING"] is SlotState.FREE
    assert not days[0].is_free("MORNING")
    assert days[0].durations == ()


def test_date_ranges_are_bounded_and_ascending() -> None:
    assert len(dates(VENUE, DAY, DAY + timedelta(days=61))) == 62
    with pytest.raises(InvalidRequestError, match="at most 62 days"):
        dates(VENUE, DAY, DAY + timedelta(days=62))
    with pytest.raises(InvalidRequestError, match="ends before"):
        dates(VENUE, DAY, DAY - timedelta(days=1))
    assert dates(VENUE, date.max, date.max) == (date.max,)


@settings(deadline=None)
@given(st.sets(st.tuples(st.integers(0, 6), st.sampled_from(VENUE.slot_names))))
def test_a_duration_is_offered_if_and_only_if_all_its_slots_are_free(reserved: set[tuple[int, str]]) -> None:
    events = [
        event(event_id=f"{offset}{slot}", date=DAY + timedelta(days=offset), slots=(slot,)) for offset, slot in reserved
    ]
    for offset, day in enumerate(availability(VENUE, DAY, DAY + timedelta(days=6), events, NOW)):
        for duration in VENUE.durations:
            fits = all((offset, slot) not in reserved for slot in VENUE.slots_of(duration))
            assert (duration in day.durations) is fits


def test_private_events_always_name_their_booking() -> None:
    with pytest.raises(ValueError, match="private booking"):
        event(kind=EventKind.PRIVATE_BOOKING)
    with pytest.raises(ValueError, match="private booking"):
        event(booking_id="b1")


def test_an_administrators_event_reserves_its_slots_without_a_booking() -> None:
    values = {"date": DAY, "duration": "FULL_DAY", "kind": "closure", "title": "Painting"}
    new_event = event_of_request(parse(EventRequest, values), VENUE, event_id="e2", admin_id="root", now=NOW)
    assert new_event.slots == VENUE.slot_names
    assert (new_event.booking_id, new_event.created_by, new_event.kind, new_event.version) == (
        None,
        "root",
        EventKind.CLOSURE,
        1,
    )


PAYMENT: dict[str, Any] = {"booking_id": "b1", "amount_cents": 5000, "method": "cash"}


def test_administrators_record_payments() -> None:
    payment = record_payment(parse(PaymentRequest, PAYMENT), ADMIN, payment_id="p1", now=NOW)
    assert (payment.amount_cents, payment.currency, payment.method) == (5000, "EUR", PaymentMethod.CASH)
    assert (payment.recorded_by, payment.received_at) == ("root", NOW)
    with pytest.raises(NotAllowedError):
        record_payment(parse(PaymentRequest, PAYMENT), OWNER, payment_id="p1", now=NOW)


@pytest.mark.parametrize("changes", [
    {"amount_cents": 0}, {"amount_cents": -1}, {"amount_cents": 10.5}, {"currency": "euro"}, {"method": "barter"},
])  # fmt: skip
def test_invalid_payments_are_rejected(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequestError):
        parse(PaymentRequest, {**PAYMENT, **changes})


def test_a_lock_code_opens_from_half_an_hour_before_to_half_an_hour_after() -> None:
    code = new_lock_code(event(), VENUE, below=lambda limit: 42)
    assert code.digits == "000042"
    assert "000042" not in repr(code)
    assert code.valid_from == datetime(2025, 11, 15, 5, 0, tzinfo=UTC)
    assert code.valid_until == datetime(2025, 11, 15, 13, 0, tzinfo=UTC)


def test_lock_codes_are_visible_to_the_owner_of_the_booking_and_administrators() -> None:
    private = event(kind=EventKind.PRIVATE_BOOKING, booking_id="b1", created_by=OWNER.user_id)
    check_can_view_lock_code(private, OWNER)
    check_can_view_lock_code(event(), ADMIN)
    for visible, actor in ((private, STRANGER), (event(created_by="ada"), OWNER)):
        with pytest.raises(NotAllowedError):
            check_can_view_lock_code(visible, actor)


def test_members_of_the_administrators_group_are_administrators() -> None:
    assert actor_from("ada", ["users", "administrators"]) == Actor("ada", Role.ADMIN)
    assert not actor_from("ada", ["users", "admin"]).is_admin


def user() -> User:
    return User("ada", "ada@example.org", "Ada", NOW)


def test_a_profile_change_updates_only_the_given_fields() -> None:
    change = parse(ProfileChange, {"phone": "333 1234567", "email": "NEW@example.org"})
    after = changed_profile(user(), change, VENUE, known_version=1)
    assert (after.phone, after.email, after.name, after.version) == ("+393331234567", "new@example.org", "Ada", 2)


def test_a_profile_rejects_empty_changes_unknown_fields_and_old_versions() -> None:
    with pytest.raises(InvalidRequestError, match="The request has no changes"):
        changed_profile(user(), ProfileChange(), VENUE)
    with pytest.raises(InvalidRequestError, match="role"):
        parse(ProfileChange, {"role": "admin"})
    with pytest.raises(StaleVersionError):
        changed_profile(user(), parse(ProfileChange, {"name": "Ada R."}), VENUE, known_version=2)
    with pytest.raises(InvalidRequestError, match="phone"):
        changed_profile(user(), parse(ProfileChange, {"phone": "1" * 30}), Venue())
