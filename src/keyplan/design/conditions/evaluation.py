"""Evaluation of conditions on Python values. The result is True, False, or None if it is unknown.

Values compare as DynamoDB compares attribute values. Values of different types are neither equal nor ordered, so True
does not equal 1. The float 0.1 is treated as the exact decimal number 0.1, and a timestamp without a declared storage
format is treated as a String.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from itertools import chain
from typing import Any

from keyplan.design.conditions.conditions import (
    UNKNOWN,
    AndCondition,
    BetweenCondition,
    CompareCondition,
    Condition,
    FieldPath,
    FieldSize,
    FunctionCondition,
    InCondition,
    NotCondition,
    Operand,
    OrCondition,
    UnknownValue,
)
from keyplan.design.fields.annotations import KEY_TYPES, plain_value
from keyplan.design.fields.stored import StoredField, decode_value, encode_value, is_stored_as_absent
from keyplan.design.parameters import CALL_SOURCES, Each, Param, Source, is_never_none, value_of


class MissingValue:
    """The type of MISSING, which represents a field that an item does not have."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING = MissingValue()

_NO_CONSTANT = (*CALL_SOURCES, Operand)


def with_values(condition: Condition, value: Callable[[Source], Any]) -> Condition:
    """Return a copy of a condition in which every parameter and constant, including those in paths, is replaced by the
    result of `value(parameter_or_constant)`.

    For an `each(...)`, which stands for several values, `value` returns a list.
    """
    if isinstance(condition, (AndCondition, OrCondition)):
        return type(condition)(tuple(with_values(part, value) for part in condition.parts))
    if isinstance(condition, NotCondition):
        return NotCondition(with_values(condition.part, value))
    if isinstance(condition, InCondition):
        choices = [
            value(choice) if isinstance(choice, Each) else (_with_values(choice, value),)
            for choice in condition.choices
        ]
        return InCondition(_with_values(condition.operand, value), tuple(chain.from_iterable(choices)))
    first, *rest = (_with_values(operand, value) for operand in condition.operands())
    if isinstance(condition, CompareCondition):
        return CompareCondition(condition.op, first, *rest)
    if isinstance(condition, BetweenCondition):
        return BetweenCondition(first, *rest)
    assert isinstance(condition, FunctionCondition), "all kinds of conditions are handled"
    return FunctionCondition(condition.name, first, *rest)


def fill(condition: Condition, arguments: Mapping[str, Any]) -> Condition:
    """Return a condition with its parameters replaced by the arguments of a call."""
    return with_values(condition, lambda source: value_of(source, arguments))


def _with_values(operand: Any, value: Callable[[Source], Any]) -> Any:
    if isinstance(operand, FieldPath):
        return FieldPath(*(value(part) for part in operand.parts), place=operand.place)
    return FieldSize(_with_values(operand.path, value)) if isinstance(operand, FieldSize) else value(operand)


def holds(condition: Condition | None, values: Mapping[str, Any]) -> bool | None:
    """Return True or False if the field values determine the result of a condition. Otherwise, return None.

    The value of a field can be MISSING, UNKNOWN, or a Param, whose type is known but whose value is not. Fields that
    are not in `values` are UNKNOWN. None and the empty set are treated as MISSING, because they are not stored.
    """
    if condition is None:
        return True
    return _EVALUATE[type(condition)](condition, values)


def stated_values(condition: Condition | None, fields: Mapping[str, StoredField]) -> dict[str, Any]:
    """Return the field values that a condition implies.

    These are constants from equality comparisons, and None for fields that must be absent. A field that must be absent
    is omitted if it has a default other than None, because reads would return the default.
    """
    if isinstance(condition, AndCondition):
        return {name: value for part in condition.parts for name, value in stated_values(part, fields).items()}
    path = condition.left if isinstance(condition, CompareCondition) else getattr(condition, "path", None)
    if not (isinstance(path, FieldPath) and len(path.parts) == 1):
        return {}
    if isinstance(condition, CompareCondition):
        is_constant = condition.op == "=" and not isinstance(condition.right, _NO_CONSTANT)
        return {path.field: condition.right} if is_constant else {}
    field = fields[path.field]
    must_be_missing = isinstance(condition, FunctionCondition) and condition.name == "attribute_not_exists"
    return {path.field: None} if must_be_missing and (field.optional or field.is_set) else {}


