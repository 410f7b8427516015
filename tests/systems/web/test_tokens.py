"""Tokens: accepted ones, and every reason of refusal."""

from __future__ import annotations

import base64
import hmac
from pathlib import Path
from typing import Any

import jwt
import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from hypothesis import given, settings
from hypothesis import strategies as st
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from keyplan.clock import ManualClock
from keyplan_systems.web.development import DevelopmentKey, development_key, issue_development_token
from keyplan_systems.web.keys import StaticKeys
from keyplan_systems.web.tokens import TokenError, TokenRules, TokenVerifier, development_keys

AUDIENCE = "venue"
ISSUER = "https://login.example"


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> DevelopmentKey:
    return development_key(tmp_path_factory.mktemp("keys"))


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def verifier(key: DevelopmentKey, clock: ManualClock) -> TokenVerifier:
    return TokenVerifier(TokenRules(AUDIENCE, ISSUER, leeway_s=10), development_keys(key), clock)


def issue(key: DevelopmentKey, clock: ManualClock, subject: str = "ada", **options: Any) -> str:
    return issue_development_token(key, subject, **{"audience": AUDIENCE, "issuer": ISSUER, "clock": clock, **options})


def test_a_valid_token_gives_its_subject_roles_and_claims(
    verifier: TokenVerifier, key: DevelopmentKey, clock: ManualClock
) -> None:
    token = issue(
        key, clock, roles=["users"], claims={"cognito:groups": ["administrators"], "email": "ada@example.org"}
    )
    principal = verifier.verify(token)
    assert principal.subject == "ada"
    assert principal.roles == {"users", "administrators"}
    assert principal.has_role("administrators")
    assert principal.claims["email"] == "ada@example.org"


def test_roles_may_be_one_text_with_spaces(verifier: TokenVerifier, key: DevelopmentKey, clock: ManualClock) -> None:
    assert verifier.verify(issue(key, clock, claims={"roles": "users staff"})).roles == {"users", "staff"}


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"issuer": "https://evil.example"}, "issuer"),
    ({"audience": "other"}, "audience"),
    ({"claims": {"exp": 1_699_999_990}}, "expired"),
    ({"claims": {"nbf": 1_700_000_011}}, "not valid yet"),
    ({"claims": {"iat": 1_700_000_011}}, "future"),
    ({"claims": {"exp": "tomorrow"}}, "not a timestamp"),
    ({"claims": {"exp": True}}, "not a timestamp"),
    ({"claims": {"nbf": float("nan")}}, "not a timestamp"),
    ({"claims": {"iat": 10**400}}, "issued in the future"),
    ({"claims": {"exp": None}}, "claim exp"),
    ({"claims": {"iat": None}}, "claim iat"),
    ({"subject": ""}, "subject"),
    ({"subject": "   "}, "subject"),
    ({"subject": "x" * 256}, "subject"),
    ({"subject": "a\nb"}, "control"),
    ({"claims": {"roles": {"admin": True}}}, "roles"),
    ({"claims": {"roles": [1]}}, "roles"),
]


@pytest.mark.parametrize(("options", "reason"), WRONG, ids=[f"{reason}-{n}" for n, (_, reason) in enumerate(WRONG)])
def test_a_token_that_breaks_one_rule_is_rejected_for_it(
    verifier: TokenVerifier, key: DevelopmentKey, clock: ManualClock, options: dict[str, Any], reason: str
) -> None:
    with pytest.raises(TokenError, match=reason):
        verifier.verify(issue(key, clock, **options))


@pytest.mark.parametrize(
    ("claims", "verified"),
    [
        ({"email": "Ada@example.org", "email_verified": True}, "Ada@example.org"),
        ({"email": "ada@example.org", "email_verified": "true"}, "ada@example.org"),
        *(
            ({"email": "ada@example.org", "email_verified": message}, None)
            for message in (False, "false", "True", 1, None, list[str]())
        ),
        ({"email_verified": True}, None),
        ({"email": "", "email_verified": True}, None),
        ({"email": ["ada@example.org"], "email_verified": True}, None),
    ],
    ids=str,
)
def test_an_address_is_verified_only_if_the_issuer_says_so(
    verifier: TokenVerifier, key: DevelopmentKey, clock: ManualClock, claims: dict[str, Any], verified: str | None
) -> None:
    assert verifier.verify(issue(key, clock, claims=claims)).verified_email == verified
    unsaid = cognito_access_token(key, clock, email="ada@example.org")
    assert verifier.verify(unsaid).verified_email is None


