"""Why a request is refused: one error for each answer that is no success."""

from __future__ import annotations

from keyplan.client.errors import UniqueTakenError


class RefusalError(Exception):
    """A request that is not done; the message is for the caller."""


class MissingError(RefusalError):
    """There is no such thing, or it is another's."""


class ConflictError(RefusalError):
    """What is there does not allow it, or others keep changing it."""


class AddressTakenError(ConflictError):
    """Another user has the e-mail address; `owner_id` is their id."""

    def __init__(self, owner_id: str | None) -> None:
        super().__init__("The e-mail address is another user's.")
        self.owner_id = owner_id

    @classmethod
    def of(cls, error: UniqueTakenError) -> AddressTakenError:
        """Return the refusal that a write of a taken address amounts to."""
        key = None if error.owner is None else error.owner.get("PK")
        return cls(None if key is None else str(key).removeprefix("USER#"))


class InvalidError(RefusalError):
    """The request breaks a rule."""


class KeyReusedError(InvalidError):
    """An idempotency key came with another request than the one it was first sent with."""
