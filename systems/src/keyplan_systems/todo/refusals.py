"""The exceptions for rejected requests. Each corresponds to one error response."""

from __future__ import annotations

from keyplan.client.errors import UniqueTakenError


class RefusalError(Exception):
    """Base class of the exceptions for rejected requests. The message is intended for the caller."""


class MissingError(RefusalError):
    """Raised if an item does not exist or belongs to another user."""


class ConflictError(RefusalError):
    """Raised if a request conflicts with the current state or with concurrent changes."""


class AddressTakenError(ConflictError):
    """Raised if an email address belongs to another user. `owner_id` is the ID of that user."""

    def __init__(self, owner_id: str | None) -> None:
        super().__init__("The email address belongs to another user.")
        self.owner_id = owner_id

    @classmethod
    def from_error(cls, error: UniqueTakenError) -> AddressTakenError:
        """Return the error for a write that failed because the email address belongs to another user."""
        key = None if error.owner is None else error.owner.get("PK")
        return cls(None if key is None else str(key).removeprefix("USER#"))


class InvalidError(RefusalError):
    """Raised if a request violates a rule for users or tasks."""


class KeyReusedError(InvalidError):
    """Raised if an idempotency key was already used for a different request."""
