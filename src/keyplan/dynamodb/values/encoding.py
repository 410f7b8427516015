"""Encoding and decoding of stored items, and the two forms of responses.

An item is stored as canonical JSON in wire form. This JSON is called the body of the item. The wire form inserts the
body into the response unchanged. The Python form decodes the body and converts binary values to bytes. Bodies that may
contain binary values start with a space, which JSON allows, so that reads need not search other bodies for such values.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Sequence
from typing import Any, Protocol

import orjson

from keyplan.dynamodb.values.types import AttributeValue, Item

decode = orjson.loads
"""Decode the stored body of an item and return the canonical item."""

DecodeError = orjson.JSONDecodeError
"""Raised by `decode` for bytes that are not JSON."""

_BLANK = ord(" ")
_LETTER_B = ord("B")


def encode(item: Item) -> bytes:
    """Return the body in which a canonical item is stored."""
    body = orjson.dumps(item)
    # An attribute with the name "B" matches too, which only makes reads slower. `bytes in bytes` raises and drops
    # an exception inside CPython, which is slower than all other code here. An int does not.
    if _LETTER_B in body and (body.find(b'"B":') >= 0 or body.find(b'"BS":') >= 0):
        return b" " + body
    return body


def trace(name: str, value: AttributeValue, *, is_prefix: bool = False) -> bytes | None:
    """Return bytes that occur in the body of every item with this value in the attribute `name`. Return None if such
    bytes cannot be determined.

    Equal names and scalars are encoded as the same bytes. If `is_prefix` is True, the bytes occur in the body of every
    item in which the attribute starts with the value. Bodies of other items may contain the bytes too, so callers must
    still test the item.
    """
    ((kind, content),) = value.items()
    # Sets are equal in any order, documents may contain sets, and a subclass of str may define its own equality.
    if type(content) is not str and type(content) is not bool:
        return None
    member = orjson.dumps({name: value})  # {"name":{"S":"text"}}
    if not is_prefix:
        return member[1:-1]
    return member[1:-3] if kind == "S" else None


class Form(Protocol):
    """The form of a request and its response: JSON, in which binary values are base64 text, or Python values, in which
    binary values are bytes. `wire` is True for JSON.
    """

    wire: bool

    def from_body(self, body: bytes) -> Any:
        """Return a stored item in this form, given its encoded body."""

    def page(self, bodies: Sequence[bytes], decoded: Sequence[Item] = ()) -> Any:
        """Return the stored items as a list for a response in this form.

        `bodies` are the stored bodies of the items. If the items have already been decoded, pass them as `decoded`, so
        that they are not decoded again.
        """

    def item(self, item: Item) -> Any:
        """Convert a canonical item to this form of responses."""

    def items(self, items: Sequence[Item]) -> Any:
        """Convert a list of canonical items to this form of responses."""


class WireForm:
    """Responses in the form of JSON, in which stored bodies are inserted unchanged."""

    wire = True

    def from_body(self, body: bytes) -> Any:
        """Return the stored body as a JSON fragment."""
        return orjson.Fragment(body)

    def page(self, bodies: Sequence[bytes], decoded: Sequence[Item] = ()) -> Any:  # noqa: ARG002 - for Python
        """Return the stored bodies of all items as one JSON array fragment."""
        return orjson.Fragment(b"[" + b",".join(bodies) + b"]")

    def item(self, item: Item) -> Any:
        """Return the item unchanged, because its binary values are already base64 text."""
        return item

    def items(self, items: Sequence[Item]) -> Any:
        """Return the items unchanged, because their binary values are already base64 text."""
        return list(items)


class PythonForm:
    """Responses in the form of Python values, in which binary values are bytes."""

    wire = False

    def from_body(self, body: bytes) -> Any:
        """Return the decoded item, with binary values as bytes."""
        item = decode(body)
        return python_item(item) if body[0] == _BLANK else item

    def page(self, bodies: Sequence[bytes], decoded: Sequence[Item] = ()) -> Any:
        """Return the stored items with binary values as bytes. All bodies are decoded in a single call."""
        items = list(decoded) or decode(b"[" + b",".join(bodies) + b"]")
        for at, body in enumerate(bodies):
            if body[0] == _BLANK:
                items[at] = python_item(items[at])
        return items

    def item(self, item: Item) -> Any:
        """Return a copy of the item with binary values as bytes."""
        return python_item(item)

    def items(self, items: Sequence[Item]) -> Any:
        """Return copies of the items with binary values as bytes."""
        return [python_item(item) for item in items]


WIRE = WireForm()
PYTHON = PythonForm()


def binary_text(content: Any) -> str:
    """Return binary data as base64 text.

    Used as the `default` function of orjson. Raises TypeError for other values.
    """
    if isinstance(content, bytes | bytearray | memoryview):
        return b64encode(bytes(content)).decode()
    raise TypeError(type(content).__name__)


def python_item(item: Item) -> dict[str, dict[str, Any]]:
    """Return a canonical item with its binary values converted to bytes. Values without binary data are not copied."""
    return {name: _python_value(value) for name, value in item.items()}


def _python_value(value: AttributeValue) -> dict[str, Any]:
    ((kind, content),) = value.items()
    if kind == "B":
        return {"B": b64decode(content)}
    if kind == "BS":
        return {"BS": [b64decode(member) for member in content]}
    if kind == "L":
        return {"L": [_python_value(member) for member in content]}
    if kind == "M":
        return {"M": {name: _python_value(member) for name, member in content.items()}}
    return value
