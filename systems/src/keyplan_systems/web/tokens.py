"""Verifies bearer tokens. They must be JWTs from the configured issuer for the configured audience.

The checks are made in this order: format, algorithm, key, signature, issuer, audience, times, subject. Times are
checked here and not by PyJWT, because PyJWT always uses the system clock.

Access tokens of Amazon Cognito do not have an `aud` claim unless the client requested a resource binding. They contain
the ID of the app client in `client_id`, and the value of `token_use` is `access`. For these tokens, `client_id` is
compared with the audience. Source: Amazon Cognito Developer Guide, "Understanding the access token" and "Verifying JSON
web tokens".
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import jwt
from jwt.exceptions import InvalidIssuerError, InvalidTokenError, MissingRequiredClaimError
from jwt.types import Options

from keyplan.clock import Clock, SystemClock
from keyplan_systems.web.development import DEFAULT_ISSUER, DevelopmentKey
from keyplan_systems.web.keys import ALGORITHMS, KeySource, StaticKeys

TOKEN_LIMIT_BYTES: Final = 8192
SUBJECT_LIMIT_CHARACTERS: Final = 255

# PyJWT checks signature and issuer; the rest is checked below.
_OPTIONS: Options = {
    "verify_aud": False,
    "verify_exp": False,
    "verify_nbf": False,
    "verify_iat": False,
    "verify_sub": False,
    "verify_jti": False,
}


class TokenError(Exception):
    """Raised if a token is rejected. The message contains the reason but not the token."""


@dataclass(frozen=True)
class Principal:
    """The user that a verified token identifies, with the roles and all claims in the token."""

    subject: str
    claims: Mapping[str, Any]
    roles: frozenset[str]

    @property
    def verified_email(self) -> str | None:
        """The email address in the token if the issuer has verified it, or None otherwise.

        The claim `email_verified` can be a string, because Amazon Cognito writes booleans as strings in some tokens.
        """
        email, is_verified = self.claims.get("email"), self.claims.get("email_verified")
        return email if isinstance(email, str) and email and (is_verified is True or is_verified == "true") else None

    def has_role(self, role: str) -> bool:
        """Return True if the token grants this role."""
        return role in self.roles


@dataclass(frozen=True)
class TokenRules:
    """The requirements for tokens.

    `audience` is compared with the claim `aud`, or with `client_id` for a Cognito access token without `aud`.
    `leeway_s` is the accepted difference between clocks, in seconds. All `required_claims` must be present.
    `roles_claims` are the claims that contain roles, either as a list or as a string with spaces between them. The
    roles in all these claims are combined.
    """

    audience: str | tuple[str, ...]
    issuer: str = DEFAULT_ISSUER
    leeway_s: float = 30
    algorithms: tuple[str, ...] = ALGORITHMS
    required_claims: tuple[str, ...] = ("iss", "aud", "sub", "exp", "iat")
    roles_claims: tuple[str, ...] = ("roles", "cognito:groups")

    def __post_init__(self) -> None:
        unknown = sorted(set(self.algorithms) - set(ALGORITHMS))
        if unknown or not self.algorithms:
            raise ValueError(f"algorithms can be {', '.join(ALGORITHMS)}, not {', '.join(unknown) or 'none'}")
        if not self.issuer or not self.audience:
            raise ValueError("issuer and audience must not be empty")


class TokenVerifier:
    """Verifies tokens according to rules, with the keys from a key source. Instances are thread-safe."""

    def __init__(self, rules: TokenRules, keys: KeySource, clock: Clock | None = None) -> None:
        self.rules = rules
        self._keys = keys
        self._clock = clock or SystemClock()

    @property
    def may_block(self) -> bool:
        """Whether `verify` can wait for the network. If it is True, coroutines must call `verify` in a thread."""
        return self._keys.may_block

    def verify(self, token: str) -> Principal:
        """Verify a token and return the user that it identifies.

        Raises TokenError if the token is invalid, and KeysUnavailableError if the issuer's keys are unavailable.
        """
        claims = self._signed_claims(token)
        self._check_audience(claims)
        self._check_times(claims)
        return Principal(_subject(claims), claims, _roles(claims, self.rules.roles_claims))

    def _signed_claims(self, token: str) -> dict[str, Any]:
        if len(token) > TOKEN_LIMIT_BYTES:
            raise TokenError(f"The token is longer than {TOKEN_LIMIT_BYTES} bytes.")
        try:
            header = jwt.get_unverified_header(token)
        except InvalidTokenError as error:
            raise TokenError("The token is malformed.") from error
        if header.get("alg") not in self.rules.algorithms:
            raise TokenError("The token's algorithm is not accepted.")
        key = self._keys.find(header.get("kid"))
        if key is None:
            raise TokenError("The token's key is unknown.")
        return self._decode(token, key)

    def _decode(self, token: str, key: jwt.PyJWK) -> dict[str, Any]:
        rules = self.rules
        options: Options = {**_OPTIONS, "require": [name for name in rules.required_claims if name != "aud"]}
        try:
            return jwt.decode(
                token,
                key,
                algorithms=list(rules.algorithms),
                issuer=rules.issuer,
                options=options,
            )
        except MissingRequiredClaimError as error:
            raise TokenError(f"The token is missing the claim {error.claim}.") from error
        except InvalidIssuerError as error:
            raise TokenError("The token's issuer is not accepted.") from error
        except InvalidTokenError as error:
            raise TokenError("The token's signature or content is not valid.") from error

    def _check_audience(self, claims: Mapping[str, Any]) -> None:
        accepted_audiences = {self.rules.audience} if isinstance(self.rules.audience, str) else set(self.rules.audience)
        audiences = claims.get("aud")
        if audiences is None and claims.get("token_use") == "access":
            client_id = claims.get("client_id")
            audiences = None if client_id is None else [client_id]
        if audiences is None and "aud" in self.rules.required_claims:
            raise TokenError("The token is missing the claim aud.")
        if not isinstance(audiences, list):
            audiences = [audiences]
        if not any(isinstance(audience, str) and audience in accepted_audiences for audience in audiences):
            raise TokenError("The token is for another audience.")

    def _check_times(self, claims: Mapping[str, Any]) -> None:
        now_s, leeway_s = self._clock.now(), self.rules.leeway_s
        if _seconds(claims, "exp", math.inf) <= now_s - leeway_s:
            raise TokenError("The token has expired.")
        if _seconds(claims, "nbf", -math.inf) > now_s + leeway_s:
            raise TokenError("The token is not valid yet.")
        if _seconds(claims, "iat", -math.inf) > now_s + leeway_s:
            raise TokenError("The token was issued in the future.")


def _seconds(claims: Mapping[str, Any], name: str, default: float) -> float:
    value = claims.get(name, default)
    # A whole number may be too large for math.isnan.
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:  # noqa: PLR0124
        raise TokenError(f"The token's claim {name} is not a timestamp.")
    return value


def _subject(claims: Mapping[str, Any]) -> str:
    subject = claims.get("sub")
    if not isinstance(subject, str) or not subject.strip() or len(subject) > SUBJECT_LIMIT_CHARACTERS:
        raise TokenError(f"The token's subject must be a string of 1 to {SUBJECT_LIMIT_CHARACTERS} characters.")
    if not subject.isprintable():
        raise TokenError("The token's subject contains control characters.")
    return subject


def _roles(claims: Mapping[str, Any], names: Sequence[str]) -> frozenset[str]:
    roles: set[str] = set()
    for name in names:
        value = claims.get(name, [])
        role_names = value.split() if isinstance(value, str) else value
        if not isinstance(role_names, list) or not all(isinstance(role, str) for role in role_names):
            raise TokenError(f"The token's claim {name} is not a list of roles.")
        roles.update(role_names)
    return frozenset(roles)


def development_keys(key: DevelopmentKey) -> StaticKeys:
    """Return a key source that contains only the public key of a development key pair."""
    return StaticKeys(key.jwks(), "the development key")
