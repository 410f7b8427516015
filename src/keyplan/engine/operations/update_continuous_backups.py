"""UpdateContinuousBackups: turn point-in-time recovery on or off, or change its period."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyplan import limits
from keyplan.dynamodb.values.encoding import Form
from keyplan.engine import recovery
from keyplan.engine.catalog import Table
from keyplan.engine.requests.update_continuous_backups import check
from keyplan.engine.store.rows import Transaction

if TYPE_CHECKING:
    from keyplan.engine.engine import Engine


def run(engine: Engine, request: dict[str, Any], _form: Form) -> dict[str, Any]:
    """Check, find the table, change it in one transaction."""
    check(request)
    given = request["PointInTimeRecoverySpecification"]
    days = given.get("RecoveryPeriodInDays") or limits.RECOVERY_DAYS

    def work(transaction: Transaction) -> Table:
        table = recovery.find_source(engine, request["TableName"])
        if given["PointInTimeRecoveryEnabled"]:
            return recovery.enable(engine, transaction, table, int(days))
        return recovery.disable(engine, transaction, table)

    return {"ContinuousBackupsDescription": recovery.describe(engine, engine.alter(work))}
