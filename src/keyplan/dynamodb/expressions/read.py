"""Reading from an item: document paths, operands and size()."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from keyplan.dynamodb.expressions.nodes import Call, Operand, Path, Value
from keyplan.dynamodb.expressions.resolve import Names, ResolvedPath
from keyplan.dynamodb.values import sizes
from keyplan.dynamodb.values.types import AttributeValue, Item, Values

Get: TypeAlias = Callable[[Item, Values], AttributeValue | None]
"""From an item and the request's values to what an operand stands for; None where missing."""

_UNSIZED = frozenset({"N", "BOOL", "NULL"})


def compile_path(path: ResolvedPath) -> Get:
    """The closure that reads a document path; None where the item has nothing there."""
    first, rest = path[0], path[1:]
    assert isinstance(first, str)
    if not rest:
        return lambda item, _values: item.get(first)

    def get(item: Item, _values: Values) -> AttributeValue | None:
        return descend(item.get(first), rest)

    return get


def descend(value: AttributeValue | None, steps: ResolvedPath) -> AttributeValue | None:
    """What lies at the steps below a value."""
    for step in steps:
        if value is None:
            return None
        if isinstance(step, int):
            elements = value.get("L")
            value = elements[step] if elements is not None and step < len(elements) else None
        else:
            members = value.get("M")
            value = members.get(step) if members is not None else None
    return value


def compile_operand(operand: Operand, names: Names) -> Get:
    """The closure that reads an operand of a condition."""
    match operand:
        case Path():
            return compile_path(names.resolve(operand))
        case Value():
            name = operand.name
            return lambda _item, values: values[name]
        case Call():
            return _compile_size(operand, names)


def _compile_size(call: Call, names: Names) -> Get:
    get = compile_operand(call.operands[0], names)

    def size(item: Item, values: Values) -> AttributeValue | None:
        value = get(item, values)
        length = None if value is None else size_of(value)
        return None if length is None else {"N": str(length)}

    return size


def size_of(value: AttributeValue) -> int | None:
    """What size() gives: UTF-16 units of a string, bytes of a binary, members of the others.

    None for types without a size. Source: developer guide, "Comparison operator and function
    reference"; the unit of strings as in the service's downloadable version.
    """
    ((type_code, content),) = value.items()
    if type_code in _UNSIZED:
        return None
    if type_code == "B":
        return sizes.binary_bytes(content)
    if type_code == "S" and not content.isascii():
        return len(content.encode("utf-16-le", "surrogatepass")) // 2
    return len(content)
