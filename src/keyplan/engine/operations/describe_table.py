"""DescribeTable: return the definition, state, item count and size of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyplan.dynamodb.shapes.model import Structure
from keyplan.dynamodb.values.encoding import Form
from keyplan.engine.operations import shapes
from keyplan.engine.tables import descriptions

if TYPE_CHECKING:
    from keyplan.engine.database import Database


SHAPE = Structure("DescribeTableInput", {"TableName": shapes.NEW_TABLE_NAME}, leading_member=shapes.LEADING_TABLE_NAME)


def run(database: Database, request: dict[str, Any], _form: Form) -> dict[str, Any]:
    """Run DescribeTable: find the table and return its current description."""
    table = descriptions.find(database, request["TableName"])
    database.start_background()
    if table.document.get("backfills"):
        database.wake_backfiller()
    return {"Table": descriptions.describe(database, database.store.view(), table, database.clock.now())}
