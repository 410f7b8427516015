"""Numbers and UUIDs as text."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

from keyplan.design.encodings_base import Encoding, made, refused
from keyplan.design.encodings_chars import DIGITS, CharSet
from keyplan.design.encodings_language import Chain, Language, OneOf, Run, Word
from keyplan.design.template_errors import EncodingError, KeyValueError
from keyplan.design.template_field import Field

_MAX_DIGITS = 38  # as many as a Number of DynamoDB has; more would be text that no other attribute can hold
_NOT_ZERO = CharSet.between("1", "9")
_HEX = DIGITS | CharSet.between("a", "f")
_UUID_PARTS = (8, 4, 4, 4, 12)


def signed(field: Field) -> Encoding:
    """An int as Python writes it. Its order as text is not its order as a number (10 < 9)."""

    def encode(value: Any) -> str:
        if type(value) is not int:
            return str(_whole(field, value))
        return str(value)

    def decode(text: str) -> int:
        return int(text)

    language = _digits_between(field.minimum, field.maximum)
    found = made("", encode, decode, language, "-?[0-9]+", keeps_order=False)
    return replace(found, declared=True, reachable=DIGITS | CharSet.of("-"))


def padded(field: Field, width: int) -> Encoding:
    """A non-negative int in `width` digits, padded with zeros; its order is the number's."""
    if width > _MAX_DIGITS:
        raise EncodingError(f"0{width}d is wider than a number can be", f"use at most 0{_MAX_DIGITS}d")
    limit = 10**width

    def encode(value: Any) -> str:
        number = value if type(value) is int and field.choices is None else _whole(field, value)
        if not 0 <= number < limit:
            problem = "it is negative" if number < 0 else f"it has more than {width} digits"
            raise KeyValueError(field.name, value, problem)
        return str(number).zfill(width)

    def decode(text: str) -> Any:
        return _member(field, int(text))

    return made(f"0{width}d", encode, decode, Run(DIGITS, width, width), f"[0-9]{{{width}}}")


def uuid_text(field: Field) -> Encoding:
    """A UUID in its 36 characters of lower-case hex; its order is that of its 128 bits."""

    def encode(value: Any) -> str:
        if not isinstance(value, UUID):
            raise refused(field, value, "a UUID")
        return str(value)

    runs: list[Language] = []
    for part in _UUID_PARTS:
        runs += [Word("-"), Run(_HEX, part, part)]
    pattern = "-".join(f"[0-9a-f]{{{part}}}" for part in _UUID_PARTS)
    return made("", encode, UUID, Chain(tuple(runs[1:])), pattern)


def _whole(field: Field, value: Any) -> int:
    """The int of a value that is not plainly one: a member of an IntEnum. A bool is no number here."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise refused(field, value, "an int")
    if field.choices is not None and value not in field.choices:
        raise KeyValueError(field.name, value, "it is none of its choices")
    return int(value)


def _member(field: Field, number: int) -> Any:
    """The number, or the member of the field's Enum that has it. Raises ValueError when there is none."""
    if field.choices is None:
        return number
    for choice in field.choices:
        if choice == number or getattr(choice, "value", None) == number:
            return choice
    raise ValueError(f"{number} is no choice of {field.name}")


def _digits_between(minimum: int | None, maximum: int | None) -> Language:
    """Every int in the range, by the number of its digits: a little wider, never narrower."""
    options: list[Language] = []
    if (minimum is None or minimum <= 0) and (maximum is None or maximum >= 0):
        options.append(Word("0"))
    if maximum is None or maximum > 0:
        options.append(_digits(minimum if minimum is not None and minimum > 0 else 1, maximum))
    if minimum is None or minimum < 0:
        least = -maximum if maximum is not None and maximum < 0 else 1
        options.append(Chain((Word("-"), _digits(least, None if minimum is None else -minimum))))
    return OneOf(tuple(options))


def _digits(least: int, most: int | None) -> Language:
    longest = None if most is None else len(str(most)) - 1
    return Chain((Run(_NOT_ZERO, 1, 1), Run(DIGITS, len(str(least)) - 1, longest)))
