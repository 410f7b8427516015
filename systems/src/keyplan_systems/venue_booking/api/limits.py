"""Limits on GraphQL queries: the depth of a query, and the number of values that it can return.

Each field counts as one value. A field inside a list counts once per possible list element. The number of elements is
the `first` argument if it is given, or otherwise the default or maximum length of the list. Introspection fields are
counted separately, because they do not read the table but cost as much CPU time as other fields. Each fragment is
measured once, even if the query uses it several times, so that measuring takes no longer than parsing the query.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLEnumType,
    GraphQLError,
    GraphQLInputObjectType,
    GraphQLObjectType,
    GraphQLSchema,
    InlineFragmentNode,
    IntValueNode,
    OperationDefinitionNode,
    SelectionSetNode,
    ValidationRule,
    VariableNode,
)
from strawberry.extensions import SchemaExtension

from keyplan_systems.venue_booking.api.queries import FIRST
from keyplan_systems.venue_booking.base import MAX_PAGE_SIZE

MAX_DEPTH: Final = 8
MAX_VALUES: Final = 5_000
MAX_INTROSPECTION_VALUES: Final = 400_000
"""Maximum number of introspection values that a query may return, assuming that all lists have their full length.

The limit allows one query for the whole schema, such as the introspection query that tools send.
"""

_INTROSPECTION_FIELDS: Final = frozenset(("__schema", "__type"))
_LIST_LENGTHS: Final[Mapping[str, int]] = {
    "availability": 62,
    "eventsOn": 3,
    "myBookings": FIRST,
    "myEmailCodes": 20,
    "myNotifications": FIRST,
    "profile": 2,  # its list of all bookings has the same name as a list with `first`, and therefore the same limit
    "bookings": FIRST,
    "bookingsByMonth": FIRST,
    "users": FIRST,
    "payments": FIRST,
    "audit": FIRST,
    "auditOf": FIRST,
}
"""Assumed number of list elements for a field without a `first` argument, by field name.

