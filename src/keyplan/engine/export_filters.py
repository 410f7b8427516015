"""The filter of an export: the parameters of a query's expressions, over a whole table as of a moment.

Source: API reference, FilterSpecification: a key condition, a filter and a projection, each of which may be left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from keyplan.dynamodb.expressions.compiled import KeyCondition, Projection, compile_key_condition
from keyplan.dynamodb.messages import exports as messages
from keyplan.dynamodb.values import encoding
from keyplan.dynamodb.values.encoding import Form
from keyplan.dynamodb.values.types import Item
from keyplan.engine import ranges, reads
from keyplan.engine.catalog import Table
from keyplan.engine.conditions import request_values
from keyplan.engine.operations import rules
from keyplan.engine.operations.query import EXPRESSIONS, VALUE_EXPRESSIONS
from keyplan.engine.ranges import Span
from keyplan.errors import ValidationError


@dataclass(frozen=True, slots=True)
class Selection:
    """What an export takes of a table."""

    values: Item | None
    key_condition: KeyCondition | None
    filter: reads.Filter | None
    projection: Projection | None

    def check(self, table: Table) -> None:
        """Raise ValidationError for what does not fit the table."""
        schema = table.key.schema
        if self.key_condition is not None:
            reads.check_key_types(schema, self.key_condition, self.values)
            self.span(table)
            reads.check_filter_keys(schema, self.filter)
        reads.check_scalar_keys(table, self.filter and self.filter.condition)
        reads.check_scalar_keys(table, self.projection)

    def span(self, table: Table) -> Span:
        """The stored keys of what may be taken."""
        if self.key_condition is None:
            return Span(b"", None)
        return ranges.condition_span(None, self.key_condition.bind(self.values, *table.key.schema.roles))

    def shown(self, body: bytes) -> bytes | None:
        """What is shown of an item, from its stored body; None: nothing."""
        if self.filter is None and self.projection is None:
            return body
        item = encoding.decode(body)
        if self.filter is not None and not self.filter.tester()(item):
            return None
        return body if self.projection is None else encoding.encode(self.projection.apply(item))


def compiled(given: dict[str, Any], form: Form) -> Selection:
    """The selection of a FilterSpecification. Raises ValidationError."""
    given = {name: value for name, value in given.items() if value is not None}
    if not given:
        raise ValidationError(messages.FILTER_EMPTY)
    expressions = [name for name in EXPRESSIONS if name in given]
    rules.check_placeholders_wanted(given, expressions, value_expressions=VALUE_EXPRESSIONS)
    rules.check_placeholders(given)
    values = request_values(given, form)
    key_condition = None
    if "KeyConditionExpression" in given:
        names = given.get("ExpressionAttributeNames")
        key_condition = compile_key_condition(given["KeyConditionExpression"], names)
        key_condition.check(values)
    condition = reads.compile_filter_expression(given, values)
    projection = reads.compile_read_projection(given)
    reads.check_read_placeholders(given, values, key_condition, condition and condition.condition, projection)
    if key_condition is not None:
        key_condition.check_form()
    return Selection(values, key_condition, condition, projection)


def to_be_kept(given: dict[str, Any], selection: Selection) -> dict[str, Any]:
    """The specification with its values in wire form, as it is described and kept."""
    kept = {name: value for name, value in given.items() if value is not None}
    if selection.values is not None:
        kept["ExpressionAttributeValues"] = selection.values
    return kept
