"""UpdateContinuousBackups: shape and rule of its request."""

from __future__ import annotations

from typing import Any

from keyplan import limits
from keyplan.dynamodb.messages import backups as messages
from keyplan.dynamodb.shapes.model import Integer, Structure
from keyplan.engine.requests import members
from keyplan.errors import ValidationError

SHAPE = Structure(
    "UpdateContinuousBackupsInput",
    {
        "TableName": members.NEW_TABLE_NAME,
        "PointInTimeRecoverySpecification": Structure(
            "PointInTimeRecoverySpecification",
            {
                "PointInTimeRecoveryEnabled": members.FLAG,
                "RecoveryPeriodInDays": Integer(min=1, max=limits.RECOVERY_DAYS),
            },
            required=("PointInTimeRecoveryEnabled",),
        ),
    },
    required=("PointInTimeRecoverySpecification",),
    demanded=members.DEMANDED_TABLE_NAME,
)


def check(request: dict[str, Any]) -> None:
    """A period goes with recovery that is on. Raises ValidationError."""
    given = request["PointInTimeRecoverySpecification"]
    if not given["PointInTimeRecoveryEnabled"] and given.get("RecoveryPeriodInDays") is not None:
        raise ValidationError(messages.PERIOD_WHILE_DISABLING)
