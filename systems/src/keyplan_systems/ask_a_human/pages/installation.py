"""Routes for installing the pages as an app: the manifest, the service worker, the offline page, and the session's CSRF
token.
"""

from __future__ import annotations

import hashlib
import json
from importlib.resources import files
from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from keyplan.pages import PageContext, Pages, Viewer, with_policy
from keyplan_systems.web.browsing import CurrentSession

_SHARED_FILES: Final = ("icon.svg", "theme.js", "keyplan.css", "keyplan.js")
_SYSTEM_FILES: Final = ("ask.css", "ask.js", "icon-192.png")
_COLORS: Final = {"theme_color": "#0b6e6a", "background_color": "#f6f7f9"}


def add_routes(router: APIRouter, pages: Pages) -> None:
    """Add the routes for the manifest, the service worker, the offline page and the CSRF token to the router."""

    @router.get("/manifest.webmanifest")
    def manifest(request: Request) -> Response:
        page = PageContext(pages, request, Viewer())
        icons = [
            {"src": page.static(f"icon-{size}.png"), "sizes": f"{size}x{size}", "type": "image/png", "purpose": purpose}
            for size in (192, 512)
            for purpose in ("any", "maskable")
        ]
        start = f"{page.here}/app/"
        body = {
            "name": "Ask a Human",
            "short_name": "Ask",
            "description": "Answer short questions of AI agents, earn points and badges.",
            "id": start,
            "start_url": start,
            "scope": start,
            "display": "standalone",
            "icons": icons,
            **_COLORS,
        }
        return JSONResponse(body, media_type="application/manifest+json", headers={"Cache-Control": "no-cache"})

    @router.get("/worker.js")
    def worker(request: Request) -> Response:
        page = PageContext(pages, request, Viewer())
        shell = [
            f"{page.here}/app/offline",
            *(page.shared(name) for name in _SHARED_FILES),
            *(page.static(name) for name in _SYSTEM_FILES),
        ]
        version = hashlib.sha256("".join(shell).encode()).hexdigest()[:12]
        script = files("keyplan_systems.ask_a_human").joinpath("static", "worker.js").read_text("utf-8")
        settings = json.dumps({"base": f"{page.here}/app/", "shell": shell, "version": version})
        return with_policy(  # the policy determines what the worker may load
            Response(
                f"const SETTINGS = {settings};\n{script}",
                media_type="text/javascript",
                headers={"Cache-Control": "no-cache"},
            )
        )

    @router.get("/offline")
    def offline(request: Request) -> Response:
        return pages.render(request, "offline.html.j2")

    @router.get("/session")
    def session(current_session: CurrentSession) -> Response:
        return JSONResponse({"csrf": current_session.csrf()}, headers={"Cache-Control": "no-store"})
