"""A writer of expressions with placeholders. An expression is built once per pattern, and its values are computed for
each call.

Every name is replaced by a placeholder, so attribute names can be reserved words. Placeholders are named after their
attribute or value, which keeps requests readable.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from enum import Enum
from itertools import count, islice
from operator import attrgetter, itemgetter
from typing import Any
from uuid import UUID

from pydantic import BaseModel

from keyplan import limits
from keyplan.design.conditions.conditions import (
    AndCondition,
    BetweenCondition,
    CompareCondition,
    Condition,
    FieldPath,
    FieldSize,
    FunctionCondition,
    InCondition,
    NotCondition,
    OrCondition,
)
from keyplan.design.fields.annotations import AttributeValue, attribute_of, plain_value, without_none
from keyplan.design.fields.stored import StoredField, encode_value, member_encoder
from keyplan.design.parameters import Each, EveryShard, Param, Source

Arguments = Mapping[str, Any]
Reader = Callable[[Arguments], Any]

WALK_VALUE = "*walked*"
"""The name of the argument that contains the current value of each(...), or the current partition key of
every_shard().
"""


def reader(source: Source) -> Reader:
    """Return a function that looks up the value of a parameter in the arguments of a call, or returns a constant."""
    if isinstance(source, (Each, EveryShard)):
        return itemgetter(WALK_VALUE)
    if not isinstance(source, Param):
        return lambda _arguments: source
    argument = itemgetter(source._name)
    if not source._path:
        return argument
    attribute = attrgetter(".".join(source._path))
    return lambda arguments: attribute(argument(arguments))


def all_values(source: Each) -> Reader:
    """Return a function that accepts the arguments of a call and returns all values of an `each(...)`.

    The function raises an error for a string, because passing a string is usually a mistake.
    """
    if not isinstance(source.values, Param):
        members = [reader(member) for member in source.values]
        return lambda arguments: tuple(read(arguments) for read in members)
    read_values = reader(source.values)

    def values(arguments: Arguments) -> tuple[Any, ...]:
        argument = read_values(arguments)
        if isinstance(argument, (str, bytes)):
            raise TypeError(f"{source!r} expects a list of values, got {argument!r}")
        return tuple(argument)

    return values


def is_argument(source: Source, name: str) -> bool:
    """Return True if the source is the parameter with this name."""
    return isinstance(source, Param) and source._name == name and not source._path


ValueMaker = Callable[[Arguments], AttributeValue]
_CLEAN = re.compile(r"[^A-Za-z0-9_]")
_NAMED_PLACEHOLDERS, _NAME_CHARACTERS = 48, 40
"""The number of placeholders in a request that are named after their attributes, and their maximum length.

DynamoDB accepts 255 characters for each placeholder, but only 4 KB for an expression, which a hundred long names
would exceed.
"""
_LISTED_CHARACTERS = 20
_MEMBER_NAMES = (str, int, Enum, UUID, date)


@dataclass(frozen=True, slots=True)
class ListedValues:
    """A list of values in an expression, such as the values of an each(...).

    The number of values is known only when the pattern is called.
    """

    marker: str
    """The marker in the text of the expression that is replaced by the placeholders of the values."""
    placeholders: tuple[str, ...]
    """A placeholder for each value, up to the maximum number of values."""
    make: Callable[[Arguments], list[AttributeValue]]


@dataclass(frozen=True, slots=True)
class Fragment:
    """Part of an expression, with the attribute names and values that it uses."""

    text: str
    names: Mapping[str, str]
    values: tuple[tuple[str, ValueMaker], ...]
    lists: tuple[ListedValues, ...] = ()
    path_parameters: tuple[tuple[str, Callable[[Arguments], Any]], ...] = ()
    """Placeholders for the path elements that are parameters, each with a function that returns the member name or list
    index.

    The placeholder of a list index starts with "[", and the index itself replaces it in the text.
    """
    has_or: bool = False
    """Whether the fragment is a condition with OR, which needs parentheses inside a longer condition."""

    def bind(self, arguments: Arguments, names: dict[str, str], values: dict[str, AttributeValue]) -> str:
        """Return the text for a call, and add the fragment's placeholders to `names` and `values`."""
        names.update(self.names)
        for placeholder, make in self.values:
            values[placeholder] = make(arguments)
        if not self.path_parameters and not self.lists:
            return self.text
        return self._resolve(arguments, names, values)

    @property
    def longest(self) -> str:
        """The longest possible text of the fragment, in which every list has its maximum length."""
        text = self.text
        for value_list in self.lists:
            text = text.replace(value_list.marker, ", ".join(value_list.placeholders))
        return text

    def _resolve(self, arguments: Arguments, names: dict[str, str], values: dict[str, AttributeValue]) -> str:
        text = self.text
        for value_list in self.lists:
            values_by_name = dict(zip(value_list.placeholders, value_list.make(arguments), strict=False))
            values.update(values_by_name)
            text = text.replace(value_list.marker, ", ".join(values_by_name))
        for placeholder, read in self.path_parameters:
            part = read(arguments)
            is_index = placeholder.startswith("[")
            if not isinstance(part, int if is_index else _MEMBER_NAMES):
                raise TypeError(f"{part!r} is {type(part).__name__}, which cannot name a member of a map or list")
            if is_index:
                text = text.replace(placeholder, f"[{part:d}]")
            else:
                names[placeholder] = str(plain_value(part))
        return text


