"""Attribute values in requests, which are checked, measured and converted to canonical form in one pass.

The size of an item is the UTF-8 length of its attribute names plus the size of its values. The size of a string or
binary value is its length. The size of a number is about 1 byte for every two significant digits, plus 1 byte. The size
of a null or boolean is 1 byte. The size of a list or map is 3 bytes, plus 1 byte for each element, plus the sizes of
the elements.

Source: developer guide, "DynamoDB item sizes and formats".
"""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from types import UnionType
from typing import Any

from keyplan import limits
from keyplan.dynamodb.messages import items as messages
from keyplan.dynamodb.messages import requests as request_messages
from keyplan.dynamodb.values import numbers, types
from keyplan.dynamodb.values.keybytes import number_key
from keyplan.dynamodb.values.types import TYPES, AttributeValue, InvalidValueError, Item
from keyplan.errors import SerializationError, ValidationError

DOCUMENT_BYTES = 3
ELEMENT_BYTES = 1


class _EmptyNestedNameError(ValidationError):
    """Raised for an empty attribute name in a map."""


_is_ascii = str.isascii
"""The function `str.isascii`. Unlike the method call `text.isascii()`, the function raises TypeError if `text` is a
bytes object.
"""


def normalise_item(item: Mapping[str, Any], *, wire: bool) -> tuple[Item, int]:
    """Return the canonical form of an item and its size in bytes. Values that are already canonical are not copied.

    If `wire` is True, binary values are base64 text as in JSON. Otherwise, they are bytes or strings (encoded as UTF-8,
    as in botocore). Raises ValidationError for invalid values. Content of a wrong type can raise any other exception,
    and the check of the request shape then reports the error.
    """
    if "" in item:
        raise ValidationError(messages.EMPTY_NAME)
    try:
        canonical, total = _normalise_members(item, wire, 0)
    except _EmptyNestedNameError:
        for value in item.values():
            check_depth(value)  # the service reports this before a name inside a document
        raise
    if total > limits.ATTRIBUTE_NAME_BYTES:
        check_attribute_names(item)  # no name can be too long in a smaller item
    return canonical, total


def _normalise_members(members: Mapping[str, Any], wire: bool, level: int) -> tuple[Item, int]:
    total = text_bytes("".join(members))
    changed: Item = {}
    for name, value in members.items():
        if len(value) == 1:
            # Inline for speed: most values have one of these types.
            if "S" in value and (content := value["S"]) is not None:
                total += len(content) if _is_ascii(content) else len(content.encode())
                continue
            if "N" in value and (content := value["N"]) is not None:
                number, size = _recent_number(content) or _measure_number(content)
                total += size
                if number != content:
                    changed[name] = {"N": number}
                continue
            if "M" in value and (content := value["M"]) is not None:
                nested, size = _normalise_map(content, wire, level + 1)
                total += size
                if nested is not content:
                    changed[name] = {"M": nested}
                continue
        canonical, size = normalise(value, wire=wire, level=level)
        total += size
        if canonical is not value:
            changed[name] = canonical
    return {**members, **changed} if changed else members, total  # type: ignore[return-value]  # no changes: an Item


_recent_numbers: dict[str, tuple[str, int]] = {}
"""Cache of the canonical form and size of recent numbers.

It is cleared when full, which is faster than evicting entries.
"""
_recent_number = _recent_numbers.get
_MOST_RECENT_NUMBERS = 8192


def _measure_number(text: str) -> tuple[str, int]:
    """Return the canonical form and the size of a number, from a cache if possible."""
    measured = _measure_plain(text) or _measure_any(text)
    if len(text) <= limits.NUMBER_DIGITS:
        if len(_recent_numbers) >= _MOST_RECENT_NUMBERS:
            _recent_numbers.clear()
        _recent_numbers[text] = measured
    return measured


def _measure_any(text: str) -> tuple[str, int]:
    number = numbers.canonical(text)
    return number, number_bytes(number)


def _measure_plain(text: str) -> tuple[str, int] | None:
    """Return the canonical form and the size of a simple number, or None for other numbers.

    A simple number is a short number of at least 1, without a sign or exponent. Such a number is neither too large nor
    too precise, so its canonical form differs from it only in trailing zeros.
    """
    integer, point, fraction = text.partition(".")
    if not integer.isdigit() or integer[0] == "0" or len(text) > limits.NUMBER_DIGITS or not text.isascii():
        return None
    if point and not fraction.isdigit():
        return None
    significant = fraction.rstrip("0")
    digits = len(integer) + len(significant) if significant else len(integer.rstrip("0"))
    if len(significant) < len(fraction):
        text = f"{integer}.{significant}" if significant else integer
    return text, 1 + (digits + (len(integer) & 1) + 1) // 2


