"""Where the types of updated attributes come from, as far as that is known without an item.

The service looks at these types before the item: an index key that would get another is refused at once.
"""

from __future__ import annotations

from collections.abc import Iterable

from keyplan.dynamodb.expressions.nodes import Action, AddAction, Arithmetic, Call, DeleteAction, SetAction, Value
from keyplan.dynamodb.expressions.resolve import Names


def sources_of(actions: Iterable[Action], names: Names) -> tuple[tuple[str, str], ...]:
    """Top-level attributes with a type, or with the placeholder of a value that has it."""
    sources: list[tuple[str, str]] = []
    for action in actions:
        path = names.resolve(action.path)
        source = _source(action)
        if len(path) == 1 and source is not None:
            sources.append((str(path[0]), source))
    return tuple(sources)


def _source(action: Action) -> str | None:
    match action:
        case SetAction(value=Value(name=name)):
            return name
        case AddAction() | DeleteAction():
            return action.value.name
        case SetAction(value=Arithmetic()):
            return "N"
        case SetAction(value=Call(function="list_append")):
            return "L"
    return None