class RequestPlaceholders:
    """The placeholders used in one request."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._used: set[str] = set()
        self._list_placeholders: set[str] = set()

    def name(self, attribute: str) -> str:
        """Return the placeholder for an attribute name."""
        if attribute not in self._names:
            self._names[attribute] = self.reserve("#" + (_CLEAN.sub("_", attribute) or "_"))
        return self._names[attribute]

    def value(self, base_name: str) -> str:
        """Return a new placeholder for a value, named after `base_name`."""
        return self.reserve(":" + (_CLEAN.sub("_", base_name) or "v"))

    def values(self, base_name: str, size: int) -> tuple[str, ...]:
        """Return `size` new placeholders for the values of a list. The placeholders are short, because a list can
        have up to 100 values.
        """
        placeholder = ":" + (_CLEAN.sub("_", base_name) or "v")[:_LISTED_CHARACTERS]
        names = (f"{placeholder}_{number}" for number in count(1))
        placeholders = tuple(islice((name for name in names if not self._is_used(name)), size))
        self._list_placeholders.update(placeholders)
        return placeholders

    def reserve(self, preferred: str) -> str:
        """Return an unused placeholder with a name derived from `preferred`, and mark it as used."""
        is_numbered = len(self._used) >= _NAMED_PLACEHOLDERS
        preferred = f"{preferred[0]}{len(self._used)}" if is_numbered else preferred[:_NAME_CHARACTERS]
        name, number = preferred, 2
        while self._is_used(name):
            name, number = f"{preferred}{number}", number + 1
        self._used.add(name)
        return name

    def _is_used(self, name: str) -> bool:
        return name in self._used or name in self._list_placeholders


class ExpressionWriter:
    """Builder of one expression fragment, which collects the attribute names and values that the fragment uses."""

    def __init__(self, placeholders: RequestPlaceholders, fields: Mapping[str, StoredField]) -> None:
        self._placeholders, self._fields = placeholders, fields
        self._names: dict[str, str] = {}
        self._values: list[tuple[str, ValueMaker]] = []
        self._lists: list[ListedValues] = []
        self._path_parameters: list[tuple[str, Callable[[Arguments], Any]]] = []

    def fragment(self, text: str, *, has_or: bool = False) -> Fragment:
        """Return a fragment with this text and the collected names and values."""
        return Fragment(
            text, self._names, tuple(self._values), tuple(self._lists), tuple(self._path_parameters), has_or
        )

    def name(self, attribute: str) -> str:
        """Return the placeholder for an attribute name."""
        placeholder = self._placeholders.name(attribute)
        self._names[placeholder] = attribute
        return placeholder

    def value(self, base_name: str, make: ValueMaker) -> str:
        """Return a placeholder, named after `base_name`, for a value that `make` computes for each call."""
        placeholder = self._placeholders.value(base_name)
        self._values.append((placeholder, make))
        return placeholder

    def source(self, base_name: str, source: Source, encode: Callable[[Any], AttributeValue]) -> str:
        """Return a placeholder for the encoded value of a parameter or constant. The placeholder is named after
        `base_name`.
        """
        return self.value(base_name, encoded_source(base_name, source, encode))

    def value_list(self, base_name: str, source: Each, encode: Callable[[Any], AttributeValue], max_values: int) -> str:
        """Return a marker for the position of the values of an each(...) in an expression.

        For each call, the placeholders of its 1 to `max_values` values replace this marker.
        """
        placeholders = self._placeholders.values(base_name, max_values)
        marker = f"[{placeholders[0]}]"
        self._lists.append(ListedValues(marker, placeholders, _encoded_list(base_name, source, encode, max_values)))
        return marker

    def path(self, path: FieldPath) -> str:
        """Return the text of the document path to a field or to a value nested in it."""
        field = self._fields[path.field]
        text, annotation = self.name(field.attribute), field.annotation
        for part in path.parts[1:]:
            step, annotation = self._step(part, annotation)
            text += step
        return text

    def _step(self, part: object, annotation: Any) -> tuple[str, Any]:
        annotation, _ = without_none(annotation)
        if isinstance(part, Param):
            return self._parameter_step(part, annotation), _member_type(annotation)
        if isinstance(part, int) and not isinstance(part, bool) and not _is_map(annotation):
            return f"[{part}]", _member_type(annotation)
        attribute, inner = _member(annotation, str(plain_value(part)))
        return f".{self.name(attribute)}", inner

    def _parameter_step(self, part: Param, annotation: Any) -> str:
        if _is_list(annotation):
            placeholder = self._placeholders.reserve(f"[{part!r}]")
            self._path_parameters.append((placeholder, reader(part)))
            return placeholder
        placeholder = self._placeholders.reserve("#" + _CLEAN.sub("_", repr(part)))
        self._path_parameters.append((placeholder, reader(part)))
        return f".{placeholder}"

    def encoder_of(self, operand: object, *, rounds_up: bool = False) -> Callable[[Any], AttributeValue]:
        """Return the encoder for values that are compared with an operand. With `rounds_up`, it rounds
        timestamps up.
        """
        if not isinstance(operand, FieldPath):
            return encode_value
        field = self._fields[operand.field]
        if len(operand.parts) > 1:
            return member_encoder(field.annotation, operand.parts[1:], rounds_up=rounds_up)
        return field.encode_rounded_up if rounds_up else field.encode

    def rounds(self, operand: object) -> bool:
        """Return True if an operand is a timestamp that is stored with less than microsecond precision.

        Timestamps that are compared with the operand must be rounded.
        """
        if not isinstance(operand, FieldPath):
            return False
        field = self._fields[operand.field]
        if len(operand.parts) > 1:
            return member_encoder(field.annotation, operand.parts[1:]) is not encode_value
        return field.stored is not None

    # Conditions.

    def condition(self, condition: Condition) -> str:
        """Return a condition as the text of a condition expression."""
        return _WRITERS[type(condition)](self, condition)

    def operand(self, operand: object, other: object, *, rounds_up: bool = False) -> str:
        """Return the text of an operand in an expression: a path, a size, or a value that is compared with `other`."""
        if isinstance(operand, FieldPath):
            return self.path(operand)
        if isinstance(operand, FieldSize):
            return f"size({self.path(operand.path)})"
        return self.source(_operand_name(other), operand, self.encoder_of(other, rounds_up=rounds_up))


def encoded_source(name: str, source: Source, encode: Callable[[Any], AttributeValue]) -> ValueMaker:
    """Return a function that encodes the value of a parameter or constant.

    The function raises ValueError for None, because None does not equal any stored value. `name` is the name of the
    value in the error message.
    """
    read = reader(source)

    def make(arguments: Arguments) -> AttributeValue:
        value = read(arguments)
        if value is None:
            raise ValueError(f"{name} is compared with None, which equals no stored value: use .exists() or .missing()")
        return encode(value)

    return make


def _encoded_list(
    name: str, source: Each, encode: Callable[[Any], AttributeValue], max_values: int
) -> Callable[[Arguments], list[AttributeValue]]:
    """Return a function that encodes the values of an each(...).

    The function raises ValueError for None, and for a list that is empty or has more than `max_values` values.
    """
    read = all_values(source)

    def make(arguments: Arguments) -> list[AttributeValue]:
        values = read(arguments)
        if not 1 <= len(values) <= max_values:
            raise ValueError(
                f"{name} is compared with {len(values)} values of {source!r}: 1 to {max_values} are allowed"
            )
        if None in values:
            raise ValueError(f"{name} is compared with None, which equals no stored value: leave it out")
        return [encode(value) for value in values]

    return make


def _operand_name(operand: object) -> str:
    if isinstance(operand, FieldSize):
        return f"{operand.path.field}_size"
    return part_name(operand.parts[-1]) if isinstance(operand, FieldPath) else "value"


def part_name(part: object) -> str:
    """Return the text that represents an element of a path in the name of a placeholder."""
    return repr(part) if isinstance(part, Param) else str(part)


def _write_comparison(writer: ExpressionWriter, condition: CompareCondition) -> str:
    # Stored values are whole units, so values below a more precise timestamp are below the next whole unit.
    left = writer.operand(condition.left, condition.right, rounds_up=condition.op in {">", "<="})
    right = writer.operand(condition.right, condition.left, rounds_up=condition.op in {"<", ">="})
    return f"{left} {condition.op} {right}"


def _write_between(writer: ExpressionWriter, condition: BetweenCondition) -> str:
    low = writer.operand(condition.low, condition.operand, rounds_up=True)
    high = writer.operand(condition.high, condition.operand)
    operand = writer.operand(condition.operand, condition.low)
    if writer.rounds(condition.operand):
        # If both bounds are within one unit, rounding reverses their order, and the service would reject BETWEEN.
        return f"{operand} >= {low} AND {operand} <= {high}"
    return f"{operand} BETWEEN {low} AND {high}"


def _write_in(writer: ExpressionWriter, condition: InCondition) -> str:
    max_values = limits.EXPRESSION_IN_OPERANDS - len(condition.choices) + 1
    operand, encode = writer.operand(condition.operand, None), writer.encoder_of(condition.operand)
    choices = ", ".join(
        writer.value_list(_operand_name(condition.operand), choice, encode, max_values)
        if isinstance(choice, Each)
        else writer.operand(choice, condition.operand)
        for choice in condition.choices
    )
    return f"{operand} IN ({choices})"


def _write_function(writer: ExpressionWriter, condition: FunctionCondition) -> str:
    path = writer.path(condition.path)
    if condition.name in {"attribute_exists", "attribute_not_exists"}:
        return f"{condition.name}({path})"
    argument = condition.argument
    if isinstance(argument, (FieldPath, FieldSize)):
        return f"{condition.name}({path}, {writer.operand(argument, condition.path)})"
    # The argument is a member or a substring, which is not encoded like the whole field.
    return f"{condition.name}({path}, {writer.source(_operand_name(condition.path), argument, encode_value)})"


def _write_and(writer: ExpressionWriter, condition: AndCondition) -> str:
    texts = [(writer.condition(part), isinstance(part, OrCondition)) for part in condition.parts]
    return " AND ".join(f"({text})" if has_or else text for text, has_or in texts)


def _write_or(writer: ExpressionWriter, condition: OrCondition) -> str:
    return " OR ".join(
        f"({writer.condition(part)})" if isinstance(part, AndCondition) else writer.condition(part)
        for part in condition.parts
    )


def _write_not(writer: ExpressionWriter, condition: NotCondition) -> str:
    return f"NOT ({writer.condition(condition.part)})"


_WRITERS: dict[type, Callable[[ExpressionWriter, Any], str]] = {
    CompareCondition: _write_comparison,
    BetweenCondition: _write_between,
    InCondition: _write_in,
    FunctionCondition: _write_function,
    AndCondition: _write_and,
    OrCondition: _write_or,
    NotCondition: _write_not,
}


# Members of a field, by its annotation.


def _is_list(annotation: Any) -> bool:
    return getattr(annotation, "__origin__", annotation) in {list, tuple}


def _is_map(annotation: Any) -> bool:
    origin = getattr(annotation, "__origin__", annotation)
    return isinstance(origin, type) and issubclass(origin, (Mapping, BaseModel))


def _member_type(annotation: Any) -> Any:
    """Return the element type of a list, or the value type of a map."""
    parts = getattr(annotation, "__args__", ())
    return parts[-1] if parts else object


def _member(annotation: Any, name: str) -> tuple[str, Any]:
    """Return the stored name and the type of the value with the key `name` in a map or nested model."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel) and name in annotation.model_fields:
        info = annotation.model_fields[name]
        return attribute_of(info).name or name, info.annotation
    return name, _member_type(annotation)
