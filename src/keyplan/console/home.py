"""Home room: the source, its systems and where to start."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from keyplan.console.frame import Frame


def routes(console: Frame) -> list[Route]:
    """Return the routes of the room."""

    def overview(request: Request) -> Response:
        return console.render(request, "home.html.j2")

    return [console.route("/", overview)]
