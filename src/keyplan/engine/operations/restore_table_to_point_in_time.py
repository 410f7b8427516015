"""RestoreTableToPointInTime: create a table with the items of another table as of a point in time."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from keyplan.dynamodb.messages import backups as messages
from keyplan.dynamodb.messages import requests as request_messages
from keyplan.dynamodb.shapes.model import String, Structure, Timestamp
from keyplan.dynamodb.values.encoding import Form
from keyplan.engine import timestamps
from keyplan.engine.backups import copies, history, recovery, restores
from keyplan.engine.operations import shapes
from keyplan.engine.store.rows import Transaction
from keyplan.engine.tables import descriptions, documents
from keyplan.engine.tables.catalog import WHOLE_TABLE_NAME, Recovery, Table, table_name
from keyplan.errors import (
    InvalidRestoreTimeError,
    PointInTimeRecoveryUnavailableError,
    TableNotFoundError,
    ValidationError,
)

if TYPE_CHECKING:
    from keyplan.engine.database import Database


SHAPE = Structure(
    "RestoreTableToPointInTimeInput",
    {
        "SourceTableArn": String(min=1, max=1024),
        "SourceTableName": shapes.LISTED_TABLE_NAME,
        "TargetTableName": shapes.TARGET_TABLE_NAME,
        "UseLatestRestorableTime": shapes.FLAG,
        "RestoreDateTime": Timestamp(),
        **shapes.OVERRIDES,
    },
    required=("TargetTableName",),
    unsupported=("VectorIndexOverride",),
)

_ARN = re.compile(rf"arn:[a-z-]+:dynamodb:[a-z0-9-]*:[0-9]*:table/{WHOLE_TABLE_NAME}")


def check(request: dict[str, Any]) -> None:
    """Raise ValidationError unless a RestoreTableToPointInTime request specifies exactly one source table
    and one time.
    """
    arn, name = request.get("SourceTableArn"), request.get("SourceTableName")
    if arn is not None and name is not None:
        raise ValidationError(messages.SOURCE_AMBIGUOUS)
    if arn is None and name is None:
        raise ValidationError(request_messages.TABLE_NAME_REQUIRED)
    if arn is not None and not arn.startswith("arn:"):
        raise ValidationError(request_messages.no_arn(arn))
    if arn is not None and not _ARN.fullmatch(arn):
        raise ValidationError(messages.SOURCE_ARN_NOT_VALID)
    latest, restore_time = bool(request.get("UseLatestRestorableTime")), request.get("RestoreDateTime")
    if latest and restore_time is not None:
        raise ValidationError(messages.TIME_TWICE)
    if not latest and restore_time is None:
        raise ValidationError(messages.TIME_MISSING)


def run(database: Database, request: dict[str, Any], _form: Form) -> dict[str, Any]:
    """Run RestoreTableToPointInTime: create the new table in one transaction, and start copying the rows.

    The current rows are copied first, and changes made after the requested time are then reverted. The time required to
    revert them depends on the number of changes and not on the size of the table.
    """
    check(request)

    def create(transaction: Transaction) -> restores.RestoredTable:
        documents.purge(database, transaction)
        source = _source(database, request)
        if source.recovery is None:
            raise PointInTimeRecoveryUnavailableError(messages.recovery_disabled(source.name))
        time_s = _restore_time(source.recovery, request, database.clock.now())
        restores.check_target(database, request["TargetTableName"])
        description = source.document["description"]
        summary = {"SourceTableArn": description["TableArn"], "RestoreDateTime": round(time_s, 3)}
        point_in_time = None if request.get("UseLatestRestorableTime") else copies.PointInTime(source.recovery, time_s)
        return restores.begin(
            database, transaction, restores.RestoreSource(description, source, summary, point_in_time), request
        )

    return restores.finish(database, database.alter(create))


def _source(database: Database, request: dict[str, Any]) -> Table:
    arn = request.get("SourceTableArn")
    if arn is None:
        return recovery.find_source(database, request["SourceTableName"])
    if arn.split(":")[4] != database.settings.account:
        raise ValidationError(messages.FOREIGN_ACCOUNT)
    if arn != descriptions.table_arn(database, table_name(arn)):
        raise TableNotFoundError(messages.TABLE_NOT_FOUND)  # the engine has no tables of other Regions
    return recovery.find_source(database, arn, messages.TABLE_NOT_FOUND)


def _restore_time(recovery_state: Recovery, request: dict[str, Any], now: float) -> float:
    requested = request.get("RestoreDateTime")
    time_s = now if requested is None else timestamps.epoch_s(requested)
    earliest_s = history.earliest_s(recovery_state, now)
    if not earliest_s <= time_s <= now:
        texts = (timestamps.text(max(time, 0.0)) for time in (time_s, earliest_s, now))
        raise InvalidRestoreTimeError(messages.time_outside(*texts))
    return time_s
