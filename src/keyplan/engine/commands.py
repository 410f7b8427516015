"""The command table: every operation and the module that checks its request and runs it.

Modules are loaded when their operation is first called: a program that only gets and puts items starts
without paying for the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeAlias

from keyplan.dynamodb import shapes
from keyplan.dynamodb.messages.requests import UNKNOWN_OPERATION
from keyplan.dynamodb.messages.tables import not_supported
from keyplan.dynamodb.values.encoding import Form
from keyplan.errors import UnknownOperationError

if TYPE_CHECKING:
    from keyplan.engine.engine import Engine


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


Run: TypeAlias = "Callable[[Engine, dict[str, Any], Form], dict[str, Any]]"

MODULES: dict[str, str] = {
    "BatchExecuteStatement": "batch_execute_statement",
    "BatchGetItem": "batch_get_item",
    "BatchWriteItem": "batch_write_item",
    "CreateBackup": "create_backup",
    "CreateTable": "create_table",
    "DeleteBackup": "delete_backup",
    "DeleteItem": "delete_item",
    "DeleteTable": "delete_table",
    "DescribeBackup": "describe_backup",
    "DescribeContinuousBackups": "describe_continuous_backups",
    "DescribeEndpoints": "describe_endpoints",
    "DescribeExport": "describe_export",
    "DescribeImport": "describe_import",
    "DescribeLimits": "describe_limits",
    "DescribeStream": "describe_stream",
    "DescribeTable": "describe_table",
    "DescribeTimeToLive": "describe_time_to_live",
    "ExecuteStatement": "execute_statement",
    "ExecuteTransaction": "execute_transaction",
    "ExportTableToPointInTime": "export_table_to_point_in_time",
    "GetItem": "get_item",
    "GetRecords": "get_records",
    "GetShardIterator": "get_shard_iterator",
    "ImportTable": "import_table",
    "ListBackups": "list_backups",
    "ListExports": "list_exports",
    "ListImports": "list_imports",
    "ListStreams": "list_streams",
    "ListTables": "list_tables",
    "ListTagsOfResource": "list_tags_of_resource",
    "PutItem": "put_item",
    "Query": "query",
    "RestoreTableFromBackup": "restore_table_from_backup",
    "RestoreTableToPointInTime": "restore_table_to_point_in_time",
    "Scan": "scan",
    "TagResource": "tag_resource",
    "TransactGetItems": "transact_get_items",
    "TransactWriteItems": "transact_write_items",
    "UntagResource": "untag_resource",
    "UpdateContinuousBackups": "update_continuous_backups",
    "UpdateItem": "update_item",
    "UpdateTable": "update_table",
    "UpdateTimeToLive": "update_time_to_live",
}
"""Operations and the names of their modules in `engine/operations`."""


class Command(NamedTuple):
    """The check of a request's shape, in whole and but for what the operation itself checks, and what runs it."""

    check: shapes.Check
    quick_check: shapes.Check
    run: Run


@cache
def command(operation: str) -> Command | None:
    """What an operation is made of; None if there is no such operation."""
    name = MODULES.get(operation)
    if name is None:
        return None
    module = import_module(f"keyplan.engine.operations.{name}")
    return Command(shapes.compile(module.SHAPE), shapes.compile(module.SHAPE, late=True), module.run)
