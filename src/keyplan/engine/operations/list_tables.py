"""ListTables: list the names of all tables, in pages."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from keyplan import limits
from keyplan.dynamodb.shapes.model import Integer, Structure
from keyplan.dynamodb.values.encoding import Form
from keyplan.engine.operations import shapes
from keyplan.engine.tables import descriptions

if TYPE_CHECKING:
    from keyplan.engine.database import Database


SHAPE = Structure(
    "ListTablesInput",
    {"ExclusiveStartTableName": shapes.LISTED_TABLE_NAME, "Limit": Integer(min=1, max=limits.LIST_TABLES_PAGE)},
)


def run(database: Database, request: dict[str, Any], _form: Form) -> dict[str, Any]:
    """Run ListTables: return a page of table names."""
    now = database.clock.now()
    database.catalog.reload(database.store.view())
    names = [table.name for table in database.catalog.tables() if not descriptions.is_deleted(table, now)]
    start = request.get("ExclusiveStartTableName")
    first = bisect_right(names, start) if start is not None else 0
    limit = request.get("Limit") or limits.LIST_TABLES_PAGE
    response: dict[str, Any] = {"TableNames": names[first : first + limit]}
    if first + limit < len(names):
        response["LastEvaluatedTableName"] = response["TableNames"][-1]
    return response
