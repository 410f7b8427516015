"""Pages of an application with their policies, and the security headers of every answer."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from keyplan_systems.up.launch import Settings, prepare
from keyplan_systems.web.application import web_application
from keyplan_systems.web.pages import SECURITY_HEADERS, html_page
from keyplan_systems.web.server import Running

PATIENCE_S = 120


def directives(response: Any) -> dict[str, list[str]]:
    """Return the sources of each directive of an answer's policy."""
    parts = response.headers["Content-Security-Policy"].split("; ")
    return {name: sources for name, *sources in (part.split(" ") for part in parts)}


def hash_of(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_a_page_may_use_only_its_own_content() -> None:
    policy = directives(html_page("<style>p { color: red }</style><script>\nstart()\n</script><p onclick='x()'>é</p>"))
    assert policy["script-src"] == [hash_of("\nstart()\n")]
    assert policy["style-src"] == [hash_of("p { color: red }")]
    for directive in ("default-src", "base-uri", "form-action", "frame-ancestors"):
        assert policy[directive] == ["'none'"]


def test_a_page_without_scripts_and_styles_allows_none() -> None:
    policy = directives(html_page("<p>text</p>"))
    assert policy["script-src"] == policy["style-src"] == ["'none'"]


@pytest.mark.parametrize("page", ["docs", "redoc"])
def test_the_api_docs_may_load_only_from_their_own_host(page: str) -> None:
    with Running(web_application("shop")) as server:
        response = httpx.get(f"{server.url}/{page}", timeout=PATIENCE_S)
    policy = directives(response)
    inline = re.findall(r"<script>(.*?)</script>", response.text, re.DOTALL)
    assert policy["script-src"] == ["'self'", *map(hash_of, inline)]
    assert len(inline) == (1 if page == "docs" else 0)
    used = {source for sources in policy.values() for source in sources if not source.startswith("'sha256-")}
    assert used == {"'none'", "'self'", "data:"} | ({"'unsafe-inline'", "blob:"} if page == "redoc" else set())
    assert "'unsafe-inline'" not in policy["script-src"]


def test_redoc_loads_no_logo_from_its_vendor() -> None:
    with Running(web_application("shop")) as server:
        (path,) = re.findall(r'<script src="([^"]+)"', httpx.get(f"{server.url}/redoc", timeout=PATIENCE_S).text)
        script = httpx.get(f"{server.url}{path}", timeout=PATIENCE_S)
    assert script.headers["Content-Type"].startswith("text/javascript")
    assert "redocly logo" in script.text
    assert not re.search(r"""src:\s*["']https?:""", script.text)


def test_a_rejected_websocket_has_the_security_headers_too() -> None:
    app, sent = web_application("shop"), []

    @app.websocket("/broken")
    async def broken() -> None:
        raise ZeroDivisionError

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "websocket", "path": "/broken", "headers": [], "query_string": b"", "subprotocols": []}
    asyncio.run(app(scope, receive, send))
    assert sent[0]["type"] == "websocket.http.response.start"
    named = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    assert {name: named[name.lower()] for name in SECURITY_HEADERS} == dict(SECURITY_HEADERS)


def test_each_system_sends_the_security_headers_without_keyplan_up(tmp_path: Path) -> None:
    with ExitStack() as stack:
        host = prepare(Settings(tmp_path, sample=False), stack, lambda _line: None)
        for hosted in host.hosted:
            with Running(hosted.built.app) as server:
                for path in ("/health", "/openapi.json", "/nothing", "/docs", "/static-offline-docs/swagger-ui.css"):
                    response = httpx.get(f"{server.url}{path}", timeout=PATIENCE_S)
                    for name, value in SECURITY_HEADERS.items():
                        (header,) = response.headers.get_list(name)
                        assert header.startswith(value), (hosted.system.name, path, name)
