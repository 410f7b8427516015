"""Checks of AWS Signature Version 4 signatures.

`FormatChecker` requires only that a signature is complete, for local servers whose clients sign with arbitrary keys.
`SignatureVerifier` recomputes the signature with the known keys. Both use DynamoDB's error messages and its order of
checks: parts, date, signed host, algorithm, credential, scope, key, signature, token.

Sources: IAM User Guide, "Signature Version 4 signing process"; the order and messages are from service responses that
public test suites recorded. The service tolerates a clock difference of 15 minutes (its error message is "Signature
expired: ... - 15 min.").
"""

from __future__ import annotations

import configparser
import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Protocol
from urllib.parse import quote_from_bytes, unquote_to_bytes

from keyplan.clock import Clock
from keyplan.dynamodb.messages import protocol as texts
from keyplan.errors import (
    IncompleteSignatureError,
    InvalidSignatureError,
    MissingAuthenticationTokenError,
    UnrecognizedClientError,
)
from keyplan.server.wire import Request

ALGORITHM = "AWS4-HMAC-SHA256"
SKEW_MINUTES = 15
_MAX_SECONDS = 10**12
_HEADER_PARTS = ("Credential", "Signature", "SignedHeaders")
_QUERY_PARTS = (
    "X-Amz-Algorithm",
    "X-Amz-Credential",
    "X-Amz-Signature",
    "X-Amz-SignedHeaders",
    "X-Amz-Date",
)
_MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec"
_BASIC_DATE = re.compile(r"\d{8}T\d{6}Z", re.ASCII)
_HTTP_DATE = re.compile(r"\w{3}, (\d{2}) (\w{3}) (\d{4}) (\d{2}):(\d{2}):(\d{2}) GMT", re.ASCII)

# The parts before the signature's value as every SDK sends them, for a fast check that none is missing.
_USUAL_FORM = re.compile(rb"AWS4-HMAC-SHA256 Credential=[^,\s=]+, ?SignedHeaders=[^,\s=]+, ?")
_QUESTION_MARK = ord("?")


class SignatureChecker(Protocol):
    """The interface of signature checkers."""

    def check(self, request: Request) -> None:
        """Raise DynamoDB's error if the request is not authorized. Otherwise, do nothing."""


@dataclass(frozen=True, slots=True)
class AccessKey:
    """A secret access key and, for temporary credentials, the required session token."""

    secret: str
    token: str | None = None


@dataclass(frozen=True, slots=True)
class Signature:
    """The parts of a request's signature as the client sent them."""

    algorithm: str
    credential: str
    signed_headers: str
    value: str
    date: str
    token: str | None
    expires: str | None = None
    presigned: bool = False


class FormatChecker:
    """A signature checker that requires a complete signature, but accepts any key and any signature value."""

    def check(self, request: Request) -> None:
        """Raise DynamoDB's error if the signature is missing, incomplete or malformed.

        The error is a MissingAuthenticationTokenError, IncompleteSignatureError or InvalidSignatureError.
        """
        headers = request.headers
        beginning, _, value = headers.get(b"authorization", b"").rpartition(b"Signature=")
        if (
            value.isalnum()
            and _has_usual_form(beginning)
            and b"x-amz-date" in headers
            and _QUESTION_MARK not in request.target
        ):
            return
        read_signature(request)


@lru_cache(maxsize=256)
def _has_usual_form(beginning: bytes) -> bool:
    """Return True if the start of an Authorization header has the form that SDKs use.

    The result is cached, because the headers of a client have the same start for a whole day.
    """
    return _USUAL_FORM.fullmatch(beginning) is not None


class SignatureVerifier:
    """A signature checker that requires a valid signature with one of the known keys."""

    def __init__(self, keys: Mapping[str, AccessKey], clock: Clock) -> None:
        self._keys = dict(keys)
        self._clock = clock

    def check(self, request: Request) -> None:
        """Raise DynamoDB's error if the request does not have a valid signature with a known key."""
        signature = read_signature(request)
        signed_at, stamp = _parsed_date(signature.date)
        self._check_age(signature, signed_at, stamp)
        if "host" not in signature.signed_headers.lower().split(";"):
            raise InvalidSignatureError(texts.HOST_NOT_SIGNED)
        if signature.algorithm != ALGORITHM:
            raise IncompleteSignatureError(texts.algorithm_unknown(signature.algorithm))
        access_key, scope = _credential(signature.credential, stamp)
        key = self._keys.get(access_key)
        if key is None:
            raise UnrecognizedClientError(texts.INVALID_TOKEN)
        expected = signature_of(request, signature, stamp, scope, key.secret)
        if not hmac.compare_digest(expected.encode(), signature.value.encode()):
            raise InvalidSignatureError(texts.WRONG_SIGNATURE)
        if not hmac.compare_digest((key.token or "").encode(), (signature.token or "").encode()):
            raise UnrecognizedClientError(texts.INVALID_TOKEN)

    def _check_age(self, signature: Signature, signed_at: float, stamp: str) -> None:
        now = self._clock.now()
        skew = SKEW_MINUTES * 60
        if signed_at > now + skew:
            latest, current = _stamp(now + skew), _stamp(now)
            raise InvalidSignatureError(texts.signature_early(stamp, latest, current, SKEW_MINUTES))
        if signature.expires is not None:
            seconds = _seconds(signature.expires)
            if now > signed_at + seconds:
                raise InvalidSignatureError(texts.query_expired(stamp, seconds, _stamp(now)))
        elif signed_at < now - skew:
            earliest, current = _stamp(now - skew), _stamp(now)
            raise InvalidSignatureError(texts.signature_expired(stamp, earliest, current, SKEW_MINUTES))


