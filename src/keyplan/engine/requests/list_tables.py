"""ListTables: shape of its request."""

from __future__ import annotations

from keyplan import limits
from keyplan.dynamodb.shapes.model import Integer, Structure
from keyplan.engine.requests import members

SHAPE = Structure(
    "ListTablesInput",
    {"ExclusiveStartTableName": members.LISTED_TABLE_NAME, "Limit": Integer(min=1, max=limits.LIST_TABLES_PAGE)},
)
