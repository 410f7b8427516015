"""Preparation steps that Query and Scan share: compile expressions, find the index, and check projections and start
keys.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from keyplan.dynamodb.expressions.compiled import (
    CompiledCondition,
    CompiledProjection,
    KeyCondition,
    check_placeholders,
    compile_condition,
    compile_projection,
)
from keyplan.dynamodb.expressions.legacy import LegacyKeyCondition, compile_attributes_to_get, compile_filter
from keyplan.dynamodb.expressions.names import ResolvedPath
from keyplan.dynamodb.messages import items as messages
from keyplan.dynamodb.messages import tables as table_messages
from keyplan.dynamodb.values import encoding
from keyplan.dynamodb.values.attribute import normalise_item
from keyplan.dynamodb.values.encoding import Form
from keyplan.dynamodb.values.types import AttributeValue, Item
from keyplan.engine.items.conditions import normalised_parameters
from keyplan.engine.items.keys import KeySchema
from keyplan.engine.tables.catalog import Index, Table
from keyplan.errors import ValidationError

if TYPE_CHECKING:
    from keyplan.engine.database import Database


QUERY_EXPRESSIONS = ("ProjectionExpression", "FilterExpression", "KeyConditionExpression")
QUERY_VALUE_EXPRESSIONS = ("FilterExpression", "KeyConditionExpression")
"""The expression parameters of a Query that can contain value placeholders."""

_START_KEY_FAULTS = frozenset(
    (
        messages.EMPTY_VALUE,
        messages.SEVERAL_TYPES,
        messages.NULL_NOT_TRUE,
        messages.EMPTY_STRING_SET,
        messages.EMPTY_BINARY_SET,
    )
)


_attributes_to_get = lru_cache(maxsize=1024)(compile_attributes_to_get)


class Filter(NamedTuple):
    """A compiled filter, the values of its placeholders, and the request parameter from which it was compiled."""

    condition: CompiledCondition
    values: Item | None
    parameter: str

    def tester(self) -> Callable[[Item], bool]:
        """Return a function that takes an item and returns True if the item matches the filter."""
        test, values = self.condition.test, self.values if self.values is not None else {}
        return lambda item: test(item, values)

    def traces(self) -> tuple[bytes, ...]:
        """Return byte strings that occur in the stored body of every matching item."""
        values = self.values if self.values is not None else {}
        trace_values = (
            encoding.trace(requirement.attribute, values[requirement.placeholder], is_prefix=requirement.is_prefix)
            for requirement in self.condition.required
        )
        return tuple(trace for trace in trace_values if trace is not None)


def compile_legacy_filter(request: dict[str, Any], legacy: str, form: Form) -> Filter | None:
    """Compile the legacy filter parameter named `legacy`. Return None if the request does not have it."""
    conditions = request.get(legacy)
    if not conditions:
        return None
    return Filter(
        compile_filter(normalised_parameters(conditions, form), request.get("ConditionalOperator")), None, legacy
    )


def compile_filter_expression(request: dict[str, Any], values: Item | None) -> Filter | None:
    """Compile the request's filter expression and validate its values. Return None if the request has none."""
    text = request.get("FilterExpression")
    if text is None:
        return None
    condition = compile_condition(text, request.get("ExpressionAttributeNames"), "FilterExpression")
    condition.check(values)
    return Filter(condition, values, "FilterExpression")


def check_read_placeholders(
    request: dict[str, Any],
    values: Item | None,
    *expressions: CompiledCondition | KeyCondition | CompiledProjection | None,
) -> None:
    """Raise ValidationError if the request has a placeholder that is not used by any of the `expressions`."""
    names = request.get("ExpressionAttributeNames")
    if not names and not values:
        return
    names_used: set[str] = set()
    values_used: set[str] = set()
    for expression in expressions:
        if expression is not None:
            names_used |= expression.names_used
            if not isinstance(expression, CompiledProjection):
                values_used |= expression.values_used
    check_placeholders(names, values, names_used, values_used)


def compile_single_read_projection(request: dict[str, Any]) -> CompiledProjection | None:
    """Compile the projection of a request without other expressions, and check that the projection uses every
    placeholder.
    """
    projection = compile_read_projection(request)
    names = request.get("ExpressionAttributeNames")
    if projection is not None and names:
        check_placeholders(names, None, projection.names_used, frozenset())
    return projection


def compile_read_projection(request: dict[str, Any]) -> CompiledProjection | None:
    """Compile the request's projection, which is an expression or the legacy parameter AttributesToGet.

    Return None if the request has neither.
    """
    text = request.get("ProjectionExpression")
    if text is not None:
        return compile_projection(text, request.get("ExpressionAttributeNames"))
    names = request.get("AttributesToGet")
    return _attributes_to_get(tuple(names)) if names else None


