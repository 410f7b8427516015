"""What the service says of tables: DescribeTable, and the operations that tell of expiry, backups and tags.

Source: API reference, TableDescription, DescribeTimeToLive, DescribeContinuousBackups, ListTagsOfResource.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from keyplan.importers.documents import DESCRIBE_TABLE, Document, not_a
from keyplan.importers.errors import ImportSourceError
from keyplan.importers.nodes import Node
from keyplan.importers.schemas import source_table
from keyplan.importers.source import Figures, Source, SourceTable

_STATES = frozenset({
    "ArchivalSummary", "BillingModeSummary", "CreationDateTime", "GlobalTableVersion", "ItemCount",
    "LatestStreamArn", "LatestStreamLabel", "RestoreSummary", "TableArn", "TableClassSummary", "TableId",
    "TableSizeBytes", "TableStatus", "TableThroughputModeSummary",
})  # fmt: skip
_STATES_OF_INDEX = frozenset({
    "Backfilling", "IndexArn", "IndexSizeBytes", "IndexStatus", "ItemCount",
})  # fmt: skip
_OFF = {"DISABLED", "DISABLING"}


def describe_table(documents: Sequence[Document]) -> Source:
    """The tables that documents describe, in their order.

    What tells of expiry, backups or tags names no table: it is of the table described before it. Raises
    ImportSourceError.
    """
    found: list[tuple[Node, dict[str, Any]]] = []
    for document in documents:
        for value in document.value if isinstance(document.value, list) else [document.value]:
            _take(Document(document.name, value), found)
    if not found:
        raise ImportSourceError("there is no table in what was given")
    names = ", ".join(dict.fromkeys(document.name for document in documents))
    return Source(f"{names}, as the service describes them", tuple(_table(*one) for one in found))


def _take(document: Document, found: list[tuple[Node, dict[str, Any]]]) -> None:
    """One answer of the service: a table, or something more about the last one."""
    table = document.member("Table") or document.member("TableDescription") or document.value
    if isinstance(table, Mapping) and "TableName" in table and "KeySchema" in table:
        found.append((Node(table, f"{document.name}: {table['TableName']}"), {}))
        return
    more = dict(_more(document))
    if not more:
        raise not_a(DESCRIBE_TABLE, document)
    if not found:
        raise ImportSourceError(f"{document.name} says of which table nothing: give it after the table's description")
    found[-1][1].update(more)


def _more(document: Document) -> Iterator[tuple[str, Any]]:
    """By property of a table: what a further answer says of it."""
    node = Node(document.value, document.name)
    if document.member("TimeToLiveDescription") is not None:
        expiry = node.need("TimeToLiveDescription")
        status, named = expiry.get("TimeToLiveStatus"), expiry.get("AttributeName")
        is_on = status is not None and status.text() not in _OFF
        yield "TimeToLiveSpecification", {"Enabled": is_on, "AttributeName": None if named is None else named.text()}
    if document.member("ContinuousBackupsDescription") is not None:
        recovery = node.at("ContinuousBackupsDescription", "PointInTimeRecoveryDescription")
        status = None if recovery is None else recovery.get("PointInTimeRecoveryStatus")
        days = None if recovery is None else recovery.get("RecoveryPeriodInDays")
        made = {"PointInTimeRecoveryEnabled": status is not None and status.text() == "ENABLED"}
        yield "PointInTimeRecoverySpecification", made if days is None else {**made, "RecoveryPeriodInDays": days.value}
    if isinstance(document.member("Tags"), list):
        yield "Tags", document.member("Tags")


def _table(described: Node, more: Mapping[str, Any]) -> SourceTable:
    mode = described.at("BillingModeSummary", "BillingMode") or described.get("BillingMode")
    on_demand = mode is not None and mode.text() == "PAY_PER_REQUEST"
    made = {name: value for name, value in described.mapping().items() if name not in _STATES}
    made |= {name: value for name, value in more.items() if value}
    made["BillingMode"] = "PAY_PER_REQUEST" if on_demand else "PROVISIONED"
    kind = described.at("TableClassSummary", "TableClass")
    if kind is not None:
        made["TableClass"] = kind.value
    for member in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
        if described.get(member) is not None:
            made[member] = [_index(one) for one in described.each(member)]
    found = source_table(Node(made, described.path), described.need("TableName").text())
    return replace(found, figures=_figures(described))


def _index(described: Node) -> dict[str, Any]:
    return {name: value for name, value in described.mapping().items() if name not in _STATES_OF_INDEX}


def _figures(described: Node) -> Figures | None:
    """Numbers and sizes, which the service renews about every six hours; none of an empty table."""
    count, size = described.get("ItemCount"), described.get("TableSizeBytes")
    if count is None or size is None or not count.whole():
        return None
    indexes = [
        one
        for kind in ("Global", "Local")
        for one in described.each(f"{kind}SecondaryIndexes")
        if (status := one.get("IndexStatus")) is None or status.text() != "CREATING"  # nothing of it is counted yet
    ]
    held = {one.need("IndexName").text(): found.whole() for one in indexes if (found := one.get("ItemCount"))}
    return Figures(count.whole(), round(size.whole() / count.whole()), held)