def check_attribute_names(names: Iterable[str]) -> None:
    """Raise ValidationError if an attribute name is empty or too long."""
    for name in names:
        if not name:
            raise ValidationError(messages.EMPTY_NAME)
        if text_bytes(name) > limits.ATTRIBUTE_NAME_BYTES:
            raise ValidationError(messages.NAME_TOO_LONG)


def normalise(value: Mapping[str, Any], *, wire: bool, level: int = 0) -> tuple[AttributeValue, int]:
    """Return the canonical form of a value and its size in bytes. `level` is the nesting depth of the value.

    Raises the same errors as `normalise_item`.
    """
    if len(value) != 1:
        present = {kind: content for kind, content in value.items() if kind in TYPES and content is not None}
        if not present:
            raise ValidationError(messages.EMPTY_VALUE)
        for kind, content in present.items():
            _normalise_content(kind, content, wire, level)
        if len(present) > 1:
            raise ValidationError(messages.SEVERAL_TYPES)
        value = present
    ((kind, content),) = value.items()
    if kind not in TYPES or content is None:
        raise ValidationError(messages.EMPTY_VALUE)
    canonical, size = _normalise_content(kind, content, wire, level)
    return value if canonical is content else {kind: canonical}, size  # type: ignore[return-value]  # one member


def _normalise_content(kind: str, content: Any, wire: bool, level: int) -> tuple[Any, int]:
    if kind == "S":
        return content, text_bytes(content)
    if kind == "N":
        return _recent_number(content) or _measure_number(content)
    if kind == "M":
        return _normalise_map(content, wire, level + 1)
    if kind == "L":
        return _normalise_list(content, wire, level + 1)
    if kind == "BOOL":
        _expect(content, bool)
        return content, 1
    if kind == "NULL":
        if content is not True:
            raise ValidationError(messages.NULL_NOT_TRUE)
        return True, 1
    if kind == "B":
        encoded = canonical_binary(content, wire=wire)
        return encoded, binary_bytes(encoded)
    return _normalise_set(kind, content, wire)


def _expect(content: Any, kinds: type | UnionType) -> None:
    if not isinstance(content, kinds):
        raise TypeError(f"an attribute value cannot contain {type(content).__name__} here")


def _normalise_map(content: Any, wire: bool, level: int) -> tuple[Item, int]:
    if type(content) is not dict:
        _expect(content, dict)
    if level >= limits.NESTING_LEVELS and content:
        raise ValidationError(messages.NESTING)  # its content is one level deeper
    if "" in content:
        raise _EmptyNestedNameError(messages.EMPTY_NAME)
    normalised, size = _normalise_members(content, wire, level)
    total = DOCUMENT_BYTES + size + ELEMENT_BYTES * len(normalised)
    if total > limits.ATTRIBUTE_NAME_BYTES:
        check_attribute_names(content)
    return normalised, total


def _normalise_list(content: Any, wire: bool, level: int) -> tuple[list[AttributeValue], int]:
    _expect(content, list | tuple)
    if level >= limits.NESTING_LEVELS and content:
        raise ValidationError(messages.NESTING)
    total = DOCUMENT_BYTES + ELEMENT_BYTES * len(content)
    members: list[AttributeValue] = []
    for member in content:
        canonical, size = normalise(member, wire=wire, level=level)
        members.append(canonical)
        total += size
    return members, total


def check_depth(value: Any, message: str = messages.NESTING) -> None:
    """Raise ValidationError with the given message if a value exceeds the maximum nesting depth."""
    pending = [(value, 1)]
    while pending:
        inner, level = pending.pop()
        if level > limits.NESTING_LEVELS:
            raise ValidationError(message)
        pending.extend((member, level + 1) for member in inner.get("L") or ())
        pending.extend((member, level + 1) for member in (inner.get("M") or {}).values())


