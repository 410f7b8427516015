"""Importer for descriptions of existing tables, which are loaded from files or requested from DynamoDB.

Source: API reference, TableDescription, DescribeTimeToLive, DescribeContinuousBackups, ListTagsOfResource.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from keyplan.client.connect import connect, target_of
from keyplan.errors import KeyplanError, ServiceError
from keyplan.importers.documents import DESCRIBE_TABLE, Document, wrong_document_error
from keyplan.importers.nodes import ImportSourceError, Node
from keyplan.importers.schemas import ImportSource, SourceTable, TableStatistics, source_table

_STATUS_MEMBERS = frozenset({
    "ArchivalSummary", "BillingModeSummary", "CreationDateTime", "GlobalTableVersion", "ItemCount",
    "LatestStreamArn", "LatestStreamLabel", "RestoreSummary", "TableArn", "TableClassSummary", "TableId",
    "TableSizeBytes", "TableStatus", "TableThroughputModeSummary",
})  # fmt: skip
_INDEX_STATUS_MEMBERS = frozenset({
    "Backfilling", "IndexArn", "IndexSizeBytes", "IndexStatus", "ItemCount",
})  # fmt: skip
_DISABLED_STATES = {"DISABLED", "DISABLING"}


SendRequest = Callable[[str, dict[str, Any]], Node]
_SETTINGS_OPERATIONS = ("DescribeTimeToLive", "DescribeContinuousBackups")


def describe_table(documents: Sequence[Document]) -> ImportSource:
    """Return the tables that the documents describe, in the order of the documents.

    Responses about TTL, backups and tags do not contain the name of a table. They are assigned to the last table before
    them. Raises ImportSourceError if a document is not a response that describes a table or its settings.
    """
    descriptions: list[tuple[Node, dict[str, Any]]] = []
    for document in documents:
        for value in document.value if isinstance(document.value, list) else [document.value]:
            _add_response(Document(document.name, value), descriptions)
    if not descriptions:
        raise ImportSourceError("the input has no table")
    names = ", ".join(dict.fromkeys(document.name for document in documents))
    return ImportSource(f"{names}, in the form of DescribeTable", tuple(_table(*table) for table in descriptions))


def _add_response(document: Document, tables: list[tuple[Node, dict[str, Any]]]) -> None:
    """Add the table that a response describes to `tables`. If the response contains only settings, add these to the
    last table.
    """
    table = document.member("Table") or document.member("TableDescription") or document.value
    if isinstance(table, Mapping) and "TableName" in table and "KeySchema" in table:
        tables.append((Node(table, f"{document.name}: {table['TableName']}"), {}))
        return
    settings = dict(_further_properties(document))
    if not settings:
        raise wrong_document_error(DESCRIBE_TABLE, document)
    if not tables:
        raise ImportSourceError(f"{document.name} does not name its table: put it after the table's description")
    tables[-1][1].update(settings)


def _further_properties(document: Document) -> Iterator[tuple[str, Any]]:
    """Yield the name and the value of each table property in a response about TTL, backups or tags."""
    node = Node(document.value, document.name)
    if document.member("TimeToLiveDescription") is not None:
        expiry = node.need("TimeToLiveDescription")
        status, attribute_name = expiry.get("TimeToLiveStatus"), expiry.get("AttributeName")
        is_on = status is not None and status.text() not in _DISABLED_STATES
        yield (
            "TimeToLiveSpecification",
            {"Enabled": is_on, "AttributeName": None if attribute_name is None else attribute_name.text()},
        )
    if document.member("ContinuousBackupsDescription") is not None:
        recovery = node.at("ContinuousBackupsDescription", "PointInTimeRecoveryDescription")
        status = None if recovery is None else recovery.get("PointInTimeRecoveryStatus")
        days = None if recovery is None else recovery.get("RecoveryPeriodInDays")
        properties = {"PointInTimeRecoveryEnabled": status is not None and status.text() == "ENABLED"}
        yield (
            "PointInTimeRecoverySpecification",
            properties if days is None else {**properties, "RecoveryPeriodInDays": days.value},
        )
    if isinstance(document.member("Tags"), list):
        yield "Tags", document.member("Tags")


def _table(description: Node, settings: Mapping[str, Any]) -> SourceTable:
    mode = description.at("BillingModeSummary", "BillingMode") or description.get("BillingMode")
    on_demand = mode is not None and mode.text() == "PAY_PER_REQUEST"
    properties = {name: value for name, value in description.mapping().items() if name not in _STATUS_MEMBERS}
    properties |= {name: value for name, value in settings.items() if value}
    properties["BillingMode"] = "PAY_PER_REQUEST" if on_demand else "PROVISIONED"
    table_class = description.at("TableClassSummary", "TableClass")
    if table_class is not None:
        properties["TableClass"] = table_class.value
    for member in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
        if description.get(member) is not None:
            properties[member] = [_index(entry) for entry in description.elements(member)]
    table = source_table(Node(properties, description.path), description.need("TableName").text())
    return replace(table, figures=_statistics(description))


def _index(description: Node) -> dict[str, Any]:
    return {name: value for name, value in description.mapping().items() if name not in _INDEX_STATUS_MEMBERS}


def _statistics(description: Node) -> TableStatistics | None:
    """Return the number and average size of a table's items. Return None for an empty table.

    DynamoDB updates these values about every six hours.
    """
    count, size = description.get("ItemCount"), description.get("TableSizeBytes")
    if count is None or size is None or not count.integer():
        return None
    indexes = [
        index
        for kind in ("Global", "Local")
        for index in description.elements(f"{kind}SecondaryIndexes")
        if (status := index.get("IndexStatus")) is None or status.text() != "CREATING"  # not counted yet
    ]
    item_counts = {
        index.need("IndexName").text(): item_count.integer()
        for index in indexes
        if (item_count := index.get("ItemCount"))
    }
    return TableStatistics(count.integer(), round(size.integer() / count.integer()), item_counts)


def fetch_descriptions(url: str, names: Sequence[str]) -> list[Document]:
    """Return DynamoDB's responses that describe the named tables, or all tables if no names are given.

    Raises ImportSourceError if the URL is invalid, a request fails, or the database contains no tables. Raises
    KeyplanError if DynamoDB returns an error.
    """
    try:
        target = target_of(url)
        if target.path is not None:
            _check_file(url, Path(target.path))
        connection = connect(url)
    except (ValueError, ImportError) as error:
        raise ImportSourceError(f"--from {url}: {error}") from None
    with connection:
        send_request = _with_import_errors(url, connection.transport.call, is_remote=not target.is_embedded)
        requested = [target.prefix + name for name in names] or list(_names(send_request, target.prefix))
        if not requested:
            raise ImportSourceError(f"--from {url}: no tables found")
        database_name = (
            Path(target.path).name if target.path is not None else target.endpoint or f"aws://{target.region}"
        )
        return [Document(database_name, response) for name in requested for response in _describe(send_request, name)]


def _check_file(url: str, path: Path) -> None:
    """Raise ImportSourceError if the database file does not exist, because opening it would create a new file."""
    if not path.is_file():
        raise ImportSourceError(f"--from {url}: file not found")
    if not path.stat().st_size:
        raise ImportSourceError(f"--from {url}: no tables found")


def _with_import_errors(url: str, call: Callable[[str, dict[str, Any]], Any], *, is_remote: bool) -> SendRequest:
    """Wrap `call` so that it raises ImportSourceError for connection errors and missing credentials.

    If `is_remote` is False, the database is in this process, and errors are not converted.
    """

    def send_request(operation: str, request: dict[str, Any]) -> Node:
        try:
            return Node(call(operation, request), f"--from {url}: {operation}")
        except KeyplanError:
            raise
        except Exception as error:
            if not is_remote:
                raise
            raise ImportSourceError(f"--from {url}: {operation} failed: {error}") from None

    return send_request


def _names(send_request: SendRequest, prefix: str) -> Iterator[str]:
    request: dict[str, Any] = {}
    while True:
        response = send_request("ListTables", request)
        names = (name.text() for name in response.need("TableNames").items())
        yield from (name for name in names if name.startswith(prefix))
        last = response.get("LastEvaluatedTableName")
        if last is None:
            return
        request = {"ExclusiveStartTableName": last.text()}


def _describe(send_request: SendRequest, name: str) -> Iterator[Any]:
    """Yield DynamoDB's responses that describe one table. Operations that the server does not support are skipped."""
    response = send_request("DescribeTable", {"TableName": name})
    yield response.value
    for operation in _SETTINGS_OPERATIONS:
        yield from _if_supported(send_request, operation, {"TableName": name})
    arn = response.need("Table").need("TableArn").text()
    for tags in _if_supported(send_request, "ListTagsOfResource", {"ResourceArn": arn}):
        yield {"Tags": tags.get("Tags", [])}


def _if_supported(send_request: SendRequest, operation: str, request: dict[str, Any]) -> Iterator[Any]:
    """Yield the response to a request, or nothing if the server does not support the operation."""
    try:
        yield send_request(operation, request).value
    except ServiceError as error:
        if error.code != "UnknownOperationException":
            raise
