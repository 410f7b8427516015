"""Key templates: text such as "TASK#{user_id}#{due_at:utc_ms}" that makes a key attribute, a String, from fields.

`parse` reads the text, `Template.bind` binds it to the fields of an entity, and the bound template renders keys,
parses them, and computes the bounds of queries. A bound template never renders one text from two different sets of
values, unless a spec is lossy or `delimiter_risks` names the field with "".

Bounds are the texts between which all keys of a range sort, and no key of another value. DynamoDB compares Strings
by their UTF-8 bytes, and BETWEEN includes both ends, so a bound must not be a key itself unless that key belongs to
the range. With P the text up to the last given field, and L the literal text after it:

* lower is P + L: every key of the value starts with it.
* upper is P + L with its last character replaced by the next one ("#" becomes "$"). All texts that start with P + L
  sort before it; a key that continues with another character belongs to a greater value and sorts after it. If the
  next field only makes certain characters, upper is P + L and the character after the greatest of them (":" after
  digits), and lower adds the least of them: that excludes other keys of the partition.
* after is upper (all keys of the value sort before it, those of greater values after it).
* before is P without L: keys of a lesser value sort before it, those of the value after it.

If only literal text follows the last given field, the only key of the value is P + L itself: lower and upper are
that key, and after is that key and U+0000. If no literal text follows either, before is the text just below P. A
value finer than the unit of its spec shares its text with values on both sides of it, so those keys are included:
bounds may return a few more keys than requested, never fewer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from itertools import pairwise, product
from typing import Any

from keyplan import limits
from keyplan.design.annotations import DeclaredField
from keyplan.design.keys.encodings import EncodingError, KeyPartError, MissingField, TemplateError
from keyplan.design.keys.holes import (
    BoundHole,
    BoundPart,
    Hole,
    Part,
    Text,
    bound_hole,
    delimiter_of,
    encoding_for,
    parse_parts,
)
from keyplan.design.keys.languages import HIGHEST, CharSet, next_character, previous_character

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
    character = next_character(chr(point))
    assert character is not None, "the last character has no next one"
    return character


def _just_past(text: str) -> str:
    """A text past all that begin with this one: its last character, if there is one after it, becomes that one."""
    for end in range(len(text), 0, -1):
        character = next_character(text[end - 1])
        if character is not None:
            return text[: end - 1] + character
    return _filled("")


def _below(text: str, *, fixed: bool) -> str:
    """The greatest key text below this one, or below it and of its length when all have one length."""
    character = previous_character(text[-1])
    if character is None:
        return text[:-1]
    return text[:-1] + character if fixed else _filled(text[:-1] + character)


def _filled(text: str) -> str:
    """The greatest text that begins with this one and fits a sort key."""
    room = limits.SORT_KEY_BYTES - len(text.encode())
    return text + chr(HIGHEST) * (room // 4) + _GREATEST_OF_BYTES[room % 4]


def parse(text: str) -> Template:
    """A template from its text. Raises TemplateError with the offset of what is wrong."""
    return Template(text, parse_parts(text))


@dataclass(frozen=True)
class Template:
    """A template as written, not yet held against fields."""

    text: str
    parts: tuple[Part, ...]

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields, in the order of the holes; one that is used twice is named twice."""
        return tuple(part.field for part in self.parts if isinstance(part, Hole))

    def bind(self, fields: Mapping[str, DeclaredField]) -> BoundTemplate:
        """The template with its holes bound to fields. Raises TemplateError with the offset of the hole."""
        parts: list[BoundPart] = []
        for part, following in zip(self.parts, (*self.parts[1:], None), strict=True):
            parts.append(part if isinstance(part, Text) else self._bound(part, fields, following))
        return BoundTemplate(self, tuple(parts))

    def _bound(self, hole: Hole, fields: Mapping[str, DeclaredField], following: Part | None) -> BoundHole:
        field = fields.get(hole.field)
        if field is None:
            raise TemplateError(self.text, hole.position + 1, f"there is no field {hole.field!r}", _hint(hole, fields))
        try:
            encoding = encoding_for(field, hole.spec, delimiter_of(following))
        except EncodingError as error:
            at = hole.position + 1 + (len(hole.field) + 1 if hole.spec else 0)
            raise TemplateError(self.text, at, error.problem, error.fix) from error
        return bound_hole(hole, field, encoding, following)


