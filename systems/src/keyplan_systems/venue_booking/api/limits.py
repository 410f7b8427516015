"""How much one query may ask for: how deep it goes, and how many values it can come to.

A field counts one; what lies below a list counts once for every entry that may come, by the list's `first` or the
most it can have. What the schema says of itself is counted apart: it is no load on the table, but as much work for
the process as anything else. Fragments are measured once, however often they are used, so that measuring is
never more work than reading the query.
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
from keyplan_systems.venue_booking.asking import MOST_LISTED

MOST_DEEP: Final = 8
MOST_COMPLEX: Final = 5_000
MOST_TOLD_OF_SCHEMA: Final = 400_000
"""Values that the schema may come to tell of itself, each list as long as its longest; tools ask for all of it once."""

_OF_SCHEMA: Final = frozenset(("__schema", "__type"))
_LISTS: Final[Mapping[str, int]] = {
    "availability": 62,
    "eventsOn": 3,
    "myBookings": FIRST,
    "myEmailCodes": 20,
    "myNotifications": FIRST,
    "profile": 2,  # of all its bookings, which have the name and so the number of a list with `first`
    "bookings": FIRST,
    "bookingsByMonth": FIRST,
    "users": FIRST,
    "payments": FIRST,
    "audit": FIRST,
    "auditOf": FIRST,
}
"""How many entries lie below a field where its `first` does not say; of those that take no `first`, the most."""


@dataclass(frozen=True)
class Measure:
    """Depth and complexity of a selection."""

    depth: int = 0
    complexity: int = 0
    told_of_schema: int = 0


@dataclass
class _Measuring:
    fragments: Mapping[str, FragmentDefinitionNode]
    variables: Mapping[str, Any]
    lists_of_schema: Mapping[str, int]
    known: dict[tuple[str, bool], Measure] = field(default_factory=dict)

    def selection(self, selected: SelectionSetNode | None, *, of_schema: bool = False) -> Measure:
        if selected is None:
            return Measure()
        parts = [self._part(node, of_schema=of_schema) for node in selected.selections]
        return Measure(
            max((part.depth for part in parts), default=0),
            sum(part.complexity for part in parts),
            sum(part.told_of_schema for part in parts),
        )

    def _part(self, node: object, *, of_schema: bool) -> Measure:
        if isinstance(node, FieldNode):
            return self._field(node, of_schema=of_schema)
        if isinstance(node, InlineFragmentNode):
            return self.selection(node.selection_set, of_schema=of_schema)
        assert isinstance(node, FragmentSpreadNode), "there is no other kind of selection"
        name = node.name.value
        if (name, of_schema) not in self.known:
            # While it is measured nothing: one that leads to itself is refused elsewhere.
            self.known[name, of_schema] = Measure()
            fragment = self.fragments.get(name)
            below = None if fragment is None else fragment.selection_set
            self.known[name, of_schema] = self.selection(below, of_schema=of_schema)
        return self.known[name, of_schema]

    def _field(self, node: FieldNode, *, of_schema: bool) -> Measure:
        name = node.name.value
        if of_schema or name in _OF_SCHEMA:
            below = self.selection(node.selection_set, of_schema=True)
            return Measure(told_of_schema=1 + self.lists_of_schema.get(name, 1) * below.told_of_schema)
        if name.startswith("__"):
            return Measure()  # the name of a type is no load on anything
        below = self.selection(node.selection_set)
        return Measure(below.depth + 1, 1 + self._entries(node, name) * below.complexity, below.told_of_schema)

    def _entries(self, node: FieldNode, name: str) -> int:
        for argument in node.arguments or ():
            if argument.name.value == "first":
                return self._number(argument.value, name)
        return _LISTS.get(name, 1)

    def _number(self, value: object, name: str) -> int:
        if isinstance(value, VariableNode):
            given = self.variables.get(value.name.value)
            return min(max(given, 1), MOST_LISTED) if isinstance(given, int) else MOST_LISTED
        if isinstance(value, IntValueNode) and len(value.value) <= len(str(MOST_LISTED)):
            return min(max(int(value.value), 1), MOST_LISTED)
        return _LISTS.get(name, MOST_LISTED)


class Limits(SchemaExtension):
    """Refuses queries that go too deep or ask for too much, before anything is run."""

    def on_operation(self) -> Iterator[None]:
        """Have the query measured while it is validated; what lists may come to depends on its variables."""
        context = self.execution_context
        context.validation_rules = (*context.validation_rules, rule_with(context.variables or {}))
        yield


def rule_with(variables: Mapping[str, Any]) -> type[ValidationRule]:
    """The validation rule for a query that is run with these variables."""

    class LimitsRule(ValidationRule):
        def enter_document(self, node: DocumentNode, *_: Any) -> None:
            fragments = {one.name.value: one for one in node.definitions if isinstance(one, FragmentDefinitionNode)}
            measuring = _Measuring(fragments, variables, lists_of_schema(self.context.schema))
            for one in node.definitions:
                if isinstance(one, OperationDefinitionNode):
                    error = refusal(measuring.selection(one.selection_set))
                    if error is not None:
                        self.report_error(error)

    return LimitsRule


def lists_of_schema(schema: GraphQLSchema) -> Mapping[str, int]:
    """How many entries each list has at most that the schema tells of itself; of those that are no lists 1."""
    kinds = schema.type_map.values()
    fields = [one for kind in kinds if isinstance(kind, GraphQLObjectType) for one in kind.fields.values()]
    return {
        "types": len(schema.type_map),
        "directives": len(schema.directives),
        "fields": max(len(kind.fields) for kind in kinds if isinstance(kind, GraphQLObjectType)),
        "args": max(len(one.args) for one in (*fields, *schema.directives)),
        "inputFields": max((len(kind.fields) for kind in kinds if isinstance(kind, GraphQLInputObjectType)), default=1),
        "enumValues": max(len(kind.values) for kind in kinds if isinstance(kind, GraphQLEnumType)),
    }


def refusal(measure: Measure) -> GraphQLError | None:
    """The error of a query that asks for too much."""
    if measure.depth > MOST_DEEP:
        told = f"The query is {measure.depth} levels deep, and {MOST_DEEP} is the most."
        return GraphQLError(told, extensions={"code": "too_deep"})
    if measure.complexity > MOST_COMPLEX:
        told = f"The query may come to {measure.complexity} values, and {MOST_COMPLEX} is the most."
        return GraphQLError(told, extensions={"code": "too_complex"})
    if measure.told_of_schema > MOST_TOLD_OF_SCHEMA:
        told = f"The schema may tell {measure.told_of_schema} values of itself, and {MOST_TOLD_OF_SCHEMA} is the most."
        return GraphQLError(told, extensions={"code": "too_complex"})
    return None
