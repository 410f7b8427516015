"""Operations that the service has and this engine has not: refused by name, nothing pretends.

Source: botocore's service model of dynamodb, version 2012-08-10.
"""

from __future__ import annotations

from typing import NoReturn

from keyplan.dynamodb.messages.requests import UNKNOWN_OPERATION
from keyplan.dynamodb.messages.tables import not_supported
from keyplan.errors import UnknownOperationError

UNSUPPORTED: dict[str, str] = {
    "CancelBulkOperation": "bulk writes from S3",
    "CreateGlobalTable": "replicas in other regions",
    "DeleteResourcePolicy": "permissions",
    "DescribeBulkOperation": "bulk writes from S3",
    "DescribeContributorInsights": "metrics",
    "DescribeGlobalTable": "replicas in other regions",
    "DescribeGlobalTableSettings": "replicas in other regions",
    "DescribeKinesisStreamingDestination": "Kinesis",
    "DescribeTableReplicaAutoScaling": "replicas in other regions",
    "DisableKinesisStreamingDestination": "Kinesis",
    "EnableKinesisStreamingDestination": "Kinesis",
    "GetResourcePolicy": "permissions",
    "ListBulkOperations": "bulk writes from S3",
    "ListContributorInsights": "metrics",
    "ListGlobalTables": "replicas in other regions",
    "PutResourcePolicy": "permissions",
    "SearchVectors": "vector indexes",
    "StartBulkPutItems": "bulk writes from S3",
    "UpdateContributorInsights": "metrics",
    "UpdateGlobalTable": "replicas in other regions",
    "UpdateGlobalTableSettings": "replicas in other regions",
    "UpdateKinesisStreamingDestination": "Kinesis",
    "UpdateTableReplicaAutoScaling": "replicas in other regions",
}
"""The operations, and what this engine lacks that each of them is about."""


def refuse(operation: str) -> NoReturn:
    """Raise UnknownOperationError: without text, as the service does, unless the service has the operation."""
    about = UNSUPPORTED.get(operation)
    raise UnknownOperationError(UNKNOWN_OPERATION if about is None else not_supported(operation, about))