def _seconds(expires: str) -> int:
    """Return the validity period of a presigned request in seconds, or 0 if `expires` is not a number.

    The result is limited to the range of supported dates.
    """
    if not expires.isdecimal():
        return 0
    digits = expires.lstrip("0") or "0"
    return int(digits) if len(digits) < len(str(_MAX_SECONDS)) else _MAX_SECONDS


def read_signature(request: Request) -> Signature:
    """Return the signature of a request, from its Authorization header or its query string.

    Raises MissingAuthenticationTokenError if the request has no signature, IncompleteSignatureError if a part is
    missing, and InvalidSignatureError if the request contains both an Authorization header and a signed query string.
    """
    authorization = request.headers.get(b"authorization")
    query = _query(request.target)
    in_query = any(name == "X-Amz-Algorithm" for name, _ in query)
    if authorization is not None and in_query:
        raise InvalidSignatureError(texts.BOTH_SIGNATURES)
    if in_query:
        return _from_query(dict(query))
    if authorization is None or not authorization.strip().startswith(b"AWS4-"):
        raise MissingAuthenticationTokenError(texts.MISSING_TOKEN)
    return _from_header(authorization.decode("latin-1"), request.headers)


def _from_header(authorization: str, headers: Mapping[bytes, bytes]) -> Signature:
    algorithm, *pieces = [text for text in re.split(r"[,\s]+", authorization.strip()) if text]
    parts: dict[str, str] = {}
    for text in pieces:
        name, equals, value = text.partition("=")
        if not equals:
            raise IncompleteSignatureError(texts.no_equal_sign(text, authorization))
        parts[name] = value
    missing = [name for name in _HEADER_PARTS if not parts.get(name)]
    date = headers.get(b"x-amz-date") or headers.get(b"date")
    if missing or not date:
        raise IncompleteSignatureError(texts.header_incomplete(missing, date is not None, authorization))
    token = headers.get(b"x-amz-security-token")
    return Signature(
        algorithm=algorithm,
        credential=parts["Credential"],
        signed_headers=parts["SignedHeaders"],
        value=parts["Signature"],
        date=date.decode("latin-1"),
        token=None if token is None else token.decode("latin-1"),
    )


def _from_query(query: Mapping[str, str]) -> Signature:
    missing = [name for name in _QUERY_PARTS if not query.get(name)]
    if missing:
        raise IncompleteSignatureError(texts.query_incomplete(missing))
    return Signature(
        algorithm=query["X-Amz-Algorithm"],
        credential=query["X-Amz-Credential"],
        signed_headers=query["X-Amz-SignedHeaders"],
        value=query["X-Amz-Signature"],
        date=query["X-Amz-Date"],
        token=query.get("X-Amz-Security-Token"),
        expires=query.get("X-Amz-Expires"),
        presigned=True,
    )


def _query(target: bytes) -> list[tuple[str, str]]:
    """Return the names and values of the parameters in the query string, decoded and in order."""
    pairs = []
    for part in target.partition(b"?")[2].split(b"&"):
        if part:
            name, _, value = part.partition(b"=")
            pairs.append((_decoded(name), _decoded(value)))
    return pairs


def _decoded(text: bytes) -> str:
    return unquote_to_bytes(text).decode("latin-1")


def _parsed_date(date: str) -> tuple[float, str]:
    """Convert the date of a request to a pair of epoch seconds and a string in ISO 8601 basic format.

    Raises IncompleteSignatureError if the date is neither in ISO 8601 basic format nor in HTTP format.
    """
    try:
        if _BASIC_DATE.fullmatch(date):
            time = datetime(
                int(date[:4]),
                int(date[4:6]),
                int(date[6:8]),
                int(date[9:11]),
                int(date[11:13]),
                int(date[13:15]),
                tzinfo=UTC,
            )
            return time.timestamp(), date
        if match := _HTTP_DATE.fullmatch(date):
            day, month, year, *clock = match.groups()
            number = _MONTHS.index(month) // 3 + 1
            hour, minute, second = (int(part) for part in clock)
            time = datetime(int(year), number, int(day), hour, minute, second, tzinfo=UTC)
            return time.timestamp(), _stamp(time.timestamp())
    except ValueError as error:
        raise IncompleteSignatureError(texts.date_malformed(date)) from error
    raise IncompleteSignatureError(texts.date_malformed(date))


