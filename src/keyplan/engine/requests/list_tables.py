"""ListTables: shape of its request."""

from __future__ import annotations

from keyplan import limits
from keyplan.engine.requests import members
from keyplan.engine.shapes.model import Integer, Structure

SHAPE = Structure(
    "ListTablesInput",
    {"ExclusiveStartTableName": members.LISTED_TABLE_NAME, "Limit": Integer(min=1, max=limits.LIST_TABLES_PAGE)},
)
