"""Public view of `keyplan up` without a token, and the security headers of its answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.systems.up.running_up import get, post, running

from keyplan_systems.up.launch import Settings
from keyplan_systems.web.development import DevelopmentKey, development_key, issue_development_token
from keyplan_systems.web.pages import SECURITY_HEADERS

pytestmark = pytest.mark.usefixtures("shelf_only")
ISSUER = "https://login.example"
DESCRIPTIONS = ("/", "/shelf/docs", "/shelf/redoc", "/shelf/openapi.json")
HEALTH = ("/health", "/health/shelf", "/shelf/health")


@pytest.fixture
def key(tmp_path: Path) -> DevelopmentKey:
    """Return the key of the issuer."""
    return development_key(tmp_path / "theirs")


@pytest.fixture
def settings(tmp_path: Path, key: DevelopmentKey) -> Settings:
    """Return settings with an issuer, and an address that other machines reach."""
    keys = tmp_path / "jwks.json"
    keys.write_bytes(key.jwks())
    return Settings(tmp_path / "data", host="0.0.0.0", issuer=ISSUER, audience="shelf", keys=str(keys))


def bearer(key: DevelopmentKey, issuer: str = ISSUER) -> dict[str, str]:
    token = issue_development_token(key, "ada", audience="shelf", issuer=issuer)
    return {"Authorization": f"Bearer {token}"}


def test_with_an_issuer_home_page_and_api_docs_require_a_token(settings: Settings, key: DevelopmentKey) -> None:
    wrong = bearer(key, "https://elsewhere.example")
    with running(settings) as (url, _):
        for path in DESCRIPTIONS:
            refused = get(f"{url}{path}")
            assert (refused.status_code, refused.json()["error"]["code"]) == (401, "unauthorized"), path
            assert refused.headers["WWW-Authenticate"].startswith("Bearer"), path
            assert get(f"{url}{path}", headers=wrong).status_code == 401, path
            assert httpx.head(f"{url}{path}").status_code == 401, path
            assert get(f"{url}{path}", headers=bearer(key)).status_code == 200, path


def test_with_an_issuer_health_shows_anonymous_clients_only_the_status(settings: Settings, key: DevelopmentKey) -> None:
    with running(settings) as (url, _):
        for path in HEALTH:
            response = get(f"{url}{path}")
            assert (response.status_code, response.json()) == (200, {"status": "ok"}), path
            assert get(f"{url}{path}", headers=bearer(key, "https://elsewhere.example")).json() == {"status": "ok"}, (
                path
            )
            assert len(get(f"{url}{path}", headers=bearer(key)).json()) > 1, path
        assert get(f"{url}/health/live").json() == {"status": "ok"}


def test_with_an_issuer_the_apis_verify_tokens_themselves(settings: Settings, key: DevelopmentKey) -> None:
    with running(settings) as (url, _):
        assert get(f"{url}/shelf/notes/first").json() == {"text": "a sample"}
        assert get(f"{url}/shelf/me").status_code == 401
        assert get(f"{url}/shelf/me", headers=bearer(key)).json() == "ada"


@pytest.mark.parametrize(
    "changes", [{"host": "127.0.0.1"}, {"issuer": None, "audience": None, "keys": None}], ids=["loopback", "no issuer"]
)
def test_on_a_loopback_address_or_without_an_issuer_the_pages_are_open(
    settings: Settings, changes: dict[str, Any]
) -> None:
    with running(replace(settings, **changes)) as (url, _):
        for path in DESCRIPTIONS:
            assert get(f"{url}{path}").status_code == 200, path
        for path in HEALTH:
            assert len(get(f"{url}{path}").json()) > 1, path


def test_every_response_has_the_security_headers(tmp_path: Path) -> None:
    dynamodb = {"X-Amz-Target": "DynamoDB_20120810.ListTables", "Content-Type": "application/x-amz-json-1.0"}
    with running(Settings(tmp_path)) as (url, _):
        paths = ("/health", "/health/live", "/health/shelf", "/nothing", "/shelf/notes/first", "/shelf/nothing")
        responses = [get(f"{url}{path}") for path in paths]
        responses += [
            post(url),
            post(url, content=b"{}", headers=dynamodb),
            get(f"{url}/health/", follow_redirects=False),
        ]
        home = get(url)
    assert {answer.status_code for answer in responses} == {200, 307, 400, 404, 405}
    for response in responses:
        assert {name: response.headers.get_list(name) for name in SECURITY_HEADERS} == {
            name: [value] for name, value in SECURITY_HEADERS.items()
        }, response.url
    policy = home.headers.get_list("Content-Security-Policy")
    assert len(policy) == 1
    for directive in ("default-src 'none'", "frame-ancestors 'none'", "script-src 'self'", "style-src 'self'"):
        assert directive in policy[0]
    assert home.headers["X-Frame-Options"] == "DENY"