def listed_constants(condition: Condition | None) -> dict[str, tuple[Source, ...]]:
    """Map the name of each field that must equal one of several constants to these constants."""
    constants: dict[str, tuple[Source, ...]] = {}
    for part in condition.parts if isinstance(condition, AndCondition) else (condition,):
        if not isinstance(part, InCondition) or any(isinstance(choice, _NO_CONSTANT) for choice in part.choices):
            continue
        if isinstance(part.operand, FieldPath) and len(part.operand.parts) == 1:
            constants[part.operand.field] = part.choices
    return constants


def operand_value(operand: object, values: Mapping[str, Any]) -> Any:
    """Return the value of an operand, which can be MISSING or UNKNOWN. `values` maps fields to their values."""
    if isinstance(operand, FieldPath):
        value = values.get(operand.field, UNKNOWN)
        for part in operand.parts[1:]:
            value = _member(value, part)
        return MISSING if is_stored_as_absent(value) else UNKNOWN if isinstance(value, Param) else plain_value(value)
    if isinstance(operand, FieldSize):
        value = operand_value(operand.path, values)
        return value if value is MISSING or value is UNKNOWN else _size(value)
    return UNKNOWN if isinstance(operand, (Param, Each)) else plain_value(operand)


def _size(value: Any) -> Any:
    """Return the size of a value as DynamoDB's `size` function computes it: the number of UTF-16 code units in a
    string, bytes in a binary, or elements in a set, list or map.

    Return UNKNOWN for a value of any other type.
    """
    ((code, content),) = encode_value(value).items()
    if code == "S":
        return len(content.encode("utf-16-le", "surrogatepass")) // 2
    return len(content) if code in _SIZED else UNKNOWN


_SIZED = frozenset({"B", "L", "M", "SS", "NS", "BS"})


def _member(value: Any, part: object) -> Any:
    if value is None or value is MISSING:
        return MISSING
    if isinstance(value, (Param, UnknownValue)) or isinstance(part, Param):
        return UNKNOWN
    if isinstance(value, Mapping):
        return value.get(part, MISSING)
    if isinstance(value, (list, tuple)):
        return value[part] if isinstance(part, int) and part < len(value) else MISSING
    return getattr(value, str(part), MISSING)


def _evaluate_and(condition: AndCondition, values: Mapping[str, Any]) -> bool | None:
    results = [holds(part, values) for part in condition.parts]
    return False if False in results else None if None in results else True


def _evaluate_or(condition: OrCondition, values: Mapping[str, Any]) -> bool | None:
    results = [holds(part, values) for part in condition.parts]
    return True if True in results else None if None in results else False


def _evaluate_not(condition: NotCondition, values: Mapping[str, Any]) -> bool | None:
    result = holds(condition.part, values)
    return None if result is None else not result


_SAME_ORDER = frozenset({str, int, bytes, Decimal})
"""Types whose values Python compares in the same way as DynamoDB compares their attribute values."""


def _comparable(value: Any) -> tuple[str, Any]:
    """Return the type code of an attribute value, and an object that represents its content. Python compares these
    objects in the same way as DynamoDB compares the values.
    """
    ((code, content),) = encode_value(value).items()
    if code == "N":
        return code, Decimal(content)
    if code == "NS":
        return code, frozenset(map(Decimal, content))
    if code in {"SS", "BS"}:
        return code, frozenset(content)
    if code == "L":
        return code, [_comparable(plain_value(member)) for member in value]
    if code == "M":
        return code, {name: _comparable(decode_value(member)) for name, member in content.items()}
    return code, content


def _timestamps(left: Any, right: Any) -> tuple[datetime, datetime] | None:
    """Return two timestamps converted to UTC, or None if either value is not a timestamp.

    UTC is necessary because Python's comparisons ignore `fold` in the repeated hour at the end of daylight saving time.
    """
    if not (isinstance(left, datetime) and isinstance(right, datetime)) or None in {left.tzinfo, right.tzinfo}:
        return None
    return left.astimezone(UTC), right.astimezone(UTC)


