"""How much one query may ask for: how deep it goes, and how many values it can come to.

A field counts one; what lies below a list counts once for every entry that may come, by the list's `first` or the
most it can have. Fragments are measured once, however often they are used, so that measuring is never
more work than reading the query.
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
    GraphQLError,
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

_LISTS: Final[Mapping[str, int]] = {
    "availability": 62,
    "eventsOn": 3,
    "myBookings": FIRST,
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


@dataclass
class _Measuring:
    fragments: Mapping[str, FragmentDefinitionNode]
    variables: Mapping[str, Any]
    known: dict[str, Measure] = field(default_factory=dict)

    def selection(self, selected: SelectionSetNode | None) -> Measure:
        if selected is None:
            return Measure()
        parts = [self._part(node) for node in selected.selections]
        return Measure(max((part.depth for part in parts), default=0), sum(part.complexity for part in parts))

    def _part(self, node: object) -> Measure:
        if isinstance(node, FieldNode):
            return self._field(node)
        if isinstance(node, InlineFragmentNode):
            return self.selection(node.selection_set)
        assert isinstance(node, FragmentSpreadNode), "there is no other kind of selection"
        name = node.name.value
        if name not in self.known:
            self.known[name] = Measure()  # while it is measured: one that leads to itself is refused elsewhere
            fragment = self.fragments.get(name)
            self.known[name] = self.selection(None if fragment is None else fragment.selection_set)
        return self.known[name]

    def _field(self, node: FieldNode) -> Measure:
        name = node.name.value
        if name.startswith("__"):
            return Measure()  # what the schema says of itself is no load on anything
        below = self.selection(node.selection_set)
        return Measure(below.depth + 1, 1 + self._entries(node, name) * below.complexity)

    def _entries(self, node: FieldNode, name: str) -> int:
        for argument in node.arguments or ():
            if argument.name.value == "first":
                return self._number(argument.value, name)
        return _LISTS.get(name, 1)

    def _number(self, value: object, name: str) -> int:
        if isinstance(value, VariableNode):
            given = self.variables.get(value.name.value)
            return min(max(given, 1), MOST_LISTED) if isinstance(given, int) else MOST_LISTED
        if isinstance(value, IntValueNode):
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
            measuring = _Measuring(fragments, variables)
            for one in node.definitions:
                if isinstance(one, OperationDefinitionNode):
                    error = refusal(measuring.selection(one.selection_set))
                    if error is not None:
                        self.report_error(error)

    return LimitsRule


def refusal(measure: Measure) -> GraphQLError | None:
    """The error of a query that asks for too much."""
    if measure.depth > MOST_DEEP:
        told = f"The query is {measure.depth} levels deep, and {MOST_DEEP} is the most."
        return GraphQLError(told, extensions={"code": "too_deep"})
    if measure.complexity > MOST_COMPLEX:
        told = f"The query may come to {measure.complexity} values, and {MOST_COMPLEX} is the most."
        return GraphQLError(told, extensions={"code": "too_complex"})
    return None
