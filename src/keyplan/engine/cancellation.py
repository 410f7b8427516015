"""What cancels a transaction: one reason for each of its actions, in order.

Source: API reference, TransactionCanceledException and CancellationReason.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from keyplan.dynamodb.messages import transactions as messages
from keyplan.engine.catalog import Table
from keyplan.engine.keys import EmptyKeyError
from keyplan.errors import (
    ConditionalCheckFailedError,
    DuplicateItemError,
    ItemCollectionSizeLimitExceededError,
    ProvisionedThroughputExceededError,
    ResourceNotFoundError,
    ServiceError,
    ThrottlingError,
    TransactionCanceledError,
    TransactionConflictError,
    ValidationError,
)

CODES: dict[type[ServiceError], str] = {
    ConditionalCheckFailedError: "ConditionalCheckFailed",
    DuplicateItemError: "DuplicateItem",
    ItemCollectionSizeLimitExceededError: "ItemCollectionSizeLimitExceeded",
    ProvisionedThroughputExceededError: "ProvisionedThroughputExceeded",
    ResourceNotFoundError: "ResourceNotFound",
    ThrottlingError: "ThrottlingError",
    TransactionConflictError: "TransactionConflict",
    ValidationError: "ValidationError",
}

CANCELLING = tuple(CODES)
"""What an action may fail with and thereby cancel its transaction."""


class Reasons:
    """The reasons of one transaction, as they come up."""

    __slots__ = ("_errors",)

    def __init__(self, actions: int) -> None:
        self._errors: list[ServiceError | None] = [None] * actions

    def add(self, action: int, error: ServiceError) -> None:
        """Note what an action, by its number, failed with."""
        self._errors[action] = error

    def raise_any(self) -> None:
        """Raise TransactionCanceledError if any action failed."""
        if any(self._errors):
            raise _cancelled(self._errors)


def cancelled_by(number: int, error: ServiceError, *, of: int) -> TransactionCanceledError:
    """What a transaction of so many actions fails with if one of them, by its number, failed."""
    return _cancelled([error if place == number else None for place in range(of)])


def _cancelled(errors: Sequence[ServiceError | None]) -> TransactionCanceledError:
    reasons = [_reason(error) for error in errors]
    codes = messages.cancelled(reason["Code"] for reason in reasons)
    return TransactionCanceledError(codes, CancellationReasons=reasons)


class Located(Protocol):
    """An action of a transaction, to be found in its table."""

    def locate(self, table: Table) -> bytes:
        """The stored key. Raises ValidationError."""


def locate(actions: Sequence[tuple[Table, Located]]) -> list[bytes]:
    """Stored keys of all actions.

    An empty key refuses the transaction; the first action that does not fit its table in another way
    cancels it; then two actions on one item refuse it. Raises ValidationError, TransactionCanceledError.
    """
    found: list[tuple[str, bytes]] = []
    for number, (table, action) in enumerate(actions):
        try:
            found.append((table.name, action.locate(table)))
        except EmptyKeyError:
            raise
        except ValidationError as error:
            raise cancelled_by(number, error, of=len(actions)) from error
    check_distinct(found)
    return [key for _, key in found]


def check_distinct(found: Sequence[tuple[str, bytes]]) -> None:
    """Raise ValidationError if two actions are on one item, each given by its table's name and its stored key."""
    if len(set(found)) < len(found):
        raise ValidationError(messages.SEVERAL_ON_ONE_ITEM)


def _reason(error: ServiceError | None) -> dict[str, Any]:
    if error is None:
        return {"Code": "None"}
    code = next(code for kind, code in CODES.items() if isinstance(error, kind))
    return {**error.members, "Code": code, "Message": error.message}
