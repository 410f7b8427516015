"""Functions that convert items to and from text: DynamoDB JSON, plain JSON, and table cells.

Values have the form that boto3's client and the engine use: numbers are strings, and binary values are bytes.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final, TypeAlias
from urllib.parse import quote

Item: TypeAlias = dict[str, dict[str, Any]]
TYPES: Final = ("S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M")
SETS: Final = ("SS", "NS", "BS")
_JSON_NUMBER: Final = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_CELL_CHARACTERS: Final = 160
_INDENT: Final = 2


class DocumentError(ValueError):
    """Raised for text that is not a valid item. The message contains the name of the attribute and a fix."""


class _Number(str):
    """A number in a JSON document that keeps all its digits."""

    __slots__ = ()


def typed_text(item: Any, indent: int | None = _INDENT) -> str:
    """Return an item as DynamoDB JSON, with binary values as base64."""
    separators = None if indent else (",", ":")
    return json.dumps(_jsonable(item), ensure_ascii=False, indent=indent, separators=separators)


def _jsonable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _jsonable(member) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_jsonable(member) for member in value]
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(bytes(value)).decode()
    return value


def read_typed(text: str) -> Item:
    """Parse an item in DynamoDB JSON. Raises DocumentError if the text is not a valid item."""
    return {name: _typed(value, name) for name, value in _members(_parse(text)).items()}


def read_value(text: str, name: str) -> dict[str, Any]:
    """Parse an attribute value such as {"S": "x"}. `name` is the name of the attribute for error messages.

    Raises DocumentError if the text is not a valid value.
    """
    return _typed(_parse(text), name)


def read_values(text: str) -> list[dict[str, Any]]:
    """Parse a list of attribute values such as [{"S": "x"}]. Raises DocumentError if the text is not a valid list."""
    values = _parse(text)
    if not isinstance(values, list):
        raise DocumentError('expected a list of values, such as [{"S": "text"}]')
    return [_typed(value, f"value {number}") for number, value in enumerate(values, 1)]


def read_items(text: str) -> list[Item]:
    """Parse the items in a JSON array or in JSON Lines. Each item is plain JSON, or {"Item": ...} with DynamoDB JSON.

    Raises DocumentError for an invalid item. The message contains the line or the position in the array.
    """
    if text.lstrip().startswith("["):
        return [_item(document, f"item {position}") for position, document in enumerate(_parse(text), 1)]
    items = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                document = _parse(line)
            except DocumentError as error:
                raise DocumentError(f"line {number}: {error}") from None
            items.append(_item(document, f"line {number}"))
    return items


def _item(document: Any, location: str) -> Item:
    try:
        members = _members(document)
        if set(members) == {"Item"} and isinstance(members["Item"], dict):
            return {name: _typed(value, name) for name, value in members["Item"].items()}
        return {name: _from_plain(value, None, name) for name, value in members.items()}
    except DocumentError as error:
        raise DocumentError(f"{location}: {error}") from None


def read_json(text: str) -> Any:
    """Parse any JSON document. Raises DocumentError if the text is not valid JSON."""
    _parse(text)
    return json.loads(text)


def plain_text(item: Mapping[str, Any], indent: int | None = _INDENT) -> str:
    """Return an item as plain JSON. Numbers keep all digits, sets are arrays, and binary values are base64 strings."""
    return "".join(_plain({"M": item}, indent, 0))


def plain_value(value: Mapping[str, Any]) -> str:
    """Return one attribute value as compact plain JSON."""
    return "".join(_plain(value, None, 0))


def read_plain(text: str, known_attributes: Mapping[str, Any] | None = None) -> Item:
    """Parse an item in plain JSON. Raises DocumentError if the text is not a valid item.

    `known_attributes` contains the attribute values of the stored item. An array or string is converted to a set or
    binary value if the stored attribute has this type.
    """
    return {
        name: _from_plain(value, (known_attributes or {}).get(name), name)
        for name, value in _members(_parse(text)).items()
    }


def _parse(text: str) -> Any:
    def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members_read = dict(pairs)
        if len(members_read) < len(pairs):
            names = [name for name, _ in pairs]
            raise DocumentError(f"duplicate name: {next(name for name in names if names.count(name) > 1)!r}")
        return members_read

    def reject_constant(name: str) -> Any:
        raise DocumentError(f"{name} is not a number that DynamoDB can store")

    try:
        return json.loads(
            text, object_pairs_hook=object_of, parse_int=_Number, parse_float=_Number, parse_constant=reject_constant
        )
    except json.JSONDecodeError as error:
        raise DocumentError(f"not valid JSON: line {error.lineno}, column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise DocumentError("nested too deeply: DynamoDB allows 32 levels") from None


def _members(document: Any) -> dict[str, Any]:
    if not isinstance(document, dict):
        raise DocumentError('expected an object of attributes, such as {"id": ...}')
    return document


def _typed(value: Any, path: str) -> dict[str, Any]:
    if not isinstance(value, dict) or len(value) != 1 or next(iter(value)) not in TYPES:
        raise DocumentError(f'{path}: expected one type and its value, such as {{"S": "text"}}')
    type_code, content = next(iter(value.items()))
    if type_code == "S" and isinstance(content, str) and not isinstance(content, _Number):
        return {"S": content}
    if type_code == "N" and isinstance(content, str):
        return {"N": str(content)}
    if type_code == "B" and isinstance(content, str):
        return {"B": _bytes(content, path)}
    if type_code in {"BOOL", "NULL"} and isinstance(content, bool):
        return {type_code: content}
    if type_code == "M" and isinstance(content, dict):
        return {"M": {name: _typed(member, f"{path}.{name}") for name, member in content.items()}}
    if type_code == "L" and isinstance(content, list):
        return {"L": [_typed(member, f"{path}[{index}]") for index, member in enumerate(content)]}
    if type_code in SETS and isinstance(content, list) and all(isinstance(member, str) for member in content):
        return {type_code: [_bytes(member, path) if type_code == "BS" else str(member) for member in content]}
    raise DocumentError(f"{path}: the value does not match type {type_code}")


def _bytes(text: str, path: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise DocumentError(f"{path}: expected base64 for a binary value") from None


def _plain(value: Mapping[str, Any], indent: int | None, level: int) -> list[str]:
    type_code, content = next(iter(value.items()))
    if type_code == "N":
        return [_number(content)]
    if type_code == "B":
        return [json.dumps(base64.b64encode(content).decode())]
    if type_code == "NULL":
        return ["null"]
    if type_code == "M":
        parts = [
            [json.dumps(name, ensure_ascii=False), ": ", *_plain(member, indent, level + 1)]
            for name, member in content.items()
        ]
        return _bracketed("{", "}", parts, indent, level)
    if type_code == "L" or type_code in SETS:
        members = content if type_code == "L" else [{type_code[0]: member} for member in content]
        return _bracketed("[", "]", [_plain(member, indent, level + 1) for member in members], indent, level)
    return [json.dumps(content, ensure_ascii=False)]


def _bracketed(opening: str, closing: str, parts: list[list[str]], indent: int | None, level: int) -> list[str]:
    if not parts:
        return [opening, closing]
    line = "" if indent is None else "\n" + " " * (indent * (level + 1))
    text = [opening]
    for index, part in enumerate(parts):
        text += ["," if index else "", line or (" " if index else ""), *part]
    return [*text, "" if indent is None else "\n" + " " * (indent * level), closing]


def _number(text: str) -> str:
    return text if _JSON_NUMBER.fullmatch(text) else json.dumps(text)


def _from_plain(value: Any, known_attributes: Mapping[str, Any] | None, path: str) -> dict[str, Any]:
    type_code = next(iter(known_attributes)) if known_attributes else ""
    if isinstance(value, _Number):
        return {"N": str(value)}
    if isinstance(value, str):
        return {"B": _bytes(value, path)} if type_code == "B" else {"S": value}
    if isinstance(value, bool):
        return {"BOOL": value}
    if value is None:
        return {"NULL": True}
    if isinstance(value, dict):
        inner = known_attributes["M"] if known_attributes and type_code == "M" else {}
        return {"M": {name: _from_plain(member, inner.get(name), f"{path}.{name}") for name, member in value.items()}}
    if type_code in SETS and _can_be_set(value, type_code):
        return {type_code: [_bytes(member, path) if type_code == "BS" else str(member) for member in value]}
    known_elements = known_attributes["L"] if known_attributes and type_code == "L" else []
    return {
        "L": [
            _from_plain(member, known_elements[index] if index < len(known_elements) else None, f"{path}[{index}]")
            for index, member in enumerate(value)
        ]
    }


def _can_be_set(value: list[Any], type_code: str) -> bool:
    """Return True if all elements of an array have the type that a set of the DynamoDB type `type_code` requires."""
    if not value or not all(isinstance(member, str) for member in value):
        return False
    return all(isinstance(member, _Number) == (type_code == "NS") for member in value)


def is_same(left: Any, right: Any) -> bool:
    """Return True if two attribute values are equal. Numbers are compared by value, and the order of set elements is
    ignored.
    """
    return bool(_canonical(left) == _canonical(right))


def _canonical(value: Mapping[str, Any]) -> Any:
    type_code, content = next(iter(value.items()))
    if type_code == "N":
        return (type_code, _decimal(content))
    if type_code == "NS":
        return (type_code, sorted(map(_decimal, content), key=str))
    if type_code in {"SS", "BS"}:
        return (type_code, sorted(content))
    if type_code == "M":
        return (type_code, {name: _canonical(member) for name, member in content.items()})
    if type_code == "L":
        return (type_code, [_canonical(member) for member in content])
    return (type_code, content)


def _decimal(text: str) -> Any:
    try:
        return Decimal(text).normalize()
    except InvalidOperation:
        return text


def digest(item: Mapping[str, Any]) -> str:
    """Return a hash of an item. If the hash differs from an earlier one, the item has changed."""
    ordered = {name: _sorted_sets(value) for name, value in sorted(item.items())}
    return hashlib.sha256(json.dumps(_jsonable(ordered), sort_keys=True).encode()).hexdigest()


def _sorted_sets(value: Mapping[str, Any]) -> Any:
    type_code, content = next(iter(value.items()))
    if type_code in SETS:
        return {type_code: sorted(content)}
    if type_code == "M":
        return {type_code: {name: _sorted_sets(member) for name, member in content.items()}}
    if type_code == "L":
        return {type_code: [_sorted_sets(member) for member in content]}
    return value


def encoded_key(key: Mapping[str, Any]) -> str:
    """Encode a primary key, or the LastEvaluatedKey of a response, for use in a URL."""
    return base64.urlsafe_b64encode(typed_text(key, None).encode()).decode().rstrip("=")


def item_path(table: str, key: Mapping[str, Any]) -> str:
    """Return the path of an item's page, relative to the console's root."""
    return f"data/tables/{quote(table, safe='')}/item?key={encoded_key(key)}"


def decoded_key(text: str) -> Item:
    """Decode a key from a URL. Raises DocumentError if the text is not a valid encoded key."""
    try:
        decoded = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
    except (binascii.Error, ValueError):
        raise DocumentError("the key in the URL is not valid") from None
    return read_typed(decoded)


def key_text(value: Mapping[str, Any]) -> str:
    """Return a key value as text for a form field, with binary values as base64."""
    content = next(iter(value.values()))
    return base64.b64encode(content).decode() if isinstance(content, bytes) else str(content)


@dataclass(frozen=True)
class Cell:
    """A table cell that displays an attribute value."""

    type_code: str
    text: str
    is_complete: bool = True
    """False if the cell shows only the start of the value."""


def cell(value: Mapping[str, Any]) -> Cell:
    """Return the table cell that displays a value."""
    type_code, content = next(iter(value.items()))
    if type_code == "S":
        return Cell(type_code, content[:_CELL_CHARACTERS], len(content) <= _CELL_CHARACTERS)
    if type_code == "B":
        start = base64.b64encode(content[:48]).decode()
        return Cell(type_code, f"{len(content):,} byte{'' if len(content) == 1 else 's'} {start}", len(content) <= 48)
    if type_code in {"N", "BOOL", "NULL"}:
        return Cell(
            type_code, "null" if type_code == "NULL" else str(content).lower() if type_code == "BOOL" else content
        )
    text = _start_of(value)
    return Cell(type_code, text[:_CELL_CHARACTERS], len(text) <= _CELL_CHARACTERS)


def _start_of(value: Mapping[str, Any]) -> str:
    """Return the start of a nested value as plain JSON. The rest of a large value is not formatted."""
    type_code, content = next(iter(value.items()))
    if type_code == "M":
        first_members: Any = dict(list(content.items())[:12])
        members = [
            f"{json.dumps(name, ensure_ascii=False)}: {_member(member)}" for name, member in first_members.items()
        ]
        return "{" + ", ".join(members) + ("" if len(first_members) == len(content) else ", …") + "}"
    first_elements = content[:12]
    members = [_member(member if type_code == "L" else {type_code[0]: member}) for member in first_elements]
    return "[" + ", ".join(members) + ("" if len(first_elements) == len(content) else ", …") + "]"


def _member(value: Mapping[str, Any]) -> str:
    type_code, content = next(iter(value.items()))
    if type_code == "S":
        return json.dumps(content[:_CELL_CHARACTERS], ensure_ascii=False)
    if type_code == "M":
        return f"{{{len(content)}}}" if content else "{}"
    if type_code == "L" or type_code in SETS:
        return f"[{len(content)}]" if content else "[]"
    return cell(value).text


def bytes_of(item: Mapping[str, Any]) -> int:
    """Return the approximate size of an item in bytes, according to DynamoDB's size rules."""
    return sum(len(name.encode()) + _size(value) for name, value in item.items())


def _size(value: Mapping[str, Any]) -> int:
    type_code, content = next(iter(value.items()))
    if type_code == "S":
        return len(content.encode())
    if type_code == "N":
        digits = len(content.lstrip("-").replace(".", "").strip("0"))
        return (digits + 1) // 2 + 1
    if type_code == "B":
        return len(content)
    if type_code in {"BOOL", "NULL"}:
        return 1
    if type_code == "M":
        return 3 + sum(1 + len(name.encode()) + _size(member) for name, member in content.items())
    if type_code == "L":
        return 3 + sum(1 + _size(member) for member in content)
    return sum(_size({type_code[0]: member}) for member in content)


def sort_key(value: Mapping[str, Any] | None) -> tuple[Any, ...]:
    """Return a sort key for attribute values of any type. Numbers are ordered by value, and missing values
    come last.
    """
    if value is None:
        return (2, "")
    type_code, content = next(iter(value.items()))
    if type_code == "N":
        number = _decimal(content)
        return (0, number) if isinstance(number, Decimal) else (1, type_code, content)
    if type_code == "B":
        return (1, type_code, content.hex())
    return (1, type_code, content if isinstance(content, str) else plain_value(value))
