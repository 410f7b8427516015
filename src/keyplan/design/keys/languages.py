r"""Sets of characters, and regular languages that describe the strings of template placeholders.

A language may contain more strings than an encoding produces, but never fewer. Therefore, if the languages of two
templates do not share a string, the templates cannot produce the same key (see `overlaps`). Sets of characters are
stored as ranges of code points. Code points sort in the same order as their UTF-8 bytes, and therefore in the order in
which DynamoDB sorts Strings. No set contains surrogates, because Strings cannot contain them.

`pattern_language` parses the `pattern` of a field. pydantic searches for a pattern with Rust's regex crate: `$` is the
end of the text, and a pattern without the anchors ^ or $ matches anywhere in the text. Literals, classes, groups,
alternatives and repetition are supported. A class such as \d includes every non-ASCII character. With any other syntax,
such as flags, word boundaries or lookaround, the field is treated as an arbitrary string.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import islice

HIGHEST = 0x10FFFF
_SURROGATES = (0xD800, 0xDFFF)
# Characters for examples, the most readable first.
_PLAIN = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-_.~:/#"


@dataclass(frozen=True)
class CharSet:
    """A set of characters, stored as disjoint, inclusive ranges of code points in ascending order."""

    ranges: tuple[tuple[int, int], ...]

    @classmethod
    def from_text(cls, characters: str) -> CharSet:
        """Return the set of the characters in a string."""
        return _merge_ranges([(ord(character), ord(character)) for character in characters])

    @classmethod
    def between(cls, low: str, high: str) -> CharSet:
        """Return the set of characters from `low` to `high`, inclusive."""
        return _merge_ranges([(ord(low), ord(high))]).intersection(ANY)

    def __contains__(self, character: str) -> bool:
        point = ord(character)
        return any(low <= point <= high for low, high in self.ranges)

    def __bool__(self) -> bool:
        return bool(self.ranges)

    def __or__(self, other: CharSet) -> CharSet:
        return _merge_ranges([*self.ranges, *other.ranges])

    def intersection(self, other: CharSet) -> CharSet:
        """Return the intersection of this set and another set."""
        pairs = ((max(a, c), min(b, d)) for a, b in self.ranges for c, d in other.ranges)
        return CharSet(tuple((low, high) for low, high in pairs if low <= high))

    def difference(self, other: CharSet) -> CharSet:
        """Return the characters of this set that are not in another set."""
        return self.intersection(other.complement)

    @cached_property
    def complement(self) -> CharSet:
        """The characters that are valid in a String and not in this set."""
        gaps, following = [], 0
        for low, high in sorted([*self.ranges, _SURROGATES]):
            if low > following:
                gaps.append((following, low - 1))
            following = max(following, high + 1)
        if following <= HIGHEST:
            gaps.append((following, HIGHEST))
        return CharSet(tuple(gaps))

    @property
    def lowest(self) -> int:
        """The lowest code point of the set, which must not be empty."""
        return self.ranges[0][0]

    @property
    def highest(self) -> int:
        """The highest code point of the set, which must not be empty."""
        return self.ranges[-1][1]

    @property
    def max_bytes(self) -> int:
        """The maximum number of UTF-8 bytes per character of the set."""
        return utf8_bytes(self.highest) if self.ranges else 0

    @property
    def min_bytes(self) -> int:
        """The minimum number of UTF-8 bytes per character of the set."""
        return utf8_bytes(self.lowest) if self.ranges else 0

    def examples(self, count: int) -> str:
        """Return up to `count` characters of the set, the most readable first. The set must not be empty."""
        plain = islice((character for character in _PLAIN if character in self), count)
        return "".join(plain) or chr(self.lowest)


def utf8_bytes(point: int) -> int:
    """Return the number of bytes, from 1 to 4, that encode a code point in UTF-8."""
    return 1 + (point > 0x7F) + (point > 0x7FF) + (point > 0xFFFF)


def next_character(character: str) -> str | None:
    """Return the next character that is valid in a String, or None for the last one."""
    point = ord(character) + 1
    if point > HIGHEST:
        return None
    return chr(_SURROGATES[1] + 1) if point == _SURROGATES[0] else chr(point)


def previous_character(character: str) -> str | None:
    """Return the previous character that is valid in a String, or None for the first one."""
    point = ord(character) - 1
    if point < 0:
        return None
    return chr(_SURROGATES[0] - 1) if point == _SURROGATES[1] else chr(point)


def _merge_ranges(ranges: list[tuple[int, int]]) -> CharSet:
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return CharSet(tuple(merged))


ANY = CharSet(((0, _SURROGATES[0] - 1), (_SURROGATES[1] + 1, HIGHEST)))
DIGITS = CharSet.between("0", "9")
LETTERS = CharSet.between("a", "z") | CharSet.between("A", "Z")


@dataclass(frozen=True)
class Word:
    """The formal language that contains only one fixed string."""

    text: str


@dataclass(frozen=True)
class Run:
    """The formal language of all strings with `low` to `high` characters from one set.

    A `high` of None means unlimited.
    """

    chars: CharSet
    low: int
    high: int | None


@dataclass(frozen=True)
class Chain:
    """The concatenation of several formal languages."""

    parts: tuple[Language, ...]


@dataclass(frozen=True)
class OneOf:
    """The union of several formal languages."""

    options: tuple[Language, ...]


@dataclass(frozen=True)
class Repeat:
    """The formal language whose strings consist of `low` to `high` strings of another language, one after the other. A
    `high` of None means unlimited.
    """

    part: Language
    low: int
    high: int | None


Language = Word | Run | Chain | OneOf | Repeat
EMPTY_TEXT = Word("")


def words(texts: tuple[str, ...]) -> Language:
    """Return the language that contains exactly these strings."""
    return OneOf(tuple(Word(text) for text in texts))


def chars_of(language: Language) -> CharSet:
    """Return all characters that occur in the strings of a language."""
    match language:
        case Word(text):
            return CharSet.from_text(text)
        case Run(chars, _, high):
            return chars if high != 0 else CharSet(())
        case Chain(parts) | OneOf(parts):
            return reduce(CharSet.__or__, map(chars_of, parts), CharSet(()))
        case Repeat(part):
            return chars_of(part)


def first_of(language: Language) -> CharSet:
    """Return all characters with which strings of a language can start."""
    match language:
        case Word(text):
            return CharSet.from_text(text[:1])
        case Run() | Repeat(Run()):
            return chars_of(language)
        case OneOf(options):
            return reduce(CharSet.__or__, map(first_of, options), CharSet(()))
        case Repeat(part):
            return first_of(part)
        case Chain(parts):
            return _first_of_chain(parts)


def _first_of_chain(parts: tuple[Language, ...]) -> CharSet:
    characters = CharSet(())
    for part in parts:
        characters |= first_of(part)
        if lengths_of(part)[0] > 0:
            break
    return characters


def lengths_of(language: Language) -> tuple[int, int | None]:
    """Return the minimum and maximum number of characters in a string of a language. None means unlimited."""
    match language:
        case Word(text):
            return len(text), len(text)
        case Run(_, low, high):
            return low, high
        case Repeat(part, low, high):
            shortest, longest = lengths_of(part)
            return shortest * low, None if longest is None or high is None else longest * high
        case Chain(parts):
            return _summed([lengths_of(part) for part in parts])
        case OneOf(options):
            return _widest([lengths_of(option) for option in options])


def bytes_of(language: Language) -> tuple[int, int | None]:
    """Return the minimum and maximum number of UTF-8 bytes in a string of a language. None means unlimited."""
    match language:
        case Word(text):
            return len(text.encode()), len(text.encode())
        case Run(chars, low, high):
            return low * chars.min_bytes, None if high is None else high * chars.max_bytes
        case Repeat(part, low, high):
            minimum, maximum = bytes_of(part)
            return minimum * low, None if maximum is None or high is None else maximum * high
        case Chain(parts):
            return _summed([bytes_of(part) for part in parts])
        case OneOf(options):
            return _widest([bytes_of(option) for option in options])


def _summed(sizes: list[tuple[int, int | None]]) -> tuple[int, int | None]:
    longest = [maximum for _, maximum in sizes if maximum is not None]
    return sum(minimum for minimum, _ in sizes), sum(longest) if len(longest) == len(sizes) else None


def _widest(sizes: list[tuple[int, int | None]]) -> tuple[int, int | None]:
    longest = [maximum for _, maximum in sizes if maximum is not None]
    return min(minimum for minimum, _ in sizes), max(longest) if len(longest) == len(sizes) else None


_ASCII = CharSet.between("\0", "\x7f")
_BEYOND = ANY.difference(_ASCII)
_SPACE = CharSet.from_text(" \t\n\r\f\v")
_CLASS_ESCAPES = {"d": DIGITS, "w": LETTERS | DIGITS | CharSet.from_text("_"), "s": _SPACE}
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v"}
_QUANTIFIERS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_ANYTHING = Run(ANY, 0, None)
_SPECIAL = frozenset("()[]{}*+?|^$\\.")


class _UnsupportedSyntaxError(Exception):
    """Raised if a regular expression uses unsupported syntax."""


def pattern_language(pattern: str) -> Language | None:
    """Return a language that contains every string that the pattern matches.

    Return None if the pattern uses unsupported syntax.
    """
    reader = _PatternParser(pattern)
    try:
        language = reader.alternatives(outermost=True)
        reader.expect_end()
    except _UnsupportedSyntaxError:
        return None
    return language


class _PatternParser:
    """Parser that reads a regular expression from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0

    def alternatives(self, *, outermost: bool) -> Language:
        """Parse alternatives separated by `|`. Anchors are supported only in the outermost group."""
        options = [self._branch(outermost=outermost)]
        while self._accept("|"):
            options.append(self._branch(outermost=outermost))
        return options[0] if len(options) == 1 else OneOf(tuple(options))

    def expect_end(self) -> None:
        """Raise _UnsupportedSyntaxError if part of the expression has not been parsed."""
        if self._position < len(self._text):
            raise _UnsupportedSyntaxError

    def _branch(self, *, outermost: bool) -> Language:
        parts: list[Language] = []
        if outermost and not (self._accept("^") or self._accept("\\A")):
            parts.append(_ANYTHING)
        while self._position < len(self._text) and self._peek() not in {"|", ")"}:
            if outermost and (self._accept("$") or self._accept("\\z")):
                if self._position < len(self._text) and self._peek() != "|":
                    raise _UnsupportedSyntaxError
                return _chain(parts)
            parts.append(self._repeated(self._atom()))
        return _chain([*parts, _ANYTHING] if outermost else parts)

    def _atom(self) -> Language:
        character = self._next()
        if character == "(":
            return self._group()
        if character == "[":
            return Run(self._class(), 1, 1)
        if character == "\\":
            return Run(self._escape()[0], 1, 1)
        if character == ".":
            return Run(ANY.difference(CharSet.from_text("\n")), 1, 1)
        if character in _SPECIAL:
            raise _UnsupportedSyntaxError
        return Run(CharSet.from_text(character), 1, 1)

    def _group(self) -> Language:
        if self._accept("?"):
            if self._accept("P<") or self._accept("<"):
                name_end = self._text.find(">", self._position)
                if not self._text[self._position : max(name_end, self._position)].isidentifier():
                    raise _UnsupportedSyntaxError
                self._position = name_end + 1
            elif not self._accept(":"):
                raise _UnsupportedSyntaxError
        language = self.alternatives(outermost=False)
        if not self._accept(")"):
            raise _UnsupportedSyntaxError
        return language

    def _repeated(self, part: Language) -> Language:
        bounds = self._quantifier()
        if bounds is None:
            return part
        self._accept("?")  # greediness does not change the language
        if self._quantifier() is not None:
            raise _UnsupportedSyntaxError
        low, high = bounds
        if isinstance(part, Run) and (part.low, part.high) == (1, 1):
            return Run(part.chars, low, high)
        return Repeat(part, low, high)

    def _quantifier(self) -> tuple[int, int | None] | None:
        for sign, bounds in _QUANTIFIERS.items():
            if self._accept(sign):
                return bounds
        if not self._accept("{"):
            return None
        end = self._text.find("}", self._position)
        low, comma, high = self._text[self._position : max(end, self._position)].partition(",")
        if not low.isdecimal() or (high and not high.isdecimal()):
            raise _UnsupportedSyntaxError
        self._position = end + 1
        return int(low), (int(high) if high else None) if comma else int(low)

    def _class(self) -> CharSet:
        """Parse a character class in brackets. The result contains at least the characters that the class matches."""
        negated = self._accept("^")
        wide, narrow = CharSet(()), CharSet(())
        first = True
        while first or self._peek() != "]":
            first = False
            member_wide, member_narrow = self._member()
            wide, narrow = wide | member_wide, narrow | member_narrow
        self._next()
        return ANY.difference(narrow) if negated else wide

    def _member(self) -> tuple[CharSet, CharSet]:
        if self._text[self._position : self._position + 2] in {"&&", "--", "~~"} or self._peek() == "[":
            raise _UnsupportedSyntaxError
        character = self._next()
        if character == "\\":
            wide, narrow = self._escape()
            if wide != narrow or len(wide.ranges) != 1 or wide.lowest != wide.highest:
                return wide, narrow
            character = chr(wide.lowest)
        if self._peek() == "-" and self._text[self._position + 1 : self._position + 2] not in {"]", ""}:
            self._next()
            last = self._next()
            if last in {"\\", "["} or last < character:
                raise _UnsupportedSyntaxError
            return (CharSet.between(character, last),) * 2
        return (CharSet.from_text(character),) * 2

    def _escape(self) -> tuple[CharSet, CharSet]:
        """Parse an escape sequence, and return a superset and a subset of the characters that it matches."""
        character = self._next()
        char_class = _CLASS_ESCAPES.get(character.lower())
        if char_class is not None:
            if character.islower():
                return char_class | _BEYOND, char_class
            return ANY.difference(char_class), _ASCII.difference(char_class)
        if character in _CONTROLS:
            return (CharSet.from_text(_CONTROLS[character]),) * 2
        if character.isalnum():
            raise _UnsupportedSyntaxError
        return (CharSet.from_text(character),) * 2

    def _peek(self) -> str:
        if self._position >= len(self._text):
            raise _UnsupportedSyntaxError
        return self._text[self._position]

    def _next(self) -> str:
        character = self._peek()
        self._position += 1
        return character

    def _accept(self, expected: str) -> bool:
        if self._text.startswith(expected, self._position):
            self._position += len(expected)
            return True
        return False


def _chain(parts: list[Language]) -> Language:
    if not parts:
        return EMPTY_TEXT
    return parts[0] if len(parts) == 1 else Chain(tuple(parts))
