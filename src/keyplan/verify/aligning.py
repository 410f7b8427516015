"""Key texts as a pattern writes them, laid beside the template of the entity: which field each hole stands for.

`STATUS#{status}#` beside `STATUS#{status}#{task_id}` says that status is the parameter of that name; `DUEDATE#{today}#`
beside `DUEDATE#{due_date}#{task_id}` that today is compared with due_date.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from keyplan.design.plan import KeyValue
from keyplan.design.symbols import Source
from keyplan.design.template_holes import BoundHole, BoundPart
from keyplan.design.template_parse import Text
from keyplan.design.templates import BoundTemplate


@dataclass(frozen=True, eq=False)
class Pair:
    """A field of the entity, and what the written text has in its place."""

    field: str
    source: Source = None
    """A parameter; None where the text has letters there."""
    literal: str | None = None
    encoded: BoundHole | None = None
    """The hole that makes the field's text in the entity's key."""
    asked: BoundHole | None = None
    """Of a parameter: the hole that makes the written text."""
    closed: bool = True
    """Whether the written text goes on after it, or the entity's key ends there: then the value is meant as a whole."""

    @property
    def is_part(self) -> bool:
        """Whether the parameter is of another type than the moment that it stands for: a day, or the text of one."""
        if self.asked is None or self.encoded is None:
            return False
        return self.encoded.field.type in {date, datetime} and self.asked.field.type is not self.encoded.field.type


def align(template: BoundTemplate, written: KeyValue) -> list[Pair] | None:
    """The pairs of a written key text; None where it cannot be the beginning of any key of the entity."""
    assert written.template is not None, "written texts are templates"
    return _Alignment(template.parts, written.template.parts, written).pairs()


def same_texts(one: BoundTemplate, other: BoundTemplate) -> bool:
    """Return True for templates that differ at most in the names of their fields."""
    return [_shape(part) for part in one.parts] == [_shape(part) for part in other.parts]


def _shape(part: BoundPart) -> tuple[Any, ...]:
    return (part.field.type, part.spec) if isinstance(part, BoundHole) else (part.text,)


class _Alignment:
    """Walks both texts from the left."""

    def __init__(self, own: Sequence[BoundPart], asked: Sequence[BoundPart], written: KeyValue) -> None:
        self._own, self._asked, self._sources = list(own), list(asked), written.sources

    def pairs(self) -> list[Pair] | None:
        """All pairs, or None."""
        found: list[Pair] = []
        while self._asked:
            if not self._own:
                return None
            first, asked = self._own[0], self._asked[0]
            if isinstance(first, Text):
                if not isinstance(asked, Text) or not self._letters(first.text, asked.text):
                    return None
            elif isinstance(asked, Text):
                pair = self._literal(first, asked.text)
                if pair is None:
                    return None
                found.append(pair)
            else:
                self._own.pop(0)
                self._asked.pop(0)
                found.append(
                    Pair(first.name, self._sources[asked.name], encoded=first, asked=asked, closed=self._is_closed())
                )
        return found

    def _is_closed(self) -> bool:
        return bool(self._asked) or not self._own

    def _letters(self, own: str, asked: str) -> bool:
        """Take what both have alike."""
        length = min(len(own), len(asked))
        if own[:length] != asked[:length]:
            return False
        self._shorten(self._own, own, length)
        self._shorten(self._asked, asked, length)
        return True

    def _literal(self, hole: BoundHole, asked: str) -> Pair | None:
        """Letters where the entity has a field: they are its text, up to what follows it."""
        self._own.pop(0)
        end = asked.find(hole.delimiter) if hole.delimiter else -1
        value = asked if end < 0 else asked[:end]
        if not value:
            return None
        self._shorten(self._asked, asked, len(value))
        return Pair(hole.name, literal=value, encoded=hole, closed=end >= 0 or not self._own)

    @staticmethod
    def _shorten(parts: list[BoundPart], text: str, length: int) -> None:
        if length == len(text):
            parts.pop(0)
        else:
            parts[0] = Text(text[length:])