For fields that do not accept `first`, the number is the maximum length of the list.
"""


@dataclass(frozen=True)
class Measure:
    """The depth of a selection of GraphQL fields, and the number of values that it can return."""

    depth: int = 0
    complexity: int = 0
    introspection_values: int = 0


@dataclass
class _QueryMeasurement:
    fragments: Mapping[str, FragmentDefinitionNode]
    variables: Mapping[str, Any]
    lists_of_schema: Mapping[str, int]
    measured_fragments: dict[tuple[str, bool], Measure] = field(default_factory=dict)

    def selection(self, selection_set: SelectionSetNode | None, *, is_introspection: bool = False) -> Measure:
        if selection_set is None:
            return Measure()
        parts = [self._part(node, is_introspection=is_introspection) for node in selection_set.selections]
        return Measure(
            max((part.depth for part in parts), default=0),
            sum(part.complexity for part in parts),
            sum(part.introspection_values for part in parts),
        )

    def _part(self, node: object, *, is_introspection: bool) -> Measure:
        if isinstance(node, FieldNode):
            return self._field(node, is_introspection=is_introspection)
        if isinstance(node, InlineFragmentNode):
            return self.selection(node.selection_set, is_introspection=is_introspection)
        assert isinstance(node, FragmentSpreadNode), "selections are fields and fragments"
        name = node.name.value
        if (name, is_introspection) not in self.measured_fragments:
            # Zero while the fragment is being measured. A fragment that contains itself is rejected by another rule.
            self.measured_fragments[name, is_introspection] = Measure()
            fragment = self.fragments.get(name)
            selection_set = None if fragment is None else fragment.selection_set
            self.measured_fragments[name, is_introspection] = self.selection(
                selection_set, is_introspection=is_introspection
            )
        return self.measured_fragments[name, is_introspection]

    def _field(self, node: FieldNode, *, is_introspection: bool) -> Measure:
        name = node.name.value
        if is_introspection or name in _INTROSPECTION_FIELDS:
            measure = self.selection(node.selection_set, is_introspection=True)
            return Measure(introspection_values=1 + self.lists_of_schema.get(name, 1) * measure.introspection_values)
        if name.startswith("__"):
            return Measure()  # a type name does not read the table
        measure = self.selection(node.selection_set)
        return Measure(
            measure.depth + 1, 1 + self._list_length(node, name) * measure.complexity, measure.introspection_values
        )

    def _list_length(self, node: FieldNode, name: str) -> int:
        for argument in node.arguments or ():
            if argument.name.value == "first":
                return self._argument_value(argument.value, name)
        return _LIST_LENGTHS.get(name, 1)

    def _argument_value(self, value: object, name: str) -> int:
        if isinstance(value, VariableNode):
            variable = self.variables.get(value.name.value)
            return min(max(variable, 1), MAX_PAGE_SIZE) if isinstance(variable, int) else MAX_PAGE_SIZE
        if isinstance(value, IntValueNode) and len(value.value) <= len(str(MAX_PAGE_SIZE)):
            return min(max(int(value.value), 1), MAX_PAGE_SIZE)
        return _LIST_LENGTHS.get(name, MAX_PAGE_SIZE)


class Limits(SchemaExtension):
    """Extension that rejects a query before it runs if the query is too deep or can return too many values."""

    def on_operation(self) -> Iterator[None]:
        """Add the rule that enforces the limits to the validation rules of the query.

        The rule needs the variables of the query, because they can set the lengths of lists.
        """
        context = self.execution_context
        context.validation_rules = (*context.validation_rules, limits_rule(context.variables or {}))
        yield


def limits_rule(variables: Mapping[str, Any]) -> type[ValidationRule]:
    """Return the validation rule that enforces the limits on a query with the given variables."""

    class LimitsRule(ValidationRule):
        def enter_document(self, node: DocumentNode, *_: Any) -> None:
            fragments = {
                fragment.name.value: fragment
                for fragment in node.definitions
                if isinstance(fragment, FragmentDefinitionNode)
            }
            measurement = _QueryMeasurement(fragments, variables, lists_of_schema(self.context.schema))
            for definition in node.definitions:
                if isinstance(definition, OperationDefinitionNode):
                    error = refusal(measurement.selection(definition.selection_set))
                    if error is not None:
                        self.report_error(error)

    return LimitsRule


def lists_of_schema(schema: GraphQLSchema) -> Mapping[str, int]:
    """Return the maximum length of each list in the result of an introspection query, by field name."""
    kinds = schema.type_map.values()
    fields = [member for kind in kinds if isinstance(kind, GraphQLObjectType) for member in kind.fields.values()]
    return {
        "types": len(schema.type_map),
        "directives": len(schema.directives),
        "fields": max(len(kind.fields) for kind in kinds if isinstance(kind, GraphQLObjectType)),
        "args": max(len(member.args) for member in (*fields, *schema.directives)),
        "inputFields": max((len(kind.fields) for kind in kinds if isinstance(kind, GraphQLInputObjectType)), default=1),
        "enumValues": max(len(kind.values) for kind in kinds if isinstance(kind, GraphQLEnumType)),
    }


def refusal(measure: Measure) -> GraphQLError | None:
    """Return the error for a query with the measured depth and number of values, or None if the query is within the
    limits.
    """
    if measure.depth > MAX_DEPTH:
        message = f"The query is {measure.depth} levels deep; the maximum is {MAX_DEPTH}."
        return GraphQLError(message, extensions={"code": "too_deep"})
    if measure.complexity > MAX_VALUES:
        message = f"The query may return {measure.complexity} values; the maximum is {MAX_VALUES}."
        return GraphQLError(message, extensions={"code": "too_complex"})
    if measure.introspection_values > MAX_INTROSPECTION_VALUES:
        value_count = measure.introspection_values
        message = f"The query may return {value_count} introspection values; the maximum is {MAX_INTROSPECTION_VALUES}."
        return GraphQLError(message, extensions={"code": "too_complex"})
    return None
