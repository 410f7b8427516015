"""Texts of any kind as part of a key: as they are, folded to one case, or with every special character escaped."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal
from urllib.parse import unquote_to_bytes

from keyplan.design.encodings_base import Encoding, refused
from keyplan.design.encodings_chars import ANY, DIGITS, LETTERS, CharSet
from keyplan.design.encodings_closed import choice_encoding
from keyplan.design.encodings_language import Chain, Language, Many, OneOf, Run, Word, bytes_of, chars_of, lengths_of
from keyplan.design.encodings_pattern import pattern_language
from keyplan.design.template_errors import KeyValueError
from keyplan.design.template_field import Field

_UNRESERVED = LETTERS | DIGITS | CharSet.of("-._~")  # RFC 3986, 2.3
_HEX = DIGITS | CharSet.between("A", "F")
_ESCAPES = 4  # a character has at most four bytes, each escaped by three characters
# The longest a character can get when its case is folded, bytes: U+0390 becomes three characters of two bytes.
_FOLDED_BYTES = {"upper": 6, "lower": 4}
_FOLDED_CHARS = 3


def plain(field: Field) -> Encoding:
    """A text as it is. It sorts by code point, which is the order of its UTF-8 bytes."""
    name, may_be_empty = field.name, field.min_length == 0

    def encode(value: Any) -> str:
        if not isinstance(value, str):
            raise refused(field, value, "a str")
        if not value and not may_be_empty:
            raise _empty(name, value)
        return value

    language = _declared(field)
    found = _open("", field, encode, str, language)
    return replace(found, max_bytes=_capped(field, language, found.max_bytes))


def folded(field: Field, case: Literal["upper", "lower"]) -> Encoding:
    """A text in one case: two texts that differ only in case become one key."""
    fold: Callable[[str], str] = str.upper if case == "upper" else str.lower
    if field.choices is not None:
        return choice_encoding(field, case, fold)
    as_is = plain(field)

    def encode(value: Any) -> str:
        return fold(as_is.encode(value))

    language = _folded_language(field, fold)
    found = _open(case, field, encode, str, language)
    most = found.max_bytes
    if most is not None and field.max_length is not None:
        most = min(most, field.max_length * _FOLDED_BYTES[case])
    return replace(found, reversible=False, keeps_order=False, max_bytes=most, reachable=ANY.minus(_gone(fold)))


def _gone(fold: Callable[[str], str]) -> CharSet:
    """The letters that do not survive folding, of ASCII only."""
    return CharSet.of("".join(chr(point) for point in range(0x80) if fold(chr(point)) != chr(point)))


def _folded_language(field: Field, fold: Callable[[str], str]) -> Language:
    declared = _declared(field)
    chars = chars_of(declared)
    low, high = lengths_of(declared)
    if chars and chars.highest < 0x80:
        return Run(CharSet.of("".join(fold(chr(p)) for a, b in chars.ranges for p in range(a, b + 1))), low, high)
    return Run(ANY.minus(_gone(fold)), low, None if high is None else high * _FOLDED_CHARS)


def quoted(field: Field, delimiter: str) -> Encoding:
    """A text with everything but unreserved characters escaped as %XX of its UTF-8 bytes.

    Punctuation of the delimiter that follows is escaped too, so that it cannot occur (only "%" itself, or a
    delimiter of letters and digits, still can).
    """
    kept = _UNRESERVED.minus(CharSet.of("".join(c for c in delimiter if not c.isalnum())))
    special = re.compile("[^" + _class_of(kept)[1:])

    def quote(value: str) -> str:
        return special.sub(_percent, value)

    if field.choices is not None:
        return choice_encoding(field, "quote", quote)
    as_is = plain(field)

    def encode(value: Any) -> str:
        return quote(as_is.encode(value))

    def decode(text: str) -> str:
        value = unquote_to_bytes(text).decode()
        if quote(value) != text:
            raise ValueError(f"{text!r} is not what {field.name} would be quoted as")
        return value

    low, high = _lengths(field)
    escape = Chain((Word("%"), Run(_HEX, 2, 2)))
    language = Many(OneOf((Run(kept, 1, 1), escape)), low, None if high is None else high * _ESCAPES)
    made = _open("quote", field, encode, decode, language)
    # What follows may hold the delimiter: only the characters of a quoted text tell where it ends.
    pattern = f"(?:{_class_of(kept)}|%[0-9A-F]{{2}}){made.pattern[-1]}"
    return replace(made, pattern=pattern, keeps_order=False, reachable=chars_of(language))


def _class_of(chars: CharSet) -> str:
    """A regular expression of one of the characters."""
    return "[" + "".join(re.escape(chr(p)) for a, b in chars.ranges for p in range(a, b + 1)) + "]"


def _percent(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode("utf-8", "surrogatepass"))


def _open(
    name: str, field: Field, encode: Callable[[Any], str], decode: Callable[[str], Any], language: Language
) -> Encoding:
    low, high = bytes_of(language)
    empty = field.min_length == 0
    pattern = r"[\s\S]*" if empty else r"[\s\S]+"
    least = max(low, 0 if empty else 1)
    return Encoding(
        name, encode, decode, language, pattern, True, True, least, high, ANY, may_be_empty=empty, declared=True
    )


def _capped(field: Field, language: Language, most: int | None) -> int | None:
    """The longest in bytes: what the language allows, and all `max_length` characters at their widest."""
    if field.max_length is None or field.pattern is None:
        return most
    widest = field.max_length * chars_of(language).most_bytes
    return widest if most is None else min(most, widest)


def _declared(field: Field) -> Language:
    """The texts that the field's declaration allows, or a few more: lengths, and the pattern where it is read."""
    low, high = _lengths(field)
    allowed = pattern_language(field.pattern) if field.pattern is not None else None
    if allowed is None:
        return Run(ANY, low, high)
    if not isinstance(allowed, Run):
        return allowed
    ends = [end for end in (high, allowed.high) if end is not None]
    return Run(allowed.chars, max(low, allowed.low), max(min(ends), low, allowed.low) if ends else None)


def _lengths(field: Field) -> tuple[int, int | None]:
    low = 1 if field.min_length is None else field.min_length
    return low, None if field.max_length is None else max(low, field.max_length)


def _empty(name: str, value: Any) -> KeyValueError:
    return KeyValueError(name, value, "it is empty, and parts of a key must not be (min_length=0 would allow it)")