def cognito_access_token(key: DevelopmentKey, clock: ManualClock, **claims: Any) -> str:
    """Return the claims of the example in "Understanding the access token" of the Amazon Cognito Developer Guide."""
    now = int(clock.now())
    payload = {
        "sub": "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee", "device_key": "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee",
        "cognito:groups": ["administrators"], "iss": ISSUER, "version": 2, "client_id": AUDIENCE,
        "origin_jti": "aaaaaaaa", "event_id": "aaaaaaaa", "token_use": "access", "scope": "phone openid profile email",
        "auth_time": now, "exp": now + 3600, "iat": now, "jti": "aaaaaaaa", "username": "ada", **claims,
    }  # fmt: skip
    present = {name: value for name, value in payload.items() if value is not None}
    return jwt.encode(present, key.private_key, "EdDSA", {"kid": key.key_id})


def test_a_cognito_access_token_is_accepted_by_its_client_id(
    verifier: TokenVerifier, key: DevelopmentKey, clock: ManualClock
) -> None:
    principal = verifier.verify(cognito_access_token(key, clock))
    assert principal.subject == "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"
    assert principal.has_role("administrators")


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"client_id": "another-client"}, "another audience"),
        ({"client_id": [AUDIENCE]}, "another audience"),
        ({"client_id": None}, "claim aud"),
        ({"token_use": None}, "claim aud"),
        ({"token_use": "id"}, "claim aud"),
        ({"token_use": "refresh"}, "claim aud"),
        ({"aud": "https://another-api.example"}, "another audience"),
        ({"aud": [], "client_id": AUDIENCE}, "another audience"),
        ({"iss": "https://evil.example"}, "issuer"),
    ],
    ids=str,
)
def test_a_client_id_counts_only_in_access_tokens_without_an_audience(
    verifier: TokenVerifier, key: DevelopmentKey, clock: ManualClock, claims: dict[str, Any], reason: str
) -> None:
    with pytest.raises(TokenError, match=reason):
        verifier.verify(cognito_access_token(key, clock, **claims))


@pytest.mark.parametrize("audience", [AUDIENCE, ["another", AUDIENCE]])
def test_an_access_token_bound_to_this_api_is_accepted_by_its_audience(
    verifier: TokenVerifier, key: DevelopmentKey, clock: ManualClock, audience: object
) -> None:
    token = cognito_access_token(key, clock, aud=audience, client_id="another-client")
    assert verifier.verify(token).claims["username"] == "ada"


def test_times_may_differ_by_the_leeway_only(verifier: TokenVerifier, key: DevelopmentKey, clock: ManualClock) -> None:
    token = issue(key, clock, lifetime_s=60)
    clock.advance(69.9)
    assert verifier.verify(token).subject == "ada"
    clock.advance(0.1)
    with pytest.raises(TokenError, match="expired"):
        verifier.verify(token)


def test_a_subject_that_is_not_text_is_rejected(verifier: TokenVerifier, key: DevelopmentKey) -> None:
    payload = {"iss": ISSUER, "aud": AUDIENCE, "iat": 1_700_000_000, "exp": 1_700_000_100, "sub": ["ada"]}
    signed = jwt.PyJWS().encode(orjson.dumps(payload), key.private_key, "EdDSA", {"kid": key.key_id})
    with pytest.raises(TokenError, match="subject"):
        verifier.verify(signed)


def test_an_unsigned_token_is_rejected(verifier: TokenVerifier) -> None:
    unsigned = jwt.encode({"sub": "ada", "iss": ISSUER, "aud": AUDIENCE}, "", algorithm="none")
    with pytest.raises(TokenError, match="algorithm"):
        verifier.verify(unsigned)


def test_a_public_key_used_as_a_shared_secret_is_rejected(verifier: TokenVerifier, key: DevelopmentKey) -> None:
    header = _base64url(orjson.dumps({"alg": "HS256", "kid": key.key_id}))
    body = _base64url(orjson.dumps({"sub": "ada", "iss": ISSUER, "aud": AUDIENCE, "exp": 2_000_000_000, "iat": 1}))
    signature = hmac.digest(key.private_key.public_key().public_bytes_raw(), f"{header}.{body}".encode(), "sha256")
    with pytest.raises(TokenError, match="algorithm"):
        verifier.verify(f"{header}.{body}.{_base64url(signature)}")


def test_a_token_of_another_key_is_rejected_by_id_and_by_signature(
    verifier: TokenVerifier, key: DevelopmentKey, clock: ManualClock, tmp_path: Path
) -> None:
    other = development_key(tmp_path)
    with pytest.raises(TokenError, match="key is unknown"):
        verifier.verify(issue(other, clock))
    with pytest.raises(TokenError, match="signature"):
        verifier.verify(issue(DevelopmentKey(other.private_key, key.key_id), clock))


def test_a_modified_token_is_rejected(verifier: TokenVerifier, key: DevelopmentKey, clock: ManualClock) -> None:
    header, body, signature = issue(key, clock).split(".")
    claims = orjson.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    forged = _base64url(orjson.dumps({**claims, "sub": "root"}))
    with pytest.raises(TokenError, match="signature"):
        verifier.verify(f"{header}.{forged}.{signature}")


