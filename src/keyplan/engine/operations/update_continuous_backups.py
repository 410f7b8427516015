"""UpdateContinuousBackups: enable or disable point-in-time recovery, or change the recovery period."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyplan import limits
from keyplan.dynamodb.messages import backups as messages
from keyplan.dynamodb.shapes.model import Integer, Structure
from keyplan.dynamodb.values.encoding import Form
from keyplan.engine.backups import recovery
from keyplan.engine.operations import shapes
from keyplan.engine.store.rows import Transaction
from keyplan.engine.tables.catalog import Table
from keyplan.errors import ValidationError

if TYPE_CHECKING:
    from keyplan.engine.database import Database


SHAPE = Structure(
    "UpdateContinuousBackupsInput",
    {
        "TableName": shapes.NEW_TABLE_NAME,
        "PointInTimeRecoverySpecification": Structure(
            "PointInTimeRecoverySpecification",
            {
                "PointInTimeRecoveryEnabled": shapes.FLAG,
                "RecoveryPeriodInDays": Integer(min=1, max=limits.RECOVERY_DAYS),
            },
            required=("PointInTimeRecoveryEnabled",),
        ),
    },
    required=("PointInTimeRecoverySpecification",),
    leading_member=shapes.LEADING_TABLE_NAME,
)


def check(request: dict[str, Any]) -> None:
    """Raise ValidationError if an UpdateContinuousBackups request disables recovery but contains a recovery period."""
    specification = request["PointInTimeRecoverySpecification"]
    if not specification["PointInTimeRecoveryEnabled"] and specification.get("RecoveryPeriodInDays") is not None:
        raise ValidationError(messages.PERIOD_WHILE_DISABLING)


def run(database: Database, request: dict[str, Any], _form: Form) -> dict[str, Any]:
    """Run UpdateContinuousBackups: find the table, and change its recovery settings in one transaction."""
    check(request)
    specification = request["PointInTimeRecoverySpecification"]
    days = specification.get("RecoveryPeriodInDays") or limits.RECOVERY_DAYS

    def update_settings(transaction: Transaction) -> Table:
        table = recovery.find_source(database, request["TableName"])
        if specification["PointInTimeRecoveryEnabled"]:
            return recovery.enable(database, transaction, table, int(days))
        return recovery.disable(database, transaction, table)

    return {"ContinuousBackupsDescription": recovery.describe(database, database.alter(update_settings))}
