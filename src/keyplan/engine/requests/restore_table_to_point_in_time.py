"""RestoreTableToPointInTime: shape and rules of its request."""

from __future__ import annotations

import re
from typing import Any

from keyplan.dynamodb.messages import backups as messages
from keyplan.dynamodb.messages import requests as request_messages
from keyplan.dynamodb.shapes.model import String, Structure, Timestamp
from keyplan.engine.requests import backup_members, members
from keyplan.errors import ValidationError

SHAPE = Structure(
    "RestoreTableToPointInTimeInput",
    {
        "SourceTableArn": String(min=1, max=1024),
        "SourceTableName": members.LISTED_TABLE_NAME,
        "TargetTableName": backup_members.TARGET_TABLE_NAME,
        "UseLatestRestorableTime": members.FLAG,
        "RestoreDateTime": Timestamp(),
        **backup_members.OVERRIDES,
    },
    required=("TargetTableName",),
    unsupported=("VectorIndexOverride",),
)

_ARN = re.compile(rf"arn:[a-z-]+:dynamodb:[a-z0-9-]*:[0-9]*:table/{members.WHOLE_TABLE_NAME}")


def check(request: dict[str, Any]) -> None:
    """One source and one moment. Raises ValidationError."""
    arn, name = request.get("SourceTableArn"), request.get("SourceTableName")
    if arn is not None and name is not None:
        raise ValidationError(messages.SOURCE_AMBIGUOUS)
    if arn is None and name is None:
        raise ValidationError(request_messages.TABLE_NAME_REQUIRED)
    if arn is not None and not arn.startswith("arn:"):
        raise ValidationError(request_messages.no_arn(arn))
    if arn is not None and not _ARN.fullmatch(arn):
        raise ValidationError(messages.SOURCE_ARN_NOT_VALID)
    latest, moment = bool(request.get("UseLatestRestorableTime")), request.get("RestoreDateTime")
    if latest and moment is not None:
        raise ValidationError(messages.TIME_TWICE)
    if not latest and moment is None:
        raise ValidationError(messages.TIME_MISSING)
