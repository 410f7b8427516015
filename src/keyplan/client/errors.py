"""Exceptions that pattern calls raise.

    KeyplanError
    └── RunError                       a call failed
        ├── AlreadyExistsError         create: the item exists
        ├── NotFoundError              update, replace, check: the item does not exist or has expired
        ├── ConditionFailedError       .condition(...) or .assuming(...) is false for the stored item
        ├── VersionConflictError       the stored item does not have the expected version
        ├── UniqueTakenError           another item has the same unique values
        ├── TransactionFailedError     none of the writes was applied; `reasons` lists the errors
        ├── WriteConflictError         other clients kept writing the same items, after all retries
        ├── TokenReusedError           the token was used for another transaction
        ├── ThrottledError             the throughput of the table or account is exceeded, after all retries
        ├── UnavailableError           the server failed or did not answer, after all retries
        │   └── OutcomeUnknownError    the write may or may not have been applied
        ├── KeyValueError              a value cannot be used in a key or stored
        ├── UnreadableItemError        the stored item does not fit its entity
        ├── CursorError                the cursor does not belong to this pattern and these arguments
        ├── TooManyResultsError        more results than the caller accepts
        ├── TableMissingError          the table does not exist
        ├── TableDiffersError          the table exists, but differs from its declaration
        └── RequestRefusedError        any other error response from DynamoDB

A RunError has the attributes `entity` (the name of the entity), `key` (the primary key of the item) and `code` (the
error code from DynamoDB). Each is None if unknown. `__cause__` is the original ServiceError.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from keyplan.errors import KeyplanError, ServiceError

Origin = Literal["condition", "assuming", "if_version", "replace_if", "create", "replace", "update", "check"]


@dataclass(frozen=True)
class FailedPart:
    """A part of a write condition that is false for the stored item."""

    origin: Origin
    """The name of the builder method that declares this part of the condition, such as "condition".

    For a condition that the pattern itself requires, this is the kind of pattern, such as "create" or "update".
    """
    text: str
    """The false part of the condition as Python source, such as "status == 'open'".

    For conditions that are not declared, this is a message such as "item already exists".
    """
    stored: Mapping[str, Any]
    """The stored values that this part of the condition compares, by field or nested path, such as {"status": "done"}.

    A value is None if the stored item does not have the field. The mapping is empty if the item does not exist.
    """
    message: str
    """The false part of the condition with its origin and the stored values, for use in an error message."""

    def __str__(self) -> str:
        return self.message


class RunError(KeyplanError):
    """Base class of the errors that are raised when a call fails.

    `entity` is the name of the entity, `key` is the primary key of the item, and `code` is the error code from
    DynamoDB. Each of them is None if it is unknown. `problem` is the message.
    """

    def __init__(
        self,
        problem: str,
        *,
        entity: str | None = None,
        key: Mapping[str, Any] | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(problem)
        self.problem, self.entity, self.key, self.code = problem, entity, key, code


class AlreadyExistsError(RunError):
    """Raised if a call creates an item and an item with the same key already exists.

    `item` is the existing item, or None if it cannot be read. `failed` lists the false parts of the condition.
    """

    def __init__(self, problem: str, *, item: Any = None, failed: Sequence[FailedPart] = (), **details: Any) -> None:
        super().__init__(problem, **details)
        self.item, self.failed = item, tuple(failed)


class NotFoundError(RunError):
    """Raised if the item that a call updates, replaces or checks does not exist or has expired."""

    def __init__(self, problem: str, *, failed: Sequence[FailedPart] = (), **details: Any) -> None:
        super().__init__(problem, **details)
        self.failed = tuple(failed)


class ConditionFailedError(RunError):
    """Raised if the condition of a write is false.

    `failed` lists the false parts of the condition. `item` is the stored item, or None if it does not exist or cannot
    be read.
    """

    def __init__(self, problem: str, *, item: Any = None, failed: Sequence[FailedPart] = (), **details: Any) -> None:
        super().__init__(problem, **details)
        self.item, self.failed = item, tuple(failed)


class VersionConflictError(RunError):
    """Raised if the stored item does not have the expected version.

    `expected` is the expected version, and `found` is the stored version. `found` is None if the item does not exist.
    `item` and `failed` have the same meaning as in ConditionFailedError.
    """

    def __init__(
        self,
        problem: str,
        *,
        expected: int,
        found: int | None,
        item: Any = None,
        failed: Sequence[FailedPart] = (),
        **details: Any,
    ) -> None:
        super().__init__(problem, **details)
        self.expected, self.found, self.item, self.failed = expected, found, item, tuple(failed)


class UniqueTakenError(RunError):
    """Raised if another item already has the values of a unique constraint.

    `fields` is a tuple with the names of the constraint's fields, and `values` is a tuple with their values. `owner` is
    the primary key of the other item, or None if it is unknown.
    """

    def __init__(
        self,
        problem: str,
        *,
        fields: tuple[str, ...],
        values: tuple[Any, ...],
        owner: Mapping[str, Any] | None,
        **details: Any,
    ) -> None:
        super().__init__(problem, **details)
        self.fields, self.values, self.owner = fields, values, owner


class TransactionFailedError(RunError):
    """Raised if a transaction failed, so none of its writes was applied.

    `reasons` is a tuple with one element for each write, in order: the error of that write, or None if the write did
    not fail. `reason` is the error of the first write that failed.
    """

    def __init__(self, problem: str, *, reasons: Sequence[RunError | None], **details: Any) -> None:
        super().__init__(problem, **details)
        self.reasons = tuple(reasons)

    @property
    def reason(self) -> RunError:
        """The error of the first write that failed, or this error if DynamoDB does not report which write failed."""
        return next((reason for reason in self.reasons if reason is not None), self)


class WriteConflictError(RunError):
    """Raised if other clients were writing the same items during every attempt."""


class TokenReusedError(RunError):
    """Raised if an idempotency token was used for a different transaction within the last ten minutes."""


class ThrottledError(RunError):
    """Raised if the throughput of the table, the index or the account was exceeded during every attempt."""


class UnavailableError(RunError):
    """Raised if the server failed or did not answer during every attempt."""


class OutcomeUnknownError(UnavailableError):
    """Raised if it is unknown whether a write was applied.

    The server did not answer, and a retry could apply the write a second time.
    """


class KeyValueError(RunError, ValueError):
    """Raised if a value cannot be stored, compared, or used in a key."""


class UnreadableItemError(RunError):
    """Raised if a stored item cannot be read as its entity."""


class CursorError(RunError):
    """Raised if a page cursor is damaged, or was created for a different pattern, partition, range or cursor key."""


class TooManyResultsError(RunError):
    """Raised if a query or scan has more results than the given maximum."""


class TableMissingError(RunError):
    """Raised if the table does not exist."""


class TableDiffersError(RunError):
    """Raised if a table differs from its declaration.

    `differences` is a tuple with one sentence for each difference.
    """

    def __init__(self, problem: str, *, differences: Sequence[str], **details: Any) -> None:
        super().__init__(problem, **details)
        self.differences = tuple(differences)


class RequestRefusedError(RunError):
    """Raised if DynamoDB rejects a request for a reason that no other exception describes."""


class NoAnswerError(ServiceError):
    """Raised if a transport receives no response. `sent` is True if the request may have reached the server."""

    code = "NoAnswer"
    status = 0
    retryable = True

    def __init__(self, message: str, *, sent: bool) -> None:
        super().__init__(message)
        self.sent = sent
