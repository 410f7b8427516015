"""ExportTableToPointInTime: export the items of a table as of a point in time, or the changes made in a period, to
files.
"""

from __future__ import annotations

import math
import uuid
from typing import TYPE_CHECKING, Any

from keyplan import limits
from keyplan.dynamodb.messages import backups as backup_messages
from keyplan.dynamodb.messages import exports as messages
from keyplan.dynamodb.messages import tables as table_messages
from keyplan.dynamodb.shapes.model import String, Structure, Timestamp
from keyplan.dynamodb.values.encoding import Form
from keyplan.engine import timestamps
from keyplan.engine.backups import history
from keyplan.engine.operations import shapes
from keyplan.engine.operations.rules import parse_table_arn
from keyplan.engine.store.rows import Transaction
from keyplan.engine.tables import descriptions
from keyplan.engine.tables.catalog import Table
from keyplan.engine.transfer import export_files, exports, jobs
from keyplan.engine.transfer.jobs import Document
from keyplan.errors import (
    AccessDeniedError,
    ExportConflictError,
    InvalidExportTimeError,
    PointInTimeRecoveryUnavailableError,
    TableNotFoundError,
    ValidationError,
)

if TYPE_CHECKING:
    from keyplan.engine.database import Database


SHAPE = Structure(
    "ExportTableToPointInTimeInput",
    {
        "TableArn": String(max=1024),
        "ExportTime": Timestamp(),
        "ClientToken": shapes.CLIENT_TOKEN,
        "S3Bucket": shapes.BUCKET,
        "S3BucketOwner": shapes.BUCKET_OWNER,
        "S3Prefix": shapes.PREFIX,
        "S3SseAlgorithm": String(enum=("AES256", "KMS")),
        "S3SseKmsKeyId": String(min=1, max=2048),
        "ExportFormat": String(enum=("DYNAMODB_JSON", "ION")),
        "ExportType": String(enum=("FULL_EXPORT", "INCREMENTAL_EXPORT")),
        "IncrementalExportSpecification": Structure(
            "IncrementalExportSpecification",
            {
                "ExportFromTime": Timestamp(),
                "ExportToTime": Timestamp(),
                "ExportViewType": String(enum=("NEW_IMAGE", "NEW_AND_OLD_IMAGES")),
            },
        ),
        "FilterSpecification": Structure(
            "FilterSpecification",
            {
                "FilterExpression": shapes.TEXT,
                "ProjectionExpression": shapes.TEXT,
                "KeyConditionExpression": shapes.TEXT,
                "ExpressionAttributeNames": shapes.NAMES,
                "ExpressionAttributeValues": shapes.VALUES,
            },
        ),
    },
    required=("TableArn", "S3Bucket"),
)


def check(request: dict[str, Any]) -> None:
    """Raise ValidationError if an ExportTableToPointInTime request contains parameters that are invalid or cannot be
    combined.
    """
    if not request["TableArn"]:
        raise ValidationError(messages.TABLE_ARN_EMPTY)
    if request.get("ExportFormat") == "ION":
        raise ValidationError(messages.ION)
    specification = request.get("IncrementalExportSpecification")
    kind = request.get("ExportType")
    if kind == "INCREMENTAL_EXPORT":
        if specification is None:
            raise ValidationError(messages.SPECIFICATION_NEEDED)
        if specification.get("ExportFromTime") is None:
            raise ValidationError(messages.FROM_TIME_NEEDED)
        if request.get("FilterSpecification") is not None:
            raise ValidationError(messages.FILTER_INCREMENTAL)
    elif specification is not None:
        raise ValidationError(messages.INCREMENTAL_TYPE_NEEDED if kind is None else messages.FULL_WITH_SPECIFICATION)
    if request.get("S3SseKmsKeyId") is not None and request.get("S3SseAlgorithm") != "KMS":
        raise ValidationError(messages.KEY_NEEDS_KMS)


def run(database: Database, request: dict[str, Any], form: Form) -> dict[str, Any]:
    """Run ExportTableToPointInTime: check the request, store the export as a job, and wake the thread that runs it."""
    check(request)
    selection = None
    if request.get("FilterSpecification") is not None:
        selection = exports.compile_selection(request["FilterSpecification"], form)
    if database.buckets is None:
        raise ValidationError(messages.BUCKETS_NEEDED)
    database.buckets.check_key(export_files.folders(request.get("S3Prefix"), "export", incremental=False)[0])
    name = _table_name(database, request["TableArn"])
    parameters = _parameters(request, selection)

    def begin_export(transaction: Transaction) -> Document:
        now = database.clock.now()
        table = descriptions.find_existing(database, name)
        if table is None:
            raise TableNotFoundError(backup_messages.table_not_found(request["TableArn"]))
        stored = jobs.all_jobs(transaction, jobs.EXPORT)
        repeated = jobs.find_by_token(stored, request.get("ClientToken") or "", now)
        if repeated is not None:
            if repeated["parameters"] != parameters:
                raise ExportConflictError(messages.EXPORT_CONFLICT)
            return repeated
        document = _document(database, table, parameters, request.get("ClientToken") or str(uuid.uuid4()))
        if selection is not None:
            selection.check(table)
        jobs.check_number(stored, jobs.EXPORT)
        return jobs.begin(transaction, document, now)

    document = database.alter(begin_export)
    database.wake_jobs()
    return {"ExportDescription": exports.describe(document, form)}


