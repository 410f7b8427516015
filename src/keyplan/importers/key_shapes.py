"""Texts of keys taken apart: which parts of USER#17 are always there, and which are values.

A guess from samples, so it is only made where they leave no doubt: all have the same number of parts between
`#`, and a part counts as literal text only if it is the same in all of them and is made of letters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_SEPARATOR = "#"
_WORD = re.compile(r"[A-Za-z][A-Za-z_-]*")
_TELLING_LENGTH = 6
"""A single value of so many characters is not equal to another by chance."""


@dataclass(frozen=True)
class Shape:
    """A key attribute's text: literal words, and values where the word is None."""

    words: tuple[str | None, ...]
    values: tuple[tuple[str, ...], ...]
    """Of each value part: what it is in each sample."""
    called: tuple[str, ...]
    """Of each value part: what the source calls it, or the word before it; "" where there is neither."""

    @property
    def text(self) -> str:
        """The words, with {} for each value."""
        return _SEPARATOR.join("{}" if word is None else word for word in self.words)


def shape_of(texts: Sequence[str], alias: str = "") -> Shape | None:
    """The shape that all of some texts have; None where that is in doubt."""
    if not texts or any(brace in text for text in texts for brace in "{}"):
        return None
    split = [text.split(_SEPARATOR) for text in texts]
    names = alias.split(_SEPARATOR)
    size = len(split[0])
    if any(len(parts) != size for parts in split) or (size == 1 and not _is_one_word(texts, alias)):
        return None
    names = names if len(names) == size else [""] * size
    columns = [tuple(parts[at] for parts in split) for at in range(size)]
    if any(_doubtful(columns[at], names[at]) for at in range(1, size - 1)):
        return None
    varied = len(set(texts)) > 1
    words = tuple(_word(columns, at, names[at], varied=varied) for at in range(size))
    values = tuple(column for column, word in zip(columns, words, strict=True) if word is None)
    if words[0] is None or not any(words) or any(not value for column in values for value in column):
        return None
    called = tuple(_called(words, at, names[at]) for at in range(size) if words[at] is None)
    told = [name for name in alias.split(_SEPARATOR) if name]
    if len(told) == len(values):  # an alias of values alone: SubId#SKU of SUB#17#SKU#99
        called = tuple(map(_bare, told))
    return Shape(words, values, called)


def _doubtful(column: Sequence[str], name: str) -> bool:
    """Whether a part in the middle may be a word as well as a value: open in STATUS#open#17."""
    text = column[0]
    is_word = len(set(column)) == 1 and _WORD.fullmatch(text) is not None
    return is_word and not text.isupper() and not name


def _is_one_word(texts: Sequence[str], alias: str) -> bool:
    """Whether a key without separator is always the same word: that of its alias, or that of several items."""
    return len(set(texts)) == 1 and (texts[0] == alias or (len(texts) > 1 and texts[0].isupper()))


def _word(columns: Sequence[tuple[str, ...]], at: int, name: str, *, varied: bool) -> str | None:
    """The literal text of a part, or None for a value."""
    column = columns[at]
    if len(set(column)) > 1:
        return None
    text = column[0]
    if text == "":
        return text
    if at and name and text != name and not text.isupper():
        return None  # the alias names a value
    is_last = at == len(columns) - 1
    likely = _WORD.fullmatch(text) is not None and (not is_last or varied or len(columns) == 1)
    return text if text == name or likely else None


def _called(words: Sequence[str | None], at: int, name: str) -> str:
    if name:
        return _bare(name)
    before = words[at - 1]
    return f"{before.lower()}_id" if before else ""


def _bare(name: str) -> str:
    return name.strip("<>{}[]$ ")


def is_telling(column: Sequence[str]) -> bool:
    """Whether another column that is the same is the same value, and not equal by chance."""
    return len(set(column)) > 1 or len(column[0]) >= _TELLING_LENGTH
