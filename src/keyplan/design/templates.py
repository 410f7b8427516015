"""Key templates: text such as "TASK#{user_id}#{due_at:utc_ms}" that makes a key attribute, a String, from fields.

`parse` reads the text, `Template.bind` holds it against an entity's fields, and the bound template renders
keys, takes them apart again, and gives the bounds that queries need. A bound template never renders one text
from two different sets of values, unless a hole is lossy by its spec or `delimiter_risks` names it with "".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from itertools import product
from typing import Any

from keyplan.design.encodings import encoding_for
from keyplan.design.template_bounds import Bounds
from keyplan.design.template_errors import EncodingError, KeyValueError, MissingField, TemplateError
from keyplan.design.template_field import Field
from keyplan.design.template_holes import BoundHole, BoundPart, bound_hole, delimiter_of
from keyplan.design.template_parse import Hole, Part, Text, parts_of


def parse(text: str) -> Template:
    """A template from its text. Raises TemplateError with the offset of what is wrong."""
    return Template(text, parts_of(text))


@dataclass(frozen=True)
class Template:
    """A template as written, not yet held against fields."""

    text: str
    parts: tuple[Part, ...]

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields, in the order of the holes; one that is used twice is named twice."""
        return tuple(part.field for part in self.parts if isinstance(part, Hole))

    def bind(self, fields: Mapping[str, Field]) -> BoundTemplate:
        """The template with its holes bound to fields. Raises TemplateError with the offset of the hole."""
        parts: list[BoundPart] = []
        for part, following in zip(self.parts, (*self.parts[1:], None), strict=True):
            parts.append(part if isinstance(part, Text) else self._bound(part, fields, following))
        return BoundTemplate(self, tuple(parts))

    def _bound(self, hole: Hole, fields: Mapping[str, Field], following: Part | None) -> BoundHole:
        field = fields.get(hole.field)
        if field is None:
            raise TemplateError(self.text, hole.position + 1, f"there is no field {hole.field!r}", _hint(hole, fields))
        try:
            encoding = encoding_for(field, hole.spec, delimiter_of(following))
        except EncodingError as error:
            at = hole.position + 1 + (len(hole.field) + 1 if hole.spec else 0)
            raise TemplateError(self.text, at, error.problem, error.fix) from error
        return bound_hole(hole, field, encoding, following)


def _hint(hole: Hole, fields: Mapping[str, Field]) -> str:
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
                raise KeyValueError(hole.name, values[hole.name], problem) from error
        if not text:
            raise KeyValueError(self.holes[0].name, "", "the key would be empty, which DynamoDB refuses")

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