def find_index(database: Database, table: Table, request: dict[str, Any]) -> Index | None:
    """Return the index named in the request, or None if the request does not name an index.

    Raises ValidationError if the index does not exist or does not support the read. Raises CatalogChanged if the index
    does not exist but the table has changed, because another process may have created the index.
    """
    name = request.get("IndexName")
    if name is None:
        return None
    index = table.indexes.get(name)
    if index is None:
        database.catalog.check_current(table, database.store.view())
        raise ValidationError(table_messages.no_such_index(name))
    if index.is_global and request.get("ConsistentRead"):
        raise ValidationError(messages.CONSISTENT_GLOBAL_READ)
    if index.backfilling:
        raise ValidationError(messages.backfilling(name))
    return index


def check_key_types(schema: KeySchema, key_condition: KeyCondition | LegacyKeyCondition, values: Item | None) -> None:
    """Raise ValidationError if a value in the key condition has the wrong type or is an empty string.

    DynamoDB performs this check before other checks of key values.
    """
    for name, kind in (*schema.partition, *schema.sort):
        for value in _values_of(key_condition, name, values or {}):
            if kind not in value:
                raise ValidationError(messages.KEY_TYPE)
            if value[kind] == "":
                raise ValidationError(messages.empty_key(name, kind))


def _values_of(key_condition: KeyCondition | LegacyKeyCondition, name: str, values: Item) -> Sequence[AttributeValue]:
    if isinstance(key_condition, LegacyKeyCondition):
        return key_condition.indexable_arguments(name)
    term = key_condition.terms.get(name)
    return [] if term is None else [values[placeholder] for placeholder in term.values]


def check_filter_keys(schema: KeySchema, condition: Filter | None) -> None:
    """Raise ValidationError if the filter of a query refers to a key attribute."""
    if condition is not None:
        for name in schema.names:
            if name in condition.condition.attributes:
                raise ValidationError(messages.filter_on_key(condition.parameter, name))


def check_select(index: Index | None, request: dict[str, Any]) -> None:
    """Raise ValidationError if a request for ALL_ATTRIBUTES reads a global index that does not project all attributes
    of the table.
    """
    if (
        index is not None
        and index.is_global
        and index.projection != "ALL"
        and request.get("Select") == "ALL_ATTRIBUTES"
    ):
        raise ValidationError(messages.all_attributes(index.name))


def check_projected(index: Index | None, projection: CompiledProjection | None) -> None:
    """Raise ValidationError if the projection contains an attribute that the global index does not project."""
    if index is not None and index.is_global and index.projection != "ALL" and projection is not None:
        missing = sorted(projection.attributes - index.attributes)
        if missing:
            raise ValidationError(messages.not_projected(index.name, missing))


def check_filter_projected(index: Index | None, condition: Filter | None) -> None:
    """Raise ValidationError if the filter of a query refers to an attribute that the index does not project.

    A scan with such a filter is allowed. The filter then treats the attribute as missing.
    """
    if index is not None and index.projection != "ALL" and condition is not None:
        missing = sorted(condition.condition.attributes - index.attributes)
        if missing:
            raise ValidationError(messages.filter_not_projected(index.name, missing))


def needs_fetch(index: Index | None, request: dict[str, Any], projection: CompiledProjection | None) -> bool:
    """Return True if items must be fetched from the table, because a local index does not project a requested
    attribute.
    """
    if index is None or index.is_global or index.projection == "ALL":
        return False
    if request.get("Select") == "ALL_ATTRIBUTES":
        return True
    return projection is not None and not projection.attributes <= index.attributes


def check_scalar_keys(table: Table, condition: CompiledCondition | CompiledProjection | None) -> None:
    """Raise ValidationError if an expression refers to a nested value inside a key attribute. Key attributes are always
    scalar.
    """
    if condition is not None:
        check_scalar_paths(table, condition.paths)


def check_scalar_paths(table: Table, paths: Collection[ResolvedPath]) -> None:
    """Raise ValidationError if a path refers to a nested value inside a key attribute of the table or an index.

    Key attributes are always scalar.
    """
    if max(map(len, paths), default=1) == 1:
        return
    nested = {str(path[0]) for path in paths if len(path) > 1}
    for name in table.key.names:
        if name in nested:
            raise ValidationError(messages.nested_key(name, of_index=False))
    for index in table.indexes.values():
        for name in index.key.schema.names:
            if name in nested:
                raise ValidationError(messages.nested_key(name, of_index=True))


def start_item(request: dict[str, Any], form: Form) -> Item | None:
    """Return the request's ExclusiveStartKey in canonical form, or None if the request has none.

    Raises ValidationError if the key contains an invalid value.
    """
    start = request.get("ExclusiveStartKey")
    if start is None:
        return None
    try:
        return normalise_item(start, wire=form.wire)[0]
    except ValidationError as error:
        if error.message in _START_KEY_FAULTS:
            raise ValidationError(messages.start_key_problem(error.message)) from error
        raise
