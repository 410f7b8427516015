"""Exports of tables to files. An API operation starts an export, and a background thread writes the files.

A full export contains the items of a table as of one point in time. An incremental export contains the items that were
written in a given period, with their content at the end of the period and, if requested, also at its start. For both,
the records of point-in-time recovery are read in chunks, so that writers can continue and memory use is bounded. An
optional key condition, filter and projection select the exported items and attributes, as in a query, but across the
whole table.

Sources: developer guide, "DynamoDB data export to Amazon S3: how it works" and "DynamoDB table export output format";
API reference, FilterSpecification.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any, TypeVar

from keyplan import limits
from keyplan.dynamodb.expressions.compiled import CompiledProjection, KeyCondition, compile_key_condition
from keyplan.dynamodb.messages import exports as messages
from keyplan.dynamodb.values import encoding
from keyplan.dynamodb.values.encoding import Form
from keyplan.dynamodb.values.types import Item
from keyplan.engine.backups import history
from keyplan.engine.items import ranges, reads
from keyplan.engine.items.conditions import check_placeholder_maps, check_placeholders_usable, request_values
from keyplan.engine.items.ranges import Span
from keyplan.engine.progress import Progress, percent
from keyplan.engine.store.rows import Row, StoreView
from keyplan.engine.tables import throughput
from keyplan.engine.tables.catalog import Table, stored_table
from keyplan.engine.transfer import export_files, jobs
from keyplan.engine.transfer.errors import TransferError
from keyplan.engine.transfer.export_files import Line
from keyplan.engine.transfer.jobs import Document, JobClaim
from keyplan.errors import ValidationError

if TYPE_CHECKING:
    from keyplan.engine.database import Database


T = TypeVar("T")

FULL, INCREMENTAL = "FULL_EXPORT", "INCREMENTAL_EXPORT"
BOTH_IMAGES = "NEW_AND_OLD_IMAGES"

CHUNK_ROWS = 250
CHUNK_BYTES = 4 * limits.MIB
"""The total size of exported rows, in bytes, at which a chunk ends. The row with which the total reaches this size is
the last row of the chunk.
"""

_VERSIONS = {FULL: "2020-06-30", INCREMENTAL: "2023-08-01"}


def run(database: Database, document: Document, claim: JobClaim) -> None:
    """Write all files of an export and complete it.

    Raises TransferError if the export fails, StoppedError if the engine is being closed, and ClaimLostError if another
    process has taken over the export.
    """
    description = document["description"]
    incremental = description["ExportType"] == INCREMENTAL
    export_id = description["ExportArn"].rpartition("/")[2]
    assert database.buckets is not None
    destination = export_files.ExportFolder(
        database.buckets,
        description["S3Bucket"],
        *export_files.folders(description.get("S3Prefix"), export_id, incremental=incremental),
        export_files.headers(document["parameters"].get("S3SseAlgorithm"), description.get("S3SseKmsKeyId")),
    )
    destination.put("_started", b"")
    with database.store.snapshot() as view:
        table_description = _table(view, document).document["description"]
    partitions = throughput.partition_count(table_description, throughput.billing_mode(table_description))
    progress = Progress(database.clock, f"exporting {document['table']}")
    lines = _changes(database, document, progress) if incremental else _items(database, document, progress)
    totals = export_files.write_data(destination, export_id, partitions, lines, claim.heartbeat)
    billed_bytes = max(totals.size, limits.INCREMENTAL_EXPORT_BILLED_BYTES) if incremental else totals.size
    summary = _summary(description, database.clock.now(), totals.items, billed_bytes)
    progress.finish()
    manifest = export_files.write_manifests(destination, summary, totals)
    database.store.write(
        lambda transaction: claim.finish(
            transaction, jobs.COMPLETED, ExportManifest=manifest, ItemCount=totals.items, BilledSizeBytes=billed_bytes
        )
    )


def fail(database: Database, claim: JobClaim, code: str, message: str) -> None:
    """End an export as FAILED, with a failure code and message. Raises ClaimLostError if another process has taken over
    the export.
    """
    database.store.write(
        lambda transaction: claim.finish(transaction, jobs.FAILED, FailureCode=code, FailureMessage=message)
    )


def _table(view: StoreView, document: Document) -> Table:
    """Return the definition of the exported table from the store. Raises TransferError if the table was deleted or its
    point-in-time recovery was disabled.
    """
    description = document["description"]
    table = stored_table(view, document["table"])
    if table is None or table.document["description"]["TableId"] != description["TableId"] or table.recovery is None:
        raise TransferError("TableNotFoundException", messages.TABLE_GONE)
    return table


def _check_reach(table: Table, from_s: float, now: float) -> None:
    assert table.recovery is not None
    if from_s < history.earliest_s(table.recovery, now):
        raise TransferError("InvalidExportTimeException", messages.EXPORT_TIME_UNKNOWN)


def _items(database: Database, document: Document, progress: Progress) -> Iterator[Line]:
    """Yield the lines of a full export: all selected items as of the time of the export."""
    selection = compile_selection(document["filter"], encoding.WIRE) if document.get("filter") else None
    time_s = document["time_s"]
    low: bytes | None = b""
    while low is not None:
        progress.report(partial(percent, low))
        database.store.wait_for_checkpoint()
        with database.store.snapshot() as view:
            table = _table(view, document)
            _check_reach(table, time_s, database.clock.now())
            high = None
            if selection is not None:
                span = selection.span(table)
                low, high = max(low, span.low), span.high
            rows = history.rows_at(view, table, time_s, low)
            chunk = _next_chunk(rows if high is None else takewhile(partial(_is_below, high), rows), _row_bytes)
        for key, size, body in chunk:
            projected = body if selection is None else selection.selected_body(body)
            if projected is not None:
                yield key, size, export_files.item_line(projected)
        low = chunk[-1][0] + b"\x00" if chunk else None


def _next_chunk(rows: Iterable[T], bytes_of: Callable[[T], int]) -> list[T]:
    """Return the next chunk of rows. A chunk has up to CHUNK_ROWS rows and ends with the row at which the total size
    reaches CHUNK_BYTES.

    `bytes_of` returns the size of a row in bytes.
    """
    chunk: list[T] = []
    size = 0
    for row in islice(rows, CHUNK_ROWS):
        chunk.append(row)
        size += bytes_of(row)
        if size >= CHUNK_BYTES:
            break
    return chunk


def _is_below(high: bytes, row: Row) -> bool:
    return row[0] < high


def _row_bytes(row: Row) -> int:
    return len(row[2])


def _change_bytes(change: history.RecordedChange) -> int:
    return sum(len(image[1]) for image in (change.old, change.new) if image is not None)


def _changes(database: Database, document: Document, progress: Progress) -> Iterator[Line]:
    """Yield the lines of an incremental export, one for each item that was written in the export period. The period
    includes its start but not its end.

    An item that was created and deleted in the period has no line.
    """
    from_s, to_s = document["period_s"]
    has_both_images = document["description"]["IncrementalExportSpecification"]["ExportViewType"] == BOTH_IMAGES
    low: bytes | None = b""
    while low is not None:
        progress.report(partial(percent, low))
        database.store.wait_for_checkpoint()
        with database.store.snapshot() as view:
            table = _table(view, document)
            _check_reach(table, from_s, database.clock.now())
            before_s, last_s = math.nextafter(from_s, -math.inf), math.nextafter(to_s, -math.inf)
            chunk = _next_chunk(history.changes_between(view, table, before_s, last_s, low), _change_bytes)
        for change in chunk:
            images = [image for image in (change.new, change.old) if image is not None]
            if images:  # an item that was created and deleted in the period has no line
                item = encoding.decode(images[0][1])
                line = export_files.change_line(
                    table.key.extract(item),
                    change.written_at_s,
                    None if change.new is None else change.new[1],
                    change.old[1] if has_both_images and change.old is not None else None,
                )
                yield change.key, sum(size for size, _ in images), line
        low = chunk[-1].key + b"\x00" if chunk else None


def _summary(description: dict[str, Any], now: float, items: int, billed_bytes: int) -> dict[str, Any]:
    period = description.get("IncrementalExportSpecification")
    summary = {
        "version": _VERSIONS[description["ExportType"]],
        "exportArn": description["ExportArn"],
        "startTime": export_files.timestamp(description["StartTime"]),
        "endTime": export_files.timestamp(now),
        "tableArn": description["TableArn"],
        "tableId": description["TableId"],
        "s3Bucket": description["S3Bucket"],
        "s3Prefix": description.get("S3Prefix"),
        "s3SseAlgorithm": description["S3SseAlgorithm"],
        "s3SseKmsKeyId": description.get("S3SseKmsKeyId"),
        "billedSizeBytes": billed_bytes,
        "itemCount": items,
        "outputFormat": description["ExportFormat"],
    }
    if period is None:
        return {**summary, "exportTime": export_files.timestamp(description["ExportTime"])}
    return {
        **summary,
        "exportFromTime": export_files.timestamp(period["ExportFromTime"]),
        "exportToTime": export_files.timestamp(period["ExportToTime"]),
        "outputView": period["ExportViewType"],
        "exportType": description["ExportType"],
    }


def describe(document: Document, form: Form) -> dict[str, Any]:
    """Return the ExportDescription. As in DynamoDB, it contains ExportType only if the request contained it."""
    description: dict[str, Any] = document["description"]
    if "ExportType" not in document["parameters"]:
        description = {name: value for name, value in description.items() if name != "ExportType"}
    values = (description.get("FilterSpecification") or {}).get("ExpressionAttributeValues")
    if values is None:
        return description
    specification = {**description["FilterSpecification"], "ExpressionAttributeValues": form.item(values)}
    return {**description, "FilterSpecification": specification}


@dataclass(frozen=True, slots=True)
class Selection:
    """The compiled FilterSpecification of an export, which selects items and attributes of a table."""

    values: Item | None
    key_condition: KeyCondition | None
    filter: reads.Filter | None
    projection: CompiledProjection | None

    def check(self, table: Table) -> None:
        """Raise ValidationError if the FilterSpecification is invalid for the table."""
        schema = table.key.schema
        if self.key_condition is not None:
            reads.check_key_types(schema, self.key_condition, self.values)
            self.span(table)
            reads.check_filter_keys(schema, self.filter)
        reads.check_scalar_keys(table, self.filter and self.filter.condition)
        reads.check_scalar_keys(table, self.projection)

    def span(self, table: Table) -> Span:
        """Return a range of stored keys that contains the keys of all selected items."""
        if self.key_condition is None:
            return Span(b"", None)
        return ranges.condition_span(None, self.key_condition.bind(self.values, *table.key.schema.roles))

    def selected_body(self, body: bytes) -> bytes | None:
        """Return the selected attributes of an item in stored form, or None if the item is not selected."""
        if self.filter is None and self.projection is None:
            return body
        item = encoding.decode(body)
        if self.filter is not None and not self.filter.tester()(item):
            return None
        return body if self.projection is None else encoding.encode(self.projection.apply(item))


def compile_selection(specification: dict[str, Any], form: Form) -> Selection:
    """Compile a FilterSpecification. Raises ValidationError if it is invalid."""
    specification = {name: value for name, value in specification.items() if value is not None}
    if not specification:
        raise ValidationError(messages.FILTER_EMPTY)
    expressions = [name for name in reads.QUERY_EXPRESSIONS if name in specification]
    check_placeholders_usable(specification, expressions, value_expressions=reads.QUERY_VALUE_EXPRESSIONS)
    check_placeholder_maps(specification)
    values = request_values(specification, form)
    key_condition = None
    if "KeyConditionExpression" in specification:
        names = specification.get("ExpressionAttributeNames")
        key_condition = compile_key_condition(specification["KeyConditionExpression"], names)
        key_condition.check(values)
    condition = reads.compile_filter_expression(specification, values)
    projection = reads.compile_read_projection(specification)
    reads.check_read_placeholders(specification, values, key_condition, condition and condition.condition, projection)
    if key_condition is not None:
        key_condition.check_form()
    return Selection(values, key_condition, condition, projection)


def stored_specification(specification: dict[str, Any], selection: Selection) -> dict[str, Any]:
    """Return the FilterSpecification with its values in JSON form, so that it can be stored and returned in
    descriptions.
    """
    members = {name: value for name, value in specification.items() if value is not None}
    if selection.values is not None:
        members["ExpressionAttributeValues"] = selection.values
    return members