def _are_equal(left: Any, right: Any) -> bool:
    if left.__class__ is right.__class__ and left.__class__ in _SAME_ORDER:
        return bool(left == right)
    first, second = _timestamps(left, right) or (_comparable(left), _comparable(right))
    return bool(first == second)


def _compare_ordered(left: Any, right: Any, compare: Callable[[Any, Any], bool]) -> bool:
    """Return `compare(left, right)` if both values are Strings, both are Numbers, or both are Binaries. Otherwise,
    return False.
    """
    if left.__class__ is right.__class__ and left.__class__ in _SAME_ORDER:
        return compare(left, right)
    timestamps = _timestamps(left, right)
    if timestamps is not None:
        return compare(*timestamps)
    (left_code, left_content), (right_code, right_content) = _comparable(left), _comparable(right)
    return left_code == right_code and left_code in KEY_TYPES and compare(left_content, right_content)


_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda left, right: bool(left < right),
    "<=": lambda left, right: bool(left <= right),
    ">": lambda left, right: bool(left > right),
    ">=": lambda left, right: bool(left >= right),
}


def _evaluate_comparison(condition: CompareCondition, values: Mapping[str, Any]) -> bool | None:
    left, right = operand_value(condition.left, values), operand_value(condition.right, values)
    if left is UNKNOWN or right is UNKNOWN:
        return None
    if left is MISSING or right is MISSING:
        return condition.op == "<>"
    if condition.op in {"=", "<>"}:
        return _are_equal(left, right) == (condition.op == "=")
    return _compare_ordered(left, right, _ORDERS[condition.op])


def _evaluate_between(condition: BetweenCondition, values: Mapping[str, Any]) -> bool | None:
    results = [operand_value(operand, values) for operand in condition.operands()]
    if any(result is UNKNOWN for result in results):
        return None
    if any(result is MISSING for result in results):
        return False
    less_or_equal = _ORDERS["<="]
    return _compare_ordered(results[1], results[0], less_or_equal) and _compare_ordered(
        results[0], results[2], less_or_equal
    )


def _evaluate_in(condition: InCondition, values: Mapping[str, Any]) -> bool | None:
    results = [operand_value(operand, values) for operand in condition.operands()]
    if results[0] is UNKNOWN:
        return None
    if results[0] is MISSING:
        return False
    known_results = [result for result in results[1:] if result is not UNKNOWN and result is not MISSING]
    return (
        True
        if any(_are_equal(results[0], result) for result in known_results)
        else None
        if UNKNOWN in results
        else False
    )


def _evaluate_function(condition: FunctionCondition, values: Mapping[str, Any]) -> bool | None:
    value = operand_value(condition.path, values)
    if condition.name in {"attribute_exists", "attribute_not_exists"}:
        if value is UNKNOWN and len(condition.path.parts) == 1 and is_never_none(values.get(condition.path.field)):
            return condition.name == "attribute_exists"
        # The field's value may come from a parameter, which can be None. The attribute is then absent.
        return None if value is UNKNOWN else (value is MISSING) == (condition.name == "attribute_not_exists")
    argument = operand_value(condition.argument, values)
    if value is UNKNOWN or argument is UNKNOWN:
        return None
    if value is MISSING or argument is MISSING:
        return False
    return _begins_with(value, argument) if condition.name == "begins_with" else _contains(value, argument)


def _begins_with(value: Any, prefix: Any) -> bool:
    (value_kind, text), (prefix_kind, start) = _comparable(value), _comparable(prefix)
    return value_kind == prefix_kind and value_kind in {"S", "B"} and bool(text.startswith(start))


def _contains(value: Any, part: Any) -> bool:
    (container_kind, container), (part_kind, content) = _comparable(value), _comparable(part)
    if container_kind == part_kind and container_kind in {"S", "B"}:
        return bool(content in container)
    if container_kind in {"SS", "NS", "BS"}:
        return container_kind[0] == part_kind and content in container
    return container_kind == "L" and (part_kind, content) in container


_EVALUATE: dict[type, Callable[[Any, Mapping[str, Any]], bool | None]] = {
    AndCondition: _evaluate_and,
    OrCondition: _evaluate_or,
    NotCondition: _evaluate_not,
    CompareCondition: _evaluate_comparison,
    BetweenCondition: _evaluate_between,
    InCondition: _evaluate_in,
    FunctionCondition: _evaluate_function,
}
