"""DescribeTable: what a table is, its state and its figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyplan.dynamodb.shapes.model import Structure
from keyplan.dynamodb.values.encoding import Form
from keyplan.engine.operations import shapes
from keyplan.engine.tables import descriptions

if TYPE_CHECKING:
    from keyplan.engine.engine import Engine


SHAPE = Structure("DescribeTableInput", {"TableName": shapes.NEW_TABLE_NAME}, demanded=shapes.DEMANDED_TABLE_NAME)


def run(engine: Engine, request: dict[str, Any], _form: Form) -> dict[str, Any]:
    """Find the table, describe it as of now."""
    table = descriptions.find(engine, request["TableName"])
    engine.background.start_if_needed()
    if table.document.get("backfills"):
        engine.backfiller.wake()
    return {"Table": descriptions.describe(engine, engine.store.view(), table, engine.clock.now())}
