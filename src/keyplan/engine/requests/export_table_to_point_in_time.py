"""ExportTableToPointInTime: shape and rules of its request."""

from __future__ import annotations

from typing import Any

from keyplan.dynamodb.messages import exports as messages
from keyplan.dynamodb.shapes.model import String, Structure, Timestamp
from keyplan.engine.requests import job_members, members
from keyplan.errors import ValidationError

SHAPE = Structure(
    "ExportTableToPointInTimeInput",
    {
        "TableArn": String(max=1024),
        "ExportTime": Timestamp(),
        "ClientToken": job_members.CLIENT_TOKEN,
        "S3Bucket": job_members.BUCKET,
        "S3BucketOwner": job_members.BUCKET_OWNER,
        "S3Prefix": job_members.PREFIX,
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
                "FilterExpression": members.TEXT,
                "ProjectionExpression": members.TEXT,
                "KeyConditionExpression": members.TEXT,
                "ExpressionAttributeNames": members.NAMES,
                "ExpressionAttributeValues": members.VALUES,
            },
        ),
    },
    required=("TableArn", "S3Bucket"),
)


def check(request: dict[str, Any]) -> None:
    """Rules between members. Raises ValidationError."""
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
