"""Transitions, permissions, changes of each step, and counters that always add up."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.systems.venue_booking.samples import ADMIN, DAY, OWNER, STRANGER, VENUE, booking, event

from keyplan_systems.venue_booking.domain.bookings import (
    TRANSITIONS,
    Action,
    Booking,
    BookingChanges,
    check_can_view,
    decide,
    is_conflicting,
)
from keyplan_systems.venue_booking.domain.notices import NoticeKind
from keyplan_systems.venue_booking.domain.refusals import (
    AlreadyDecidedError,
    DateNotBookableError,
    InvalidRequestError,
    NotAllowedError,
    NotFoundError,
    StaleVersionError,
)
from keyplan_systems.venue_booking.domain.requests import EventKind
from keyplan_systems.venue_booking.domain.users import Actor, Role, Status, stats_changes
from keyplan_systems.venue_booking.domain.venue import Venue

LATER = datetime(2025, 10, 22, 9, 0, tzinfo=UTC)


def run_step(
    before: Booking, action: Action, actor: Actor = ADMIN, *, reason: str | None = None, version: int | None = None
) -> BookingChanges:
    return decide(before, action, actor, VENUE, LATER, event_id="e9", reason=reason, known_version=version)


def approved() -> Booking:
    return run_step(booking(), Action.APPROVE).booking


def test_approving_reserves_every_slot_of_the_duration() -> None:
    written = run_step(booking(), Action.APPROVE)
    after = written.booking
    assert (after.status, after.version, after.decided_by, after.decided_at) == (Status.APPROVED, 2, "root", LATER)
    assert after.slots == ("MORNING", "AFTERNOON", "EVENING")
    assert after.event_id == "e9"
    assert written.reserved_event is not None
    assert written.reserved_event.slots == after.slots
    assert (written.reserved_event.booking_id, written.reserved_event.kind) == ("b1", EventKind.PRIVATE_BOOKING)
    assert written.reserved_event.title == "Birthday party"
    assert written.freed_slots == ()
    assert written.stats == {Status.PENDING: -1, Status.APPROVED: 1}
    assert written.is_audited


def test_rejecting_a_request_changes_no_slot_and_keeps_the_reason() -> None:
    written = run_step(booking(), Action.REJECT, reason="Roof repairs")
    assert (written.booking.status, written.booking.reason) == (Status.REJECTED, "Roof repairs")
    assert (written.reserved_event, written.freed_slots) == (None, ())


@pytest.mark.parametrize(("action", "status"), [(Action.CANCEL, Status.CANCELLED), (Action.REJECT, Status.REJECTED)])
def test_leaving_the_approved_status_frees_the_reserved_slots(action: Action, status: Status) -> None:
    written = run_step(approved(), action)
    assert written.booking.status is status
    assert written.freed_slots == ("MORNING", "AFTERNOON", "EVENING")
    assert (written.booking.slots, written.booking.event_id) == ((), None)
    assert written.reserved_event is None


def test_the_reserved_slots_are_freed_even_if_durations_changed() -> None:
    shorter = Venue(durations={"FULL_DAY": ("MORNING", "AFTERNOON")})
    written = decide(approved(), Action.CANCEL, OWNER, shorter, LATER, event_id="e9")
    assert written.freed_slots == ("MORNING", "AFTERNOON", "EVENING")


def test_owners_may_cancel_pending_and_approved_bookings_without_audit() -> None:
    for cancellable in (booking(), approved()):
        written = run_step(cancellable, Action.CANCEL, OWNER)
        assert written.booking.status is Status.CANCELLED
        assert not written.is_audited


@pytest.mark.parametrize("action", [Action.APPROVE, Action.REJECT])
def test_owners_may_not_decide_on_their_own_requests(action: Action) -> None:
    with pytest.raises(NotAllowedError):
        run_step(booking(), action, OWNER)


@pytest.mark.parametrize("action", list(Action))
def test_strangers_cannot_find_out_that_a_booking_exists(action: Action) -> None:
    with pytest.raises(NotFoundError):
        run_step(booking(), action, STRANGER)
    with pytest.raises(NotFoundError):
        check_can_view(booking(), STRANGER)


@pytest.mark.parametrize("status", list(Status))
@pytest.mark.parametrize("action", list(Action))
def test_undefined_status_changes_are_rejected_with_the_status(status: Status, action: Action) -> None:
    pending = booking(status=status)
    if (status, action) in TRANSITIONS:
        assert run_step(pending, action).booking.status is TRANSITIONS[status, action].status
    else:
        with pytest.raises(AlreadyDecidedError) as refusal:
            run_step(pending, action)
        assert refusal.value.details == {"status": status.value}


def test_rejected_and_cancelled_are_final() -> None:
    assert {status for status, _ in TRANSITIONS} == {Status.PENDING, Status.APPROVED}


def test_a_stale_version_is_reported_after_the_status() -> None:
    with pytest.raises(StaleVersionError) as refusal:
        run_step(booking(version=5), Action.APPROVE, version=4)
    assert refusal.value.details == {"known": 4, "current": 5}
    assert run_step(booking(version=5), Action.APPROVE, version=5).booking.version == 6
    with pytest.raises(AlreadyDecidedError):
        run_step(booking(version=5, status=Status.REJECTED), Action.APPROVE, version=4)


def test_a_past_date_cannot_be_approved_but_rejected() -> None:
    over = datetime(2025, 11, 15, 23, 0, tzinfo=UTC)
    with pytest.raises(DateNotBookableError):
        decide(booking(), Action.APPROVE, ADMIN, VENUE, over, event_id="e9")
    assert decide(booking(), Action.REJECT, ADMIN, VENUE, over, event_id="e9").booking.status is Status.REJECTED


@pytest.mark.parametrize(("action", "actor", "kinds"), [
    (Action.APPROVE, ADMIN, [NoticeKind.APPROVED]),
    (Action.REJECT, ADMIN, [NoticeKind.REJECTED]),
    (Action.CANCEL, ADMIN, [NoticeKind.CANCELLED]),
    (Action.CANCEL, OWNER, [NoticeKind.CANCELLED, NoticeKind.ADMIN_CANCELLED]),
    (Action.CANCEL, Actor("ada", Role.ADMIN), [NoticeKind.CANCELLED, NoticeKind.ADMIN_CANCELLED]),
])  # fmt: skip
def test_every_status_change_notifies_the_other_parties(action: Action, actor: Actor, kinds: list[NoticeKind]) -> None:
    notices = run_step(booking(), action, actor).notices
    assert [notice.kind for notice in notices] == kinds
    assert len({notice.key for notice in notices}) == len(kinds)


def test_keys_of_notices_differ_between_versions_and_not_between_attempts() -> None:
    first, again = run_step(booking(), Action.APPROVE).notices[0], run_step(booking(), Action.APPROVE).notices[0]
    assert first.key == again.key
    assert run_step(booking(version=3), Action.APPROVE).notices[0].key != first.key


def test_pending_bookings_conflict_as_soon_as_one_of_their_slots_is_reserved() -> None:
    morning = booking(booking_id="m", duration="HALF_DAY_MORNING")
    evening = booking(booking_id="e", duration="EVENING")
    full = booking(booking_id="f")
    decided = booking(booking_id="d", status=Status.REJECTED)
    waiting = [morning, evening, full, decided]
    assert [is_conflicting(request, [event()], VENUE) for request in waiting] == [True, False, True, False]
    assert not any(is_conflicting(request, [], VENUE) for request in waiting)
    assert not any(is_conflicting(request, [event(date=DAY.replace(day=16))], VENUE) for request in waiting)


def test_pending_bookings_of_a_removed_duration_cannot_be_approved() -> None:
    without = VENUE.model_copy(update={"durations": {"EVENING": ("EVENING",)}})
    waiting = [booking(booking_id="e", duration="EVENING"), booking(booking_id="f")]
    assert [is_conflicting(request, [], without) for request in waiting] == [False, True]
    with pytest.raises(InvalidRequestError, match="FULL_DAY"):
        decide(waiting[1], Action.APPROVE, ADMIN, without, LATER, event_id="v")
    assert decide(waiting[1], Action.REJECT, ADMIN, without, LATER, event_id="v").booking.status is Status.REJECTED


def test_an_unchanged_status_changes_no_counter() -> None:
    assert stats_changes(Status.APPROVED, Status.APPROVED) == {}
    assert stats_changes(None, Status.PENDING) == {Status.PENDING: 1}


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from(Action), st.booleans()), max_size=40))
def test_counters_always_equal_a_count_of_the_bookings(steps: list[tuple[int, Action, bool]]) -> None:
    bookings = [booking(booking_id=str(number)) for number in range(5)]
    stats = Counter({Status.PENDING: 5})
    for number, action, by_owner in steps:
        try:
            written = run_step(bookings[number], action, OWNER if by_owner else ADMIN)
        except (AlreadyDecidedError, NotAllowedError):
            continue
        bookings[number] = written.booking
        stats.update(written.stats)
    assert stats == Counter(item.status for item in bookings)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from(Action)), max_size=40))
def test_reserving_and_freeing_never_leaves_a_slot_with_two_holders_or_a_missing_one(
    steps: list[tuple[int, Action]],
) -> None:
    durations = ["FULL_DAY", "HALF_DAY_MORNING", "EVENING"] * 2
    bookings = [booking(booking_id=str(n), duration=duration) for n, duration in enumerate(durations)]
    reserved: dict[str, str] = {}
    for number, action in steps:
        try:
            written = run_step(bookings[number], action)
        except AlreadyDecidedError:
            continue
        if written.reserved_event is not None and any(slot in reserved for slot in written.reserved_event.slots):
            continue
        for slot in written.reserved_event.slots if written.reserved_event else ():
            reserved[slot] = str(number)
        for slot in written.freed_slots:
            assert reserved.pop(slot) == str(number)
        bookings[number] = written.booking
    assert reserved == {slot: entry.booking_id for entry in bookings for slot in entry.slots}
    assert all(bool(entry.slots) is (entry.status is Status.APPROVED) for entry in bookings)
