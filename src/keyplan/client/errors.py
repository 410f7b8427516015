"""What running a pattern may fail with.

    KeyplanError
    └── RunError                       a call did not do what it was to do
        ├── AlreadyExistsError         create: the item is there
        ├── NotFoundError              update, replace, check: no item, or one whose expiry has passed
        ├── ConditionFailedError       .condition(...) or .assuming(...) was not true of the item
        ├── VersionConflictError       the item has another version than was expected
        ├── UniqueTakenError           another item has these values
        ├── TransactionFailedError     nothing of a transaction was applied; `reasons` says why, step by step
        ├── WriteConflictError         others kept writing the same items, after all retries
        ├── TokenReusedError           the token stands for another transaction
        ├── ThrottledError             more than the table can take, after all retries
        ├── UnavailableError           the service failed or gave no answer, after all retries
        │   └── OutcomeUnknownError    and the write may have been applied or not
        ├── KeyValueError              a value cannot be part of a key, or be stored
        ├── UnreadableItemError        what is stored is not what the entity declares
        ├── CursorError                the cursor is not one of this pattern and these arguments
        ├── TooManyResultsError        more results than the caller can take
        ├── TableMissingError          the table is not there
        ├── TableDiffersError          the table is there, and is not as declared
        └── RequestRefusedError        any other answer of the service

`entity`, `key` and `code` of a RunError say which item it was, and what the service called it; each is None
where there was none. `__cause__` is the service's own error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from keyplan.errors import KeyplanError, ServiceError


class RunError(KeyplanError):
    """A call did not do what it was to do."""

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
    """A create found an item. `item` is what is there, where it can be read."""

    def __init__(self, problem: str, *, item: Any = None, **about: Any) -> None:
        super().__init__(problem, **about)
        self.item = item


class NotFoundError(RunError):
    """There is no such item, or its expiry has passed."""


class ConditionFailedError(RunError):
    """A condition was not true. `condition` is its text; `item` the item as it was, None where none was."""

    def __init__(self, problem: str, *, condition: str = "", item: Any = None, **about: Any) -> None:
        super().__init__(problem, **about)
        self.condition, self.item = condition, item


class VersionConflictError(RunError):
    """The item has another version than was expected. `found` is None where there is no item."""

    def __init__(self, problem: str, *, expected: int, found: int | None, item: Any = None, **about: Any) -> None:
        super().__init__(problem, **about)
        self.expected, self.found, self.item = expected, found, item


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
    """Nothing of a transaction was applied. `reasons` has an error, or None, for each call, in order."""

    def __init__(self, problem: str, *, reasons: Sequence[RunError | None], **about: Any) -> None:
        super().__init__(problem, **about)
        self.reasons = tuple(reasons)

    @property
    def reason(self) -> RunError:
        """The first error of a call; this one itself where the service named none."""
        return next((reason for reason in self.reasons if reason is not None), self)


class WriteConflictError(RunError):
    """Others kept writing the same items."""


class TokenReusedError(RunError):
    """A transaction's token was used within ten minutes for another transaction."""


class ThrottledError(RunError):
    """More than the table, the index or the account can take."""


class UnavailableError(RunError):
    """The service failed, or gave no answer."""


class OutcomeUnknownError(UnavailableError):
    """No answer told whether a write was applied, and repeating it could apply it twice."""


class KeyValueError(RunError, ValueError):
    """A value cannot be part of a key, be stored, or be compared with."""


class UnreadableItemError(RunError):
    """What is stored under a key is not what its entity declares."""


class CursorError(RunError):
    """A cursor that is damaged, or of another pattern, partition, range or connection's key."""


class TooManyResultsError(RunError):
    """There are more results than the caller can take."""


class TableMissingError(RunError):
    """The table is not there."""


class TableDiffersError(RunError):
    """A table is there that is not as declared. `differences` has a sentence for each."""

    def __init__(self, problem: str, *, differences: Sequence[str], **about: Any) -> None:
        super().__init__(problem, **about)
        self.differences = tuple(differences)


class RequestRefusedError(RunError):
    """The service refused the request for a reason of its own."""


class NoAnswerError(ServiceError):
    """A transport got no answer. `sent` tells whether the request may have reached the service."""

    code = "NoAnswer"
    status = 0
    retryable = True

    def __init__(self, message: str, *, sent: bool) -> None:
        super().__init__(message)
        self.sent = sent
