"""A typed builder of expressions: conditions, updates and projections without writing text.

    from keyplan.expressions.build import F

    built = (F("owner").exists() & (F("stock") >= 3)).build()
    built.expression   # "attribute_exists(#n0) AND #n1 >= :v0"
    built.names        # {"#n0": "owner", "#n1": "stock"}
    built.values       # {":v0": {"N": "3"}}

Every name goes behind a placeholder, so none can be a reserved word or hold a dot by accident.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from keyplan.expressions import nodes
from keyplan.expressions.placeholders import Built, Placeholders, Plain
from keyplan.expressions.render import (
    render_condition,
    render_projection,
    render_update,
)


class Operand(ABC):
    """Something to compare: a field, its size, or a value to be set.

    == and != give conditions too, so operands are never equal to one another and have no hash.
    """

    @abstractmethod
    def node(self, placeholders: Placeholders) -> nodes.Operand:
        """The tree of it, with its placeholders taken."""

    # The type of object.__eq__ is bool; a condition is what == means between operands.
    def __eq__(self, other: Operand | Plain) -> Condition:  # type: ignore[override]
        return _Comparison("=", self, other)

    def __ne__(self, other: Operand | Plain) -> Condition:  # type: ignore[override]
        return _Comparison("<>", self, other)

    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, other: Operand | Plain) -> Condition:
        return _Comparison("<", self, other)

    def __le__(self, other: Operand | Plain) -> Condition:
        return _Comparison("<=", self, other)

    def __gt__(self, other: Operand | Plain) -> Condition:
        return _Comparison(">", self, other)

    def __ge__(self, other: Operand | Plain) -> Condition:
        return _Comparison(">=", self, other)

    def __add__(self, other: Operand | Plain) -> Sum:
        return Sum("+", self, other)

    def __sub__(self, other: Operand | Plain) -> Sum:
        return Sum("-", self, other)

    def between(self, lower: Operand | Plain, upper: Operand | Plain) -> Condition:
        """From lower to upper, both included."""
        return _Between(self, lower, upper)

    def is_in(self, *choices: Operand | Plain) -> Condition:
        """Equal to one of up to 100 choices."""
        return _In(self, choices)


def _operand(value: Operand | Plain, placeholders: Placeholders) -> nodes.Operand:
    if isinstance(value, Operand):
        return value.node(placeholders)
    return placeholders.value(value)


class F(Operand):
    """A field: an attribute, or with more parts or indexing what lies in a document."""

    def __init__(self, *parts: str | int) -> None:
        if not parts or not isinstance(parts[0], str):
            raise TypeError("a field begins with the name of an attribute")
        self.parts = parts

    def __getitem__(self, part: str | int) -> F:
        return F(*self.parts, part)

    def node(self, placeholders: Placeholders) -> nodes.Path:
        """The path of the field."""
        return placeholders.path(self.parts)

    def exists(self) -> Condition:
        """Whether the item has it."""
        return _Function("attribute_exists", (self,))

    def not_exists(self) -> Condition:
        """Whether the item lacks it."""
        return _Function("attribute_not_exists", (self,))

    def has_type(self, type_code: str) -> Condition:
        """Whether it is of a type: S, N, B, SS, NS, BS, BOOL, NULL, L or M."""
        return _Function("attribute_type", (self, type_code))

    def begins_with(self, prefix: Operand | str | bytes) -> Condition:
        """Whether a string or binary begins so."""
        return _Function("begins_with", (self, prefix))

    def contains(self, part: Operand | Plain) -> Condition:
        """Whether a string or binary holds a part, or a set or list a member."""
        return _Function("contains", (self, part))

    def size(self) -> Operand:
        """Its size, a number: see the service's size function."""
        return _Call("size", (self,))

    def if_not_exists(self, otherwise: Operand | Plain) -> Operand:
        """What it holds, or otherwise this; for updates."""
        return _Call("if_not_exists", (self, otherwise))

    def append(self, elements: Operand | Plain) -> Operand:
        """The list with these elements behind it; for updates."""
        return _Call("list_append", (self, elements))


class _Call(Operand):
    def __init__(self, function: str, operands: tuple[Operand | Plain, ...]) -> None:
        self._function = function
        self._operands = operands

    def node(self, placeholders: Placeholders) -> nodes.Call:
        operands = tuple(_operand(operand, placeholders) for operand in self._operands)
        return nodes.Call(self._function, operands)


@dataclass(frozen=True, slots=True, eq=False)
class Sum:
    """A sum or difference of two operands, to be set."""

    operator: str
    left: Operand | Plain
    right: Operand | Plain

    def node(self, placeholders: Placeholders) -> nodes.Arithmetic:
        """The tree of it, with its placeholders taken."""
        left, right = _operand(self.left, placeholders), _operand(self.right, placeholders)
        return nodes.Arithmetic(self.operator, left, right)


