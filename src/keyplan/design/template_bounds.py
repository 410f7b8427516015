"""Bounds of a key template: the texts between which all keys of a range lie, and no key of the next value.

DynamoDB compares Strings by their UTF-8 bytes and its BETWEEN includes both ends, so a bound must also not be
a key itself unless that key belongs to the range. With P the text up to the last given field, and L the
literal text after it:

* lower is P + L: every key of the value begins with it.
* upper is P + L with its last character replaced by the one after it ("#" becomes "$"). All that begins with
  P + L sorts before; a key that goes on with another character is one of a greater value, and sorts after.
  Where the next hole only makes certain characters, upper is P + L and the character after the greatest of
  them (":" after digits), and lower adds the least of them: that leaves other keys of the partition out.
* after is upper (all keys of the value sort before it, those of greater values after it).
* before is P without L: keys of a lesser value sort before it, those of the value after it.

Where nothing but literal text follows the last given field, the only key of the value is P + L itself: lower
and upper are that key, and after is that key and U+0000. Where no literal text follows either, before is the
text just below P. A value finer than the unit of its spec shares its text with others that are on both sides
of it, so those keys are kept: bounds may give a little more than was asked, never less.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from keyplan import limits
from keyplan.design.encodings_chars import HIGHEST, CharSet, following, preceding
from keyplan.design.template_errors import MissingField
from keyplan.design.template_holes import BoundHole, BoundPart
from keyplan.design.template_parse import Text

# The greatest character of so many UTF-8 bytes.
_GREATEST_OF_BYTES = ("", "\x7f", "\u07ff", "\uffff")


@dataclass(frozen=True)
class _Cut:
    """A key text cut after the last given hole: the text so far, the literal and the hole after it; which it is."""

    known: str
    literal: str
    next: BoundHole | None
    last: int | None
    last_name: str


@dataclass(frozen=True)
class Bounds:
    """The bounds of one bound template."""

    text: str
    parts: tuple[BoundPart, ...]

    def lower(self, values: Mapping[str, Any]) -> str:
        """The least text that a key with these values can have."""
        cut = self._cut(values)
        text = cut.known + cut.literal
        if cut.next is None:
            return text
        least = chr(cut.next.encoding.first.lowest)
        if text and (least == "\0" or cut.next.encoding.may_be_empty):
            return text
        return text + least

    def upper(self, values: Mapping[str, Any]) -> str:
        """A text that all keys with these values sort before, and those of greater values after."""
        cut = self._cut(values)
        return cut.known + cut.literal if cut.next is None else self._past(cut, cut.next)

    def after(self, values: Mapping[str, Any]) -> str:
        """A text that all keys of this value and lesser ones sort before."""
        cut = self._cut(values)
        encoding = self._ordered_last(cut).encoding
        if not (encoding.reversible and encoding.exact(values[cut.last_name])):
            return self.lower(values)
        return cut.known + cut.literal + "\0" if cut.next is None else self._past(cut, cut.next)

    def before(self, values: Mapping[str, Any]) -> str:
        """A text that all keys of this value and greater ones sort after."""
        cut = self._cut(values)
        encoding = self._ordered_last(cut).encoding
        if not encoding.exact(values[cut.last_name]):
            return self.upper(values)
        if cut.literal or cut.next is not None:
            if not cut.literal:
                self._check_goes_on(cut.next)
            return cut.known
        return _below(cut.known, fixed=encoding.width is not None)

    def keeps_order_from(self, field: str) -> bool:
        """Whether keys that are alike before the field's first hole sort by its values."""
        for index, part in enumerate(self.parts):
            if isinstance(part, BoundHole) and part.name == field:
                return self._sorts(index)
        return False

    def _sorts(self, index: int) -> bool:
        """Whether the text from this hole on sorts by its field: by it alone, or by it and a finer hole of it."""
        hole = self.parts[index]
        assert isinstance(hole, BoundHole)
        if not (hole.encoding.keeps_order and self._ends_in_order(index)):
            return False
        if hole.encoding.reversible:
            return True
        rest = [i for i in range(index + 1, len(self.parts)) if isinstance(self.parts[i], BoundHole)]
        next_hole = self.parts[rest[0]] if rest else None
        return isinstance(next_hole, BoundHole) and next_hole.name == hole.name and self._sorts(rest[0])

    def _ends_in_order(self, index: int) -> bool:
        """Whether what follows a hole leaves its order alone: a text and a longer one that begins with it.

        The shorter goes on with the literal, which must sort before all the longer one can go on with.
        """
        hole = self.parts[index]
        assert isinstance(hole, BoundHole)
        encoding = hole.encoding
        if encoding.valid_width is not None or index + 1 == len(self.parts):
            return True
        following_part = self.parts[index + 1]
        literal = following_part.text if isinstance(following_part, Text) else ""
        if encoding.choices is not None:
            texts = [text + literal for text in encoding.choices]
            return all(a < b and not b.startswith(a) for a, b in pairwise(texts))
        inside = encoding.chars
        if hole.guarded and len(hole.delimiter) == 1:
            inside = inside.minus(CharSet.of(hole.delimiter))
        return bool(literal) and bool(inside) and inside.lowest > ord(literal[0])

    def _cut(self, values: Mapping[str, Any]) -> _Cut:
        known, literal, last, name = "", "", None, ""
        for index, part in enumerate(self.parts):
            if isinstance(part, Text):
                literal = part.text
            elif values.get(part.name) is None:
                return _Cut(known, literal, part, last, name)
            else:
                known, literal = known + literal + part.encode(values[part.name]), ""
                last, name = index, part.name
        return _Cut(known, literal, None, last, name)

    def _ordered_last(self, cut: _Cut) -> BoundHole:
        """The last given hole. Raises ValueError where keys do not sort by it, MissingField where there is none."""
        if cut.last is None:
            missing = cut.next.name if cut.next is not None else ""
            raise MissingField(missing, self.text)
        hole = self.parts[cut.last]
        assert isinstance(hole, BoundHole)
        if not (hole.encoding.keeps_order and self._ends_in_order(cut.last)):
            raise ValueError(f"keys of {self.text!r} do not sort by {hole.name}")
        return hole

    def _past(self, cut: _Cut, next_hole: BoundHole) -> str:
        """The text just past all keys that go on with the next hole."""
        text = cut.known + cut.literal
        first = next_hole.encoding.first
        if first.highest < HIGHEST and not next_hole.encoding.may_be_empty:
            return text + _next_character(first.highest)
        if not cut.literal:
            self._check_goes_on(next_hole)
        return _just_past(text)

    def _check_goes_on(self, next_hole: BoundHole | None) -> None:
        if next_hole is not None and next_hole.encoding.may_be_empty:
            raise ValueError(f"{next_hole.name} of {self.text!r} may be empty and has no literal text before it")


def _next_character(point: int) -> str:
    character = following(chr(point))
    assert character is not None, "the last character has no next one"
    return character


def _just_past(text: str) -> str:
    """A text past all that begin with this one: its last character, if there is one after it, becomes that one."""
    for end in range(len(text), 0, -1):
        character = following(text[end - 1])
        if character is not None:
            return text[: end - 1] + character
    return _filled("")


def _below(text: str, *, fixed: bool) -> str:
    """The greatest key text below this one, or below it and of its length when all have one length."""
    character = preceding(text[-1])
    if character is None:
        return text[:-1]
    return text[:-1] + character if fixed else _filled(text[:-1] + character)


def _filled(text: str) -> str:
    """The greatest text that begins with this one and fits a sort key."""
    room = limits.SORT_KEY_BYTES - len(text.encode())
    return text + chr(HIGHEST) * (room // 4) + _GREATEST_OF_BYTES[room % 4]
