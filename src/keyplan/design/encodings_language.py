"""Languages: the set of texts that a hole of a template can make, as a small tree.

They are regular on purpose: whether two templates can make one text is decided by walking their trees
together (algebra.py). A language may be wider than what an encoding really makes, never narrower.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from keyplan.design.encodings_chars import CharSet


@dataclass(frozen=True)
class Word:
    """One fixed text."""

    text: str


@dataclass(frozen=True)
class Run:
    """`low` to `high` characters of one set; no upper end when `high` is None."""

    chars: CharSet
    low: int
    high: int | None


@dataclass(frozen=True)
class Chain:
    """One part after the other."""

    parts: tuple[Language, ...]


@dataclass(frozen=True)
class OneOf:
    """Any one of the options."""

    options: tuple[Language, ...]


@dataclass(frozen=True)
class Many:
    """A part `low` to `high` times; no upper end when `high` is None."""

    part: Language
    low: int
    high: int | None


Language = Word | Run | Chain | OneOf | Many
NOTHING_BUT_EMPTY = Word("")


def words(texts: tuple[str, ...]) -> Language:
    """The language of exactly these texts."""
    return OneOf(tuple(Word(text) for text in texts))


def chars_of(language: Language) -> CharSet:
    """Every character that occurs in some text of the language."""
    match language:
        case Word(text):
            return CharSet.of(text)
        case Run(chars, _, high):
            return chars if high != 0 else CharSet(())
        case Chain(parts) | OneOf(parts):
            return reduce(CharSet.__or__, map(chars_of, parts), CharSet(()))
        case Many(part):
            return chars_of(part)


def first_of(language: Language) -> CharSet:
    """Every character that some text of the language begins with."""
    match language:
        case Word(text):
            return CharSet.of(text[:1])
        case Run() | Many(Run()):
            return chars_of(language)
        case OneOf(options):
            return reduce(CharSet.__or__, map(first_of, options), CharSet(()))
        case Many(part):
            return first_of(part)
        case Chain(parts):
            return _first_of_chain(parts)


def _first_of_chain(parts: tuple[Language, ...]) -> CharSet:
    found = CharSet(())
    for part in parts:
        found |= first_of(part)
        if lengths_of(part)[0] > 0:
            break
    return found


def lengths_of(language: Language) -> tuple[int, int | None]:
    """Characters of the shortest and of the longest text; None when there is no longest."""
    match language:
        case Word(text):
            return len(text), len(text)
        case Run(_, low, high):
            return low, high
        case Many(part, low, high):
            least, most = lengths_of(part)
            return least * low, None if most is None or high is None else most * high
        case Chain(parts):
            return _summed([lengths_of(part) for part in parts])
        case OneOf(options):
            return _widest([lengths_of(option) for option in options])


def bytes_of(language: Language) -> tuple[int, int | None]:
    """UTF-8 bytes of the shortest and of the longest text; None when there is no longest."""
    match language:
        case Word(text):
            return len(text.encode()), len(text.encode())
        case Run(chars, low, high):
            return low * chars.least_bytes, None if high is None else high * chars.most_bytes
        case Many(part, low, high):
            least, most = bytes_of(part)
            return least * low, None if most is None or high is None else most * high
        case Chain(parts):
            return _summed([bytes_of(part) for part in parts])
        case OneOf(options):
            return _widest([bytes_of(option) for option in options])


def _summed(sizes: list[tuple[int, int | None]]) -> tuple[int, int | None]:
    longest = [most for _, most in sizes if most is not None]
    return sum(least for least, _ in sizes), sum(longest) if len(longest) == len(sizes) else None


def _widest(sizes: list[tuple[int, int | None]]) -> tuple[int, int | None]:
    longest = [most for _, most in sizes if most is not None]
    return min(least for least, _ in sizes), max(longest) if len(longest) == len(sizes) else None
