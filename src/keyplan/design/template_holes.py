"""Holes bound to fields: what each can put out, and what must not be in a value because of what follows it.

A value may not hold the delimiter that follows its hole, or one key could be read as another: with
"{user}#{task}", "a#b" + "c" and "a" + "b#c" would be one key. The delimiter is the punctuation that the next
literal text begins with ("#" of "#TASK#"), or all of that text when it begins with a letter or a digit. No
check is needed where the texts have one width, or where the characters cannot occur.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from keyplan.design.encodings_base import Encoding
from keyplan.design.encodings_language import Language, words
from keyplan.design.template_errors import KeyValueError
from keyplan.design.template_field import Field
from keyplan.design.template_parse import Hole, Text


@dataclass(frozen=True)
class BoundHole:
    """A hole with its field and encoding. `follows` says what comes next: a literal text, a hole, or the end.

    `guarded` says that a value's text is checked for the delimiter. `encode` makes the text with that check.
    """

    field: Field
    spec: str
    position: int
    encoding: Encoding = dataclasses.field(compare=False, repr=False)  # follows from the others
    delimiter: str
    last: bool
    guarded: bool
    encode: Callable[[Any], str] = dataclasses.field(compare=False, repr=False)

    @property
    def name(self) -> str:
        """The name of the field."""
        return self.field.name

    @property
    def shards(self) -> int:
        """Over how many shards it spreads the field's values, by a hash; 0 where it does not."""
        return len(self.encoding.choices or ()) if self.spec.startswith("shard(") else 0

    @property
    def told_apart(self) -> bool:
        """Whether a reader of the key knows where this hole's text ends."""
        encoding = self.encoding
        if self.last or self.delimiter or encoding.width is not None:
            return True
        return encoding.choices is not None and not _ambiguous(encoding.choices, "")

    @property
    def forges(self) -> bool:
        """Whether a value that the declaration allows can hold the delimiter (render refuses it)."""
        encoding = self.encoding
        if not self.guarded:
            return False
        if encoding.choices is not None:
            return True
        return all(character in encoding.chars for character in self.delimiter)

    @property
    def language(self) -> Language:
        """The texts it can make, those included that hold the delimiter, except of choices that are refused."""
        encoding = self.encoding
        if encoding.choices is None or not self.guarded:
            return encoding.language
        refused = _ambiguous(encoding.choices, self.delimiter)
        return words(tuple(text for text in encoding.choices if text not in refused))

    @property
    def pattern(self) -> str:
        """A regular expression for its text that stops at the delimiter; whoever reads a text checks it by decoding."""
        encoding = self.encoding
        if not self.guarded:
            return encoding.pattern
        if encoding.choices is not None:
            refused = _ambiguous(encoding.choices, self.delimiter)
            kept = sorted((text for text in encoding.choices if text not in refused), key=len, reverse=True)
            return "|".join(map(re.escape, kept)) or _NEVER
        # Any character up to the delimiter: what it cannot be, no more tells where the text ends.
        stop = re.escape(self.delimiter)
        one = f"[^{stop}]" if len(self.delimiter) == 1 else rf"(?:(?!{stop})[\s\S])"
        return one + ("*" if encoding.may_be_empty else "+")


BoundPart = Text | BoundHole
_NEVER = "(?!)"  # matches nothing


def delimiter_of(following: Text | Hole | None) -> str:
    """The delimiter that the part after a hole makes, "" when it makes none."""
    if not isinstance(following, Text):
        return ""
    return "".join(takewhile(lambda character: not character.isalnum(), following.text)) or following.text


def bound_hole(hole: Hole, field: Field, encoding: Encoding, following: Text | Hole | None) -> BoundHole:
    """A hole whose encoding is chosen, with the guard that what follows it asks for."""
    delimiter = delimiter_of(following)
    guarded = _needs_guard(encoding, delimiter)
    encode = _guard(field, encoding, delimiter) if guarded else encoding.encode
    return BoundHole(field, hole.spec, hole.position, encoding, delimiter, following is None, guarded, encode)


def _needs_guard(encoding: Encoding, delimiter: str) -> bool:
    if not delimiter or encoding.width is not None:
        return False
    if encoding.choices is not None:
        return bool(_ambiguous(encoding.choices, delimiter))
    return delimiter[0] in encoding.reachable


def _ambiguous(texts: tuple[str, ...], delimiter: str) -> set[str]:
    """The texts that, with the delimiter, begin like another one with it."""
    return {
        text
        for text in texts
        if any(other != text and (text + delimiter).startswith(other + delimiter) for other in texts)
    }


def _guard(field: Field, encoding: Encoding, delimiter: str) -> Callable[[Any], str]:
    encode = encoding.encode
    if encoding.choices is not None:
        forging = _ambiguous(encoding.choices, delimiter)

        def encode_choice(value: Any) -> str:
            text = encode(value)
            if text in forging:
                raise _forged(field, value, delimiter)
            return text

        return encode_choice
    if len(delimiter) == 1:

        def encode_without(value: Any) -> str:
            text = encode(value)
            if delimiter in text:
                raise _forged(field, value, delimiter)
            return text

        return encode_without

    def encode_up_to(value: Any) -> str:
        text = encode(value)
        if holds(text, delimiter):
            raise _forged(field, value, delimiter)
        return text

    return encode_up_to


def holds(text: str, delimiter: str) -> bool:
    """Whether a reader would find the delimiter before the end of the text that it follows."""
    return (text + delimiter).find(delimiter) < len(text)


def _forged(field: Field, value: Any, delimiter: str) -> KeyValueError:
    problem = f"it holds the delimiter {delimiter!r} that follows it, and would read as another key"
    return KeyValueError(field.name, value, problem, delimiter)
