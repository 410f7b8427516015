"""Transactions run, and their failures told in the venue's words.

What each action of a transaction guards follows from its pattern, so that the reasons that the store gives, action by
action, can be handed to the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from keyplan.connections.connection import Connection
from keyplan.connections.errors import (
    AlreadyExistsError,
    ConditionFailedError,
    NotFoundError,
    OutcomeUnknownError,
    RunError,
    ThrottledError,
    TransactionConflictError,
    TransactionFailedError,
    UniqueTakenError,
    VersionConflictError,
)
from keyplan.design import Transaction
from keyplan.design.patterns import Call
from keyplan_systems.venue_booking.domain.outcomes import (
    CONDITION_FAILED,
    BookingGuard,
    EmailGuard,
    Found,
    Guard,
    Reason,
    SlotFreeGuard,
    SlotHeldGuard,
    Unguarded,
    VersionGuard,
    explain,
)
from keyplan_systems.venue_booking.domain.refusals import EmailTakenError, RefusalError, TryAgainError
from keyplan_systems.venue_booking.domain.users import Status

_REFUSED_CONDITION = (AlreadyExistsError, ConditionFailedError, NotFoundError, UniqueTakenError, VersionConflictError)


def write(
    connection: Connection,
    call: Call[Any],
    before: Status | None = None,
    *,
    is_done: Callable[[], bool] | None = None,
) -> None:
    """Run a transaction or a single write. Raises the refusal that its failure amounts to.

    `before` is the status in which the booking was read that the transaction moves on. `is_done` looks whether it has
    happened, where every answer was lost; without it, or if it says no, OutcomeUnknownError is raised.
    """
    try:
        connection.run(call)
    except OutcomeUnknownError:
        if is_done is None or not is_done():
            raise
    except TransactionFailedError as error:
        raise _refusal(call, error, before) from error
    except UniqueTakenError as error:
        raise EmailTakenError("Another user has this e-mail address.") from error
    except (TransactionConflictError, ThrottledError) as error:
        raise TryAgainError("Too much is written at the same moment. Please try again.") from error
    except _REFUSED_CONDITION as error:
        raise explain([guard_of(call, before)], [_reason(error)]) from error


def _refusal(call: Call[Any], error: TransactionFailedError, before: Status | None) -> RefusalError:
    pattern: Any = call.pattern
    assert isinstance(pattern, Transaction), "only transactions fail as one"
    guards = [guard_of(step, before) for step in pattern.calls(call.arguments)]
    return explain(guards, [_reason(reason) for reason in error.reasons])


def guard_of(call: Call[Any], before: Status | None) -> Guard:
    """What a write guards: the failure of its condition means this."""
    if call.pattern.name == "replace_booking":
        assert before is not None, "who moves a booking has read it"
        return BookingGuard(before, call.arguments["booking"].version)
    guard = _GUARDS.get(call.pattern.name)
    return Unguarded(call.pattern.name) if guard is None else guard(call.arguments)


_GUARDS: Final[Mapping[str, Callable[[Mapping[str, Any]], Guard]]] = {
    "replace_user_booking": lambda given: VersionGuard("booking", given["copy"].version),
    "take_slot": lambda given: SlotFreeGuard(given["slot"].date, given["slot"].slot),
    "free_slot_of_booking": lambda given: SlotHeldGuard(given["slot"].date, given["slot"].slot),
    "free_slot_of_event": lambda given: SlotHeldGuard(given["slot"].date, given["slot"].slot),
    "create_user": lambda _: EmailGuard(),
    "replace_user": lambda given: VersionGuard("user", given["user"].version),
    "remove_event": lambda given: VersionGuard("event", given["event"].version),
    "booking_is_there": lambda _: VersionGuard("booking", 0),
    "event_is_there": lambda _: VersionGuard("event", 0),
}


def _reason(error: RunError | None) -> Reason:
    if error is None:
        return Reason("None")
    if isinstance(error, _REFUSED_CONDITION):
        return Reason(CONDITION_FAILED, _found(error))
    if isinstance(error, TransactionConflictError | ThrottledError):
        return Reason("TransactionConflict")
    return Reason(error.code or type(error).__name__)


def _found(error: RunError) -> Found | None:
    """What stood there; None where nothing did."""
    if isinstance(error, NotFoundError):
        return None
    item = getattr(error, "item", None)
    version = error.found if isinstance(error, VersionConflictError) else getattr(item, "version", None)
    if item is None and version is None:
        return None
    return Found(getattr(item, "status", None), version)
