"""Thread tokens, which certify a user's rights in one thread for two hours.

The part of the forum that uses SQL signs the tokens with a private key. The routes for messages verify them with the
public key and do not need SQL. Thread tokens are JSON Web Tokens with Ed25519 signatures. Their header contains a
special type, so that they cannot be confused with other tokens of the platform.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from keyplan.clock import Clock
from keyplan_systems.forum.domain import BadRequestError, BadTokenError, ThreadKey, WrongThreadError, checked_id

TOKEN_SECONDS: Final = 2 * 3600
"""Lifetime of a thread token, in seconds."""

_ALGORITHM: Final = "EdDSA"
_TYPE: Final = "thread+jwt"
_ISSUER: Final = "forum-threads"
_IDS: Final = ("item_id", "participant_id", "user_id")
_FLAGS: Final = ("is_mine", "can_watch", "can_write")


@dataclass(frozen=True, slots=True)
class ThreadRights:
    """A user's rights in one thread. A thread token certifies these rights."""

    key: ThreadKey
    user_id: str
    is_mine: bool
    can_watch: bool
    can_write: bool
    expires_s: int = field(default=0, compare=False)
    """Time in epoch seconds at which the token expires, or 0 if the rights do not come from a token."""


class ThreadTokenIssuer:
    """Issues thread tokens, which certify a user's rights in one thread."""

    def __init__(self, private_key: Ed25519PrivateKey, clock: Clock) -> None:
        self._key = private_key
        self._clock = clock

    def issue(self, rights: ThreadRights) -> str:
        """Return a token that certifies the given rights for two hours."""
        claims = {
            "iss": _ISSUER,
            "exp": int(self._clock.now()) + TOKEN_SECONDS,
            "item_id": rights.key.item_id,
            "participant_id": rights.key.participant_id,
            "user_id": rights.user_id,
            "is_mine": rights.is_mine,
            "can_watch": rights.can_watch,
            "can_write": rights.can_write,
        }
        return jwt.encode(claims, self._key, algorithm=_ALGORITHM, headers={"typ": _TYPE})

    def checker(self) -> ThreadTokenChecker:
        """Return a checker that verifies the issued tokens with the public key."""
        return ThreadTokenChecker(self._key.public_key(), self._clock)


class ThreadTokenChecker:
    """Verifies thread tokens, which certify a user's rights in one thread."""

    def __init__(self, public_key: Ed25519PublicKey, clock: Clock) -> None:
        self._key = public_key
        self._clock = clock

    def check(self, token: str) -> ThreadRights:
        """Verify a token and return the rights that it certifies.

        Raises BadTokenError if the token is forged, expired, or not a thread token.
        """
        claims = self._claims(token)
        if claims["exp"] <= self._clock.now():
            raise BadTokenError("the thread token has expired: request the thread again")
        return _rights(claims)

    def check_for(self, token: str, key: ThreadKey) -> ThreadRights:
        """Verify a token for a thread and return the rights that it certifies.

        Raises BadTokenError if the token is invalid, and WrongThreadError if it was issued for a different thread.
        """
        rights = self.check(token)
        if rights.key != key:
            raise WrongThreadError("the thread token is for another thread")
        return rights

    def _claims(self, token: str) -> dict[str, Any]:
        # The expiry is checked with this program's clock, because the library can only use the system clock.
        options: Any = {"require": ["iss", "exp", *_IDS, *_FLAGS], "verify_exp": False}
        try:
            decoded = jwt.decode_complete(token, self._key, algorithms=[_ALGORITHM], issuer=_ISSUER, options=options)
        except jwt.InvalidTokenError as error:
            raise BadTokenError("this is not a thread token of this service") from error
        if decoded["header"].get("typ") != _TYPE:
            raise BadTokenError("this is not a thread token")
        claims: dict[str, Any] = decoded["payload"]
        if not isinstance(claims["exp"], int):
            raise BadTokenError("the thread token has no expiry")
        return claims


def _rights(claims: dict[str, Any]) -> ThreadRights:
    flags = {name: claims[name] for name in _FLAGS}
    if not all(isinstance(flag, bool) for flag in flags.values()):
        raise BadTokenError(f"{', '.join(_FLAGS)} of a thread token must be true or false")
    try:
        item_id, participant_id, user_id = (checked_id(claims[name], name) for name in _IDS)
    except BadRequestError as error:
        raise BadTokenError(str(error)) from error
    return ThreadRights(ThreadKey(item_id, participant_id), user_id, expires_s=claims["exp"], **flags)
