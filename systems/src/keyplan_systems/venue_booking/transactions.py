"""Runs transactions and idempotent mutations, and converts failed transactions to domain errors.

Each action of a transaction has a guard: an object that describes the action's condition. The guard is derived from the
action's access pattern, and it is used to convert the cancellation reasons that DynamoDB returns to a domain error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Generic, TypeVar

from pydantic import TypeAdapter

from keyplan.client.connection import Connection
from keyplan.client.errors import (
    AlreadyExistsError,
    ConditionFailedError,
    NotFoundError,
    OutcomeUnknownError,
    RunError,
    ThrottledError,
    TransactionFailedError,
    UniqueTakenError,
    VersionConflictError,
    WriteConflictError,
)
from keyplan.design.declaring.patterns import Call, TransactionCall, WriteCall
from keyplan.design.declaring.transactions import Transaction
from keyplan_systems.venue_booking import reads, writes
from keyplan_systems.venue_booking.base import Base
from keyplan_systems.venue_booking.domain.outcomes import (
    CONDITION_FAILED,
    BookingGuard,
    CurrentItem,
    EmailGuard,
    Guard,
    LetterGuard,
    NoGuard,
    Reason,
    SlotFreeGuard,
    SlotHeldGuard,
    VersionGuard,
    explain,
)
from keyplan_systems.venue_booking.domain.refusals import EmailTakenError, KeyReusedError, RefusalError, TryAgainError
from keyplan_systems.venue_booking.domain.users import Status
from keyplan_systems.venue_booking.entities import AnswerItem
from keyplan_systems.web.idempotency import ANSWER_RETENTION, IdempotencyKeys, Request, WritePlan

_REFUSED_CONDITION = (AlreadyExistsError, ConditionFailedError, NotFoundError, UniqueTakenError, VersionConflictError)


T = TypeVar("T")


@dataclass(frozen=True)
class Step(Generic[T]):
    """The result of an operation, and the call that writes it to the table.

    `before` and `is_done` are passed to `write`.
    """

    result: T
    call: WriteCall[Any] | TransactionCall[Any]
    before: Status | None = None
    is_done: Callable[[], bool] | None = None


@dataclass(frozen=True)
class _StepPlan(WritePlan):
    before: Status | None = None


class _MutationKeys(IdempotencyKeys):
    """Stores the responses to mutations by idempotency key, so that a mutation with a key is executed only once."""

    refusals = RefusalError

    def read_record(self, request: Request) -> Call[Any]:
        """Return the call that reads the stored response to a request."""
        return reads.answer_given(request.user_id, request.key)

    def store_record(self, request: Request, plan: WritePlan, now: datetime) -> WriteCall[Any]:
        """Return the call that stores the response, unless a response is already stored."""
        return writes.remember_answer(
            AnswerItem(
                user_id=request.user_id,
                request_key=request.key,
                fingerprint=request.fingerprint,
                response_data=plan.content.decode(),
                http_status_code=plan.status,
                created_at=now,
                expires_at=now + ANSWER_RETENTION,
            )
        )

    def check_failure(self, plan: WritePlan, error: TransactionFailedError) -> None:
        """Raise the domain error for a failed transaction."""
        assert isinstance(plan, _StepPlan)
        raise _refusal(plan.calls[0], error.reasons[:-1], plan.before) from error

    def key_reused_error(self) -> KeyReusedError:
        """Return the error for an idempotency key that was already used for another mutation."""
        return KeyReusedError(
            "This idempotency key was already used for a different mutation.", {"field": "idempotencyKey"}
        )

    def busy_error(self) -> TryAgainError:
        """Return the error for a mutation that failed after all attempts because of concurrent writes."""
        return TryAgainError("Too many concurrent writes. Please try again.")


def run_step(base: Base, request: Request | None, result_type: type[T], step: Callable[[], Step[T]]) -> T:
    """Run an operation and return its result, or the stored result of an earlier request with the same idempotency key.

    `step` returns the result and the call that writes it. If `request` is given, the same transaction also stores the
    result as JSON of the type `result_type`, so that only one of several identical concurrent requests is executed.
    Errors are not stored.
    """
    if request is None:
        result = step()
        write(base.connection, result.call, result.before, is_done=result.is_done)
        return result.result
    adapter = TypeAdapter(result_type)

    def make_plan() -> WritePlan:
        result = step()
        return _StepPlan([result.call], 200, adapter.dump_json(result.result), before=result.before)

    try:
        answer = _MutationKeys(base.connection, base.clock).answer(request, make_plan)
    except (WriteConflictError, ThrottledError) as error:
        raise TryAgainError("Too many concurrent writes. Please try again.") from error
    return adapter.validate_json(answer.body)


def write(
    connection: Connection,
    call: Call[Any],
    before: Status | None = None,
    *,
    is_done: Callable[[], bool] | None = None,
) -> None:
    """Run a transaction or a single write. Raises a domain error if a condition fails.

    `before` is the status that the booking had when it was read. If the response is lost, `is_done` is called to check
    whether the write succeeded. If `is_done` is None or returns False, OutcomeUnknownError is raised.
    """
    try:
        connection.run(call)
    except OutcomeUnknownError:
        if is_done is None or not is_done():
            raise
    except TransactionFailedError as error:
        raise _refusal(call, error.reasons, before) from error
    except UniqueTakenError as error:
        raise _email_taken(error) from error
    except (WriteConflictError, ThrottledError) as error:
        raise TryAgainError("Too many concurrent writes. Please try again.") from error
    except _REFUSED_CONDITION as error:
        raise explain([guard_of(call, before)], [_cancellation_reason(error)]) from error


def _refusal(call: Call[Any], reasons: Sequence[RunError | None], before: Status | None) -> RefusalError:
    """Return the domain error for a failed transaction or single write, given the failure reason of each action."""
    for reason in reasons:
        if isinstance(reason, UniqueTakenError):
            return _email_taken(reason)
    pattern: Any = call.pattern
    calls = pattern.calls(call.arguments) if isinstance(pattern, Transaction) else [call]
    return explain([guard_of(step, before) for step in calls], [_cancellation_reason(reason) for reason in reasons])


def _email_taken(error: UniqueTakenError) -> EmailTakenError:
    key = None if error.owner is None else error.owner.get("PK")
    return EmailTakenError(None if key is None else str(key).removeprefix("USER#"))


def guard_of(call: Call[Any], before: Status | None) -> Guard:
    """Return the guard of a write: an object that describes the condition of the write. `before` is the status that the
    booking had when it was read.
    """
    if call.pattern.name == "replace_booking":
        assert before is not None, "a booking is read before it is replaced"
        return BookingGuard(before, call.arguments["booking"].version)
    guard = _GUARDS.get(call.pattern.name)
    return NoGuard(call.pattern.name) if guard is None else guard(call.arguments)


_GUARDS: Final[Mapping[str, Callable[[Mapping[str, Any]], Guard]]] = {
    "replace_user_booking": lambda arguments: VersionGuard("booking", arguments["copy"].version),
    "take_slot": lambda arguments: SlotFreeGuard(arguments["slot"].date, arguments["slot"].slot),
    "free_slot_of_booking": lambda arguments: SlotHeldGuard(arguments["slot"].date, arguments["slot"].slot),
    "free_slot_of_event": lambda arguments: SlotHeldGuard(arguments["slot"].date, arguments["slot"].slot),
    "create_user": lambda _: EmailGuard(),
    "replace_user": lambda arguments: VersionGuard("user", arguments["user"].version),
    "count_letter": lambda arguments: LetterGuard(
        arguments["count"].scope.value.lower(), arguments["allowed"], arguments["count"].day
    ),
    "use_code": lambda _: VersionGuard("code", 0),
    "remove_event": lambda arguments: VersionGuard("event", arguments["event"].version),
    "booking_exists": lambda _: VersionGuard("booking", 0),
    "event_exists": lambda _: VersionGuard("event", 0),
}


def _cancellation_reason(error: RunError | None) -> Reason:
    if error is None:
        return Reason("None")
    if isinstance(error, _REFUSED_CONDITION):
        return Reason(CONDITION_FAILED, _current_item(error))
    if isinstance(error, WriteConflictError | ThrottledError):
        return Reason("TransactionConflict")
    return Reason(error.code or type(error).__name__)


def _current_item(error: RunError) -> CurrentItem | None:
    """Return the status and version of the item whose condition failed. Return None if they are unknown or the item
    does not exist.
    """
    if isinstance(error, NotFoundError):
        return None
    item = getattr(error, "item", None)
    version = error.found if isinstance(error, VersionConflictError) else getattr(item, "version", None)
    if item is None and version is None:
        return None
    return CurrentItem(getattr(item, "status", None), version)
