"""The operation table, which maps every operation to its request checks and implementation.

`OPERATIONS` maps the name of an operation to a function that imports the operation's module. Modules are imported on
first use, so that a program that only gets and puts items does not load the others.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NoReturn, TypeAlias

from keyplan.dynamodb import shapes
from keyplan.dynamodb.messages.requests import UNKNOWN_OPERATION
from keyplan.dynamodb.messages.tables import not_supported
from keyplan.dynamodb.shapes.model import Structure
from keyplan.engine.database import Command, Run
from keyplan.errors import UnknownOperationError

Load: TypeAlias = Callable[[], tuple[Structure, Run]]
"""A function that imports an operation's module and returns its request structure and the function that runs it."""


@cache
def command(operation: str) -> Command:
    """Return the request checks and the implementation of an operation.

    Raises UnknownOperationError if the engine does not support the operation.
    """
    load = OPERATIONS.get(operation)
    if load is None:
        raise_unsupported(operation)
    shape, run = load()
    return Command(operation, shapes.compile(shape), shapes.compile(shape, late=True), run)


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
"""Maps each DynamoDB operation that this engine does not support to the feature that the operation belongs to.

Source: botocore's service model for dynamodb, version 2012-08-10.
"""


def raise_unsupported(operation: str) -> NoReturn:
    """Raise UnknownOperationError for an unsupported operation. The error has a message only if DynamoDB supports the
    operation.
    """
    feature = UNSUPPORTED.get(operation)
    raise UnknownOperationError(UNKNOWN_OPERATION if feature is None else not_supported(operation, feature))


def _batch_execute_statement() -> tuple[Structure, Run]:
    from keyplan.engine.operations import batch_execute_statement

    return batch_execute_statement.SHAPE, batch_execute_statement.run


def _batch_get_item() -> tuple[Structure, Run]:
    from keyplan.engine.operations import batch_get_item

    return batch_get_item.SHAPE, batch_get_item.run


def _batch_write_item() -> tuple[Structure, Run]:
    from keyplan.engine.operations import batch_write_item

    return batch_write_item.SHAPE, batch_write_item.run


def _create_backup() -> tuple[Structure, Run]:
    from keyplan.engine.operations import create_backup

    return create_backup.SHAPE, create_backup.run


def _create_table() -> tuple[Structure, Run]:
    from keyplan.engine.operations import create_table

    return create_table.SHAPE, create_table.run


def _delete_backup() -> tuple[Structure, Run]:
    from keyplan.engine.operations import delete_backup

    return delete_backup.SHAPE, delete_backup.run


def _delete_item() -> tuple[Structure, Run]:
    from keyplan.engine.operations import delete_item

    return delete_item.SHAPE, delete_item.run


def _delete_table() -> tuple[Structure, Run]:
    from keyplan.engine.operations import delete_table

    return delete_table.SHAPE, delete_table.run


def _describe_backup() -> tuple[Structure, Run]:
    from keyplan.engine.operations import describe_backup

    return describe_backup.SHAPE, describe_backup.run


def _describe_continuous_backups() -> tuple[Structure, Run]:
    from keyplan.engine.operations import describe_continuous_backups

    return describe_continuous_backups.SHAPE, describe_continuous_backups.run


def _describe_endpoints() -> tuple[Structure, Run]:
    from keyplan.engine.operations import describe_endpoints

    return describe_endpoints.SHAPE, describe_endpoints.run


def _describe_export() -> tuple[Structure, Run]:
    from keyplan.engine.operations import describe_export

    return describe_export.SHAPE, describe_export.run


def _describe_import() -> tuple[Structure, Run]:
    from keyplan.engine.operations import describe_import

    return describe_import.SHAPE, describe_import.run


def _describe_limits() -> tuple[Structure, Run]:
    from keyplan.engine.operations import describe_limits

    return describe_limits.SHAPE, describe_limits.run


def _describe_stream() -> tuple[Structure, Run]:
    from keyplan.engine.operations import describe_stream

    return describe_stream.SHAPE, describe_stream.run


def _describe_table() -> tuple[Structure, Run]:
    from keyplan.engine.operations import describe_table

    return describe_table.SHAPE, describe_table.run


def _describe_time_to_live() -> tuple[Structure, Run]:
    from keyplan.engine.operations import describe_time_to_live

    return describe_time_to_live.SHAPE, describe_time_to_live.run


def _execute_statement() -> tuple[Structure, Run]:
    from keyplan.engine.operations import execute_statement

    return execute_statement.SHAPE, execute_statement.run


def _execute_transaction() -> tuple[Structure, Run]:
    from keyplan.engine.operations import execute_transaction

    return execute_transaction.SHAPE, execute_transaction.run


def _export_table_to_point_in_time() -> tuple[Structure, Run]:
    from keyplan.engine.operations import export_table_to_point_in_time

    return export_table_to_point_in_time.SHAPE, export_table_to_point_in_time.run


def _get_item() -> tuple[Structure, Run]:
    from keyplan.engine.operations import get_item

    return get_item.SHAPE, get_item.run


def _get_records() -> tuple[Structure, Run]:
    from keyplan.engine.operations import get_records

    return get_records.SHAPE, get_records.run


def _get_shard_iterator() -> tuple[Structure, Run]:
    from keyplan.engine.operations import get_shard_iterator

    return get_shard_iterator.SHAPE, get_shard_iterator.run


