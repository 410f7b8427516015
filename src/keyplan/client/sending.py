"""Requests sent until they are answered: which errors are worth another attempt, and after how long.

An error is one of three kinds. Throttles and conflicts say that nothing was done: the request is repeated.
Failures, and no answer at all, leave open whether a write was applied: it is repeated where that does no
harm, and the program is told, so that it does not take its own work for another's. The rest is an answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from keyplan.client.context import Context
from keyplan.client.errors import (
    NoAnswerError,
    OutcomeUnknownError,
    RunError,
    ThrottledError,
    TransactionConflictError,
    UnavailableError,
)
from keyplan.client.steps import Answer, Program, Request, Wait
from keyplan.errors import ServiceError

THROTTLED = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "ProvisionedThroughputExceeded",
        "RequestLimitExceeded",
        "Throttling",
        "ThrottlingError",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
CONFLICTS = frozenset({"TransactionConflictException", "TransactionConflict", "TransactionInProgressException"})
WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"})
CANCELLED = "TransactionCanceledException"
_FAILED_STATUS = 500


@dataclass(slots=True)
class Outcome:
    """What is known of a write that was sent."""

    uncertain: bool = False
    """Whether an earlier attempt, of which no answer came, may have been applied."""


def send(
    context: Context, operation: str, request: Request, outcome: Outcome | None = None, *, repeats: bool = True
) -> Program[Answer]:
    """Send a request until it is answered. Raises ServiceError for answers, RunError when it gives up.

    With `repeats=False` a request of which no answer came is not sent again.
    """
    attempt = 0
    while True:
        try:
            answer: Answer = yield operation, request
        except ServiceError as error:
            failed = error
        else:
            return answer
        if not is_passing(failed):
            raise failed
        attempt += 1
        if attempt >= context.retries.attempts:
            break
        _note(failed, outcome, repeats=repeats)
        yield Wait(context.retries.wait_s(attempt, context.clock))
    known = not is_uncertain(failed) and not (outcome is not None and outcome.uncertain)
    raise given_up(failed, context.retries.attempts, known=known or operation not in WRITES) from failed


def _note(failed: ServiceError, outcome: Outcome | None, *, repeats: bool) -> None:
    if not is_uncertain(failed):
        return
    if not repeats:
        raise OutcomeUnknownError(
            f"no answer tells whether the write was applied, and repeating it could apply it twice: {failed.message}",
            code=failed.code,
        ) from failed
    if outcome is not None:
        outcome.uncertain = True


def is_uncertain(error: ServiceError) -> bool:
    """Whether it leaves open if a write was applied."""
    if isinstance(error, NoAnswerError):
        return error.sent
    return error.status >= _FAILED_STATUS


def is_passing(error: ServiceError) -> bool:
    """Whether the same request may succeed a little later."""
    if error.code == CANCELLED:
        codes = {reason.get("Code", "None") for reason in reasons_of(error)} - {"None"}
        return bool(codes) and codes <= THROTTLED | CONFLICTS
    return (
        error.code in THROTTLED
        or error.code in CONFLICTS
        or isinstance(error, NoAnswerError)
        or error.status >= _FAILED_STATUS
    )


def is_throttled(error: ServiceError) -> bool:
    """Whether it says that a table, or a part of it, takes no more at the moment."""
    return error.code in THROTTLED or any(reason.get("Code") in THROTTLED for reason in reasons_of(error))


def reasons_of(error: ServiceError) -> list[dict[str, Any]]:
    """The reasons of a cancelled transaction, one for each action."""
    reasons: list[dict[str, Any]] = error.members.get("CancellationReasons", [])
    return reasons


def given_up(error: ServiceError, attempts: int, *, known: bool = True) -> RunError:
    """The error of a request that was repeated in vain; `known` tells whether it is sure that nothing was done."""
    after = f"after {attempts} attempts: {error.message}"
    if not known:
        return OutcomeUnknownError(f"no answer tells whether the write was applied, {after}", code=error.code)
    codes = {reason.get("Code") for reason in reasons_of(error)}
    if error.code in CONFLICTS or codes & CONFLICTS:
        return TransactionConflictError(f"others keep writing the same items, {after}", code=error.code)
    if is_throttled(error):
        return ThrottledError(f"more than the table can take, {after}", code=error.code)
    return UnavailableError(f"the service is not available, {after}", code=error.code)
