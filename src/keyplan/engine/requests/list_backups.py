"""ListBackups: shape and rule of its request."""

from __future__ import annotations

from typing import Any

from keyplan import limits
from keyplan.dynamodb.messages import backups as messages
from keyplan.dynamodb.shapes.model import Integer, String, Structure, Timestamp
from keyplan.engine.moments import epoch_s
from keyplan.engine.requests import members
from keyplan.errors import ValidationError

SHAPE = Structure(
    "ListBackupsInput",
    {
        "TableName": members.NEW_TABLE_NAME,
        "Limit": Integer(min=1, max=limits.BACKUPS_PAGE),
        "TimeRangeLowerBound": Timestamp(),
        "TimeRangeUpperBound": Timestamp(),
        "ExclusiveStartBackupArn": String(min=37, max=1024),
        "BackupType": String(enum=("USER", "SYSTEM", "AWS_BACKUP", "ALL")),
    },
)


def check(request: dict[str, Any]) -> None:
    """The span of time is one. Raises ValidationError."""
    low, high = request.get("TimeRangeLowerBound"), request.get("TimeRangeUpperBound")
    if low is not None and high is not None and epoch_s(low) > epoch_s(high):
        raise ValidationError(messages.TIME_RANGE_INVERTED)
