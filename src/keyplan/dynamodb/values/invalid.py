"""The refusal of an attribute value, which the service words in one of two ways.

Seen on the service, October 2026: BatchWriteItem and Scan check values in an older layer, in part with
other texts than all other operations. Transactions are about to change over from one to the other.
"""

from __future__ import annotations

from keyplan.errors import ValidationError


class InvalidValueError(ValidationError):
    """A number or a set that cannot be; `older` is the older wording, where that is another."""

    def __init__(self, message: str, older: str | None = None) -> None:
        super().__init__(message)
        self.older = message if older is None else older
