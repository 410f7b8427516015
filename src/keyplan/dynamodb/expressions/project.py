"""Applying a projection: the parts of an item that a set of document paths names.

The result keeps the item's structure; elements of a list close up in the order of their indexes.
Values are shared with the item, never copied. What a path names but the item lacks is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from keyplan.dynamodb.expressions.resolve import ResolvedPath
from keyplan.dynamodb.values.types import AttributeValue, Item

Apply: TypeAlias = Callable[[Item], Item]
_Tree: TypeAlias = dict[Any, Any]  # a name or index to the tree below it, {} for a whole value


def compile_projection(paths: Sequence[ResolvedPath]) -> Apply:
    """The closure that projects an item; the paths must not overlap."""
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
    """The tree with the elements of lists in order."""
    items = [(part, _by_index(below)) for part, below in tree.items()]
    if items and all(isinstance(part, int) for part, _ in items):
        items.sort()
    return dict(items)


def _project_members(members: dict[str, AttributeValue], tree: _Tree) -> dict[str, AttributeValue]:
    found: dict[str, AttributeValue] = {}
    for name, below in tree.items():
        value = members.get(name)
        if value is not None:
            part = _project_value(value, below) if below else value
            if part is not None:
                found[name] = part
    return found


def _project_value(value: AttributeValue, tree: _Tree) -> AttributeValue | None:
    """The part of a value below the tree; None when there is nothing."""
    if "M" in value:
        members = _project_members(value["M"], tree)
        return {"M": members} if members else None
    if "L" not in value:
        return None
    elements = value["L"]
    found = []
    for index, below in tree.items():
        if isinstance(index, int) and index < len(elements):
            part = _project_value(elements[index], below) if below else elements[index]
            if part is not None:
                found.append(part)
    return {"L": found} if found else None
