"""The shape of an encoding: both directions, and what can be known of its texts without a value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from keyplan.design.encodings_chars import CharSet
from keyplan.design.encodings_language import Language, bytes_of, chars_of, first_of, lengths_of
from keyplan.design.template_errors import KeyValueError, MissingField
from keyplan.design.template_field import Field


@dataclass(frozen=True)
class Encoding:
    """How the values of one field become text.

    `encode` raises KeyValueError or MissingField. `decode` is its inverse and raises ValueError for a text
    that no value makes; when the encoding is not `reversible` it gives one of the values that make the text
    (for a time: the first moment of its unit, in UTC). `keeps_order` says that a greater value never gives a
    lesser text: the order of an Enum or a Literal is the declared one. `rounds_to` names the unit that finer
    values are rounded down to. `choices` are all texts there can be, where they are few. `min_bytes` and
    `max_bytes` are UTF-8, None for no upper end. `language` holds every text of a valid value, `pattern`
    (a regular expression) and `reachable` every text and character of any value of the type. They differ where
    a language is `declared`: narrowed by lengths, a pattern or a range, which rendering does not check.
    """

    name: str
    encode: Callable[[Any], str]
    decode: Callable[[str], Any]
    language: Language
    pattern: str
    reversible: bool
    keeps_order: bool
    min_bytes: int
    max_bytes: int | None
    reachable: CharSet
    choices: tuple[str, ...] | None = None
    rounds_to: str | None = None
    may_be_empty: bool = False
    declared: bool = False

    @property
    def width(self) -> int | None:
        """Characters of the text of every value, valid or not, or None when they differ."""
        return None if self.declared else self.valid_width

    @property
    def valid_width(self) -> int | None:
        """Characters of the text of every valid value, or None when they differ."""
        low, high = lengths_of(self.language)
        return low if low == high else None

    @property
    def chars(self) -> CharSet:
        """The characters that a valid value can put out."""
        return chars_of(self.language)

    @property
    def first(self) -> CharSet:
        """The characters that a text can begin with, of any value of the type."""
        return first_of(self.language) if self.reachable == self.chars else self.reachable

    def exact(self, value: Any) -> bool:
        """Whether the text of this value stands for it alone (False for a moment finer than the unit)."""
        if self.reversible and self.rounds_to is None:
            return True
        # In UTC: two clocks are never equal in the hour that one of them shows twice.
        meant = value.astimezone(UTC) if isinstance(value, datetime) else value
        return bool(self.decode(self.encode(value)) == meant)


def made(
    name: str,
    encode: Callable[[Any], str],
    decode: Callable[[str], Any],
    language: Language,
    pattern: str,
    *,
    reversible: bool = True,
    keeps_order: bool = True,
    choices: tuple[str, ...] | None = None,
    rounds_to: str | None = None,
) -> Encoding:
    """An encoding whose sizes and characters are those of its language."""
    low, high = bytes_of(language)
    reachable = chars_of(language)
    return Encoding(
        name, encode, decode, language, pattern, reversible, keeps_order, low, high, reachable, choices, rounds_to,
        may_be_empty=low == 0,
    )  # fmt: skip


def refused(field: Field, value: Any, wanted: str) -> Exception:
    """The error for a value of the wrong type: a MissingField when there is none."""
    if value is None:
        return MissingField(field.name)
    return KeyValueError(field.name, value, f"it is {type(value).__name__}, and {wanted} is needed")
