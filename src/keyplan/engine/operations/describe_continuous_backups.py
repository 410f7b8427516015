"""DescribeContinuousBackups: return whether a table can be restored to a point in time, and to which times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyplan.dynamodb.shapes.model import Structure
from keyplan.dynamodb.values.encoding import Form
from keyplan.engine.backups import recovery
from keyplan.engine.operations import shapes

if TYPE_CHECKING:
    from keyplan.engine.database import Database


SHAPE = Structure(
    "DescribeContinuousBackupsInput", {"TableName": shapes.NEW_TABLE_NAME}, leading_member=shapes.LEADING_TABLE_NAME
)


def run(database: Database, request: dict[str, Any], _form: Form) -> dict[str, Any]:
    """Run DescribeContinuousBackups: find the table and return its ContinuousBackupsDescription."""
    database.catalog.reload(database.store.view())
    table = recovery.find_source(database, request["TableName"])
    return {"ContinuousBackupsDescription": recovery.describe(database, table)}