def _stamp(epoch_s: float) -> str:
    """Format a timestamp in ISO 8601 basic format."""
    time = datetime.fromtimestamp(int(epoch_s), UTC)
    return f"{time:%Y%m%dT%H%M%SZ}"


def _credential(credential: str, stamp: str) -> tuple[str, str]:
    """Return the access key ID and the scope (date/region/service/terminator) of a credential.

    `stamp` is the time of the request. Raises IncompleteSignatureError for a malformed credential. Raises
    InvalidSignatureError for a wrong scope, for example if its date is not that of the request.
    """
    parts = credential.rstrip("/").split("/")
    if len(parts) != 5:
        raise IncompleteSignatureError(texts.credential_malformed(credential))
    access_key, date, region, service, term = parts
    if problem := texts.scope_wrong(date, service, term, stamp):
        raise InvalidSignatureError(problem)
    return access_key, f"{date}/{region}/{service}/{term}"


def signature_of(request: Request, signature: Signature, stamp: str, scope: str, secret: str) -> str:
    """Return the expected signature of the request in hexadecimal."""
    digest = hashlib.sha256(canonical_request(request, signature)).hexdigest()
    to_sign = f"{ALGORITHM}\n{stamp}\n{scope}\n{digest}"
    return hmac.new(_signing_key(secret, scope), to_sign.encode("latin-1"), "sha256").hexdigest()


@lru_cache(maxsize=64)
def _signing_key(secret: str, scope: str) -> bytes:
    key = b"AWS4" + secret.encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode("latin-1"), "sha256")
    return key


def canonical_request(request: Request, signature: Signature) -> bytes:
    """Return the canonical form of the request, from whose hash the signature is computed."""
    names = signature.signed_headers.lower().split(";")
    lines = [
        request.method,
        _canonical_path(request.target.partition(b"?")[0]).encode(),
        _canonical_query(request.target, signature.presigned).encode(),
    ]
    for name in names:
        wire_name = name.encode("latin-1")
        value = b" ".join(request.headers.get(wire_name, b"").split())
        lines.append(wire_name + b":" + value)
    lines.append(b"")
    lines.append(";".join(names).encode("latin-1"))
    lines.append(hashlib.sha256(request.body).hexdigest().encode())
    return b"\n".join(lines)


def _canonical_path(path: bytes) -> str:
    """Return the path in canonical form: normalized, and URL-encoded once more in addition to the client's own
    encoding.
    """
    segments: list[bytes] = []
    for part in path.split(b"/"):
        if part == b"..":
            del segments[-1:]
        elif part not in (b"", b"."):
            segments.append(part)
    slash = b"/" if segments and path.endswith(b"/") else b""
    return quote_from_bytes(b"/" + b"/".join(segments) + slash, safe="/~")


def _canonical_query(target: bytes, presigned: bool) -> str:
    """Return the query parameters, sorted and encoded. The signature of a presigned request is excluded."""
    pairs = [
        (_encoded(name), _encoded(value))
        for name, value in _query(target)
        if not (presigned and name == "X-Amz-Signature")
    ]
    return "&".join(f"{name}={value}" for name, value in sorted(pairs))


def _encoded(text: str) -> str:
    return quote_from_bytes(text.encode("latin-1"), safe="~")


class BadCredentialsError(Exception):
    """Raised if a credentials file cannot be read or contains no keys. The message names the file and the reason."""


def read_credentials(path: str) -> dict[str, AccessKey]:
    """Return the access keys in a credentials file, by access key ID.

    Raises BadCredentialsError if the file cannot be used.
    """
    parser = configparser.RawConfigParser()
    try:
        with Path(path).open(encoding="utf-8") as file:
            parser.read_file(file, source=path)
    except OSError as error:
        raise BadCredentialsError(f"cannot read the credentials file {path}: {error.strerror}") from error
    except (configparser.Error, UnicodeDecodeError) as error:
        raise BadCredentialsError(f"{path} is not a credentials file: {error}") from error
    keys: dict[str, AccessKey] = {}
    for section in parser.sections():
        _add_key(keys, path, section, dict(parser.items(section)))
    if not keys:
        raise BadCredentialsError(
            f"{path} contains no access keys: add a [section] with aws_access_key_id and aws_secret_access_key"
        )
    return keys


def _add_key(keys: dict[str, AccessKey], path: str, section: str, entries: dict[str, str]) -> None:
    access_key = entries.get("aws_access_key_id", "")
    secret = entries.get("aws_secret_access_key", "")
    if not access_key and not secret:
        return  # a profile with another source of keys
    if not access_key or not secret:
        missing = "aws_secret_access_key" if access_key else "aws_access_key_id"
        raise BadCredentialsError(f"{path}: [{section}] has no {missing}")
    if access_key in keys:
        raise BadCredentialsError(f"{path}: [{section}] repeats the access key {access_key}")
    keys[access_key] = AccessKey(secret, entries.get("aws_session_token") or None)
