"""Conditions on the fields of an entity, such as `F.status == "open"`, combined with &, | and ~.

A condition is a syntax tree. It is rendered as a condition expression (`requests.writer`), evaluated on Python values
(`conditions.evaluation`), and inspected by checks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from enum import Enum
from itertools import chain
from typing import Any, Literal, NoReturn, get_origin
from uuid import UUID

from keyplan import limits
from keyplan.design.arguments import check_count, shorten
from keyplan.design.errors import UNKNOWN_PLACE, Place, calling_place, refuse
from keyplan.design.fields.annotations import without_none
from keyplan.design.parameters import Each, Param, Source, annotation_of


class UnknownValue:
    """The type of UNKNOWN, which represents a field value that is not known when a condition is evaluated."""

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = UnknownValue()


class Condition:
    """A Boolean condition on an item."""

    def __and__(self, other: Condition) -> Condition:
        return AndCondition((*_parts(AndCondition, self), *_parts(AndCondition, _condition(other))))

    def __or__(self, other: Condition) -> Condition:
        return OrCondition((*_parts(OrCondition, self), *_parts(OrCondition, _condition(other))))

    def __invert__(self) -> Condition:
        return NotCondition(self)

    def __bool__(self) -> bool:  # noqa: PLE0304 - it never returns
        refuse(
            "a condition has no truth value: the service evaluates it for each item",
            "join conditions with &, | and ~ instead of and, or and not; write F.x.between(a, b) for a <= x <= b",
        )

    def operands(self) -> tuple[Any, ...]:
        """Return the operands: field paths, sizes, values and nested conditions."""
        raise NotImplementedError


def _condition(other: object) -> Condition:
    """Return an operand of &, | or ~ unchanged. Raises DesignError if the operand is not a condition.

    A typical mistake is a key condition as an operand, or a comparison without parentheses.
    """
    if not isinstance(other, Condition):
        refuse(
            f"a condition on fields is combined with {other!r}",
            "put each comparison in parentheses, and pass the condition to .filter(...) or .condition(...)",
        )
    return other


def _parts(kind: type[AndCondition] | type[OrCondition], condition: Condition) -> tuple[Condition, ...]:
    return condition.parts if isinstance(condition, kind) else (condition,)


class Operand:
    """An operand of a comparison: the path of a field, or the size of a field."""

    # Comparisons return a condition, although object.__eq__ is declared to return bool.
    def __eq__(self, other: object) -> Condition:  # type: ignore[override]
        return CompareCondition("=", self, _not_none(other, "missing"))

    def __ne__(self, other: object) -> Condition:  # type: ignore[override]
        return CompareCondition("<>", self, _not_none(other, "exists"))

    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, other: object) -> Condition:
        return CompareCondition("<", self, other)

    def __le__(self, other: object) -> Condition:
        return CompareCondition("<=", self, other)

    def __gt__(self, other: object) -> Condition:
        return CompareCondition(">", self, other)

    def __ge__(self, other: object) -> Condition:
        return CompareCondition(">=", self, other)

    def __and__(self, other: object) -> NoReturn:
        refuse(
            "& and | bind more tightly than a comparison: this combines a value with a field",
            'put each comparison in parentheses: (F.status == "open") & (F.points > 3)',
        )

    __rand__ = __or__ = __ror__ = __and__

    def between(self, low: object, high: object) -> Condition:
        """Return a condition that is true if the operand is between low and high, inclusive."""
        return BetweenCondition(self, low, high)

    def is_in(self, *choices: object) -> Condition:
        """Return a condition that is true if the operand equals one of up to 100 values.

        Pass the values as arguments, or pass a list parameter as `each(values)`.
        """
        _check_not_list("is_in", choices)
        values = tuple(chain.from_iterable(map(_choices_in, choices)))
        if sum(isinstance(choice, Each) for choice in values) > 1:
            fix = "combine two conditions: F.x.is_in(each(some)) | F.x.is_in(each(others))"
            refuse("is_in is called with two lists of values", fix)
        check_count("is_in", len(values), limits.EXPRESSION_IN_OPERANDS)
        return InCondition(self, values)


def _choices_in(choice: object) -> tuple[object, ...]:
    """Return the constants in an `each(...)` of constants. For any other choice, return a tuple that contains only this
    choice.
    """
    return choice.values if isinstance(choice, Each) and isinstance(choice.values, tuple) else (choice,)


def _not_none(value: object, method: str) -> object:
    if value is None:
        refuse(
            "a condition compares a field with None, which is stored as an absent attribute and equals nothing",
            f"write F.field.{method}()",
        )
    return value


class FieldPath(Operand):
    """A path to a field or to a value nested in it, such as F.address, F.address["city"] or F.scores[0]."""

    def __init__(self, *parts: object, place: Place = UNKNOWN_PLACE) -> None:
        self.parts, self.place = parts, place

    @property
    def field(self) -> str:
        """The name of the field at the start of the path."""
        return str(self.parts[0])

    def __getitem__(self, part: object) -> FieldPath:
        _check_path_part(self, part)
        return FieldPath(*self.parts, part, place=self.place)

    def __iter__(self) -> NoReturn:
        problem = f"{self!r} is iterated over, but only the service knows its content"
        fix = "write F.tags.contains(part), or F.scores[0] for a position in a list"
        refuse(problem, fix)

    def __repr__(self) -> str:
        return f"F.{self.field}" + "".join(f"[{part!r}]" for part in self.parts[1:])

    def exists(self) -> Condition:
        """Return a condition that matches items with this attribute."""
        return FunctionCondition("attribute_exists", self)

    def missing(self) -> Condition:
        """Return a condition that matches items without this attribute."""
        return FunctionCondition("attribute_not_exists", self)

    def begins_with(self, prefix: object) -> Condition:
        """Return a condition that matches strings or binaries that start with a prefix."""
        return FunctionCondition("begins_with", self, prefix)

    def contains(self, part: object) -> Condition:
        """Return a condition that matches strings that contain a given substring, and sets or lists that contain a
        given element.
        """
        return FunctionCondition("contains", self, part)

    def size(self) -> Operand:
        """Return an operand for the field's size, as computed by DynamoDB's `size` function."""
        return FieldSize(self)


@dataclass(frozen=True, eq=False)
class FieldSize(Operand):
    """The size of a field, used as an operand: the number of characters in a string, bytes in a binary, or elements in
    a set, list or map.
    """

    path: FieldPath


@dataclass(frozen=True, eq=False)
class CompareCondition(Condition):
    """A comparison of two operands with an operator."""

    op: Literal["=", "<>", "<", "<=", ">", ">="]
    left: Operand
    right: object

    def operands(self) -> tuple[Any, ...]:
        """Return the left and right operands."""
        return (self.left, self.right)


@dataclass(frozen=True, eq=False)
class BetweenCondition(Condition):
    """A condition that tests whether an operand is between two bounds, inclusive."""

    operand: Operand
    low: object
    high: object

    def operands(self) -> tuple[Any, ...]:
        """Return the compared operand and the two bounds."""
        return (self.operand, self.low, self.high)


@dataclass(frozen=True, eq=False)
class InCondition(Condition):
    """A condition that tests whether an operand equals one of several choices.

    An `each(...)` of a list parameter is a single choice that stands for all values in the list.
    """

    operand: Operand
    choices: tuple[object, ...]

    def operands(self) -> tuple[Any, ...]:
        """Return the compared operand and the choices."""
        return (self.operand, *self.choices)


FunctionName = Literal["attribute_exists", "attribute_not_exists", "begins_with", "contains"]


@dataclass(frozen=True, eq=False)
class FunctionCondition(Condition):
    """A condition that applies a function, such as begins_with, to a field path."""

    name: FunctionName
    path: FieldPath
    argument: object = UNKNOWN

    def operands(self) -> tuple[Any, ...]:
        """Return the path, and the argument if the function has one."""
        return (self.path,) if self.argument is UNKNOWN else (self.path, self.argument)


@dataclass(frozen=True, eq=False)
class AndCondition(Condition):
    """A condition that is true if all of its operands are true."""

    parts: tuple[Condition, ...]

    def operands(self) -> tuple[Any, ...]:
        """Return the joined conditions."""
        return self.parts


@dataclass(frozen=True, eq=False)
class OrCondition(Condition):
    """A condition that is true if at least one of its operands is true."""

    parts: tuple[Condition, ...]

    def operands(self) -> tuple[Any, ...]:
        """Return the joined conditions."""
        return self.parts


@dataclass(frozen=True, eq=False)
class NotCondition(Condition):
    """The negation of a condition."""

    part: Condition

    def __invert__(self) -> Condition:
        return self.part

    def operands(self) -> tuple[Any, ...]:
        """Return the negated condition."""
        return (self.part,)


class _Fields:
    """Namespace of fields: `F.name` and `F["name"]` both refer to the field `name`."""

    def __getattr__(self, name: str) -> FieldPath:
        if name.startswith("__"):
            raise AttributeError(name)
        return FieldPath(name, place=calling_place())

    def __getitem__(self, name: str) -> FieldPath:
        return FieldPath(name, place=calling_place())


F = _Fields()


def paths_of(condition: Condition | None) -> Iterator[FieldPath]:
    """Yield every field path in a condition."""
    for operand in _leaf_operands(condition):
        if isinstance(operand, FieldPath):
            yield operand


def equal_fields(condition: Condition | None) -> set[str]:
    """Return the names of the fields that a condition compares for equality, either directly or in one of the
    conditions that it combines with &.
    """
    parts = condition.parts if isinstance(condition, AndCondition) else (condition,)
    return {
        part.left.field
        for part in parts
        if isinstance(part, CompareCondition)
        and part.op == "="
        and isinstance(part.left, FieldPath)
        and len(part.left.parts) == 1
    }


def sources_of(condition: Condition | None) -> Iterator[Source]:
    """Yield every constant and parameter in a condition."""
    for operand in _leaf_operands(condition):
        if not isinstance(operand, FieldPath):
            yield operand


def _leaf_operands(condition: Condition | None) -> Iterator[Any]:
    for operand in condition.operands() if condition is not None else ():
        if isinstance(operand, Condition):
            yield from _leaf_operands(operand)
        elif isinstance(operand, FieldSize):
            yield operand.path
        else:
            yield operand.values if isinstance(operand, Each) and isinstance(condition, InCondition) else operand


def _check_not_list(method: str, values: tuple[object, ...]) -> None:
    """Raise DesignError if `values` consists of a single list, because a comparison with a list is never true.

    `method` is the name of the called method.
    """
    if len(values) != 1:
        return
    (value,) = values
    kind, _ = without_none(annotation_of(value)) if isinstance(value, Param) else (type(value), False)
    if (get_origin(kind) or kind) in _LISTS:
        problem = f"{method} is called with {shorten(value)}, a list instead of its members: no field equals it"
        fix = f"write {method}(each(values)) for a parameter that is a list, or pass each value as an argument"
        refuse(problem, fix)


_LISTS = (list, tuple, set, frozenset, Sequence, Collection, Iterable)


def _check_path_part(path: object, part: object) -> None:
    if isinstance(part, (str, Param, Enum, UUID, date)) or (type(part) is int and part >= 0):
        return
    refuse(
        f"{path!r}[{part!r}] is not a path",
        'name a key of the map, F.scores["technical"], or a position in the list, F.scores[0]',
    )


def join_conditions(first: Condition | None, second: Condition | None) -> Condition | None:
    """Return the conjunction of two conditions. If one of them is None, return the other one."""
    return second if first is None else first if second is None else first & second


def check_condition(condition: Condition, method: str) -> Condition:
    """Return a condition unchanged, or raise DesignError if it is not a condition on fields.

    `method` is the name of the method that received the condition as an argument.
    """
    if not isinstance(condition, Condition):
        refuse(
            f"{method}({condition!r}) is not a condition on fields",
            f"write {method}(F.field == value), or another comparison of F.field",
        )
    return condition