class Condition(ABC):
    """A condition; joined by & and |, turned around by ~."""

    @abstractmethod
    def node(self, placeholders: Placeholders) -> nodes.Condition:
        """The tree of it, with its placeholders taken."""

    def __bool__(self) -> bool:
        raise TypeError("a condition has no truth value: join with & and |, turn around with ~")

    def build(self, placeholders: Placeholders | None = None) -> Built:
        """The expression. Placeholders of other expressions of the request are kept apart."""
        taken = Placeholders() if placeholders is None else placeholders
        return Built(render_condition(self.node(taken)), taken.names, taken.values)

    def __and__(self, other: Condition) -> Condition:
        return _Joined(nodes.And, (self, other))

    def __or__(self, other: Condition) -> Condition:
        return _Joined(nodes.Or, (self, other))

    def __invert__(self) -> Condition:
        return _Inverted(self)


@dataclass(frozen=True, slots=True, eq=False)
class _Comparison(Condition):
    operator: str
    left: Operand
    right: Operand | Plain

    def node(self, placeholders: Placeholders) -> nodes.Condition:
        left = self.left.node(placeholders)
        return nodes.Compare(self.operator, left, _operand(self.right, placeholders))


@dataclass(frozen=True, slots=True, eq=False)
class _Between(Condition):
    operand: Operand
    lower: Operand | Plain
    upper: Operand | Plain

    def node(self, placeholders: Placeholders) -> nodes.Condition:
        operand = self.operand.node(placeholders)
        lower = _operand(self.lower, placeholders)
        return nodes.Between(operand, lower, _operand(self.upper, placeholders))


@dataclass(frozen=True, slots=True, eq=False)
class _In(Condition):
    operand: Operand
    choices: tuple[Operand | Plain, ...]

    def node(self, placeholders: Placeholders) -> nodes.Condition:
        operand = self.operand.node(placeholders)
        choices = tuple(_operand(choice, placeholders) for choice in self.choices)
        return nodes.In(operand, choices)


@dataclass(frozen=True, slots=True, eq=False)
class _Function(Condition):
    function: str
    operands: tuple[Operand | Plain, ...]

    def node(self, placeholders: Placeholders) -> nodes.Condition:
        operands = tuple(_operand(operand, placeholders) for operand in self.operands)
        return nodes.Call(self.function, operands)


@dataclass(frozen=True, slots=True, eq=False)
class _Joined(Condition):
    kind: type[nodes.And | nodes.Or]
    conditions: tuple[Condition, ...]

    def node(self, placeholders: Placeholders) -> nodes.Condition:
        joined: list[nodes.Condition] = []
        for condition in self.conditions:
            part = condition.node(placeholders)
            # a & b & c is one conjunction of three, as in text without parentheses.
            joined.extend(part.conditions if isinstance(part, self.kind) else (part,))
        return self.kind(tuple(joined))


@dataclass(frozen=True, slots=True, eq=False)
class _Inverted(Condition):
    condition: Condition

    def node(self, placeholders: Placeholders) -> nodes.Condition:
        return nodes.Not(self.condition.node(placeholders))


@dataclass(frozen=True, slots=True, eq=False)
class Update:
    """An update: each method gives a new one with an action more."""

    actions: tuple[tuple[str, F, Operand | Sum | Plain], ...] = ()

    def set(self, target: F, value: Operand | Sum | Plain) -> Update:
        """SET: the field will hold the value, read from the item as it was before."""
        return self._with("SET", target, value)

    def remove(self, target: F) -> Update:
        """REMOVE: the field will be gone."""
        return self._with("REMOVE", target, None)

    def add(self, target: F, value: Plain) -> Update:
        """ADD: a number to a number, a set to a set, either to nothing."""
        return self._with("ADD", target, value)

    def delete(self, target: F, members: Plain) -> Update:
        """DELETE: these members from a set."""
        return self._with("DELETE", target, members)

    def _with(self, keyword: str, target: F, value: Operand | Sum | Plain) -> Update:
        return Update((*self.actions, (keyword, target, value)))

    def build(self, placeholders: Placeholders | None = None) -> Built:
        """The expression. Raises ValueError for an update that does nothing."""
        if not self.actions:
            raise ValueError("an update needs at least one action")
        taken = Placeholders() if placeholders is None else placeholders
        clauses: dict[str, list[nodes.Action]] = {}
        for keyword, target, value in self.actions:
            clauses.setdefault(keyword, []).append(_action(keyword, target, value, taken))
        update = nodes.Update(tuple(nodes.Clause(keyword, tuple(actions)) for keyword, actions in clauses.items()))
        return Built(render_update(update), taken.names, taken.values)


def _action(keyword: str, target: F, value: Operand | Sum | Plain, placeholders: Placeholders) -> nodes.Action:
    path = target.node(placeholders)
    if keyword == "REMOVE":
        return nodes.RemoveAction(path)
    if isinstance(value, Sum):
        return nodes.SetAction(path, value.node(placeholders))
    if keyword == "SET":
        return nodes.SetAction(path, _operand(value, placeholders))
    if isinstance(value, Operand):
        raise TypeError(f"{keyword} takes a value, not a field")
    kind = nodes.AddAction if keyword == "ADD" else nodes.DeleteAction
    return kind(path, placeholders.value(value))


def projection(*fields: F, placeholders: Placeholders | None = None) -> Built:
    """A projection of these fields. Raises ValueError without any."""
    if not fields:
        raise ValueError("a projection needs at least one field")
    taken = Placeholders() if placeholders is None else placeholders
    paths = tuple(target.node(taken) for target in fields)
    return Built(render_projection(nodes.Projection(paths)), taken.names, taken.values)
