"""Access to the content of an item: document paths, operands, size() and projections."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from keyplan.dynamodb.expressions.names import Names, ResolvedPath
from keyplan.dynamodb.expressions.nodes import Call, Operand, Path, Value
from keyplan.dynamodb.values import attribute
from keyplan.dynamodb.values.types import AttributeValue, Item, Values

Get: TypeAlias = Callable[[Item, Values], AttributeValue | None]
"""A function that returns the value of an operand, given an item and the values of a request. The function returns None
if the operand does not have a value.
"""

_UNSIZED = frozenset({"N", "BOOL", "NULL"})


def compile_path(path: ResolvedPath) -> Get:
    """Return a closure that reads the value at a document path of an item. The closure returns None if the path does
    not exist in the item.
    """
    first, rest = path[0], path[1:]
    assert isinstance(first, str)
    if not rest:
        return lambda item, _values: item.get(first)

    def get(item: Item, _values: Values) -> AttributeValue | None:
        return descend(item.get(first), rest)

    return get


def descend(value: AttributeValue | None, steps: ResolvedPath) -> AttributeValue | None:
    """Return the value at a path inside another value, or None if the path does not exist."""
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
    """Return a closure that computes the value of a condition's operand."""
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
    """Return the result of size() for a value, or None for types without a size.

    The size is the number of UTF-16 code units in a string, bytes in a binary value, or elements in a set, list or map.
    Source: developer guide, "Comparison operator and function reference". DynamoDB local counts a string in UTF-16 code
    units.
    """
    ((type_code, content),) = value.items()
    if type_code in _UNSIZED:
        return None
    if type_code == "B":
        return attribute.binary_bytes(content)
    if type_code == "S" and not content.isascii():
        return len(content.encode("utf-16-le", "surrogatepass")) // 2
    return len(content)


Apply: TypeAlias = Callable[[Item], Item]
_Tree: TypeAlias = dict[Any, Any]  # a name or index to the tree below it, {} for a whole value


def compile_paths(paths: Sequence[ResolvedPath]) -> Apply:
    """Return a closure that reduces an item to the values at the given document paths, which must not overlap.

    The reduced item keeps the structure of the item. Selected elements of a list are adjacent, in the order of their
    indexes. Values are shared with the item. Paths that do not exist in the item are omitted.
    """
    tree: _Tree = {}
    for path in paths:
        branch = tree
        for part in path:
            branch = branch.setdefault(part, {})
    if all(not below for below in tree.values()):
        attributes = list(tree)

        def pick(item: Item) -> Item:
            return {name: item[name] for name in attributes if name in item}

        return pick
    tree = _by_index(tree)

    def project(item: Item) -> Item:
        return _project_members(item, tree)

    return project


def _by_index(tree: _Tree) -> _Tree:
    """Return a copy of a tree of paths in which list elements are sorted by index."""
    items = [(part, _by_index(below)) for part, below in tree.items()]
    if items and all(isinstance(part, int) for part, _ in items):
        items.sort()
    return dict(items)


def _project_members(members: dict[str, AttributeValue], tree: _Tree) -> dict[str, AttributeValue]:
    projected: dict[str, AttributeValue] = {}
    for name, below in tree.items():
        value = members.get(name)
        if value is not None:
            part = _project_value(value, below) if below else value
            if part is not None:
                projected[name] = part
    return projected


def _project_value(value: AttributeValue, tree: _Tree) -> AttributeValue | None:
    """Return the parts of a value that a tree of paths selects, or None if none of the paths exists in the value."""
    if "M" in value:
        members = _project_members(value["M"], tree)
        return {"M": members} if members else None
    if "L" not in value:
        return None
    elements = value["L"]
    projected = []
    for index, below in tree.items():
        if isinstance(index, int) and index < len(elements):
            part = _project_value(elements[index], below) if below else elements[index]
            if part is not None:
                projected.append(part)
    return {"L": projected} if projected else None
