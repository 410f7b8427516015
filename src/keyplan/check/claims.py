"""Parses published claims about a design's performance: capacity units, prices, latencies and dates."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from keyplan.check.subject import Subject
from keyplan.design.declaring.patterns import Pattern
from keyplan.design.errors import Place
from keyplan.design.workload import Claim

CapacityKind = Literal["read", "write"]


@dataclass(frozen=True)
class ClaimedUnits:
    """A number or range of capacity units that a published claim about a design states."""

    kind: CapacityKind
    low: float
    high: float
    per_item: bool = False
    """True if the claim states the capacity units for each item, False if it states them for the whole request."""


@dataclass(frozen=True)
class ClaimedPrice:
    """A price that a published claim about a design states, in dollars per million requests."""

    kind: CapacityKind
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


def parse_units(text: str) -> ClaimedUnits | None:
    """Parse the capacity units in the text of a claim, such as "0.5 RCU", "~1-5 RCU", "1.5 WCU per item" or "2 write
    units". Return None if the text does not contain capacity units.
    """
    match = _UNITS.search(text)
    if match is None:
        return None
    first = (match["short"] or match["long"]).lower()
    low = _number(match[1])
    high = _number(match[2]) if match[2] else low
    return ClaimedUnits("read" if first.startswith("r") else "write", low, high, bool(match["each"]))


def parse_price(text: str) -> ClaimedPrice | None:
    """Parse the price per million requests in the text of a claim, such as "$0.25 per million reads". Return None if
    the text contains no price.
    """
    match = _PRICE.search(text)
    if match is None:
        return None
    return ClaimedPrice("read" if match[2].lower() == "read" else "write", _number(match[1]))


def parse_milliseconds(text: str) -> float | None:
    """Return the maximum latency in the text of a claim, in milliseconds, or None if the text contains none. For
    "single-digit ms", return 10.
    """
    match = _LATENCY.search(text)
    if match is None:
        return None
    return float(match[1]) if match[1] else float(SINGLE_DIGIT_MS)


def parse_year_and_month(text: str) -> tuple[int, int] | None:
    """Parse the year and month in the source of a claim, such as "pricing page, 2026-08". If the source contains only a
    year, the month is December. Return None if it contains no year.
    """
    match = _DATE.search(text)
    return None if match is None else (int(match[1]), int(match[2] or 12))


def _number(text: str) -> float:
    return float(text.replace(",", ""))


def all_claims(subject: Subject) -> Iterator[tuple[str, Claim, Place]]:
    """Yield each published claim with the name of the design or pattern that it is about, and its source location."""
    for name, claim in design_claims(subject):
        yield name, claim, claim.place
    for pattern, claim in pattern_claims(subject):
        yield pattern.name, claim, claim_place(pattern)


def design_claims(subject: Subject) -> Iterator[tuple[str, Claim]]:
    """Yield each published claim about the whole design, with the design's name."""
    return ((subject.design.name, claim) for claim in subject.design.claims)


def pattern_claims(subject: Subject) -> Iterator[tuple[Pattern[..., object], Claim]]:
    """Yield each published claim about a pattern, with the pattern."""
    return ((pattern, claim) for pattern in subject.design.patterns for claim in pattern.facts.claims)


def claim_place(pattern: Pattern[..., object]) -> Place:
    """Return the source location of the `claims=` argument of a pattern.

    Several patterns can share a claim, so the location of the claim does not identify the pattern.
    """
    return pattern.place.at("claims=")
