"""The `pattern` of a field as a language: which texts a regular expression lets through, or a few more.

pydantic searches a text for its pattern with Rust's regex, so `$` is the end of the text, and what is not tied to
an end by ^ or $ may have anything around it. Understood are literals, classes, groups, alternatives and
repetition; classes such as \\d take every character beyond ASCII in. For anything else (flags, word boundaries,
looking around) there is no language, and the field counts as any text.
"""

from __future__ import annotations

from keyplan.design.encodings_chars import ANY, DIGITS, LETTERS, CharSet
from keyplan.design.encodings_language import NOTHING_BUT_EMPTY, Chain, Language, Many, OneOf, Run

_ASCII = CharSet.between("\0", "\x7f")
_BEYOND = ANY.minus(_ASCII)
_SPACE = CharSet.of(" \t\n\r\f\v")
_NAMED = {"d": DIGITS, "w": LETTERS | DIGITS | CharSet.of("_"), "s": _SPACE}
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v"}
_QUANTIFIERS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_ANYTHING = Run(ANY, 0, None)
_SPECIAL = frozenset("()[]{}*+?|^$\\.")


class _NotUnderstoodError(Exception):
    """The expression uses what has no language here."""


def pattern_language(pattern: str) -> Language | None:
    """The texts in which the pattern is found, or a few more; None when it is not understood."""
    reader = _Reader(pattern)
    try:
        language = reader.alternatives(outermost=True)
        reader.expect_end()
    except _NotUnderstoodError:
        return None
    return language


class _Reader:
    """Reads an expression from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def alternatives(self, *, outermost: bool) -> Language:
        """Branches parted by bars. Only those of the whole expression may be tied to the ends of the text."""
        options = [self._branch(outermost=outermost)]
        while self._took("|"):
            options.append(self._branch(outermost=outermost))
        return options[0] if len(options) == 1 else OneOf(tuple(options))

    def expect_end(self) -> None:
        """Nothing is left."""
        if self._at < len(self._text):
            raise _NotUnderstoodError

    def _branch(self, *, outermost: bool) -> Language:
        parts: list[Language] = []
        if outermost and not (self._took("^") or self._took("\\A")):
            parts.append(_ANYTHING)
        while self._at < len(self._text) and self._peek() not in {"|", ")"}:
            if outermost and (self._took("$") or self._took("\\z")):
                if self._at < len(self._text) and self._peek() != "|":
                    raise _NotUnderstoodError
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
            return Run(ANY.minus(CharSet.of("\n")), 1, 1)
        if character in _SPECIAL:
            raise _NotUnderstoodError
        return Run(CharSet.of(character), 1, 1)

    def _group(self) -> Language:
        if self._took("?"):
            if self._took("P<") or self._took("<"):
                name_end = self._text.find(">", self._at)
                if not self._text[self._at : max(name_end, self._at)].isidentifier():
                    raise _NotUnderstoodError
                self._at = name_end + 1
            elif not self._took(":"):
                raise _NotUnderstoodError
        language = self.alternatives(outermost=False)
        if not self._took(")"):
            raise _NotUnderstoodError
        return language

    def _repeated(self, part: Language) -> Language:
        found = self._quantifier()
        if found is None:
            return part
        self._took("?")  # whether it is greedy makes no difference to what it can be
        if self._quantifier() is not None:
            raise _NotUnderstoodError
        low, high = found
        if isinstance(part, Run) and (part.low, part.high) == (1, 1):
            return Run(part.chars, low, high)
        return Many(part, low, high)

    def _quantifier(self) -> tuple[int, int | None] | None:
        for sign, times in _QUANTIFIERS.items():
            if self._took(sign):
                return times
        if not self._took("{"):
            return None
        end = self._text.find("}", self._at)
        least, comma, most = self._text[self._at : max(end, self._at)].partition(",")
        if not least.isdecimal() or (most and not most.isdecimal()):
            raise _NotUnderstoodError
        self._at = end + 1
        return int(least), (int(most) if most else None) if comma else int(least)

    def _class(self) -> CharSet:
        """A class in brackets: what is in it at most, or, when it is negated, all but what is in it at least."""
        negated = self._took("^")
        wide, narrow = CharSet(()), CharSet(())
        first = True
        while first or self._peek() != "]":
            first = False
            most, least = self._member()
            wide, narrow = wide | most, narrow | least
        self._next()
        return ANY.minus(narrow) if negated else wide

    def _member(self) -> tuple[CharSet, CharSet]:
        if self._text[self._at : self._at + 2] in {"&&", "--", "~~"} or self._peek() == "[":
            raise _NotUnderstoodError
        character = self._next()
        if character == "\\":
            wide, narrow = self._escape()
            if wide != narrow or len(wide.ranges) != 1 or wide.lowest != wide.highest:
                return wide, narrow
            character = chr(wide.lowest)
        if self._peek() == "-" and self._text[self._at + 1 : self._at + 2] not in {"]", ""}:
            self._next()
            last = self._next()
            if last in {"\\", "["} or last < character:
                raise _NotUnderstoodError
            return (CharSet.between(character, last),) * 2
        return (CharSet.of(character),) * 2

    def _escape(self) -> tuple[CharSet, CharSet]:
        """What an escape stands for, at most and at least."""
        character = self._next()
        named = _NAMED.get(character.lower())
        if named is not None:
            if character.islower():
                return named | _BEYOND, named
            return ANY.minus(named), _ASCII.minus(named)
        if character in _CONTROLS:
            return (CharSet.of(_CONTROLS[character]),) * 2
        if character.isalnum():
            raise _NotUnderstoodError
        return (CharSet.of(character),) * 2

    def _peek(self) -> str:
        if self._at >= len(self._text):
            raise _NotUnderstoodError
        return self._text[self._at]

    def _next(self) -> str:
        character = self._peek()
        self._at += 1
        return character

    def _took(self, expected: str) -> bool:
        if self._text.startswith(expected, self._at):
            self._at += len(expected)
            return True
        return False


def _chain(parts: list[Language]) -> Language:
    if not parts:
        return NOTHING_BUT_EMPTY
    return parts[0] if len(parts) == 1 else Chain(tuple(parts))
