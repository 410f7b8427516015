"""Placeholders of key templates, `{field}` or `{field:spec}`: their syntax, encodings and delimiters.

The encoding is chosen when a template is bound (`encoding_for`). This step rejects fields that cannot be encoded, such
as a float, a datetime without a precision, or a type that the spec does not support. Rendering raises KeyPartError for
errors that depend on the value, such as a naive datetime, a number with too many digits, or an empty string. Empty
values are rejected unless the field has `min_length=0`.

A value must not contain the delimiter that follows it, or one key could be parsed as another. With "{user}#{task}",
"a#b" + "c" and "a" + "b#c" would produce the same key. The delimiter is the punctuation at the start of the following
literal text ("#" for "#TASK#"), or the whole text if it starts with a letter or a digit. No check is needed if all
strings have the same width, or if they cannot contain the delimiter's characters.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from itertools import takewhile
from typing import Any
from uuid import UUID

from keyplan.design.fields.annotations import DeclaredField
from keyplan.design.keys import encodings as time
from keyplan.design.keys import text_encodings as text
from keyplan.design.keys.encodings import (
    Encoding,
    EncodingError,
    KeyPartError,
    TemplateError,
    int_encoding,
    padded_encoding,
    uuid_encoding,
)
from keyplan.design.keys.languages import Language, words
from keyplan.design.keys.text_encodings import choice_encoding, rank_encoding, shard_encoding

_NAME = re.compile(r"[^\W\d]\w*\Z")
_BRACES = "write {{ and }} for braces that are meant as text"


@dataclass(frozen=True)
class Text:
    """Literal text of a template. In the text, doubled braces have been replaced with single braces."""

    text: str


@dataclass(frozen=True)
class Placeholder:
    """A placeholder for a field value.

    `position` is the offset of its opening brace. `spec` is the text after the colon, or an empty string if the
    placeholder does not contain a colon.
    """

    field: str
    spec: str
    position: int


Part = Text | Placeholder


def parse_parts(text: str) -> tuple[Part, ...]:
    """Parse a template into literal texts and placeholders. Raises TemplateError for invalid syntax."""
    if not text:
        raise TemplateError(text, 0, "the template is empty", "write literal text, placeholders like {field}, or both")
    surrogate = next((position for position, character in enumerate(text) if "\ud800" <= character <= "\udfff"), None)
    if surrogate is not None:
        raise TemplateError(text, surrogate, "a lone surrogate is not valid text", "remove it: UTF-8 cannot encode it")
    parts: list[Part] = []
    literal, position = "", 0
    while position < len(text):
        if text[position : position + 2] in {"{{", "}}"}:
            literal, position = literal + text[position], position + 2
        elif text[position] == "{":
            if literal:
                parts.append(Text(literal))
            placeholder, position = _placeholder(text, position)
            parts.append(placeholder)
            literal = ""
        elif text[position] == "}":
            raise TemplateError(text, position, "this closing brace has no opening brace", _BRACES)
        else:
            literal, position = literal + text[position], position + 1
    return (*parts, Text(literal)) if literal else tuple(parts)


def _placeholder(text: str, position: int) -> tuple[Placeholder, int]:
    """Parse the placeholder whose opening brace is at offset `position`. Return the placeholder and the offset after
    it.
    """
    end = text.find("}", position)
    content = text[position + 1 : end]
    if end < 0 or "{" in content:
        raise TemplateError(text, position, "this brace is never closed", f"close it with }}, or {_BRACES}")
    name, colon, spec = content.partition(":")
    if not content:
        raise TemplateError(text, position, "this placeholder is empty", f"name a field in it, or {_BRACES}")
    if not _NAME.match(name):
        raise TemplateError(text, position + 1, f"{name!r} is not a field name", "write {field} or {field:spec}")
    if colon and not spec:
        raise TemplateError(text, end, "the spec after the colon is missing", f"leave the colon out: {{{name}}}")
    return Placeholder(name, spec, position), end + 1


Build = Callable[[DeclaredField, "re.Match[str]", str], Encoding]


@dataclass(frozen=True)
class PlaceholderSpec:
    """A placeholder spec: its syntax, the types that it supports, and the function that builds its encoding."""

    example: str
    syntax: re.Pattern[str]
    field_types: tuple[type, ...]
    build: Build


def _spec(example: str, syntax: str, field_types: tuple[type, ...], build: Build) -> PlaceholderSpec:
    return PlaceholderSpec(example, re.compile(syntax), field_types, build)


def _time_spec(unit: time.TimeUnit) -> Build:
    return lambda field, *_: time.time_encoding(field, unit)


_DATETIME = (datetime,)
_DATE_OR_DATETIME = (date, datetime)
_TEXT = (str,)

SPECS: tuple[PlaceholderSpec, ...] = (
    _spec("010d", r"0([1-9][0-9]?)d", (int,), lambda field, match, *_: padded_encoding(field, int(match[1]))),
    _spec("utc_s", "utc_s", _DATETIME, _time_spec(time.UTC_S)),
    _spec("utc_ms", "utc_ms", _DATETIME, _time_spec(time.UTC_MS)),
    _spec("utc_us", "utc_us", _DATETIME, _time_spec(time.UTC_US)),
    _spec("epoch_s", "epoch_s", _DATETIME, _time_spec(time.EPOCH_S)),
    _spec("epoch_ms", "epoch_ms", _DATETIME, _time_spec(time.EPOCH_MS)),
    _spec("date", "date", _DATE_OR_DATETIME, _time_spec(time.DATE)),
    _spec("month", "month", _DATE_OR_DATETIME, _time_spec(time.MONTH)),
    _spec("year", "year", _DATE_OR_DATETIME, _time_spec(time.YEAR)),
    _spec("hour", "hour", _DATETIME, _time_spec(time.HOUR)),
    _spec("minute", "minute", _DATETIME, _time_spec(time.MINUTE)),
    _spec("upper", "upper", _TEXT, lambda field, *_: text.case_encoding(field, "upper")),
    _spec("lower", "lower", _TEXT, lambda field, *_: text.case_encoding(field, "lower")),
    _spec("quote", "quote", _TEXT, lambda field, _, after: text.quote_encoding(field, after)),
    _spec("shard(8)", r"shard\(([1-9][0-9]{0,3})\)", (str, int, UUID, date),
          lambda field, match, *_: shard_encoding(field, int(match[1]))),
    _spec("rank(a,b,c)", r"rank\((.*)\)", _TEXT, lambda field, match, *_: rank_encoding(field, match[1])),
)  # fmt: skip

_PLAIN: dict[type, Callable[[DeclaredField], Encoding]] = {
    str: text.text_encoding,
    int: int_encoding,
    UUID: uuid_encoding,
    date: lambda field: time.time_encoding(field, time.DATE),
}

# Types that no template accepts without a spec: the problem and the fix.
_REFUSED: dict[type, tuple[str, str]] = {
    float: ("a float has no unique text form", "keep the number as an int of its smallest unit and write {%s:010d}"),
    Decimal: (
        "a Decimal has several text forms (1.0, 1.00)",
        "keep it as an int of its smallest unit and write {%s:010d}",
    ),
    bool: (
        "a bool cannot be part of key text",
        'use a Literal of words, such as Literal["open", "done"], instead of %s',
    ),
    bytes: ("bytes are not text", "make %s a str, such as its hex form"),
    datetime: ("a datetime needs a precision", "write {%s:utc_ms}, {%s:utc_s}, {%s:epoch_ms} or {%s:date}"),
}


def encoding_for(field: DeclaredField, spec: str = "", delimiter: str = "") -> Encoding:
    """Return the encoding for a field.

    `spec` is the spec of the placeholder, or empty. `delimiter` is the delimiter that follows the placeholder. Raises
    EncodingError if the spec is unknown or does not support the field.
    """
    kind = _kind(field)
    if field.minimum is not None and field.maximum is not None and field.minimum > field.maximum:
        raise EncodingError(f"no {field.name} is from {field.minimum} to {field.maximum}", "correct the limits")
    if not spec:
        return _plain_encoding(field, kind)
    for candidate in SPECS:
        match = candidate.syntax.fullmatch(spec)
        if match is not None:
            _check_field_type(candidate, spec, field, kind)
            return candidate.build(field, match, delimiter)
    names = ", ".join(known_spec.example for known_spec in SPECS)
    raise EncodingError(f"unknown spec {spec!r}", f"use one of {names}")


def is_text(field: DeclaredField) -> bool:
    """Return True if the values of a field are strings. Such values can contain delimiters and can be escaped."""
    return _kind(field) is str


def _kind(field: DeclaredField) -> type | None:
    """Return the type of a field's values or, for an Enum or Literal, of its choices.

    Return None if the choices have several types.
    """
    if field.choices is not None:
        kinds = set(map(type, field.stored_choices))
        return kinds.pop() if len(kinds) == 1 else None
    return field.type if isinstance(field.type, type) else None


def _plain_encoding(field: DeclaredField, kind: type | None) -> Encoding:
    _check_allowed(field, kind)
    if field.choices is not None and kind in {str, int}:
        return choice_encoding(field, "")
    build = _PLAIN.get(kind) if kind is not None else None
    if build is None:
        raise _no_text_error(field)
    return build(field)


def _check_field_type(known_spec: PlaceholderSpec, spec: str, field: DeclaredField, kind: type | None) -> None:
    if kind in known_spec.field_types:
        return
    if kind is not datetime:
        _check_allowed(field, kind)
    type_names = " or ".join(type_.__name__ for type_ in known_spec.field_types)
    alternatives = [candidate.example for candidate in SPECS if kind in candidate.field_types]
    fix = f"write {{{field.name}}}" if kind in _PLAIN else ""
    fix += f"{' or use' if fix else 'use'} one of {', '.join(alternatives)}" if alternatives else ""
    problem = f"{spec} accepts {type_names}, but {field.name} is {field.type_name}"
    raise EncodingError(problem, fix or _supported_types(field))


def _check_allowed(field: DeclaredField, kind: type | None) -> None:
    reason = _REFUSED.get(kind) if kind is not None else None
    if reason is not None:
        problem, fix = reason
        raise EncodingError(f"{field.name} is {field.type_name}: {problem}", fix.replace("%s", field.name))


def _no_text_error(field: DeclaredField) -> EncodingError:
    return EncodingError(
        f"{field.name} is {field.type_name}, which cannot be part of key text", _supported_types(field)
    )


def _supported_types(field: DeclaredField) -> str:
    return f"make {field.name} a str, int, UUID, date, datetime, Enum or Literal"


@dataclass(frozen=True)
class BoundPlaceholder:
    """A placeholder with its field and encoding.

    If `guarded` is True, `encode` rejects a value whose string contains the delimiter.
    """

    field: DeclaredField
    spec: str
    position: int
    encoding: Encoding = dataclasses.field(compare=False, repr=False)  # determined by the other fields
    delimiter: str
    last: bool
    guarded: bool
    encode: Callable[[Any], str] = dataclasses.field(compare=False, repr=False)

    @property
    def name(self) -> str:
        """The name of the placeholder's field."""
        return self.field.name

    @property
    def shards(self) -> int:
        """The number of shards across which a hash distributes the field's values, or 0 if the placeholder spec is not
        `shard(...)`.
        """
        return len(self.encoding.choices or ()) if self.spec.startswith("shard(") else 0

    @property
    def is_delimited(self) -> bool:
        """Whether a parser can determine where the placeholder's string ends in a key."""
        encoding = self.encoding
        if self.last or self.delimiter or encoding.width is not None:
            return True
        return encoding.choices is not None and not _ambiguous(encoding.choices, "")

    @property
    def can_contain_delimiter(self) -> bool:
        """Whether a valid field value can contain the delimiter that follows the placeholder. Templates refuse to
        render such values.
        """
        encoding = self.encoding
        if not self.guarded:
            return False
        if encoding.choices is not None:
            return True
        return all(character in encoding.chars for character in self.delimiter)

    @property
    def language(self) -> Language:
        """The language of the strings that valid field values produce, excluding choices that contain the delimiter."""
        encoding = self.encoding
        if encoding.choices is None or not self.guarded:
            return encoding.language
        ambiguous_texts = _ambiguous(encoding.choices, self.delimiter)
        return words(tuple(text for text in encoding.choices if text not in ambiguous_texts))

    @property
    def pattern(self) -> str:
        """A regular expression for the placeholder's string in a key. It can also match invalid strings, which decoding
        rejects.
        """
        encoding = self.encoding
        if not self.guarded:
            return encoding.pattern
        if encoding.choices is not None:
            ambiguous_texts = _ambiguous(encoding.choices, self.delimiter)
            choices = sorted((text for text in encoding.choices if text not in ambiguous_texts), key=len, reverse=True)
            return "|".join(map(re.escape, choices)) or _NEVER
        # Any characters up to the delimiter, because nothing else marks the end of the string.
        escaped_delimiter = re.escape(self.delimiter)
        character = f"[^{escaped_delimiter}]" if len(self.delimiter) == 1 else rf"(?:(?!{escaped_delimiter})[\s\S])"
        return character + ("*" if encoding.may_be_empty else "+")


