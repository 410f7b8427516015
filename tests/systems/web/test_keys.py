"""Key sets from files and URLs: usable keys, caching, rotation, failures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa
from jwt.algorithms import OKPAlgorithm, RSAAlgorithm
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from keyplan.clock import ManualClock
from keyplan_systems.web.keys import FileKeys, KeysUnavailableError, StaticKeys, UrlKeys, parse_keys
from keyplan_systems.web.server import Running

URL = "https://login.example/jwks.json"


def entry(key_id: str, **more: Any) -> dict[str, Any]:
    public = ed25519.Ed25519PrivateKey.generate().public_key()
    return {**OKPAlgorithm.to_jwk(public, as_dict=True), "kid": key_id, **more}


def document(*key_ids: str) -> bytes:
    return orjson.dumps({"keys": [entry(key_id) for key_id in key_ids]})


def test_only_public_signing_keys_of_sufficient_strength_are_usable() -> None:
    private = ed25519.Ed25519PrivateKey.generate()
    short = RSAAlgorithm.to_jwk(rsa.generate_private_key(65537, 1024).public_key(), as_dict=True)
    entries = [
        entry("good"),
        entry("encrypts", use="enc"),
        {"kty": "oct", "k": "c2VjcmV0", "kid": "secret"},
        {**short, "kid": "short"},
        {"kty": "EC", "crv": "P-9", "kid": "odd"},
        {**OKPAlgorithm.to_jwk(private, as_dict=True), "kid": "private"},
        entry("", kid=["list"]),
        entry("", kid=7),
        entry("misnamed", alg=["EdDSA"]),
        "no object",
    ]
    keys = parse_keys(orjson.dumps({"keys": entries}), "set")
    assert set(keys) == {"good", "private"}
    private_key = keys["private"]
    assert isinstance(private_key.key, ed25519.Ed25519PublicKey)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"keys": 7}', '{"keys": []}', '{"keys": [{"kty": "oct"}]}'])
def test_a_document_without_usable_keys_is_rejected(text: str) -> None:
    with pytest.raises(KeysUnavailableError, match="the set"):
        StaticKeys(text, "the set")


def test_a_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "jwks.json"
    path.write_bytes(document("one"))
    keys = FileKeys(path)
    first = keys.find("one")
    assert first is not None
    assert keys.find("one") is first
    replacement = tmp_path / "new.json"
    replacement.write_bytes(document("two"))
    replacement.replace(path)
    assert keys.find("one") is None
    assert keys.find("two") is not None


def test_a_deleted_file_is_a_server_error(tmp_path: Path) -> None:
    path = tmp_path / "jwks.json"
    path.write_bytes(document("one"))
    keys = FileKeys(path)
    path.unlink()
    with pytest.raises(KeysUnavailableError, match="cannot read"):
        keys.find("one")


class Issuer:
    """JWKS URL that counts its requests."""

    def __init__(self) -> None:
        self.visits = 0
        self.answer: Callable[[], httpx.Response] = lambda: httpx.Response(200, content=document("one"))

    def keys(self, clock: ManualClock, **options: Any) -> UrlKeys:
        def handle(_: httpx.Request) -> httpx.Response:
            self.visits += 1
            return self.answer()

        return UrlKeys(URL, clock=clock, client=httpx.Client(transport=httpx.MockTransport(handle)), **options)


def test_an_address_is_requested_once_while_its_keys_are_fresh() -> None:
    issuer, clock = Issuer(), ManualClock()
    keys = issuer.keys(clock, fresh_s=600)
    assert issuer.visits == 0
    for _ in range(5):
        assert keys.find("one") is not None
    assert issuer.visits == 1
    clock.advance(601)
    assert keys.find("one") is not None
    assert issuer.visits == 2


def test_an_unknown_key_is_looked_up_at_most_once_per_pause() -> None:
    issuer, clock = Issuer(), ManualClock()
    keys = issuer.keys(clock, pause_s=30)
    assert keys.find("one") is not None
    issuer.answer = lambda: httpx.Response(200, content=document("one", "two"))
    for _ in range(10):
        assert keys.find("two") is None
    assert issuer.visits == 1
    clock.advance(31)
    assert keys.find("two") is not None
    assert issuer.visits == 2


def test_a_key_removed_from_the_set_is_rejected_once_the_set_is_old() -> None:
    issuer, clock = Issuer(), ManualClock()
    keys = issuer.keys(clock, fresh_s=600)
    assert keys.find("one") is not None
    issuer.answer = lambda: httpx.Response(200, content=document("two"))
    clock.advance(601)
    assert keys.find("one") is None


def test_cached_keys_bridge_an_outage_until_they_are_stale() -> None:
    issuer, clock = Issuer(), ManualClock()
    keys = issuer.keys(clock, fresh_s=600, stale_s=3600)
    assert keys.find("one") is not None
    issuer.answer = lambda: httpx.Response(503)
    clock.advance(1800)
    assert keys.find("one") is not None
    clock.advance(1801)
    with pytest.raises(KeysUnavailableError, match="the server returned status 503"):
        keys.find("one")


@pytest.mark.parametrize("response", [
    httpx.Response(404), httpx.Response(302, headers={"Location": "https://elsewhere.example"}),
    httpx.Response(200, content=b"<html>"), httpx.Response(200, content=document("one") + b" " * 300_000),
])  # fmt: skip
def test_an_address_without_keys_is_a_server_error(response: httpx.Response) -> None:
    issuer = Issuer()
    issuer.answer = lambda: response
    with pytest.raises(KeysUnavailableError, match=URL):
        issuer.keys(ManualClock()).find("one")


def test_an_unreachable_address_is_a_server_error() -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectTimeout("no answer", request=request)

    keys = UrlKeys(URL, clock=ManualClock(), client=httpx.Client(transport=httpx.MockTransport(refuse)))
    with pytest.raises(KeysUnavailableError, match="no answer"):
        keys.find("one")


def test_keys_are_read_over_a_real_connection() -> None:
    app = Starlette(routes=[Route("/jwks.json", lambda _request: Response(document("one")))])
    with Running(app) as server:
        keys = UrlKeys(f"{server.url}/jwks.json")
        assert keys.find("one") is not None
        assert keys.find("two") is None
        keys.close()
