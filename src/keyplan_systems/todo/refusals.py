"""Why a request is refused: one error for each answer that is no success."""

from __future__ import annotations


class RefusalError(Exception):
    """A request that is not done; the message is for the caller."""


class MissingError(RefusalError):
    """There is no such thing, or it is another's."""


class ConflictError(RefusalError):
    """What is there does not allow it, or others keep changing it."""


class InvalidError(RefusalError):
    """The request breaks a rule."""


class KeyReusedError(InvalidError):
    """An idempotency key came with another request than the one it was first sent with."""
