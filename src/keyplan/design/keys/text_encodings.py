"""Encodings of strings, of Enum and Literal choices, and of ranks and shard numbers."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime
from itertools import count
from typing import Any, Literal
from urllib.parse import unquote_to_bytes
from uuid import UUID

from keyplan.design.fields.annotations import DeclaredField, plain_value
from keyplan.design.keys.encodings import Encoding, EncodingError, InlineEncoding, KeyPartError, encoding_of, wrong_type
from keyplan.design.keys.languages import (
    ANY,
    DIGITS,
    LETTERS,
    Chain,
    CharSet,
    Language,
    OneOf,
    Repeat,
    Run,
    Word,
    bytes_of,
    chars_of,
    lengths_of,
    pattern_language,
    words,
)

_TRIES = 200_000  # enough to find a value for each of 9,999 shards


def choice_encoding(field: DeclaredField, name: str, spell: Callable[[str], str] = str) -> Encoding:
    """Return the encoding of an Enum or a Literal whose values are str or int.

    `spell` converts the string of each value to its encoded string, and `name` is the name of the placeholder spec. The
    encoding keeps the order of values if their strings sort in declaration order. It is reversible if all strings
    differ.
    """
    values = field.choices or ()
    texts = tuple(spell(str(value)) for value in field.stored_choices)
    distinct = tuple(dict.fromkeys(texts))
    if not name and len(distinct) < len(texts):
        raise EncodingError(f"two choices of {field.name} have the same text", "give each choice a different text")
    return _table_encoding(field, name, dict(zip(values, texts, strict=True)), keeps_order=list(texts) == sorted(texts))


def rank_encoding(field: DeclaredField, ranks: str) -> Encoding:
    """Return the encoding of a choice as its position in a list.

    `ranks` contains the choices in order, separated by commas, such as "low,high". Positions start at 1 and are
    padded with zeros.
    """
    order = [part.strip() for part in ranks.split(",")]
    _check_ranks(field, order)
    width = len(str(len(order)))
    if field.choices is None:
        texts: dict[Any, str] = {value: str(rank).zfill(width) for rank, value in enumerate(order, 1)}
    else:
        by_text = {str(plain_value(choice)): choice for choice in field.choices}
        texts = {by_text[text]: str(rank).zfill(width) for rank, text in enumerate(order, 1)}
    return _table_encoding(field, f"rank({','.join(order)})", texts, keeps_order=True)


def _check_ranks(field: DeclaredField, order: list[str]) -> None:
    example = "rank(low,normal,high)"
    if "" in order or len(set(order)) < len(order):
        raise EncodingError("the ranks must be different words", f"write them like {example}")
    if field.choices is None:
        return
    texts = [str(choice) for choice in field.stored_choices]
    unknown = [text for text in order if text not in texts]
    unranked = [text for text in texts if text not in order]
    if unknown:
        raise EncodingError(f"{', '.join(unknown)} is not a choice of {field.name}", f"rank {', '.join(texts)}")
    if unranked:
        raise EncodingError(f"{', '.join(unranked)} of {field.name} has no rank", "name every choice")


def _table_encoding(field: DeclaredField, name: str, texts: dict[Any, str], *, keeps_order: bool) -> Encoding:
    """Return an encoding that looks up the string of each value in `texts`.

    For an Enum, the encoding accepts either the member or its value.
    """
    table = {plain_value(choice): text for choice, text in texts.items()} | texts
    kinds = {type(choice) for choice in (*texts, *map(plain_value, texts))}
    choices_by_text: dict[str, Any] = {}
    for choice, text in texts.items():
        choices_by_text.setdefault(text, choice)

    def encode(value: Any) -> str:
        if type(value) not in kinds:  # otherwise True and 1.0 would equal 1
            raise wrong_type(field, value, f"one of {', '.join(map(repr, texts))}")
        text = table.get(value)
        if text is None:
            raise KeyPartError(field.name, value, f"it is not one of {', '.join(map(repr, texts))}")
        return text

    def decode(text: str) -> Any:
        if text not in choices_by_text:
            raise ValueError(f"{text!r} is not a choice of {field.name}")
        return choices_by_text[text]

    spellings = tuple(choices_by_text)
    pattern = "|".join(map(_escaped, sorted(spellings, key=len, reverse=True)))
    reversible = len(spellings) == len(texts)
    return encoding_of(
        name, encode, decode, words(spellings), pattern, reversible=reversible, keeps_order=keeps_order,
        choices=spellings,
    )  # fmt: skip


def _escaped(text: str) -> str:
    return "".join(f"\\U{ord(character):08x}" for character in text)


def shard_encoding(field: DeclaredField, shards: int) -> Encoding:
    """Return the encoding of a value as a zero-padded shard number.

    The shard number is the first 8 bytes of the SHA-256 hash of the value's string, modulo `shards`.
    """
    width = len(str(shards - 1))
    texts = tuple(str(number).zfill(width) for number in range(shards))
    spell = _speller(field)

    def encode(value: Any) -> str:
        digest = hashlib.sha256(spell(value).encode("utf-8", "surrogatepass")).digest()
        return texts[int.from_bytes(digest[:8], "big") % shards]

    def decode(text: str) -> Any:
        for value in _examples(field):
            if encode(value) == text:
                return value
        raise ValueError(f"no value of {field.name} was found in shard {text!r}")

    return encoding_of(
        f"shard({shards})", encode, decode, words(texts), f"[0-9]{{{width}}}", reversible=False, keeps_order=False,
        choices=texts,
    )  # fmt: skip


def _speller(field: DeclaredField) -> Callable[[Any], str]:
    """Return a function that converts a value of the field to the string whose hash determines the shard."""
    if field.choices is not None:
        return choice_encoding(field, "").encode
    kind = field.type

    def spell(value: Any) -> str:
        if not isinstance(value, kind) or isinstance(value, bool | datetime):
            raise wrong_type(field, value, field.type_name)
        if value == "":
            raise KeyPartError(field.name, value, "it is empty")
        return str(value)

    return spell


def _examples(field: DeclaredField) -> Any:
    """Yield example values of a field. The caller selects a value that belongs to a given shard."""
    if field.choices is not None:
        yield from field.choices
        return
    kind: type = field.type
    for number in count():
        if number >= _TRIES:
            return
        if kind is UUID:
            yield UUID(int=number)
        elif kind is date:
            yield date.fromordinal(number + 1)
        elif kind is str:
            yield f"{number:x}".zfill(field.min_length or 1)[: field.max_length]
        else:
            yield kind(number)


_UNRESERVED = LETTERS | DIGITS | CharSet.from_text("-._~")  # RFC 3986, 2.3
_HEX = DIGITS | CharSet.between("A", "F")
_ESCAPES = 4  # a character has at most four bytes, each escaped by three characters
# The maximum number of bytes of a character after case folding. U+0390 becomes three characters of two bytes each.
_FOLDED_BYTES = {"upper": 6, "lower": 4}
_FOLDED_CHARS = 3


def text_encoding(field: DeclaredField) -> Encoding:
    """Return the encoding that uses a string unchanged. The strings sort by code point, which is also the order of
    their UTF-8 bytes.
    """
    name, may_be_empty = field.name, field.min_length == 0

    def encode(value: Any) -> str:
        if not isinstance(value, str):
            raise wrong_type(field, value, "a str")
        if not value and not may_be_empty:
            raise _empty_error(name, value)
        return value

    language = _declared_language(field)
    encoding = _string_encoding("", field, encode, str, language)
    inline = InlineEncoding("v.__class__ is str" if may_be_empty else "v.__class__ is str and v", "{v}")
    return replace(encoding, max_bytes=_max_bytes(field, language, encoding.max_bytes), inline=inline)


def case_encoding(field: DeclaredField, case: Literal["upper", "lower"]) -> Encoding:
    """Return the encoding of a string in upper or lower case. Strings that differ only in case produce the same key."""
    fold: Callable[[str], str] = str.upper if case == "upper" else str.lower
    if field.choices is not None:
        return choice_encoding(field, case, fold)
    unchanged = text_encoding(field)

    def encode(value: Any) -> str:
        return fold(unchanged.encode(value))

    language = _folded_language(field, fold)
    encoding = _string_encoding(case, field, encode, str, language)
    max_bytes = encoding.max_bytes
    if max_bytes is not None and field.max_length is not None:
        max_bytes = min(max_bytes, field.max_length * _FOLDED_BYTES[case])
    return replace(
        encoding,
        reversible=False,
        keeps_order=False,
        max_bytes=max_bytes,
        reachable=ANY.difference(_lost_letters(fold)),
    )


def _lost_letters(fold: Callable[[str], str]) -> CharSet:
    """Return the ASCII characters that a case conversion changes, such as all uppercase letters for `str.lower`."""
    return CharSet.from_text("".join(chr(point) for point in range(0x80) if fold(chr(point)) != chr(point)))


def _folded_language(field: DeclaredField, fold: Callable[[str], str]) -> Language:
    language = _declared_language(field)
    chars = chars_of(language)
    low, high = lengths_of(language)
    if chars and chars.highest < 0x80:
        return Run(
            CharSet.from_text(
                "".join(fold(chr(point)) for first, last in chars.ranges for point in range(first, last + 1))
            ),
            low,
            high,
        )
    return Run(ANY.difference(_lost_letters(fold)), low, None if high is None else high * _FOLDED_CHARS)


def quote_encoding(field: DeclaredField, delimiter: str) -> Encoding:
    """Return the percent-encoding of a string, which escapes all characters except unreserved ones.

    Punctuation that occurs in the following delimiter is also escaped, so that no encoded value contains the delimiter.
    This does not apply to "%" or to delimiters that consist of letters and digits.
    """
    unquoted = _UNRESERVED.difference(CharSet.from_text("".join(c for c in delimiter if not c.isalnum())))
    special = re.compile("[^" + _class_pattern(unquoted)[1:])

    def quote(value: str) -> str:
        return special.sub(_percent_encode, value)

    if field.choices is not None:
        return choice_encoding(field, "quote", quote)
    unchanged = text_encoding(field)

    def encode(value: Any) -> str:
        return quote(unchanged.encode(value))

    def decode(text: str) -> str:
        value = unquote_to_bytes(text).decode()
        if quote(value) != text:
            raise ValueError(f"{text!r} is not a quoted form of {field.name}")
        return value

    low, high = _lengths(field)
    escape = Chain((Word("%"), Run(_HEX, 2, 2)))
    language = Repeat(OneOf((Run(unquoted, 1, 1), escape)), low, None if high is None else high * _ESCAPES)
    encoding = _string_encoding("quote", field, encode, decode, language)
    # The following text may contain the delimiter, so only the set of quoted characters marks the end of the string.
    pattern = f"(?:{_class_pattern(unquoted)}|%[0-9A-F]{{2}}){encoding.pattern[-1]}"
    return replace(encoding, pattern=pattern, keeps_order=False, reachable=chars_of(language))


def _class_pattern(chars: CharSet) -> str:
    """Return a regular expression that matches a single character of the set."""
    return (
        "[" + "".join(re.escape(chr(point)) for first, last in chars.ranges for point in range(first, last + 1)) + "]"
    )


def _percent_encode(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "surrogatepass"))


def _string_encoding(
    name: str, field: DeclaredField, encode: Callable[[Any], str], decode: Callable[[str], Any], language: Language
) -> Encoding:
    low, high = bytes_of(language)
    may_be_empty = field.min_length == 0
    pattern = r"[\s\S]*" if may_be_empty else r"[\s\S]+"
    min_bytes = max(low, 0 if may_be_empty else 1)
    return Encoding(
        name,
        encode,
        decode,
        language,
        pattern,
        True,
        True,
        min_bytes,
        high,
        ANY,
        may_be_empty=may_be_empty,
        declared=True,
    )


def _max_bytes(field: DeclaredField, language: Language, max_bytes: int | None) -> int | None:
    """Return the maximum length in bytes of a field's strings, or None if it is unlimited.

    `max_bytes` is the maximum length according to `language`, which describes the field's strings. For a field with a
    pattern and a `max_length`, the result is at most `max_length` times the maximum number of bytes per character of
    the language.
    """
    if field.max_length is None or field.pattern is None:
        return max_bytes
    widest = field.max_length * chars_of(language).max_bytes
    return widest if max_bytes is None else min(max_bytes, widest)


def _declared_language(field: DeclaredField) -> Language:
    """Return a language that contains every string that the field's length limits and pattern allow."""
    low, high = _lengths(field)
    language = pattern_language(field.pattern) if field.pattern is not None else None
    if language is None:
        return Run(ANY, low, high)
    if not isinstance(language, Run):
        return language
    ends = [end for end in (high, language.high) if end is not None]
    return Run(language.chars, max(low, language.low), max(min(ends), low, language.low) if ends else None)


def _lengths(field: DeclaredField) -> tuple[int, int | None]:
    low = 1 if field.min_length is None else field.min_length
    return low, None if field.max_length is None else max(low, field.max_length)


def _empty_error(name: str, value: Any) -> KeyPartError:
    return KeyPartError(
        name, value, "it is empty: parts of a key must not be empty, unless the field declares min_length=0"
    )