BoundPart = Text | BoundPlaceholder
_NEVER = "(?!)"  # matches nothing


def delimiter_of(following: Text | Placeholder | None) -> str:
    """Return the delimiter between a placeholder and the following part, or an empty string if nothing
    separates them.
    """
    if not isinstance(following, Text):
        return ""
    return "".join(takewhile(lambda character: not character.isalnum(), following.text)) or following.text


def bind_placeholder(
    placeholder: Placeholder, field: DeclaredField, encoding: Encoding, following: Text | Placeholder | None
) -> BoundPlaceholder:
    """Bind a placeholder to a field and an encoding.

    If the string of a value could contain the delimiter, the `encode` function of the result rejects such values.
    """
    delimiter = delimiter_of(following)
    guarded = _needs_guard(encoding, delimiter)
    encode = _guard(field, encoding, delimiter) if guarded else encoding.encode
    return BoundPlaceholder(
        field, placeholder.spec, placeholder.position, encoding, delimiter, following is None, guarded, encode
    )


def _needs_guard(encoding: Encoding, delimiter: str) -> bool:
    if not delimiter or encoding.width is not None:
        return False
    if encoding.choices is not None:
        return bool(_ambiguous(encoding.choices, delimiter))
    return delimiter[0] in encoding.reachable


def _ambiguous(texts: tuple[str, ...], delimiter: str) -> set[str]:
    """Return the strings that a parser could confuse with another of the given strings.

    A string is ambiguous if `string + delimiter` starts with `other_string + delimiter`.
    """
    return {
        text
        for text in texts
        if any(other != text and (text + delimiter).startswith(other + delimiter) for other in texts)
    }