def _import_table() -> tuple[Structure, Run]:
    from keyplan.engine.operations import import_table

    return import_table.SHAPE, import_table.run


def _list_backups() -> tuple[Structure, Run]:
    from keyplan.engine.operations import list_backups

    return list_backups.SHAPE, list_backups.run


def _list_exports() -> tuple[Structure, Run]:
    from keyplan.engine.operations import list_exports

    return list_exports.SHAPE, list_exports.run


def _list_imports() -> tuple[Structure, Run]:
    from keyplan.engine.operations import list_imports

    return list_imports.SHAPE, list_imports.run


def _list_streams() -> tuple[Structure, Run]:
    from keyplan.engine.operations import list_streams

    return list_streams.SHAPE, list_streams.run


def _list_tables() -> tuple[Structure, Run]:
    from keyplan.engine.operations import list_tables

    return list_tables.SHAPE, list_tables.run


def _list_tags_of_resource() -> tuple[Structure, Run]:
    from keyplan.engine.operations import list_tags_of_resource

    return list_tags_of_resource.SHAPE, list_tags_of_resource.run


def _put_item() -> tuple[Structure, Run]:
    from keyplan.engine.operations import put_item

    return put_item.SHAPE, put_item.run


def _query() -> tuple[Structure, Run]:
    from keyplan.engine.operations import query

    return query.SHAPE, query.run


def _restore_table_from_backup() -> tuple[Structure, Run]:
    from keyplan.engine.operations import restore_table_from_backup

    return restore_table_from_backup.SHAPE, restore_table_from_backup.run


def _restore_table_to_point_in_time() -> tuple[Structure, Run]:
    from keyplan.engine.operations import restore_table_to_point_in_time

    return restore_table_to_point_in_time.SHAPE, restore_table_to_point_in_time.run


def _scan() -> tuple[Structure, Run]:
    from keyplan.engine.operations import scan

    return scan.SHAPE, scan.run


def _tag_resource() -> tuple[Structure, Run]:
    from keyplan.engine.operations import tag_resource

    return tag_resource.SHAPE, tag_resource.run


def _transact_get_items() -> tuple[Structure, Run]:
    from keyplan.engine.operations import transact_get_items

    return transact_get_items.SHAPE, transact_get_items.run


def _transact_write_items() -> tuple[Structure, Run]:
    from keyplan.engine.operations import transact_write_items

    return transact_write_items.SHAPE, transact_write_items.run


def _untag_resource() -> tuple[Structure, Run]:
    from keyplan.engine.operations import untag_resource

    return untag_resource.SHAPE, untag_resource.run


def _update_continuous_backups() -> tuple[Structure, Run]:
    from keyplan.engine.operations import update_continuous_backups

    return update_continuous_backups.SHAPE, update_continuous_backups.run


def _update_item() -> tuple[Structure, Run]:
    from keyplan.engine.operations import update_item

    return update_item.SHAPE, update_item.run


def _update_table() -> tuple[Structure, Run]:
    from keyplan.engine.operations import update_table

    return update_table.SHAPE, update_table.run


def _update_time_to_live() -> tuple[Structure, Run]:
    from keyplan.engine.operations import update_time_to_live

    return update_time_to_live.SHAPE, update_time_to_live.run


OPERATIONS: dict[str, Load] = {
    "BatchExecuteStatement": _batch_execute_statement,
    "BatchGetItem": _batch_get_item,
    "BatchWriteItem": _batch_write_item,
    "CreateBackup": _create_backup,
    "CreateTable": _create_table,
    "DeleteBackup": _delete_backup,
    "DeleteItem": _delete_item,
    "DeleteTable": _delete_table,
    "DescribeBackup": _describe_backup,
    "DescribeContinuousBackups": _describe_continuous_backups,
    "DescribeEndpoints": _describe_endpoints,
    "DescribeExport": _describe_export,
    "DescribeImport": _describe_import,
    "DescribeLimits": _describe_limits,
    "DescribeStream": _describe_stream,
    "DescribeTable": _describe_table,
    "DescribeTimeToLive": _describe_time_to_live,
    "ExecuteStatement": _execute_statement,
    "ExecuteTransaction": _execute_transaction,
    "ExportTableToPointInTime": _export_table_to_point_in_time,
    "GetItem": _get_item,
    "GetRecords": _get_records,
    "GetShardIterator": _get_shard_iterator,
    "ImportTable": _import_table,
    "ListBackups": _list_backups,
    "ListExports": _list_exports,
    "ListImports": _list_imports,
    "ListStreams": _list_streams,
    "ListTables": _list_tables,
    "ListTagsOfResource": _list_tags_of_resource,
    "PutItem": _put_item,
    "Query": _query,
    "RestoreTableFromBackup": _restore_table_from_backup,
    "RestoreTableToPointInTime": _restore_table_to_point_in_time,
    "Scan": _scan,
    "TagResource": _tag_resource,
    "TransactGetItems": _transact_get_items,
    "TransactWriteItems": _transact_write_items,
    "UntagResource": _untag_resource,
    "UpdateContinuousBackups": _update_continuous_backups,
    "UpdateItem": _update_item,
    "UpdateTable": _update_table,
    "UpdateTimeToLive": _update_time_to_live,
}
"""Maps each supported operation to the function that imports its module."""
