"""Items to stored bytes and back, and the two forms in which answers leave the engine.

The stored body of an item is its canonical wire JSON. In the wire form it is spliced into the answer
as it is; in the Python form it is decoded, and binary becomes bytes. Bodies that may hold binary begin
with a blank, which JSON allows, so that all others need not be searched for it on every read.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Sequence
from typing import Any, Protocol

import orjson

from keyplan.dynamodb.values.types import AttributeValue, Item

decode = orjson.loads
"""The canonical item of stored bytes."""

DecodeError = orjson.JSONDecodeError
"""What `decode` raises for bytes that it did not write."""

_BLANK = ord(" ")
_LETTER_B = ord("B")


def encode(item: Item) -> bytes:
    """Stored bytes of a canonical item."""
    body = orjson.dumps(item)
    # An attribute that merely is called "B" matches too, and costs a walk on reads. Asking bytes for bytes
    # by `in` raises and drops an exception inside, which costs more than all the rest.
    if _LETTER_B in body and (body.find(b'"B":') >= 0 or body.find(b'"BS":') >= 0):
        return b" " + body
    return body


def trace(name: str, value: AttributeValue, *, is_prefix: bool = False) -> bytes | None:
    """Bytes that the stored bytes of every item hold whose attribute `name` has this value; None: none are known.

    Equal names and scalars are written by the same bytes, and with `is_prefix` a string by bytes that begin with
    those of its beginning. The bytes may stand elsewhere too: whoever finds them has yet to look at the item.
    """
    ((kind, content),) = value.items()
    # Sets are equal in any order, documents may hold sets; and a text of another class may be equal to more
    # than it is written as.
    if type(content) is not str and type(content) is not bool:
        return None
    member = orjson.dumps({name: value})  # {"name":{"S":"text"}}
    if not is_prefix:
        return member[1:-1]
    return member[1:-3] if kind == "S" else None


class Form(Protocol):
    """One of the two forms of requests and answers."""

    wire: bool

    def stored(self, body: bytes) -> Any:
        """One stored item."""

    def page(self, bodies: Sequence[bytes], decoded: Sequence[Item] = ()) -> Any:
        """A list of stored items; `decoded`: the same items, where they have been decoded already."""

    def item(self, item: Item) -> Any:
        """An item in the internal form."""

    def items(self, items: Sequence[Item]) -> Any:
        """A list of items in the internal form."""


class WireForm:
    """Answers for JSON: stored bodies are spliced in as they are."""

    wire = True

    def stored(self, body: bytes) -> Any:
        """The stored JSON, to be spliced."""
        return orjson.Fragment(body)

    def page(self, bodies: Sequence[bytes], decoded: Sequence[Item] = ()) -> Any:  # noqa: ARG002 - for Python
        """The stored JSON of all items as one array, to be spliced."""
        return orjson.Fragment(b"[" + b",".join(bodies) + b"]")

    def item(self, item: Item) -> Any:
        """The item itself: its binary is base64 text already."""
        return item

    def items(self, items: Sequence[Item]) -> Any:
        """The items themselves."""
        return list(items)


class PythonForm:
    """Answers for Python: decoded, binary as bytes."""

    wire = False

    def stored(self, body: bytes) -> Any:
        """The item, decoded."""
        item = decode(body)
        return python_item(item) if body[0] == _BLANK else item

    def page(self, bodies: Sequence[bytes], decoded: Sequence[Item] = ()) -> Any:
        """The items, unless they are decoded by now decoded in one go."""
        items = list(decoded) or decode(b"[" + b",".join(bodies) + b"]")
        for at, body in enumerate(bodies):
            if body[0] == _BLANK:
                items[at] = python_item(items[at])
        return items

    def item(self, item: Item) -> Any:
        """A copy with binary as bytes."""
        return python_item(item)

    def items(self, items: Sequence[Item]) -> Any:
        """Copies with binary as bytes."""
        return [python_item(item) for item in items]


WIRE = WireForm()
PYTHON = PythonForm()


def binary_text(content: Any) -> str:
    """What orjson is to make of binary in a request from Python: base64 text. Raises TypeError for all else."""
    if isinstance(content, bytes | bytearray | memoryview):
        return b64encode(bytes(content)).decode()
    raise TypeError(type(content).__name__)


def python_item(item: Item) -> dict[str, dict[str, Any]]:
    """The item with binary as bytes; values without binary are shared."""
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