def test_a_very_long_token_is_rejected_before_parsing(verifier: TokenVerifier) -> None:
    with pytest.raises(TokenError, match="longer than 8192"):
        verifier.verify("a" * 8193)


@settings(deadline=None)
@given(st.one_of(st.text(max_size=60), st.from_regex(r"[\w-]{0,20}\.[\w-]{0,20}\.[\w-]{0,20}", fullmatch=True)))
def test_any_text_raises_only_the_documented_errors(text: str) -> None:
    verifier = TokenVerifier(TokenRules(AUDIENCE, ISSUER), _STATIC, ManualClock())
    with pytest.raises(TokenError):
        verifier.verify(text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@settings(deadline=None)
@given(JSON)
def test_any_header_raises_only_the_documented_errors(value: Any) -> None:
    verifier = TokenVerifier(TokenRules(AUDIENCE, ISSUER), _STATIC, ManualClock())
    for header in ({"alg": value}, {"alg": "EdDSA", "kid": value}, {"alg": "EdDSA", "crit": value}, value):
        try:
            encoded = _base64url(orjson.dumps(header))
        except orjson.JSONEncodeError:
            continue
        with pytest.raises(TokenError):
            verifier.verify(f"{encoded}.{_base64url(b'{}')}.AAAA")


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _jwk(private: Any) -> tuple[str, dict[str, Any]]:
    public = private.public_key()
    if isinstance(private, rsa.RSAPrivateKey):
        return "RS256", RSAAlgorithm.to_jwk(public, as_dict=True)
    if isinstance(private, ec.EllipticCurvePrivateKey):
        return "ES256", ECAlgorithm.to_jwk(public, as_dict=True)
    return "EdDSA", OKPAlgorithm.to_jwk(public, as_dict=True)


_ED = ed25519.Ed25519PrivateKey.generate()
_RSA = rsa.generate_private_key(65537, 2048)
_EC = ec.generate_private_key(ec.SECP256R1())
_SET = orjson.dumps({"keys": [{**_jwk(member)[1], "kid": _jwk(member)[0]} for member in (_ED, _RSA, _EC)]})
_STATIC = StaticKeys(_SET)


def _claims() -> dict[str, Any]:
    return {"iss": ISSUER, "aud": AUDIENCE, "sub": "ada", "iat": 1_700_000_000, "exp": 1_700_000_100}


@pytest.mark.parametrize("private", [_ED, _RSA, _EC], ids=["EdDSA", "RS256", "ES256"])
def test_each_accepted_algorithm_verifies(private: Any) -> None:
    algorithm, _ = _jwk(private)
    token = jwt.encode(_claims(), private, algorithm, headers={"kid": algorithm})
    verifier = TokenVerifier(TokenRules(AUDIENCE, ISSUER), _STATIC, ManualClock())
    assert verifier.verify(token).subject == "ada"


def test_an_algorithm_may_be_disabled() -> None:
    token = jwt.encode(_claims(), _RSA, "RS256", headers={"kid": "RS256"})
    verifier = TokenVerifier(TokenRules(AUDIENCE, ISSUER, algorithms=("EdDSA",)), _STATIC, ManualClock())
    with pytest.raises(TokenError, match="algorithm"):
        verifier.verify(token)


def test_a_header_with_another_algorithm_than_the_key_is_rejected() -> None:
    token = jwt.encode(_claims(), _RSA, "RS256", headers={"kid": "ES256"})
    verifier = TokenVerifier(TokenRules(AUDIENCE, ISSUER), _STATIC, ManualClock())
    with pytest.raises(TokenError, match="signature or content"):
        verifier.verify(token)


def test_a_token_without_a_key_id_requires_a_set_of_one_key() -> None:
    token = jwt.encode(_claims(), _ED, "EdDSA")
    alone = StaticKeys(orjson.dumps({"keys": [_jwk(_ED)[1]]}))
    rules = TokenRules(AUDIENCE, ISSUER)
    assert TokenVerifier(rules, alone, ManualClock()).verify(token).subject == "ada"
    with pytest.raises(TokenError, match="key is unknown"):
        TokenVerifier(rules, _STATIC, ManualClock()).verify(token)


@pytest.mark.parametrize("options", [
    {"audience": ""}, {"audience": "a", "issuer": ""}, {"audience": "a", "algorithms": ()},
    {"audience": "a", "algorithms": ("HS256",)}, {"audience": "a", "algorithms": ("RS256", "none")},
])  # fmt: skip
def test_rules_that_would_accept_anything_are_rejected(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"not be empty|algorithms"):
        TokenRules(**options)
