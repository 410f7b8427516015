"""Reading claims: units, prices and times in the words of documents."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from keyplan.check.subject import Subject
from keyplan.design.declaring.patterns import Pattern
from keyplan.design.errors import Place
from keyplan.design.workload import Claim

What = Literal["read", "write"]


@dataclass(frozen=True)
class ClaimedUnits:
    """So many units, or from so many to so many."""

    what: What
    low: float
    high: float
    each: bool = False
    """Whether that is said of each item."""


@dataclass(frozen=True)
class ClaimedPrice:
    """Dollars for a million requests."""

    what: What
    per_million: float


_NUMBER = r"(\d[\d,]*(?:\.\d+)?)"
_UNITS = re.compile(
    rf"{_NUMBER}\s*(?:(?:-|\u2013|to)\s*{_NUMBER})?\s*"
    r"(?:(?P<short>[RW])(?:C|R)U|(?:(?P<long>read|write)\s+(?:capacity\s+|request\s+)?units?))"
    r"(?P<each>\s+per\s+item)?",
    re.IGNORECASE,
)
_PRICE = re.compile(rf"\$\s*{_NUMBER}\s*(?:per|/|a|for)\s*(?:1\s*)?(?:million|M)\s+(read|write)", re.IGNORECASE)
_LATENCY = re.compile(
    r"single[- ]digit[- ]?\s*(?:ms|milli)|(?:<|under|below|within)\s*(\d+)\s*(?:ms|milli)", re.IGNORECASE
)
_DATE = re.compile(r"\b(20\d\d)(?:-(\d\d))?\b")
SINGLE_DIGIT_MS = 10


def units_of(text: str) -> ClaimedUnits | None:
    """The units that a claim names: "0.5 RCU", "~1-5 RCU", "1.5 WCU per item", "2 write units"."""
    found = _UNITS.search(text)
    if found is None:
        return None
    first = (found["short"] or found["long"]).lower()
    low = _number(found[1])
    high = _number(found[2]) if found[2] else low
    return ClaimedUnits("read" if first.startswith("r") else "write", low, high, bool(found["each"]))


def price_of(text: str) -> ClaimedPrice | None:
    """The price of a million requests that a claim names: "$0.25 per million reads"."""
    found = _PRICE.search(text)
    if found is None:
        return None
    return ClaimedPrice("read" if found[2].lower() == "read" else "write", _number(found[1]))


def milliseconds_of(text: str) -> float | None:
    """The longest time that a claim allows: "single-digit ms" is 10."""
    found = _LATENCY.search(text)
    if found is None:
        return None
    return float(found[1]) if found[1] else float(SINGLE_DIGIT_MS)


def year_and_month_of(text: str) -> tuple[int, int] | None:
    """The date that a claim's source bears; December of a bare year."""
    found = _DATE.search(text)
    return None if found is None else (int(found[1]), int(found[2] or 12))


def _number(text: str) -> float:
    return float(text.replace(",", ""))


def of_all(subject: Subject) -> Iterator[tuple[str, Claim, Place]]:
    """Claims of the design, then of its patterns: whose, what, and where it is declared."""
    for name, claim in of_design(subject):
        yield name, claim, claim.place
    for pattern, claim in of_patterns(subject):
        yield pattern.name, claim, place_of(pattern)


def of_design(subject: Subject) -> Iterator[tuple[str, Claim]]:
    """What the design's document says of the whole, with the design's name."""
    return ((subject.design.name, claim) for claim in subject.design.claims)


def of_patterns(subject: Subject) -> Iterator[tuple[Pattern[..., object], Claim]]:
    """What it says of patterns."""
    return ((pattern, claim) for pattern in subject.design.patterns for claim in pattern.facts.claims)


def place_of(pattern: Pattern[..., object]) -> Place:
    """Where a pattern's claim shows: in its own declaration, where several share one claim."""
    return pattern.place.at("claims=")