def _normalise_set(kind: str, content: Any, wire: bool) -> tuple[list[str], int]:
    _expect(content, list | tuple)
    if kind == "SS":
        if not content:
            raise ValidationError(messages.EMPTY_STRING_SET)
        if len(set(content)) != len(content):
            message_members = types.members_in_message_order("SS", content)
            older = messages.string_set_duplicates_older(content)
            raise InvalidValueError(messages.string_set_duplicates(message_members), older)
        return types.sorted_members("SS", list(content)), text_bytes("".join(content))
    if kind == "NS":
        if not content:
            raise ValidationError(messages.EMPTY_NUMBER_SET)
        canonical = [numbers.canonical(member) for member in content]
        if len(set(canonical)) != len(canonical):
            raise InvalidValueError(messages.NUMBER_SET_DUPLICATES, messages.NUMBER_SET_DUPLICATES_OLDER)
        return types.sorted_members("NS", canonical), sum(map(number_bytes, canonical))
    if not content:
        raise ValidationError(messages.EMPTY_BINARY_SET)
    encoded = [canonical_binary(member, wire=wire) for member in content]
    if len(set(encoded)) != len(encoded):
        message_members = types.members_in_message_order("BS", encoded)
        raise InvalidValueError(
            messages.binary_set_duplicates(message_members), messages.binary_set_duplicates_older(encoded)
        )
    return types.sorted_members("BS", encoded), sum(map(binary_bytes, encoded))


def canonical_binary(content: Any, *, wire: bool) -> str:
    """Return binary data as canonical base64 text.

    If `wire` is True, the content is base64 text. Otherwise, it is bytes or str.
    """
    if not wire:
        _expect(content, str | bytes | bytearray | memoryview)
        return b64encode(content.encode() if isinstance(content, str) else bytes(content)).decode()
    _expect(content, str)
    try:
        encoded = b64encode(b64decode(content, validate=True)).decode()
    except (binascii.Error, ValueError) as error:
        raise SerializationError(str(error)) from error
    if encoded != content:  # the last character has unused bits that are not zero
        raise SerializationError(request_messages.BASE64_LAST_CHARACTER)
    return encoded


# Sizes.


def item_bytes(item: Item) -> int:
    """Return the size of a canonical item in bytes."""
    total = 0
    for name, value in item.items():
        total += text_bytes(name) + value_bytes(value)
    return total


def changed_item_bytes(old: Item, old_bytes: int, new: Item, names: Iterable[str]) -> int:
    """Return the size in bytes of the canonical item `new`, given the size `old_bytes` of the item `old`.

    The two items may differ only in the attributes in `names`. Only these attributes are measured.
    """
    total = old_bytes
    for name in names:
        before, after = old.get(name), new.get(name)
        if before is not None:
            total -= value_bytes(before)
        if after is not None:
            total += value_bytes(after)
        if before is None and after is not None:
            total += text_bytes(name)
        elif after is None and before is not None:
            total -= text_bytes(name)
    return total


def value_bytes(value: AttributeValue) -> int:
    """Return the size of a canonical value in bytes, without its name."""
    ((kind, content),) = value.items()
    if kind == "S":
        return text_bytes(content)
    if kind == "N":
        return number_bytes(content)
    if kind in ("BOOL", "NULL"):
        return 1
    return _compound_bytes(kind, content)


def _compound_bytes(kind: str, content: Any) -> int:
    if kind == "B":
        return binary_bytes(content)
    if kind == "L":
        return DOCUMENT_BYTES + sum(ELEMENT_BYTES + value_bytes(member) for member in content)
    if kind == "M":
        return DOCUMENT_BYTES + sum(
            ELEMENT_BYTES + text_bytes(name) + value_bytes(member) for name, member in content.items()
        )
    measure = {"SS": text_bytes, "NS": number_bytes, "BS": binary_bytes}[kind]
    return sum(map(measure, content))


def text_bytes(text: str) -> int:
    """Return the length of a string in UTF-8 bytes. Raises TypeError for bytes."""
    return len(text) if str.isascii(text) else len(text.encode())


def binary_bytes(encoded: str) -> int:
    """Return the number of bytes that canonical base64 text encodes."""
    return len(encoded) // 4 * 3 - encoded.count("=", -2)


def number_bytes(text: str) -> int:
    """Return the size of a canonical number in bytes.

    The size is one byte for the exponent, one byte for every two digits, and one more byte if the number is negative.
    """
    if text.isdigit():
        if text == "0":
            return 1
        return 1 + (len(text.rstrip("0")) + (len(text) & 1) + 1) // 2
    integer, point, fraction = text.partition(".")
    if point and integer.isdigit() and integer != "0":
        return 1 + (len(integer) + len(fraction) + (len(integer) & 1) + 1) // 2
    return len(number_key(text))
