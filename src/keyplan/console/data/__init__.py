"""Data pages of the console: tables, items, queries, PartiQL statements, exports and streams."""

from __future__ import annotations

from starlette.routing import Route

from keyplan.console.data import exports, imports, items, partiql, stream, tables
from keyplan.console.frame import Frame


def routes(console: Frame) -> list[Route]:
    """Return the routes for the Data pages."""
    return [
        *tables.routes(console),
        *partiql.routes(console),
        *items.routes(console),
        *exports.routes(console),
        *imports.routes(console),
        *stream.routes(console),
    ]