def _guard(field: DeclaredField, encoding: Encoding, delimiter: str) -> Callable[[Any], str]:
    encode = encoding.encode
    if encoding.choices is not None:
        ambiguous = _ambiguous(encoding.choices, delimiter)

        def encode_choice(value: Any) -> str:
            text = encode(value)
            if text in ambiguous:
                raise _delimiter_error(field, value, delimiter)
            return text

        return encode_choice
    if len(delimiter) == 1:

        def encode_without(value: Any) -> str:
            text = encode(value)
            if delimiter in text:
                raise _delimiter_error(field, value, delimiter)
            return text

        return encode_without

    def encode_up_to(value: Any) -> str:
        text = encode(value)
        if contains_delimiter(text, delimiter):
            raise _delimiter_error(field, value, delimiter)
        return text

    return encode_up_to


def contains_delimiter(text: str, delimiter: str) -> bool:
    """Return True if a search for the delimiter in `text + delimiter` finds it before the end of `text`."""
    return (text + delimiter).find(delimiter) < len(text)


def _delimiter_error(field: DeclaredField, value: Any, delimiter: str) -> KeyPartError:
    problem = f"it contains the delimiter {delimiter!r} that follows it, and would be read as another key"
    return KeyPartError(field.name, value, problem, delimiter)
