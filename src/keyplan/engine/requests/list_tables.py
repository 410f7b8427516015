"""ListTables: shape of its request; it has no rules between members."""

from __future__ import annotations

from typing import Any

from keyplan import limits
from keyplan.engine.requests import members
from keyplan.engine.shapes.model import Integer, Structure

SHAPE = Structure(
    "ListTablesInput",
    {"ExclusiveStartTableName": members.LISTED_TABLE_NAME, "Limit": Integer(min=1, max=limits.LIST_TABLES_PAGE)},
)


def check(request: dict[str, Any]) -> None:
    """Nothing beyond the shape."""
