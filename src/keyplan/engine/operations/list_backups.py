"""ListBackups: list the backups of one table or of all tables, in pages."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from keyplan import limits
from keyplan.dynamodb.messages import backups as messages
from keyplan.dynamodb.shapes.model import Integer, String, Structure, Timestamp
from keyplan.dynamodb.values.encoding import Form
from keyplan.engine.backups import backups
from keyplan.engine.operations import shapes
from keyplan.engine.tables.catalog import table_name
from keyplan.engine.timestamps import epoch_s
from keyplan.errors import ValidationError

if TYPE_CHECKING:
    from keyplan.engine.database import Database


SHAPE = Structure(
    "ListBackupsInput",
    {
        "TableName": shapes.NEW_TABLE_NAME,
        "Limit": Integer(min=1, max=limits.BACKUPS_PAGE),
        "TimeRangeLowerBound": Timestamp(),
        "TimeRangeUpperBound": Timestamp(),
        "ExclusiveStartBackupArn": String(min=37, max=1024),
        "BackupType": String(enum=("USER", "SYSTEM", "AWS_BACKUP", "ALL")),
    },
)


def check(request: dict[str, Any]) -> None:
    """Raise ValidationError if the time range of a ListBackups request ends before it starts."""
    low, high = request.get("TimeRangeLowerBound"), request.get("TimeRangeUpperBound")
    if low is not None and high is not None and epoch_s(low) > epoch_s(high):
        raise ValidationError(messages.TIME_RANGE_INVERTED)


def run(database: Database, request: dict[str, Any], _form: Form) -> dict[str, Any]:
    """Run ListBackups: check the request, and return a page of backups, sorted by table and then by age."""
    check(request)
    start = request.get("ExclusiveStartBackupArn") or ""
    if start and backups.check_arn(database, start) != database.settings.region:
        raise ValidationError(messages.CURSOR_ELSEWHERE)
    limit = request.get("Limit") or limits.BACKUPS_PAGE
    now = database.clock.now()
    documents = [
        document
        for document in backups.all_backups(database.store.view())
        if document["arn"] > start and not backups.is_expired(document, now) and _is_selected(document, request)
    ]
    if any(map(backups.is_in_progress, documents)):
        database.wake_backfiller()
    response: dict[str, Any] = {"BackupSummaries": [backups.summary(document, now) for document in documents[:limit]]}
    if len(documents) > limit:
        response["LastEvaluatedBackupArn"] = documents[limit - 1]["arn"]
    return response


def _is_selected(document: backups.Document, request: dict[str, Any]) -> bool:
    name = request.get("TableName")
    low, high = request.get("TimeRangeLowerBound"), request.get("TimeRangeUpperBound")
    return (
        (name is None or document["description"]["TableName"] == table_name(name))
        and (request.get("BackupType") or backups.USER) in ("ALL", document["type"])
        and (-math.inf if low is None else epoch_s(low)) <= document["created_at"]
        and document["created_at"] < (math.inf if high is None else epoch_s(high))
    )
