"""DescribeContinuousBackups: whether a table can be restored to earlier moments, and to which."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyplan.dynamodb.values.encoding import Form
from keyplan.engine import recovery

if TYPE_CHECKING:
    from keyplan.engine.engine import Engine


def run(engine: Engine, request: dict[str, Any], _form: Form) -> dict[str, Any]:
    """Find the table, describe."""
    engine.catalog.reload(engine.store.view())
    table = recovery.find_source(engine, request["TableName"])
    return {"ContinuousBackupsDescription": recovery.describe(engine, table)}
