"""Errors of running patterns.

    KeyplanError
    └── RunError                       a call failed
        ├── AlreadyExistsError         create: the item exists
        ├── NotFoundError              update, replace, check: the item does not exist, or has expired
        ├── ConditionFailedError       .condition(...) or .assuming(...) is false of the stored item
        ├── VersionConflictError       the stored item does not have the expected version
        ├── UniqueTakenError           another item has these values
        ├── TransactionFailedError     no write of a transaction was applied; `reasons` has the failed steps' errors
        ├── WriteConflictError         other clients kept writing the same items, after all retries
        ├── TokenReusedError           the token was used for another transaction
        ├── ThrottledError             the throughput of the table or account is exceeded, after all retries
        ├── UnavailableError           the service failed or did not answer, after all retries
        │   └── OutcomeUnknownError    the write may or may not have been applied
        ├── KeyValueError              a value cannot be part of a key, or be stored
        ├── UnreadableItemError        the stored item does not fit its entity
        ├── CursorError                the cursor does not belong to this pattern and these arguments
        ├── TooManyResultsError        more results than the caller accepts
        ├── TableMissingError          the table does not exist
        ├── TableDiffersError          the table exists, but differs from its declaration
        └── RequestRefusedError        any other error response of the service

`entity`, `key` and `code` of a RunError are the entity's name, the item's primary key and the service's error code;
each is None if unknown. `__cause__` is the service's own error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from keyplan.errors import KeyplanError, ServiceError

Origin = Literal["condition", "assuming", "if_version", "replace_if", "create", "replace", "update", "check"]


@dataclass(frozen=True)
class FailedPart:
    """One part of a write's condition that is false of the stored item."""

    origin: Origin
    """The method of the pattern's body that states it, or the kind of pattern that requires it."""
    text: str
    """The part as it is written in Python: "status == 'open'"; for a kind, its finding: "item already exists"."""
    stored: Mapping[str, Any]
    """The stored value of each field or member in the part, None for an absent one; empty without an item."""
    message: str
    """The part with its origin and the stored values, as in the error's text."""

    def __str__(self) -> str:
        return self.message


class RunError(KeyplanError):
    """A call failed."""

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
    """A create found an existing item. `item` is this item, None if unreadable; `failed` lists the false parts."""

    def __init__(self, problem: str, *, item: Any = None, failed: Sequence[FailedPart] = (), **about: Any) -> None:
        super().__init__(problem, **about)
        self.item, self.failed = item, tuple(failed)


class NotFoundError(RunError):
    """The item does not exist, or has expired."""

    def __init__(self, problem: str, *, failed: Sequence[FailedPart] = (), **about: Any) -> None:
        super().__init__(problem, **about)
        self.failed = tuple(failed)


class ConditionFailedError(RunError):
    """A condition is false. `failed` lists its false parts; `item` is the stored item, None if absent or unreadable."""

    def __init__(self, problem: str, *, item: Any = None, failed: Sequence[FailedPart] = (), **about: Any) -> None:
        super().__init__(problem, **about)
        self.item, self.failed = item, tuple(failed)


class VersionConflictError(RunError):
    """The item does not have the version `expected`, but `found`; None if no item exists. `item`, `failed` as above."""

    def __init__(
        self,
        problem: str,
        *,
        expected: int,
        found: int | None,
        item: Any = None,
        failed: Sequence[FailedPart] = (),
        **about: Any,
    ) -> None:
        super().__init__(problem, **about)
        self.expected, self.found, self.item, self.failed = expected, found, item, tuple(failed)


class UniqueTakenError(RunError):
    """Another item has the values of unique fields. `owner` is its key."""

    def __init__(
        self,
        problem: str,
        *,
        fields: tuple[str, ...],
        values: tuple[Any, ...],
        owner: Mapping[str, Any] | None,
        **about: Any,
    ) -> None:
        super().__init__(problem, **about)
        self.fields, self.values, self.owner = fields, values, owner


class TransactionFailedError(RunError):
    """No write of a transaction was applied. `reasons` has an error, or None, for each call, in order."""

    def __init__(self, problem: str, *, reasons: Sequence[RunError | None], **about: Any) -> None:
        super().__init__(problem, **about)
        self.reasons = tuple(reasons)

    @property
    def reason(self) -> RunError:
        """The first error of a call; this error itself if the service named none."""
        return next((reason for reason in self.reasons if reason is not None), self)


class WriteConflictError(RunError):
    """Other clients kept writing the same items."""


class TokenReusedError(RunError):
    """A transaction's token was used within ten minutes for another transaction."""


class ThrottledError(RunError):
    """The throughput of the table, the index or the account is exceeded."""


class UnavailableError(RunError):
    """The service failed, or did not answer."""


class OutcomeUnknownError(UnavailableError):
    """A write may or may not have been applied: the service did not answer, and a retry could apply it twice."""


class KeyValueError(RunError, ValueError):
    """A value cannot be used in a key, stored or compared."""


class UnreadableItemError(RunError):
    """The stored item does not fit its entity."""


class CursorError(RunError):
    """A cursor that is damaged, or of another pattern, partition, range or connection's key."""


class TooManyResultsError(RunError):
    """More results than the caller accepts."""


class TableMissingError(RunError):
    """The table does not exist."""


class TableDiffersError(RunError):
    """A table differs from its declaration. `differences` has a sentence for each difference."""

    def __init__(self, problem: str, *, differences: Sequence[str], **about: Any) -> None:
        super().__init__(problem, **about)
        self.differences = tuple(differences)


class RequestRefusedError(RunError):
    """The service refused the request for another reason."""


class NoAnswerError(ServiceError):
    """A transport got no answer. `sent`: whether the request may have reached the service."""

    code = "NoAnswer"
    status = 0
    retryable = True

    def __init__(self, message: str, *, sent: bool) -> None:
        super().__init__(message)
        self.sent = sent
