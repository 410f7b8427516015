"""Static files of a package. Clients cache versioned URLs for a year, and revalidate other files on each use."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

_YEAR: Final = "public, max-age=31536000, immutable"


class Assets(StaticFiles):
    """An application that serves the `static` folder of a package."""

    def __init__(self, package: str) -> None:
        super().__init__(directory=str(files(package).joinpath("static")))

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return a file, or status 304 if the client's cached copy is current."""
        response = await super().get_response(path, scope)
        has_version = scope.get("query_string", b"").startswith(b"v=")
        response.headers["Cache-Control"] = _YEAR if has_version else "no-cache"
        return response
