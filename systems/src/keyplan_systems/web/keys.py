"""Sources of public keys for token verification. A source is a file or URL with a JSON Web Key Set (JWKS).

A source raises `KeysUnavailableError` if it does not have any usable keys. This is a failure of the server (503) and
not an error of the caller (401).
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Protocol

import httpx
import orjson
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt import PyJWK
from jwt.exceptions import PyJWTError

from keyplan.clock import Clock, SystemClock

ALGORITHMS: Final = ("RS256", "ES256", "EdDSA")
SMALLEST_RSA_KEY_BITS: Final = 2048
JWKS_LIMIT_BYTES: Final = 256 * 1024


class KeysUnavailableError(Exception):
    """Raised if a key source cannot provide any usable keys."""


class KeySource(Protocol):
    """Interface for finding public keys by their IDs."""

    @property
    def may_block(self) -> bool:
        """Whether `find` can wait for the network. If it is True, coroutines must call `find` in a thread."""

    def find(self, key_id: str | None) -> PyJWK | None:
        """Return the key with the given ID, or None if it does not exist. If `key_id` is None, return the only key, or
        None if the source has several keys.
        """


def parse_keys(document: bytes | str, source: str) -> dict[str | None, PyJWK]:
    """Return the usable public signing keys of a JWKS document, by key ID. `source` is the name of the document in
    error messages.

    Other keys (symmetric keys, encryption keys, unknown curves, short RSA keys) are ignored, because a key set can also
    contain keys for other purposes. Raises KeysUnavailableError if the document is not a key set or contains no usable
    keys.
    """
    try:
        entries = orjson.loads(document)["keys"]
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise KeysUnavailableError(f"{source} is not a JSON Web Key Set: it needs a list named 'keys'") from error
    if not isinstance(entries, list):
        raise KeysUnavailableError(f"{source} is not a JSON Web Key Set: 'keys' is not a list")
    keys = {key.key_id: key for entry in entries if (key := _usable_key(entry)) is not None}
    if not keys:
        raise KeysUnavailableError(f"{source} has no usable key (signing keys for {', '.join(ALGORITHMS)})")
    return keys


def _usable_key(entry: object) -> PyJWK | None:
    if not isinstance(entry, dict) or entry.get("use", "sig") != "sig" or entry.get("kty") == "oct":
        return None
    try:
        key = PyJWK(_public_part(entry))
    except (PyJWTError, TypeError):  # TypeError: a member has the wrong type
        return None
    if not isinstance(key.key_id, str | None):
        return None
    if isinstance(key.key, RSAPublicKey) and key.key.key_size < SMALLEST_RSA_KEY_BITS:
        return None
    return key if key.algorithm_name in ALGORITHMS else None


def _public_part(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JWKS entry without the members of a private key, so that only the public key is used."""
    private = {"d", "p", "q", "dp", "dq", "qi", "oth", "k"}
    return {name: value for name, value in entry.items() if name not in private}


def _find_key(keys: Mapping[str | None, PyJWK], key_id: str | None) -> PyJWK | None:
    if key_id is None and len(keys) == 1:
        return next(iter(keys.values()))
    return None if key_id is None else keys.get(key_id)


class StaticKeys:
    """A key source with a fixed set of keys."""

    may_block = False

    def __init__(self, document: bytes | str, source: str = "the given key set") -> None:
        self._keys = parse_keys(document, source)

    def find(self, key_id: str | None) -> PyJWK | None:
        """Return the key with the given ID, or None if it does not exist. See `KeySource.find`."""
        return _find_key(self._keys, key_id)


class FileKeys:
    """A key source that reads a JWKS file, and reads it again after it has changed."""

    may_block = False

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp: tuple[int, int, int] | None = None
        self._keys: dict[str | None, PyJWK] = {}
        self._lock = threading.Lock()
        self._refresh()

    def find(self, key_id: str | None) -> PyJWK | None:
        """Return the key with the given ID, or None if it does not exist. See `KeySource.find`.

        Raises KeysUnavailableError if the file cannot be read.
        """
        self._refresh()
        return _find_key(self._keys, key_id)

    def _refresh(self) -> None:
        try:
            status = self._path.stat()
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
            with self._lock:
                if stamp != self._stamp:
                    self._keys = parse_keys(self._path.read_bytes(), str(self._path))
                    self._stamp = stamp
        except OSError as error:
            raise KeysUnavailableError(f"cannot read the key set {self._path}: {error.strerror}") from error


class UrlKeys:
    """A key source that fetches and caches the key set at a JWKS URL.

    The key set is fetched again when it is older than `fresh_s` seconds or a key is unknown, but at most once every
    `pause_s` seconds, because attackers can send tokens with unknown key IDs. If a fetch fails, the cached keys are
    used for up to `stale_s` seconds after the last successful fetch.
    """

    may_block = True

    def __init__(
        self,
        url: str,
        *,
        fresh_s: float = 600,
        stale_s: float = 86_400,
        pause_s: float = 30,
        timeout_s: float = 5,
        clock: Clock | None = None,
        client: httpx.Client | None = None,
    ) -> None:
        self._url = url
        self._fresh_s = fresh_s
        self._stale_s = stale_s
        self._pause_s = pause_s
        self._clock = clock or SystemClock()
        self._client = client or httpx.Client(timeout=timeout_s, follow_redirects=False)
        self._lock = threading.Lock()
        self._keys: dict[str | None, PyJWK] = {}
        self._fetched_at_s: float | None = None
        self._tried_at_s: float | None = None
        self._failure: KeysUnavailableError | None = None

    def find(self, key_id: str | None) -> PyJWK | None:
        """Return the key with the given ID, or None if it does not exist. See `KeySource.find`.

        Raises KeysUnavailableError if the keys have never been fetched or are older than `stale_s` seconds.
        """
        now_s = self._clock.monotonic()
        key = _find_key(self._keys, key_id)
        if key is not None and self._age_s(now_s) < self._fresh_s:
            return key
        with self._lock:
            self._fetch_if_due(self._clock.monotonic())
            if self._age_s(self._clock.monotonic()) > self._stale_s:
                raise self._failure or KeysUnavailableError(f"the keys of {self._url} are too old to be used")
            return _find_key(self._keys, key_id)

    def close(self) -> None:
        """Close the HTTP connections."""
        self._client.close()

    def _age_s(self, now_s: float) -> float:
        return float("inf") if self._fetched_at_s is None else now_s - self._fetched_at_s

    def _fetch_if_due(self, now_s: float) -> None:
        if self._tried_at_s is not None and now_s - self._tried_at_s < self._pause_s:
            return
        self._tried_at_s = now_s
        try:
            self._keys = parse_keys(self._download(), self._url)
            self._fetched_at_s = now_s
            self._failure = None
        except (httpx.HTTPError, KeysUnavailableError) as error:
            self._failure = KeysUnavailableError(f"cannot fetch the key set {self._url}: {error}")

    def _download(self) -> bytes:
        content = bytearray()
        with self._client.stream("GET", self._url, headers={"Accept": "application/json"}) as response:
            if response.status_code != 200:
                raise KeysUnavailableError(f"the server returned status {response.status_code}")
            for chunk in response.iter_bytes():
                content += chunk
                if len(content) > JWKS_LIMIT_BYTES:
                    raise KeysUnavailableError(f"the response is longer than {JWKS_LIMIT_BYTES} bytes")
        return bytes(content)
