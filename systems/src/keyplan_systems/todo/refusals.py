"""Refusals of requests: one error for each unsuccessful answer."""

from __future__ import annotations

from keyplan.client.errors import UniqueTakenError


class RefusalError(Exception):
    """Refused request; the message is for the caller."""


class MissingError(RefusalError):
    """Item that does not exist, or belongs to another user."""


class ConflictError(RefusalError):
    """Conflict with the current state, or with concurrent changes."""


class AddressTakenError(ConflictError):
    """E-mail address of another user; `owner_id` is their ID."""

    def __init__(self, owner_id: str | None) -> None:
        super().__init__("The e-mail address is another user's.")
        self.owner_id = owner_id

    @classmethod
    def of(cls, error: UniqueTakenError) -> AddressTakenError:
        """Return the refusal for a failed write of an address that is in use."""
        key = None if error.owner is None else error.owner.get("PK")
        return cls(None if key is None else str(key).removeprefix("USER#"))


class InvalidError(RefusalError):
    """Request that violates a rule."""


class KeyReusedError(InvalidError):
    """Idempotency key of another request."""
