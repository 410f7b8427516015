"""Cancelled transactions in the venue's terms: one right answer for every mixture of reasons."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.systems.venue_booking.samples import DAY

from keyplan_systems.venue_booking.domain.outcomes import (
    CONDITION_FAILED,
    BookingGuard,
    CurrentItem,
    EmailGuard,
    Guard,
    NoGuard,
    Reason,
    SlotFreeGuard,
    SlotHeldGuard,
    UnexplainedCancellationError,
    VersionGuard,
    explain,
)
from keyplan_systems.venue_booking.domain.refusals import (
    AlreadyDecidedError,
    EmailTakenError,
    NotFoundError,
    RefusalError,
    SlotTakenError,
    StaleVersionError,
    TryAgainError,
)
from keyplan_systems.venue_booking.domain.users import Status

GUARDS: list[Guard] = [
    BookingGuard(Status.PENDING, 3),
    NoGuard("copy under the user"),
    SlotFreeGuard(DAY, "MORNING"),
    SlotFreeGuard(DAY, "EVENING"),
]
FINE = Reason("None")
FAILED = Reason(CONDITION_FAILED)
CONFLICT = Reason("TransactionConflict")


def failed(status: Status | None = None, version: int | None = None) -> Reason:
    return Reason(CONDITION_FAILED, CurrentItem(status, version))


def test_all_reserved_slots_are_named_in_one_error() -> None:
    refusal = explain(GUARDS, [FINE, FINE, FAILED, FAILED])
    assert isinstance(refusal, SlotTakenError)
    assert refusal.details == {"date": "2025-11-15", "slots": ["MORNING", "EVENING"]}


def test_a_decided_booking_is_reported_before_its_slots() -> None:
    refusal = explain(GUARDS, [failed(Status.REJECTED, 4), FINE, FAILED, FINE])
    assert isinstance(refusal, AlreadyDecidedError)
    assert refusal.details == {"status": "rejected"}


def test_the_same_status_in_another_version_is_stale() -> None:
    refusal = explain(GUARDS, [failed(Status.PENDING, 4), FINE, FINE, FINE])
    assert isinstance(refusal, StaleVersionError)
    assert refusal.details == {"known": 3, "current": 4}


def test_a_missing_booking_is_not_found() -> None:
    assert isinstance(explain(GUARDS, [FAILED, FINE, FINE, FINE]), NotFoundError)


@pytest.mark.parametrize("code", ["TransactionConflict", "ProvisionedThroughputExceeded", "ThrottlingError"])
def test_conflicts_alone_can_be_retried(code: str) -> None:
    assert isinstance(explain(GUARDS, [FINE, Reason(code), CONFLICT, FINE]), TryAgainError)


def test_a_failed_condition_takes_precedence_over_a_conflict() -> None:
    assert isinstance(explain(GUARDS, [CONFLICT, FINE, FINE, FAILED]), SlotTakenError)


def test_a_slot_held_by_another_booking_is_read_again_and_not_freed() -> None:
    assert isinstance(explain([SlotHeldGuard(DAY, "MORNING")], [failed()]), TryAgainError)


def test_addresses_and_versions_have_their_own_errors() -> None:
    assert isinstance(explain([EmailGuard()], [FAILED]), EmailTakenError)
    assert isinstance(explain([VersionGuard("user", 2)], [FAILED]), NotFoundError)
    refusal = explain([VersionGuard("user", 2)], [failed(version=5)])
    assert refusal.details == {"known": 2, "current": 5}


@pytest.mark.parametrize(("guards", "reasons"), [
    ([NoGuard("audit entry")], [FAILED]),
    ([NoGuard("audit entry")], [Reason("ValidationError")]),
    ([NoGuard("audit entry")], [FINE]),
    ([NoGuard("audit entry")], []),
    ([EmailGuard(), NoGuard("x")], [CONFLICT, Reason("ItemCollectionSizeLimitExceeded")]),
])  # fmt: skip
def test_an_unexplained_cancellation_is_a_program_error(guards: list[Guard], reasons: list[Reason]) -> None:
    with pytest.raises(UnexplainedCancellationError):
        explain(guards, reasons)


ANY_GUARD = st.sampled_from([*GUARDS, SlotHeldGuard(DAY, "MORNING"), EmailGuard(), VersionGuard("event", 1)])
ANY_REASON = st.sampled_from([FINE, FAILED, CONFLICT, failed(Status.APPROVED, 4), failed(None, None)])


@settings(deadline=None)
@given(st.lists(st.tuples(ANY_GUARD, ANY_REASON), min_size=1, max_size=8))
def test_every_combination_has_an_error_or_is_a_program_error(pairs: list[tuple[Guard, Reason]]) -> None:
    guards, reasons = [guard for guard, _ in pairs], [reason for _, reason in pairs]
    acted = [guard for guard, reason in pairs if reason.code == CONDITION_FAILED and not isinstance(guard, NoGuard)]
    try:
        refusal = explain(guards, reasons)
    except UnexplainedCancellationError:
        assert not acted
    else:
        assert isinstance(refusal, RefusalError)
        assert acted or isinstance(refusal, TryAgainError)
