"""Data room: tables, items, queries, statements, exports and streams."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from keyplan.console.frame import Frame


def routes(console: Frame) -> list[Route]:
    """Return the routes of the room."""

    def overview(request: Request) -> Response:
        return console.render(request, "data/tables.html.j2")

    return [console.route("/data/", overview)]
