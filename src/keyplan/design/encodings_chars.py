"""Sets of characters, as ranges of code points: what an encoding can put out, and where two of them meet.

The order of code points is the order of UTF-8 bytes, which is how DynamoDB sorts Strings. Surrogates
are in no set, because a String cannot hold them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import islice

HIGHEST = 0x10FFFF
_SURROGATES = (0xD800, 0xDFFF)
# Characters a reader likes to see in an example, first the plainest.
_PLAIN = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-_.~:/#"


@dataclass(frozen=True)
class CharSet:
    """A set of characters: disjoint ranges of code points, both ends included, in rising order."""

    ranges: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, characters: str) -> CharSet:
        """The set of these characters."""
        return _joined([(ord(character), ord(character)) for character in characters])

    @classmethod
    def between(cls, low: str, high: str) -> CharSet:
        """The characters from `low` to `high`, both included."""
        return _joined([(ord(low), ord(high))]).meet(ANY)

    def __contains__(self, character: str) -> bool:
        point = ord(character)
        return any(low <= point <= high for low, high in self.ranges)

    def __bool__(self) -> bool:
        return bool(self.ranges)

    def __or__(self, other: CharSet) -> CharSet:
        return _joined([*self.ranges, *other.ranges])

    def meet(self, other: CharSet) -> CharSet:
        """The characters in both."""
        pairs = ((max(a, c), min(b, d)) for a, b in self.ranges for c, d in other.ranges)
        return CharSet(tuple((low, high) for low, high in pairs if low <= high))

    def minus(self, other: CharSet) -> CharSet:
        """The characters in this set and not in the other."""
        return self.meet(other.complement)

    @cached_property
    def complement(self) -> CharSet:
        """Every character of a String that is not in this set."""
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
        """The least code point. The set must not be empty."""
        return self.ranges[0][0]

    @property
    def highest(self) -> int:
        """The greatest code point. The set must not be empty."""
        return self.ranges[-1][1]

    @property
    def most_bytes(self) -> int:
        """UTF-8 bytes of its longest character."""
        return utf8_bytes(self.highest) if self.ranges else 0

    @property
    def least_bytes(self) -> int:
        """UTF-8 bytes of its shortest character."""
        return utf8_bytes(self.lowest) if self.ranges else 0

    def examples(self, count: int) -> str:
        """Up to `count` characters of the set, the plainest first. The set must not be empty."""
        plain = islice((character for character in _PLAIN if character in self), count)
        return "".join(plain) or chr(self.lowest)


def utf8_bytes(point: int) -> int:
    """Bytes of one code point in UTF-8, 1 to 4."""
    return 1 + (point > 0x7F) + (point > 0x7FF) + (point > 0xFFFF)


def following(character: str) -> str | None:
    """The next character a String can hold, or None after the last one."""
    point = ord(character) + 1
    if point > HIGHEST:
        return None
    return chr(_SURROGATES[1] + 1) if point == _SURROGATES[0] else chr(point)


def preceding(character: str) -> str | None:
    """The character before, or None before the first one."""
    point = ord(character) - 1
    if point < 0:
        return None
    return chr(_SURROGATES[0] - 1) if point == _SURROGATES[1] else chr(point)


def _joined(ranges: list[tuple[int, int]]) -> CharSet:
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
