"""Signatures: botocore's signer is the oracle; refusals have the service's messages.

The texts about missing parts, and their order, are recorded answers of the service.
"""

from __future__ import annotations

import datetime
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyplan.clock import ManualClock
from keyplan.errors import ServiceError
from keyplan.server.sigv4 import AccessKey, FormatChecker, SignatureVerifier
from keyplan.server.wire import Request

auth = pytest.importorskip("botocore.auth")
awsrequest = pytest.importorskip("botocore.awsrequest")
credentials = pytest.importorskip("botocore.credentials")

NOW = 1_700_000_000.0
KEYS = {
    "AKID": AccessKey("secret/+="),
    "ASIA": AccessKey("temporary", token="a/token+with=signs"),
}
URL = "http://localhost:8000/"


@pytest.fixture
def frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make botocore sign at NOW."""
    time = datetime.datetime.fromtimestamp(NOW, datetime.UTC)

    def now(remove_tzinfo: bool = True) -> datetime.datetime:
        return time.replace(tzinfo=None) if remove_tzinfo else time

    monkeypatch.setattr(auth, "get_current_datetime", now)


def signed(
    url: str = URL,
    body: bytes = b"{}",
    access_key: str = "AKID",
    secret: str | None = None,
    headers: dict[str, str] | None = None,
    signer: Any = None,
    method: str = "POST",
    **options: Any,
) -> Request:
    """Return a request signed by botocore, as a server receives it."""
    key = KEYS.get(access_key, AccessKey("unknown"))
    keys = credentials.Credentials(access_key, secret or key.secret, key.token)
    members = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "a.b", **(headers or {})}
    request = awsrequest.AWSRequest(method=method, url=url, data=body, headers=members)
    (signer or auth.SigV4Auth)(keys, "dynamodb", "eu-west-1", **options).add_auth(request)
    parts = urlsplit(request.url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    received = {name.lower().encode(): value.encode() for name, value in request.headers.items()}
    received.setdefault(b"host", parts.netloc.encode())
    return Request(method.encode(), target.encode(), received, body)


def presigned(**arguments: Any) -> Request:
    """Return a request with its signature in the query; botocore would move a body there too."""
    return signed(body=b"", signer=auth.SigV4QueryAuth, **arguments)


def verify(request: Request, now: float = NOW) -> None:
    SignatureVerifier(KEYS, ManualClock(now)).check(request)


def refusal(request: Request, now: float = NOW) -> tuple[str, str]:
    with pytest.raises(ServiceError) as caught:
        verify(request, now)
    return caught.value.code, caught.value.message


@pytest.mark.usefixtures("frozen")
class TestVerified:
    @pytest.mark.parametrize(
        "arguments",
        [
            {},
            {"body": b""},
            {"body": "ünï".encode()},
            {"access_key": "ASIA"},
            {"url": "http://localhost:8000/mounted/there/"},
            {"url": "http://localhost:8000/a%20b/c~d"},
            {"url": "http://localhost:8000/a//b/./c/../d"},
            {"url": "http://localhost:8000/?b=2&a=1&a=0&c"},
            {"url": "http://[::1]:8000/"},
            {"headers": {"X-Odd": "  a   b  "}},
            {"headers": {"X-Odd": "\u00fc"}},
            {"url": "http://localhost:8000/?x=%2F%20y"},
        ],
    )
    def test_signatures_of_botocore_are_accepted(self, arguments: dict[str, Any]) -> None:
        verify(signed(**arguments))

    @given(body=st.binary(max_size=50), value=st.text("ab \t,;=", max_size=10))
    @settings(deadline=None)
    def test_any_body_and_header_are_accepted(self, body: bytes, value: str) -> None:
        verify(signed(body=body, headers={"X-Any": value}))

    def test_presigned_requests_are_accepted(self) -> None:
        request = presigned(expires=900)
        assert b"X-Amz-Signature" in request.target
        verify(request)
        verify(request, NOW + 900)

    @pytest.mark.parametrize("access_key", ["AKID", "ASIA"])
    def test_presigned_requests_are_accepted_with_and_without_a_token(self, access_key: str) -> None:
        verify(presigned(expires=60, access_key=access_key))

    def test_a_presigned_request_expires(self) -> None:
        request = presigned(expires=60)
        code, message = refusal(request, NOW + 61)
        assert code == "InvalidSignatureException"
        assert message.startswith("Signature expired: 20231114T221320Z")

    @pytest.mark.parametrize("digits", [400, 5000])
    def test_an_expiry_of_any_size_is_rejected_like_another_change(self, digits: int) -> None:
        request = presigned(expires=60)
        request.target = request.target.replace(b"X-Amz-Expires=60", b"X-Amz-Expires=" + b"9" * digits)
        code, _ = refusal(request)
        assert code == "InvalidSignatureException"

    @pytest.mark.parametrize("part", ["body", "target", "method", "x-amz-target", "x-amz-date"])
    def test_any_change_invalidates_the_signature(self, part: str) -> None:
        request = signed()
        if part == "body":
            request.body += b" "
        elif part == "target":
            request.target = b"/other"
        elif part == "method":
            request.method = b"PUT"
        elif part == "x-amz-target":
            request.headers[b"x-amz-target"] = b"a.c"
        else:
            request.headers[b"x-amz-date"] = b"20231114T221321Z"
        assert refusal(request) == (
            "InvalidSignatureException",
            (
                "The request signature we calculated does not match the signature you provided. "
                "Check your AWS Secret Access Key and signing method. Consult the service "
                "documentation for details."
            ),
        )

    def test_a_wrong_secret_is_rejected(self) -> None:
        assert refusal(signed(secret="wrong"))[0] == "InvalidSignatureException"

    @pytest.mark.parametrize("token", [None, b"", b"other"])
    def test_a_wrong_token_is_rejected(self, token: bytes | None) -> None:
        unbound = {"ASIA": AccessKey("temporary"), "AKID": AccessKey("secret/+=", token="needed")}
        for access_key in ("AKID", "ASIA"):
            request = signed(access_key=access_key)
            if token is not None:
                request.headers.setdefault(b"x-amz-security-token", token)
            with pytest.raises(ServiceError) as caught:
                SignatureVerifier(unbound, ManualClock(NOW)).check(request)
            assert caught.value.code == "UnrecognizedClientException"

    def test_an_unknown_key_is_rejected(self) -> None:
        assert refusal(signed(access_key="NOBODY")) == (
            "UnrecognizedClientException",
            "The security token included in the request is invalid.",
        )

    @pytest.mark.parametrize("off", [-900, -1, 0, 1, 900])
    def test_clocks_may_differ_by_a_quarter_of_an_hour(self, off: int) -> None:
        verify(signed(), NOW + off)

    def test_an_expired_signature_is_rejected(self) -> None:
        assert refusal(signed(), NOW + 901) == (
            "InvalidSignatureException",
            "Signature expired: 20231114T221320Z is now earlier than 20231114T221321Z (20231114T222821Z - 15 min.)",
        )

    def test_a_signature_of_the_future_is_rejected(self) -> None:
        assert refusal(signed(), NOW - 901) == (
            "InvalidSignatureException",
            (
                "Signature not yet current: 20231114T221320Z is still later than 20231114T221319Z "
                "(20231114T215819Z + 15 min.)"
            ),
        )

    def test_commas_without_spaces_are_accepted(self) -> None:
        request = signed()
        algorithm, *rest = request.headers[b"authorization"].split()
        request.headers[b"authorization"] = algorithm + b" " + b"".join(rest)
        verify(request)

    @pytest.mark.parametrize(
        ("old", "new", "code", "message"),
        [
            (
                b"host;",
                b"",
                "InvalidSignatureException",
                "'Host' must be a 'SignedHeader' in the AWS Authorization.",
            ),
            (
                b"AWS4-HMAC-SHA256",
                b"AWS4-HMAC-SHA25",
                "IncompleteSignatureException",
                "Unsupported AWS 'algorithm': 'AWS4-HMAC-SHA25' (only AWS4-HMAC-SHA256 for now). ",
            ),
            (
                b"/aws4_request",
                b"",
                "IncompleteSignatureException",
                (
                    "Credential must have exactly 5 slash-delimited elements, e.g. "
                    "keyid/date/region/service/term, got 'AKID/20231114/eu-west-1/dynamodb'"
                ),
            ),
            (
                b"20231114/eu-west-1/dynamodb/aws4_request",
                b"20231113/eu-west-1/s3/aws",
                "InvalidSignatureException",
                (
                    "Credential should be scoped to correct service: 'dynamodb'. "
                    "Credential should be scoped with a valid terminator: 'aws4_request', not 'aws'. "
                    "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date "
                    "from HTTP: '20231113' != '20231114', from '20231114T221320Z'."
                ),
            ),
        ],
    )
    def test_invalid_parts_are_rejected(self, old: bytes, new: bytes, code: str, message: str) -> None:
        request = signed()
        authorization = request.headers[b"authorization"]
        assert old in authorization
        request.headers[b"authorization"] = authorization.replace(old, new)
        assert refusal(request) == (code, message)

    @pytest.mark.parametrize("date", ["201", "20231314T221320Z", "20231114T221320", "yesterday"])
    def test_invalid_dates_are_rejected(self, date: str) -> None:
        request = signed()
        request.headers[b"x-amz-date"] = date.encode()
        assert refusal(request) == (
            "IncompleteSignatureException",
            f"Date must be in ISO-8601 'basic format'. Got '{date}'. See http://en.wikipedia.org/wiki/ISO_8601",
        )

    def test_a_date_header_is_accepted(self) -> None:
        request = signed()
        del request.headers[b"x-amz-date"]
        request.headers[b"date"] = b"Tue, 14 Nov 2023 22:13:20 GMT"
        names = request.headers[b"authorization"]
        request.headers[b"authorization"] = names.replace(b"x-amz-date;", b"")
        code, message = refusal(request)  # the date is read; the signature covers another request
        assert (code, message[:21]) == ("InvalidSignatureException", "The request signature")


HEADER = "IncompleteSignatureException"


@pytest.mark.parametrize(
    ("authorization", "date", "message"),
    [
        (
            b"AWS4-",
            None,
            (
                "Authorization header requires 'Credential' parameter. "
                "Authorization header requires 'Signature' parameter. "
                "Authorization header requires 'SignedHeaders' parameter. "
                "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. "
                "Authorization=AWS4-"
            ),
        ),
        *[
            (
                b"AWS4- " + parts,
                b"a",
                "Authorization header requires 'SignedHeaders' parameter. Authorization=AWS4- " + parts.decode(),
            )
            for parts in (
                b"Signature=b Credential=a",
                b"Signature=b,Credential=a",
                b"Signature=b, Credential=a",
                b"Signature=b, Credential=a, SignedHeaders=",
            )
        ],
        (
            b"AWS4-HMAC-SHA256 Signature=b,    Credential,    SignedHeaders",
            b"a",
            (
                "'Credential' not a valid key=value pair (missing equal-sign) in Authorization header: "
                "'AWS4-HMAC-SHA256 Signature=b,    Credential,    SignedHeaders'."
            ),
        ),
    ],
)
def test_headers_with_missing_parts_are_rejected(authorization: bytes, date: bytes | None, message: str) -> None:
    headers = {b"authorization": authorization}
    if date is not None:
        headers[b"date"] = date
    with pytest.raises(ServiceError) as caught:
        FormatChecker().check(Request(b"POST", b"/", headers, b""))
    assert (caught.value.code, caught.value.message) == (HEADER, message)


@pytest.mark.parametrize(
    ("query", "missing"),
    [
        (
            b"X-Amz-Algorithm",
            ["Algorithm", "Credential", "Signature", "SignedHeaders", "Date"],
        ),
        (
            b"X-Amz-Algorithm=a&X-Amz-Credential=b&X-Amz-Signature=c&X-Amz-Date=d",
            ["SignedHeaders"],
        ),
    ],
)
def test_queries_with_missing_parts_are_rejected(query: bytes, missing: list[str]) -> None:
    with pytest.raises(ServiceError) as caught:
        FormatChecker().check(Request(b"POST", b"/?" + query, {}, b""))
    assert caught.value.code == HEADER
    lines = [f"AWS query-string parameters must include 'X-Amz-{name}'. " for name in missing]
    assert caught.value.message == "".join(lines) + "Re-examine the query-string parameters."


@pytest.mark.parametrize(
    ("target", "headers"),
    [
        (b"/", {}),
        (b"/", {b"authorization": b"AWS4"}),
        (b"/", {b"authorization": b"Bearer x"}),
        (b"/?X-Amz-Algorith", {b"authorization": b"X"}),
        (b"/?X-Amz-Credential=a&X-Amz-Signature=b&X-Amz-SignedHeaders=c&X-Amz-Date=d", {}),
    ],
)
def test_a_missing_signature_is_rejected(target: bytes, headers: dict[bytes, bytes]) -> None:
    for signatures in (FormatChecker(), SignatureVerifier(KEYS, ManualClock(NOW))):
        with pytest.raises(ServiceError) as caught:
            signatures.check(Request(b"POST", target, headers, b""))
        assert caught.value.code == "MissingAuthenticationTokenException"


def test_two_signatures_are_rejected() -> None:
    with pytest.raises(ServiceError) as caught:
        FormatChecker().check(Request(b"POST", b"/?X-Amz-Algorithm", {b"authorization": b"X"}, b""))
    assert caught.value.code == "InvalidSignatureException"
    assert caught.value.message == (
        "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header."
    )


def test_unverified_signatures_accept_any_key_time_and_scope() -> None:
    FormatChecker().check(signed(access_key="NOBODY", secret="any"))
    FormatChecker().check(presigned(access_key="NOBODY"))
    plain = {
        b"authorization": b"AWS4-HMAC-SHA256 Credential=a/2/3/4/5 SignedHeaders=b Signature=c",
        b"date": b"whenever",
    }
    FormatChecker().check(Request(b"POST", b"/", plain, b""))


@given(st.binary(max_size=80), st.binary(max_size=40))
def test_any_bytes_are_rejected_or_parsed(authorization: bytes, query: bytes) -> None:
    headers = {b"authorization": b"AWS4-" + authorization, b"x-amz-date": b"20231114T221320Z"}
    for signatures in (FormatChecker(), SignatureVerifier(KEYS, ManualClock(NOW))):
        for target in (b"/", b"/?X-Amz-Algorithm=a&" + query):
            try:
                signatures.check(Request(b"POST", target, headers, b""))
            except ServiceError:
                continue
