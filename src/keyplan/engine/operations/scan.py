"""Scan: read all items of a table or index, or only the items of one segment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyplan import limits
from keyplan.dynamodb.expressions.compiled import CompiledProjection
from keyplan.dynamodb.messages import requests as messages
from keyplan.dynamodb.shapes.model import Integer, Layer, Structure
from keyplan.dynamodb.values.encoding import Form
from keyplan.dynamodb.values.types import InvalidValueError, Item
from keyplan.engine.items import pages, ranges, reads
from keyplan.engine.items.conditions import check_placeholder_maps, check_placeholders_usable, request_values_older
from keyplan.engine.operations import rules, shapes
from keyplan.errors import ValidationError

if TYPE_CHECKING:
    from keyplan.engine.database import Database


SHAPE = Structure(
    "ScanInput",
    {
        "TableName": shapes.TABLE_NAME,
        "IndexName": shapes.INDEX_NAME,
        # Limit precedes AttributesToGet, because both have the same position in the order of errors (see shapes.order).
        "Limit": Integer(min=1),
        "AttributesToGet": shapes.ATTRIBUTES_TO_GET,
        "Select": shapes.SELECT,
        "ScanFilter": shapes.CONDITIONS,
        "ConditionalOperator": shapes.CONDITIONAL_OPERATOR,
        "ExclusiveStartKey": shapes.KEY,
        "ReturnConsumedCapacity": shapes.RETURN_CONSUMED_CAPACITY,
        "TotalSegments": Integer(min=1, max=limits.SCAN_SEGMENTS),
        "Segment": Integer(min=0, max=limits.SCAN_SEGMENTS - 1),
        "ProjectionExpression": shapes.TEXT,
        "FilterExpression": shapes.TEXT,
        "ExpressionAttributeNames": shapes.NAMES,
        "ExpressionAttributeValues": shapes.VALUES,
        "ConsistentRead": shapes.FLAG,
    },
    required=("TableName",),
    layer=Layer.FRONT,
    exclusive_enums=("ConditionalOperator",),
)

_EXPRESSIONS = ("ProjectionExpression", "FilterExpression")


def check(request: dict[str, Any]) -> None:
    """Raise ValidationError if a Scan request contains parameters that cannot be combined.

    DynamoDB performs this check before it checks values.
    """
    members = rules.check_mixture(request, _EXPRESSIONS, ("AttributesToGet", "ScanFilter", "ConditionalOperator"))
    check_placeholders_usable(request, members, value_expressions=("FilterExpression",))
    rules.check_select(request)
    rules.check_attributes_to_get(request)
    rules.check_conditional_operator(request, "ScanFilter")


def check_late(request: dict[str, Any]) -> None:
    """Raise ValidationError if a Scan request has an invalid segment or invalid placeholders.

    DynamoDB performs this check after it has checked the start key.
    """
    _check_segments(request.get("Segment"), request.get("TotalSegments"))
    check_placeholder_maps(request)


def _check_segments(segment: int | None, total: int | None) -> None:
    if segment is not None and total is None:
        raise ValidationError(messages.TOTAL_SEGMENTS_MISSING)
    if total is not None and segment is None:
        raise ValidationError(messages.SEGMENT_MISSING)
    if segment is not None and total is not None and segment >= total:
        raise ValidationError(messages.SEGMENT_TOO_LARGE)


def run(database: Database, request: dict[str, Any], form: Form) -> dict[str, Any]:
    """Run Scan: check the request, find the table and index, and return one page of items."""
    try:
        condition, projection, start = _prepare(request, form)
    except InvalidValueError as error:
        raise ValidationError(error.older) from error

    table = database.table(request["TableName"])
    index = reads.find_index(database, table, request)
    segment, total = request.get("Segment"), request.get("TotalSegments")
    span = ranges.segment_span(segment, total)
    if start is not None and index is not None:
        ranges.check_start_names(table, index, start)
    reads.check_select(index, request)
    if start is not None:
        key = ranges.scan_start(table, index, start)
        ranges.check_scan_start(span, key, segment, total)
        span = span.after(key, reverse=False)
    reads.check_scalar_keys(table, condition and condition.condition)
    reads.check_scalar_keys(table, projection)
    reads.check_projected(index, projection)
    page_request = pages.PageRequest(
        table,
        index,
        span,
        limit=request.get("Limit"),
        consistent=bool(request.get("ConsistentRead")),
        test=condition.tester() if condition is not None else None,
        traces=condition.traces() if condition is not None else (),
        project=None if projection is None else projection.apply,
        count_only=request.get("Select") == "COUNT",
        fetch=reads.needs_fetch(index, request, projection),
    )
    page = pages.read(database, page_request)
    return pages.answer(page_request, page, form, request)


def _prepare(request: dict[str, Any], form: Form) -> tuple[reads.Filter | None, CompiledProjection | None, Item | None]:
    """Run the checks of a Scan request that do not depend on the table, and return its filter, projection and start
    key.

    DynamoDB checks the legacy filter first, then the start key, and then the expressions.
    """
    check(request)
    condition = reads.compile_legacy_filter(request, "ScanFilter", form)
    start = reads.start_item(request, form)
    check_late(request)
    values = request_values_older(request, form)
    if condition is None:
        condition = reads.compile_filter_expression(request, values)
    projection = reads.compile_read_projection(request)
    reads.check_read_placeholders(request, values, condition and condition.condition, projection)
    return condition, projection, start
