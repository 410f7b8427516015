"""A statement of documents that is wrong, and how it is recognised: by its words, unless the text denies it.

"The stream delivers exactly once" is such a statement, "the stream does not deliver exactly once" is none. So a pattern
is looked for within its clause, from one comma, colon or full stop to the next. Where the clause holds a word that
denies, the statement is not made; where the pattern has such a word itself ("never throttles"), one more is needed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from keyplan.check.subject import Subject

Holds = Callable[[Subject, re.Match[str]], bool]
"""Whether the design is one of which the statement is wrong."""

_DENIES = re.compile(
    r"\b(?:no|not|non|never|none|nothing|neither|nor|cannot|without|hardly|unavailable|impossible|reject\w*|myth)\b"
    r"|n['\u2019]t\b",
    re.IGNORECASE,
)
_CLAUSE_ENDS = re.compile(r"[,;:!?]\s|[.](?:\s|$)|[()]")


@dataclass(frozen=True)
class Statement:
    """Something that documents say, in any of several wordings."""

    wordings: tuple[re.Pattern[str], ...]
    problem: str
    """What is true instead."""
    fix: str
    source: str
    holds_of: Holds
    unless: re.Pattern[str] | None
    """Words of the same clause with which it is right."""

    def said_by(self, text: str) -> re.Match[str] | None:
        """Where the text makes the statement, if it does."""
        matches = (found for words in self.wordings for found in words.finditer(text))
        return next((found for found in matches if self._is_meant(found)), None)

    def _is_meant(self, found: re.Match[str]) -> bool:
        clause = clause_of(found)
        if self.unless is not None and self.unless.search(clause):
            return False
        own = 1 if _DENIES.search(found.re.pattern) else 0
        return len(_DENIES.findall(clause)) <= own


def always(_subject: Subject, _found: re.Match[str]) -> bool:
    """It is wrong of every design."""
    return True


def statement(
    *wordings: str, problem: str, fix: str, source: str, holds_of: Holds = always, unless: str | None = None
) -> Statement:
    """A statement by the expressions of its wordings, each of which denies something or does not."""
    return Statement(
        tuple(re.compile(words, re.IGNORECASE) for words in wordings),
        problem,
        fix,
        source,
        holds_of,
        None if unless is None else re.compile(unless, re.IGNORECASE),
    )


def denied(found: re.Match[str]) -> bool:
    """Whether the clause in which something was found denies it."""
    return _DENIES.search(clause_of(found)) is not None


def clause_of(found: re.Match[str]) -> str:
    """Return the clause of the text in which a match was found."""
    text = found.string
    start = max((one.end() for one in _CLAUSE_ENDS.finditer(text, 0, found.start())), default=0)
    end = _CLAUSE_ENDS.search(text, found.end())
    return text[start : len(text) if end is None else end.start()]
