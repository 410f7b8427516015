"""Values as the service shows them in messages: in the manner of Java's toString."""

from __future__ import annotations

from typing import Any

import orjson

from keyplan.dynamodb.shapes.model import AttributeValue, Blob, Boolean, List, Map, Shape, Structure
from keyplan.dynamodb.shapes.order import camel
from keyplan.dynamodb.shapes.wire import NAMED_VALUES, VALUE_MEMBERS, VALUES
from keyplan.dynamodb.values.encoding import binary_text

_VALUE_ORDER = ("S", "N", "B", "INT", "DECIMAL", "DOUBLE", "SS", "NS", "BS", "INTSET", "DECIMALSET", "DOUBLESET")
_VALUE_ORDER_LAST = ("M", "L", "NULL", "BOOL")
_DEEPEST = 40  # deeper values are cut off: the service's own limit is 32, and messages are for people


def shown(shape: Shape, content: Any) -> str:
    """The value as it stands in a message: "null", or rendered and in quotes."""
    return "null" if content is None else f"'{render(shape, content)}'"


def render(shape: Shape, content: Any, level: int = 0) -> str:
    """The value in the service's manner."""
    if content is None:
        return "null"
    match shape:
        case Map():
            return _map(shape, content, level)
        case List():
            return f"[{', '.join(render(shape.element, inner, level) for inner in content)}]"
        case Structure():
            return _structure(shape, content, level)
        case AttributeValue():
            return _value(content, level + 1)
        case Blob():
            return _blob(content)
        case Boolean():
            return "true" if content else "false"
        case _:
            return str(content)


def _map(shape: Map, content: dict[str, Any], level: int) -> str:
    if shape.json_echo:
        return _json(content)
    entries = (f"{key}={render(shape.value, inner, level)}" for key, inner in content.items())
    return f"{{{', '.join(entries)}}}"


def _structure(shape: Structure, content: dict[str, Any], level: int) -> str:
    members = (f"{camel(name)}={render(inner, content.get(name), level)}" for name, inner in shape.members.items())
    return f"{shape.name}({', '.join(members)})"


def _value(content: dict[str, Any], level: int) -> str:
    if level > _DEEPEST:
        return "AttributeValue(...)"
    members = []
    for kind in _VALUE_ORDER + _VALUE_ORDER_LAST:
        shape = VALUE_MEMBERS.get(kind)
        inner = content.get(kind) if shape is not None else None
        text = "null" if shape is None or inner is None else _member(shape, inner, level)
        members.append(f"{camel(kind)}={text}")
    return f"AttributeValue({', '.join(members)})"


def _member(shape: Shape, inner: Any, level: int) -> str:
    if shape is VALUES:
        return f"[{', '.join('null' if one is None else _value(one, level + 1) for one in inner)}]"
    if shape is NAMED_VALUES:
        entries = (f"{key}={'null' if one is None else _value(one, level + 1)}" for key, one in inner.items())
        return f"{{{', '.join(entries)}}}"
    return render(shape, inner, level)


def _blob(content: Any) -> str:
    # Base64 text in JSON; in a call from Python text stands for itself, where this length is not exact.
    length = len(content.rstrip("=")) * 3 // 4 if isinstance(content, str) else len(content)
    return f"java.nio.HeapByteBuffer[pos=0 lim={length} cap={length}]"


def _json(content: Any) -> str:
    """Compact JSON; binary of a call in Python as base64 text."""
    try:
        return orjson.dumps(content, default=binary_text).decode()
    except orjson.JSONEncodeError:
        # Nested deeper than orjson follows: nobody reads such an echo.
        return "..."
