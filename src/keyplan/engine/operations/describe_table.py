"""DescribeTable: what a table is, its state and its figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyplan.dynamodb.values.encoding import Form
from keyplan.engine import tables

if TYPE_CHECKING:
    from keyplan.engine.engine import Engine


def run(engine: Engine, request: dict[str, Any], _form: Form) -> dict[str, Any]:
    """Find the table, describe it as of now."""
    table = tables.find(engine, request["TableName"])
    engine.background.start_if_needed()
    if table.document.get("backfills"):
        engine.backfiller.wake()
    return {"Table": tables.describe(engine, engine.store.view(), table, engine.clock.now())}
