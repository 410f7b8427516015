"""Thread tokens: content, lifetime, and rejection of everything else."""

from __future__ import annotations

import base64

import jwt
import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
)

from keyplan.clock import ManualClock
from keyplan_systems.forum.domain import BadTokenError, ThreadKey, WrongThreadError
from keyplan_systems.forum.tokens import ThreadRights, ThreadTokenChecker, ThreadTokenIssuer

RIGHTS = ThreadRights(ThreadKey("7", "42"), user_id="13", is_mine=False, can_watch=True, can_write=True)
KEY = Ed25519PrivateKey.generate()


@pytest.fixture
def issuer(clock: ManualClock) -> ThreadTokenIssuer:
    return ThreadTokenIssuer(KEY, clock)


def claims(**changes: object) -> dict[str, object]:
    good = {"iss": "forum-threads", "exp": 1_700_000_100, "item_id": "7", "participant_id": "42", "user_id": "13"}
    flags = {"is_mine": False, "can_watch": True, "can_write": True}
    return {name: value for name, value in {**good, **flags, **changes}.items() if value is not None}


def signed(payload: dict[str, object], **header: str) -> str:
    return jwt.encode(payload, KEY, algorithm="EdDSA", headers={"typ": "thread+jwt", **header})


def test_a_token_returns_the_permissions_it_was_issued_for(issuer: ThreadTokenIssuer) -> None:
    assert issuer.checker().check(issuer.issue(RIGHTS)) == RIGHTS


def test_a_token_is_valid_for_exactly_two_hours(issuer: ThreadTokenIssuer, clock: ManualClock) -> None:
    token = issuer.issue(RIGHTS)
    clock.advance(7199)
    assert issuer.checker().check(token) == RIGHTS
    clock.advance(1)
    with pytest.raises(BadTokenError, match="expired"):
        issuer.checker().check(token)


def test_a_token_belongs_to_one_thread(issuer: ThreadTokenIssuer) -> None:
    token = issuer.issue(RIGHTS)
    assert issuer.checker().check_for(token, RIGHTS.key) == RIGHTS
    for other in (ThreadKey("8", "42"), ThreadKey("7", "43"), ThreadKey("42", "7")):
        with pytest.raises(WrongThreadError):
            issuer.checker().check_for(token, other)


def test_a_checker_needs_only_the_public_key(issuer: ThreadTokenIssuer, clock: ManualClock) -> None:
    assert ThreadTokenChecker(KEY.public_key(), clock).check(issuer.issue(RIGHTS)) == RIGHTS


def test_the_unmodified_hand_made_token_is_valid(issuer: ThreadTokenIssuer) -> None:
    assert issuer.checker().check(signed(claims())) == RIGHTS


@pytest.mark.parametrize(
    "changes",
    [
        {"iss": "somebody"},
        {"iss": None},
        {"exp": None},
        {"exp": "soon"},
        {"item_id": None},
        {"item_id": "7#42"},
        {"item_id": 7},
        {"participant_id": ""},
        {"user_id": "1" * 20},
        {"is_mine": None},
        {"can_watch": "true"},
        {"can_write": 1},
        {"exp": 1e300},
    ],
    ids=str,
)
def test_a_signed_token_with_wrong_claims_is_rejected(issuer: ThreadTokenIssuer, changes: dict[str, object]) -> None:
    with pytest.raises(BadTokenError):
        issuer.checker().check(signed(claims(**changes)))


def test_a_token_of_another_type_is_rejected(issuer: ThreadTokenIssuer) -> None:
    with pytest.raises(BadTokenError, match="not a thread token"):
        issuer.checker().check(signed(claims(), typ="JWT"))


def test_a_token_signed_with_another_key_is_rejected(issuer: ThreadTokenIssuer, clock: ManualClock) -> None:
    with pytest.raises(BadTokenError):
        issuer.checker().check(ThreadTokenIssuer(Ed25519PrivateKey.generate(), clock).issue(RIGHTS))


def test_a_modified_token_is_rejected(issuer: ThreadTokenIssuer) -> None:
    header, _, signature = issuer.issue(RIGHTS).split(".")
    body = issuer.issue(ThreadRights(RIGHTS.key, "13", is_mine=True, can_watch=True, can_write=True)).split(".")[1]
    with pytest.raises(BadTokenError):
        issuer.checker().check(f"{header}.{body}.{signature}")


def test_a_token_without_signature_or_signed_with_the_public_key_as_a_secret_is_rejected(
    issuer: ThreadTokenIssuer,
) -> None:
    raw = KEY.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    unsigned = jwt.encode(claims(), "", algorithm="none", headers={"typ": "thread+jwt"})
    secret = jwt.encode(claims(), raw, algorithm="HS256", headers={"typ": "thread+jwt"})
    for token in (unsigned, secret, "", "a.b.c", "nonsense"):
        with pytest.raises(BadTokenError):
            issuer.checker().check(token)


def test_the_rejection_does_not_repeat_the_content_of_the_token(issuer: ThreadTokenIssuer) -> None:
    name = "x\r\nX-Forged: 1"
    header = {"typ": "thread+jwt", "alg": "EdDSA", "crit": [name], name: 1}
    parts = (orjson.dumps(header), orjson.dumps(claims()), b"x" * 64)
    token = ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)
    with pytest.raises(BadTokenError) as refused:
        issuer.checker().check(token)
    assert str(refused.value) == "this is not a thread token of this service"
