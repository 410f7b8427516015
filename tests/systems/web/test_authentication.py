"""Routes behind tokens: 401 with a challenge, 403 without the role, 503 without keys, the user in the log."""

from __future__ import annotations

import asyncio
import io
import logging
from pathlib import Path
from typing import Annotated, Any

import httpx
import orjson
import pytest
from fastapi import Depends, FastAPI

from keyplan_systems.web.application import web_application
from keyplan_systems.web.authentication import Caller, require_role, unauthorized
from keyplan_systems.web.development import DevelopmentKey, development_key, issue_development_token
from keyplan_systems.web.keys import KeySource, UrlKeys
from keyplan_systems.web.logs import JsonFormatter
from keyplan_systems.web.middleware import access_log
from keyplan_systems.web.tokens import Principal, TokenRules, TokenVerifier, development_keys

RULES = TokenRules("shop")


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> DevelopmentKey:
    return development_key(tmp_path_factory.mktemp("keys"))


def build(keys: KeySource | None) -> FastAPI:
    app = web_application("shop", verifier=None if keys is None else TokenVerifier(RULES, keys))

    @app.get("/me")
    async def me(caller: Caller) -> dict[str, object]:
        return {"subject": caller.subject, "roles": sorted(caller.roles)}

    @app.get("/office")
    async def office(caller: Annotated[Principal, Depends(require_role("administrators"))]) -> str:
        return caller.subject

    return app


def ask(app: FastAPI, path: str, token: str | None = None, scheme: str = "Bearer") -> httpx.Response:
    async def run() -> httpx.Response:
        headers = {} if token is None else {"Authorization": f"{scheme} {token}"}
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://shop") as client:
            return await client.get(path, headers=headers)

    return asyncio.run(run())


def issue(key: DevelopmentKey, *roles: str, **options: Any) -> str:
    return issue_development_token(key, "ada", audience="shop", roles=roles, **options)


def test_a_valid_token_identifies_the_caller(key: DevelopmentKey) -> None:
    response = ask(build(development_keys(key)), "/me", issue(key, "users"))
    assert response.json() == {"subject": "ada", "roles": ["users"]}


def test_without_a_token_the_response_is_a_bare_challenge(key: DevelopmentKey) -> None:
    response = ask(build(development_keys(key)), "/me")
    assert response.status_code == 401
    assert response.headers["WWW-Authenticate"] == 'Bearer realm="keyplan"'
    assert response.json()["error"]["code"] == "unauthorized"
    assert response.json()["error"]["request_id"] == response.headers["X-Request-Id"]


def test_another_scheme_counts_as_no_token(key: DevelopmentKey) -> None:
    assert ask(build(development_keys(key)), "/me", "YWRhOnB3", scheme="Basic").status_code == 401


def test_an_invalid_token_is_explained_in_the_challenge(key: DevelopmentKey) -> None:
    response = ask(build(development_keys(key)), "/me", issue(key, lifetime_s=-100))
    assert response.status_code == 401
    assert response.headers["WWW-Authenticate"] == (
        'Bearer realm="keyplan", error="invalid_token", error_description="The token has expired."'
    )


def test_a_reason_is_escaped_for_the_challenge_header() -> None:
    reason = 'no "\u00e9\\x"\r\nX-Forged: 1 \ud800'
    problem = unauthorized(reason)
    assert problem.message == reason
    assert dict(problem.headers or {}) == {
        "WWW-Authenticate": 'Bearer realm="keyplan", error="invalid_token", error_description="no ???x???X-Forged: 1 ?"'
    }


def test_a_missing_role_returns_403(key: DevelopmentKey) -> None:
    app = build(development_keys(key))
    refused = ask(app, "/office", issue(key, "users"))
    assert refused.status_code == 403
    assert "insufficient_scope" in refused.headers["WWW-Authenticate"]
    assert ask(app, "/office", issue(key, "administrators")).json() == "ada"


def test_unavailable_keys_return_503(key: DevelopmentKey) -> None:
    down = httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(500)))
    app = build(UrlKeys("https://login.example/jwks", client=down))
    response = ask(app, "/me", issue(key))
    assert response.status_code == 503
    assert response.headers["Retry-After"] == "30"


def test_keys_are_fetched_without_blocking_the_event_loop(key: DevelopmentKey) -> None:
    up = httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(200, content=key.jwks())))
    app = build(UrlKeys("https://login.example/jwks", client=up))
    assert ask(app, "/me", issue(key)).json()["subject"] == "ada"


def test_an_application_without_a_verifier_returns_500(key: DevelopmentKey) -> None:
    assert ask(build(None), "/me", issue(key)).status_code == 500


def test_the_log_line_names_the_user_and_never_the_token(key: DevelopmentKey) -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    access_log.addHandler(handler)
    level = access_log.level
    access_log.setLevel(logging.INFO)
    try:
        token = issue(key)
        ask(build(development_keys(key)), "/me", token)
        ask(build(None), "/me", token)
    finally:
        access_log.removeHandler(handler)
        access_log.setLevel(level)
    lines = [orjson.loads(line) for line in stream.getvalue().splitlines()]
    assert lines[0]["user_id"] == "ada"
    assert token not in stream.getvalue()


def test_a_token_of_the_key_folder_is_accepted_by_the_application(tmp_path: Path) -> None:
    created = development_key(tmp_path)
    assert ask(build(development_keys(development_key(tmp_path))), "/me", issue(created)).status_code == 200
