"""Encodings whose texts can be counted: the values of an Enum or a Literal, ranks, and shards."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import date, datetime
from itertools import count
from typing import Any
from uuid import UUID

from keyplan.design.encodings_base import Encoding, made, refused
from keyplan.design.encodings_language import words
from keyplan.design.field_types import plain
from keyplan.design.template_errors import EncodingError, KeyValueError
from keyplan.design.template_field import Field

_TRIES = 200_000  # enough to find a value of any of the 9,999 shards that there can be


def choice_encoding(field: Field, name: str, spell: Callable[[str], str] = str) -> Encoding:
    """The values of an Enum or a Literal of str or int, each spelled by `spell`.

    It keeps order when the texts sort in the declared order, and is reversible when no two are alike.
    """
    values = field.choices or ()
    texts = tuple(spell(str(value)) for value in field.stored_choices)
    distinct = tuple(dict.fromkeys(texts))
    if not name and len(distinct) < len(texts):
        raise EncodingError(f"two choices of {field.name} have one text", "give each a text of its own")
    return _closed(field, name, dict(zip(values, texts, strict=True)), keeps_order=list(texts) == sorted(texts))


def ranked(field: Field, written: str) -> Encoding:
    """The place of a value in the given order, from 1, in as many digits as the last place has."""
    order = [part.strip() for part in written.split(",")]
    _check_ranks(field, order)
    width = len(str(len(order)))
    if field.choices is None:
        places: dict[Any, str] = {value: str(place).zfill(width) for place, value in enumerate(order, 1)}
    else:
        by_text = {str(plain(choice)): choice for choice in field.choices}
        places = {by_text[text]: str(place).zfill(width) for place, text in enumerate(order, 1)}
    return _closed(field, f"rank({','.join(order)})", places, keeps_order=True)


def _check_ranks(field: Field, order: list[str]) -> None:
    example = "rank(low,normal,high)"
    if "" in order or len(set(order)) < len(order):
        raise EncodingError("the ranks must be different words", f"write them like {example}")
    if field.choices is None:
        return
    texts = [str(choice) for choice in field.stored_choices]
    unknown = [text for text in order if text not in texts]
    left_out = [text for text in texts if text not in order]
    if unknown:
        raise EncodingError(f"{', '.join(unknown)} is no choice of {field.name}", f"rank {', '.join(texts)}")
    if left_out:
        raise EncodingError(f"{', '.join(left_out)} of {field.name} has no rank", "name every choice")


def _closed(field: Field, name: str, texts: dict[Any, str], *, keeps_order: bool) -> Encoding:
    """An encoding by table. A member of an Enum is also taken by its value."""
    table = {plain(choice): text for choice, text in texts.items()} | texts
    kinds = {type(choice) for choice in (*texts, *map(plain, texts))}
    back: dict[str, Any] = {}
    for choice, text in texts.items():
        back.setdefault(text, choice)

    def encode(value: Any) -> str:
        if type(value) not in kinds:  # True == 1 and 1.0 == 1 would be found
            raise refused(field, value, f"one of {', '.join(map(repr, texts))}")
        text = table.get(value)
        if text is None:
            raise KeyValueError(field.name, value, f"it is none of {', '.join(map(repr, texts))}")
        return text

    def decode(text: str) -> Any:
        if text not in back:
            raise ValueError(f"{text!r} is no choice of {field.name}")
        return back[text]

    spellings = tuple(back)
    pattern = "|".join(map(_escaped, sorted(spellings, key=len, reverse=True)))
    reversible = len(spellings) == len(texts)
    return made(
        name, encode, decode, words(spellings), pattern, reversible=reversible, keeps_order=keeps_order,
        choices=spellings,
    )  # fmt: skip


def _escaped(text: str) -> str:
    return "".join(f"\\U{ord(character):08x}" for character in text)


def sharded(field: Field, shards: int) -> Encoding:
    """One of `shards` numbers from 0, padded with zeros: SHA-256 of the value's text, first 8 bytes, modulo."""
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

    return made(
        f"shard({shards})", encode, decode, words(texts), f"[0-9]{{{width}}}", reversible=False, keeps_order=False,
        choices=texts,
    )  # fmt: skip


def _speller(field: Field) -> Callable[[Any], str]:
    """The text of a value that its hash is taken of."""
    if field.choices is not None:
        return choice_encoding(field, "").encode
    kind = field.type

    def spell(value: Any) -> str:
        if not isinstance(value, kind) or isinstance(value, bool | datetime):
            raise refused(field, value, field.type_name)
        if value == "":
            raise KeyValueError(field.name, value, "it is empty")
        return str(value)

    return spell


def _examples(field: Field) -> Any:
    """Values of the field, one after the other, to find one that falls into a shard."""
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