def _table_name(database: Database, arn: str) -> str:
    parts = parse_table_arn(arn)
    if parts is None:
        raise ValidationError(messages.TABLE_ARN_NEEDED)
    if parts.account != database.settings.account:
        raise AccessDeniedError(table_messages.ACCESS_DENIED)
    if parts.rest:
        raise ValidationError(messages.TABLE_ARN_INVALID)
    if parts.region != database.settings.region:
        raise TableNotFoundError(backup_messages.table_not_found(arn))
    return parts.name


def _parameters(request: dict[str, Any], selection: exports.Selection | None) -> dict[str, Any]:
    """Return the request parameters, except for the token, in a normalized form that can be compared with the
    parameters of other requests.
    """
    members = {name: value for name, value in request.items() if value is not None and name != "ClientToken"}
    if "ExportTime" in members:
        members["ExportTime"] = timestamps.epoch_s(members["ExportTime"])
    if "IncrementalExportSpecification" in members:
        period = members["IncrementalExportSpecification"]
        members["IncrementalExportSpecification"] = {
            name: value if name == "ExportViewType" else timestamps.epoch_s(value)
            for name, value in period.items()
            if value is not None
        }
    if selection is not None:
        members["FilterSpecification"] = exports.stored_specification(members["FilterSpecification"], selection)
    return members


def _document(database: Database, table: Table, parameters: dict[str, Any], token: str) -> Document:
    """Return the document of a new export job, which the caller stores.

    Raises InvalidExportTimeError if the table cannot be exported as of the requested time or for the requested period,
    and PointInTimeRecoveryUnavailableError if recovery is disabled.
    """
    now = database.clock.now()
    now_ms = int(now * 1000)
    table_description = table.document["description"]
    description: dict[str, Any] = {
        "ExportArn": jobs.new_arn(database, jobs.EXPORT, table_description["TableArn"], now_ms),
        "ExportStatus": jobs.IN_PROGRESS,
        "StartTime": now_ms / 1000,
        "TableArn": table_description["TableArn"],
        "TableId": table_description["TableId"],
        "ClientToken": token,
        "S3Bucket": parameters["S3Bucket"],
        "S3SseAlgorithm": parameters.get("S3SseAlgorithm") or "AES256",
        "ExportFormat": parameters.get("ExportFormat") or "DYNAMODB_JSON",
        "ExportType": parameters.get("ExportType") or exports.FULL,
    }
    for name in ("S3BucketOwner", "S3Prefix", "S3SseKmsKeyId", "FilterSpecification"):
        if name in parameters:
            description[name] = parameters[name]
    document: Document = {
        "kind": jobs.EXPORT,
        "table": table.name,
        "description": description,
        "parameters": parameters,
        "filter": parameters.get("FilterSpecification"),
    }
    if description["ExportType"] == exports.INCREMENTAL:
        specification = parameters["IncrementalExportSpecification"]
        from_s, to_s = specification["ExportFromTime"], specification.get("ExportToTime", float(math.floor(now)))
        _check_period(table, from_s, to_s, now)
        view_type = specification.get("ExportViewType") or exports.BOTH_IMAGES
        description["IncrementalExportSpecification"] = {
            "ExportFromTime": from_s,
            "ExportToTime": to_s,
            "ExportViewType": view_type,
        }
        return {**document, "period_s": [from_s, to_s]}
    time_s = parameters.get("ExportTime", now)
    _check_time(table, time_s, now)
    description["ExportTime"] = parameters.get("ExportTime", now_ms / 1000)
    return {**document, "time_s": time_s}


def _created_s(table: Table) -> int:
    """Return the creation time of the table, rounded down to seconds because clients send timestamps in
    whole seconds.
    """
    created_s: float = table.document["description"]["CreationDateTime"]
    return math.floor(created_s)


def _check_time(table: Table, time_s: float, now: float) -> None:
    if table.recovery is None:
        raise PointInTimeRecoveryUnavailableError(backup_messages.recovery_disabled(table.name))
    if time_s > now or time_s < _created_s(table):
        raise InvalidExportTimeError(messages.EXPORT_TIME_INVALID)
    if time_s < history.earliest_s(table.recovery, now):
        raise InvalidExportTimeError(messages.EXPORT_TIME_UNKNOWN)


def _check_period(table: Table, from_s: float, to_s: float, now: float) -> None:
    if from_s < _created_s(table):
        raise InvalidExportTimeError(messages.from_before_table(timestamps.text(from_s)))
    if to_s > now:
        raise InvalidExportTimeError(messages.to_in_future(timestamps.text(to_s)))
    if to_s - from_s < limits.INCREMENTAL_EXPORT_MIN_S:
        raise InvalidExportTimeError(messages.WINDOW_TOO_SHORT)
    if to_s - from_s > limits.INCREMENTAL_EXPORT_MAX_S:
        raise InvalidExportTimeError(messages.WINDOW_TOO_LONG)
    if table.recovery is None:
        raise PointInTimeRecoveryUnavailableError(backup_messages.recovery_disabled(table.name))
    if from_s < history.earliest_s(table.recovery, now):
        raise InvalidExportTimeError(messages.EXPORT_TIME_UNKNOWN)