def _hint(hole: Hole, fields: Mapping[str, DeclaredField]) -> str:
    close = get_close_matches(hole.field, fields, n=3) or list(fields)
    return f"use {' or '.join(close)}" if close else "declare the field first"


@dataclass(frozen=True, repr=False)
class BoundTemplate:
    """A template that makes and reads keys. Two are equal when their texts are, and the fields they are bound to."""

    template: Template
    parts: tuple[BoundPart, ...]

    def __repr__(self) -> str:
        return f"BoundTemplate({self.text!r})"

    @property
    def text(self) -> str:
        """The template as written."""
        return self.template.text

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields, in the order of the holes; one that is used twice is named twice."""
        return self.template.fields

    @cached_property
    def holes(self) -> tuple[BoundHole, ...]:
        """The holes, in order."""
        return tuple(part for part in self.parts if isinstance(part, BoundHole))

    def render(self, values: Mapping[str, Any]) -> str:
        """The key text of these values; other entries of the mapping are ignored.

        Raises MissingField for a field that is absent or None, and KeyValueError for a value that cannot be
        part of a key: one that holds the delimiter after it, that does not fit its spec, or that is empty.
        """
        skeleton, steps = self._program
        pieces = skeleton.copy()
        try:
            for index, name, encode in steps:
                pieces[index] = encode(values[name])
        except KeyError as error:
            raise MissingField(str(error.args[0]), self.text) from None
        text = "".join(pieces)
        if not text or not text.isascii():
            self._check_storable(text, values)
        return text

    @cached_property
    def _program(self) -> tuple[list[str], tuple[tuple[int, str, Any], ...]]:
        """What render does: the literal texts with gaps, and for each gap its field and encoder."""
        skeleton = [part.text if isinstance(part, Text) else "" for part in self.parts]
        steps = [(i, part.name, part.encode) for i, part in enumerate(self.parts) if isinstance(part, BoundHole)]
        return skeleton, tuple(steps)

    def _check_storable(self, text: str, values: Mapping[str, Any]) -> None:
        """A key attribute is never empty, and a String holds no lone surrogates."""
        for hole in self.holes:
            try:
                hole.encode(values[hole.name]).encode()
            except UnicodeEncodeError as error:
                problem = "it holds a lone surrogate, which UTF-8 has no bytes for"
                raise KeyPartError(hole.name, values[hole.name], problem) from error
        if not text:
            raise KeyPartError(self.holes[0].name, "", "the key would be empty, which DynamoDB refuses")

    def match(self, text: str) -> dict[str, Any] | None:
        """The values that a key was made of, or None when this template cannot have made it.

        The fields of lossy holes are left out, unless another hole gives them back.
        """
        found = self._matcher.fullmatch(text)
        if found is None or not text:
            return None
        values: dict[str, Any] = {}
        try:
            for hole, piece in zip(self.holes, found.groups(), strict=True):
                value = hole.encoding.decode(piece)
                if hole.encode(value) != piece:
                    return None
                if hole.encoding.reversible:
                    values.setdefault(hole.name, value)
            return values if self._agrees(values, found.groups()) else None
        except (ValueError, OverflowError):
            return None

    def pieces(self, text: str) -> tuple[tuple[BoundHole, str], ...] | None:
        """The holes with the part of the text that each made, not decoded, or None when the text does not fit."""
        found = self._matcher.fullmatch(text)
        return None if found is None else tuple(zip(self.holes, found.groups(), strict=True))

    def _agrees(self, values: Mapping[str, Any], pieces: tuple[str, ...]) -> bool:
        """Whether holes of one field say the same."""
        return all(
            hole.name not in values or hole.encode(values[hole.name]) == piece
            for hole, piece in zip(self.holes, pieces, strict=True)
        )

    @cached_property
    def _matcher(self) -> re.Pattern[str]:
        pieces = [re.escape(part.text) if isinstance(part, Text) else f"({part.pattern})" for part in self.parts]
        return re.compile("".join(pieces))

    def prefix(self, values: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
        """The longest text that these fields make from the left, and the fields that are in it.

        The literal text after the last known field belongs to it ("STATUS#open#", not "STATUS#open"), so that
        begins_with does not find "STATUS#opening#". Where nothing follows the last hole there is no such end:
        when every field is used, ask for equality instead.
        """
        pieces, used = [], []
        for part in self.parts:
            if isinstance(part, Text):
                pieces.append(part.text)
            elif values.get(part.name) is None:
                break
            else:
                pieces.append(part.encode(values[part.name]))
                used.append(part.name)
        return "".join(pieces), tuple(dict.fromkeys(used))

    def lower(self, values: Mapping[str, Any]) -> str:
        """A text that no key with these values, or a greater last one, sorts before (for BETWEEN or >=)."""
        return self._bounds.lower(values)

    def upper(self, values: Mapping[str, Any]) -> str:
        """A text that no key with these values, or a lesser last one, sorts after (for BETWEEN or <=)."""
        return self._bounds.upper(values)

    def after(self, values: Mapping[str, Any]) -> str:
        """A lower bound, itself included, of the keys whose last given field is greater than the value."""
        return self._bounds.after(values)

    def before(self, values: Mapping[str, Any]) -> str:
        """An upper bound, itself included, of the keys whose last given field is less than the value."""
        return self._bounds.before(values)

    @cached_property
    def _bounds(self) -> Bounds:
        return Bounds(self.text, self.parts)

    def variants(self, values: Mapping[str, Any]) -> tuple[str, ...]:
        """Every key there can be with these values, where the other holes are closed sets (shards, choices).

        A lossy hole of few texts, such as {id:shard(8)}, is left open when its field is not given. Raises
        MissingField for a field that is not given and can be anything.
        """
        options: list[tuple[str, ...]] = []
        for part in self.parts:
            if isinstance(part, Text):
                options.append((part.text,))
            elif values.get(part.name) is not None:
                options.append((part.encode(values[part.name]),))
            elif part.encoding.choices is not None:
                options.append(part.encoding.choices)
            else:
                raise MissingField(part.name, self.text)
        return tuple("".join(pieces) for pieces in product(*options))

    @cached_property
    def reversible(self) -> bool:
        """Whether a key gives all its fields back, at the precision of their specs."""
        returned = {hole.name for hole in self.holes if hole.encoding.reversible}
        return returned.issuperset(self.fields) and all(hole.told_apart for hole in self.holes)

    def keeps_order_from(self, field: str) -> bool:
        """Whether keys that are alike before `field` sort by its values, at the precision of its spec.

        A group such as {day:month} only does when a finer hole of the same field comes next.
        """
        return self._bounds.keeps_order_from(field)

    def ends_in_period(self, field: str) -> bool:
        """Whether the last hole holds only the period that a moment lies in, such as {at:minute}.

        Where that ends a primary key there is one item of each, and keys sort by the field all the same.
        """
        last = self.holes[-1] if self.holes else None
        if last is None or last.name != field:
            return False
        encoding = last.encoding
        return encoding.keeps_order and encoding.rounds_to is not None and not encoding.reversible

    @cached_property
    def min_bytes(self) -> int:
        """UTF-8 bytes of the shortest key."""
        literal = sum(len(part.text.encode()) for part in self.parts if isinstance(part, Text))
        return max(1, literal + sum(hole.encoding.min_bytes for hole in self.holes))

    @cached_property
    def max_bytes(self) -> int | None:
        """UTF-8 bytes of the longest key, at four bytes a character where nothing says less; None: no end."""
        total = sum(len(part.text.encode()) for part in self.parts if isinstance(part, Text))
        for hole in self.holes:
            if hole.encoding.max_bytes is None:
                return None
            total += hole.encoding.max_bytes
        return total

    @property
    def literal_prefix(self) -> str:
        """The text that every key begins with."""
        first = self.parts[0]
        return first.text if isinstance(first, Text) else ""

    def delimiter_risks(self) -> list[tuple[str, str]]:
        """Fields whose values may hold the delimiter that follows them, with it; render refuses such values.

        The delimiter is "" where a hole of varying width is followed directly by another: that cannot be
        refused, and two different sets of values may make one key.
        """
        forging = [(hole.name, hole.delimiter) for hole in self.holes if hole.forges]
        return forging + [(hole.name, "") for hole in self.holes if not hole.told_apart]
