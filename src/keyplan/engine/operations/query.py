"""Query: read items with the same partition key, in sort key order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from keyplan.dynamodb.expressions.compiled import CompiledProjection, KeyCondition, compile_key_condition
from keyplan.dynamodb.expressions.legacy import LegacyKeyCondition, compile_key_conditions
from keyplan.dynamodb.messages import expressions as expression_messages
from keyplan.dynamodb.messages import requests as messages
from keyplan.dynamodb.shapes.model import Integer, Layer, Structure
from keyplan.dynamodb.values.encoding import Form
from keyplan.dynamodb.values.types import Item
from keyplan.engine.items import pages, ranges, reads
from keyplan.engine.items.conditions import (
    check_placeholder_maps,
    check_placeholders_usable,
    normalised_parameters,
    request_values,
)
from keyplan.engine.operations import rules, shapes
from keyplan.engine.operations.rules import check_attributes_to_get
from keyplan.errors import ValidationError

if TYPE_CHECKING:
    from keyplan.engine.database import Database


SHAPE = Structure(
    "QueryInput",
    {
        "TableName": shapes.TABLE_NAME,
        "IndexName": shapes.INDEX_NAME,
        "Select": shapes.SELECT,
        "AttributesToGet": shapes.ATTRIBUTES_TO_GET,
        "Limit": Integer(min=1),
        "ConsistentRead": shapes.FLAG,
        "KeyConditions": shapes.CONDITIONS,
        "QueryFilter": shapes.CONDITIONS,
        "ConditionalOperator": shapes.CONDITIONAL_OPERATOR,
        "ScanIndexForward": shapes.FLAG,
        "ExclusiveStartKey": shapes.KEY,
        "ReturnConsumedCapacity": shapes.RETURN_CONSUMED_CAPACITY,
        "ProjectionExpression": shapes.TEXT,
        "FilterExpression": shapes.TEXT,
        "KeyConditionExpression": shapes.TEXT,
        "ExpressionAttributeNames": shapes.NAMES,
        "ExpressionAttributeValues": shapes.VALUES,
    },
    required=("TableName",),
    layer=Layer.FRONT,
    exclusive_enums=("ConditionalOperator",),
)

_MAX_KEY_CONDITIONS = 2


def check(request: dict[str, Any]) -> None:
    """Raise ValidationError if a Query request contains parameters that cannot be combined.

    DynamoDB performs this check before it checks values.
    """
    members = rules.check_mixture(request, reads.QUERY_EXPRESSIONS, _legacy_parameters(request))
    check_placeholders_usable(request, members, value_expressions=reads.QUERY_VALUE_EXPRESSIONS)
    rules.check_select(request)
    rules.check_conditional_operator(request, "QueryFilter")


def check_late(request: dict[str, Any]) -> None:
    """Raise ValidationError if a Query request has invalid placeholders, or a missing or empty key condition.

    DynamoDB performs this check after it has checked the start key.
    """
    if request.get("KeyConditions") is None and request.get("KeyConditionExpression") is None:
        raise ValidationError(messages.NO_KEY_CONDITION)
    if request.get("KeyConditions") == {}:
        raise ValidationError(expression_messages.KEY_CONDITION_COUNT)
    check_placeholder_maps(request)


def _legacy_parameters(request: dict[str, Any]) -> tuple[str, ...]:
    """Return the legacy parameters that must not be combined with the expressions in the request.

    KeyConditions can be combined with a FilterExpression, but not with a KeyConditionExpression.
    """
    names = ("AttributesToGet", "QueryFilter", "ConditionalOperator")
    return (*names, "KeyConditions") if request.get("KeyConditionExpression") is not None else names


def check_key_conditions(request: dict[str, Any]) -> None:
    """Raise ValidationError if a Query request has too many KeyConditions. The individual conditions must already have
    been validated.
    """
    # An index may have several key attributes per role. Their number is known only after the index lookup.
    if len(request["KeyConditions"]) > _MAX_KEY_CONDITIONS and request.get("IndexName") is None:
        raise ValidationError(expression_messages.KEY_CONDITION_COUNT)


class _PreparedQuery(NamedTuple):
    """A Query request after all checks that do not depend on the table."""

    values: Item | None
    key_condition: KeyCondition | LegacyKeyCondition
    filter: reads.Filter | None
    projection: CompiledProjection | None
    start: Item | None


def run(database: Database, request: dict[str, Any], form: Form) -> dict[str, Any]:
    """Run Query: check the request, find the table and index, and return one page of items."""
    values, key_condition, condition, projection, start = _prepare(request, form)
    table = database.table(request["TableName"])
    index = reads.find_index(database, table, request)
    schema = ranges.key_schema(table, index)
    if start is not None:
        ranges.check_start_partition(table, index, start)
    reads.check_key_types(schema, key_condition, values)
    key_range = key_condition.bind(values, *schema.roles)
    span = ranges.condition_span(index, key_range)
    reverse = request.get("ScanIndexForward") is False
    if start is not None:
        start_key = ranges.query_start(table, index, start)
        ranges.check_query_start(table, index, key_range, span, start_key)
        span = span.after(start_key, reverse=reverse)
    reads.check_filter_keys(schema, condition)
    reads.check_filter_projected(index, condition)
    reads.check_select(index, request)
    reads.check_scalar_keys(table, condition and condition.condition)
    reads.check_scalar_keys(table, projection)
    reads.check_projected(index, projection)
    page_request = pages.PageRequest(
        table,
        index,
        span,
        reverse=reverse,
        # A query for a complete key cannot continue, so Limit must not make it return a LastEvaluatedKey.
        limit=None if ranges.finds_one_row(table, index) else request.get("Limit"),
        consistent=bool(request.get("ConsistentRead")),
        test=condition.tester() if condition is not None else None,
        traces=condition.traces() if condition is not None else (),
        project=None if projection is None else projection.apply,
        count_only=request.get("Select") == "COUNT",
        fetch=reads.needs_fetch(index, request, projection),
    )
    page = pages.read(database, page_request)
    return pages.answer(page_request, page, form, request)


def _prepare(request: dict[str, Any], form: Form) -> _PreparedQuery:
    """Run the checks of a Query request that do not depend on the table.

    DynamoDB checks the legacy filter first, then the start key, and then the key condition.
    """
    check(request)
    condition = reads.compile_legacy_filter(request, "QueryFilter", form)
    check_attributes_to_get(request)
    start = reads.start_item(request, form)
    check_late(request)
    values = request_values(request, form)
    key_condition = _key_condition(request, values, form)
    if condition is None:
        condition = reads.compile_filter_expression(request, values)
    projection = reads.compile_read_projection(request)
    by_expression = key_condition if isinstance(key_condition, KeyCondition) else None
    reads.check_read_placeholders(request, values, by_expression, condition and condition.condition, projection)
    if by_expression is not None:
        by_expression.check_form()
    return _PreparedQuery(values, key_condition, condition, projection, start)


def _key_condition(request: dict[str, Any], values: Item | None, form: Form) -> KeyCondition | LegacyKeyCondition:
    text = request.get("KeyConditionExpression")
    if text is None:
        legacy = compile_key_conditions(normalised_parameters(request["KeyConditions"], form))
        check_key_conditions(request)
        return legacy
    key_condition = compile_key_condition(text, request.get("ExpressionAttributeNames"))
    key_condition.check(values)
    return key_condition
