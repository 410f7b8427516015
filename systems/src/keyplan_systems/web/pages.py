"""HTML pages with their own Content-Security-Policy, and security headers for all responses.

    return html_page("<style>p { color: #222 }</style><p>...</p>")

By default, a page cannot load any resources and cannot be shown in a frame. The policy of `html_page` also allows the
page's inline scripts and styles, by their hashes, and the sources that the caller passes. No page loads resources from
other hosts.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Final

from fastapi import FastAPI, Request
from fastapi.openapi.docs import get_redoc_html, get_swagger_ui_html
from starlette.datastructures import MutableHeaders
from starlette.responses import HTMLResponse, Response
from starlette.types import Message, Send

_POLICY_HEADER: Final = "Content-Security-Policy"
_UNSAFE_INLINE: Final = "'unsafe-inline'"
_DEFAULT_POLICY: Final = MappingProxyType(
    {"default-src": "'none'", "base-uri": "'none'", "form-action": "'none'", "frame-ancestors": "'none'"}
)
_SWAGGER_SOURCES: Final = MappingProxyType(
    {"script-src": "'self'", "style-src": "'self'", "img-src": "'self' data:", "connect-src": "'self'"}
)
# ReDoc adds styles at run time, and runs its search in a worker that it creates from a blob.
_REDOC_SOURCES: Final = MappingProxyType(
    {**_SWAGGER_SOURCES, "style-src": f"'self' {_UNSAFE_INLINE}", "worker-src": "blob:"}
)

_FILES: Final = "/static-offline-docs"
_REDOC_SCRIPT: Final = "/redoc/redoc.standalone.js"
_REDOC_LOGO: Final = b"https://cdn.redoc.ly/redoc/logo-mini.svg"
_EMPTY_IMAGE: Final = b"data:image/gif;base64,R0lGODlhAQABAAAAACw="


def _policy(directives: Mapping[str, str]) -> str:
    return "; ".join(f"{name} {sources}" for name, sources in directives.items())


SECURITY_HEADERS: Final = MappingProxyType(
    {
        _POLICY_HEADER: _policy(_DEFAULT_POLICY),
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "no-referrer",
    }
)
"""Security headers that are added to every HTTP response that does not already contain them. Pages set their own
Content-Security-Policy.
"""


def add_security_headers(message: Message) -> None:
    """If an ASGI message starts an HTTP response, add the security headers that it does not already contain. Other
    messages are not changed.
    """
    if message["type"] not in ("http.response.start", "websocket.http.response.start"):
        return
    message.setdefault("headers", [])
    headers = MutableHeaders(scope=message)
    for name, value in SECURITY_HEADERS.items():
        headers.setdefault(name, value)


def with_security_headers(send: Send) -> Send:
    """Return a `send` function that adds the security headers to each response."""

    async def send_with_headers(message: Message) -> None:
        add_security_headers(message)
        await send(message)

    return send_with_headers


def html_page(html: str, sources: Mapping[str, str] = MappingProxyType({})) -> HTMLResponse:
    """Return an HTML response with a Content-Security-Policy that allows the inline scripts and styles in `html`,
    `data:` images, and the given sources.

    `sources` maps directives of the policy to their values.
    """
    policy = {**_DEFAULT_POLICY, "img-src": "data:", **sources}
    for directive, element in (("script-src", "script"), ("style-src", "style")):
        allowed_sources = policy.get(directive, "")
        if _UNSAFE_INLINE not in allowed_sources:  # browsers ignore 'unsafe-inline' if a hash is present
            allowed_sources = " ".join([allowed_sources, *_hashes(html, element)]).strip()
        policy[directive] = allowed_sources or "'none'"
    return HTMLResponse(html, headers={_POLICY_HEADER: _policy(policy)})


def _hashes(html: str, element: str) -> list[str]:
    """Return the CSP hash sources for all inline `element` tags without attributes, such as `<script>` or `<style>`."""
    contents = re.findall(f"<{element}>(.*?)</{element}>", html, re.DOTALL)
    return [f"'sha256-{b64encode(hashlib.sha256(content.encode()).digest()).decode()}'" for content in contents]


def install_docs(app: FastAPI) -> None:
    """Add Swagger UI at /docs and ReDoc at /redoc, using the static files of fastapi-offline."""

    @app.get("/docs", include_in_schema=False)
    async def swagger(request: Request) -> HTMLResponse:
        root = request.scope.get("root_path", "")
        page = get_swagger_ui_html(
            title=f"{app.title} - Swagger UI",
            openapi_url=f"{root}{app.openapi_url}",
            swagger_js_url=f"{root}{_FILES}/swagger-ui-bundle.js",
            swagger_css_url=f"{root}{_FILES}/swagger-ui.css",
            swagger_favicon_url=f"{root}{_FILES}/favicon.png",
        )
        return html_page(bytes(page.body).decode(), _SWAGGER_SOURCES)

    @app.get("/redoc", include_in_schema=False)
    async def redoc(request: Request) -> HTMLResponse:
        root = request.scope.get("root_path", "")
        page = get_redoc_html(
            title=f"{app.title} - ReDoc",
            openapi_url=f"{root}{app.openapi_url}",
            redoc_js_url=f"{root}{_REDOC_SCRIPT}",
            redoc_favicon_url=f"{root}{_FILES}/favicon.png",
            with_google_fonts=False,
        )
        return html_page(bytes(page.body).decode(), _REDOC_SOURCES)

    @app.get(_REDOC_SCRIPT, include_in_schema=False)
    def redoc_script() -> Response:
        script = _redoc_script()
        return Response(script, headers={"Cache-Control": "public, max-age=3600"}, media_type="text/javascript")


@cache
def _redoc_script() -> bytes:
    """Return the ReDoc script without its logo, because the logo would be loaded from another host."""
    script = files("fastapi_offline").joinpath("static/redoc.standalone.js").read_bytes()
    return script.replace(_REDOC_LOGO, _EMPTY_IMAGE)
