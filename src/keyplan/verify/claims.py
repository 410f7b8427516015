"""Compares performance claims with measurements and prices."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from keyplan.check.claims import ClaimedUnits, parse_units
from keyplan.cost.estimate import Estimate
from keyplan.cost.prices import PriceBook
from keyplan.design.workload import Claim

Standing = Literal["holds", "less", "fails", "unproved"]
"""The verdict on a claim.

"holds" means that the verification confirms the claim, and "fails" means that the verification refutes the claim.
"less" means that the measured cost is below the claimed range. "unproved" means that the verification cannot decide,
for example because it had to assume a number that the design does not declare.
"""
# A claim about a design counts only if it starts with a price: documents also mention other prices.
_MILLION = re.compile(r"^\$(?P<price>[\d.,]+)\s+(?:per|a) million (?P<operation>reads?|writes?)", re.IGNORECASE)
_MONTH = re.compile(r"^(?P<under>under |below |less than )?\$(?P<price>[\d.,]+) (?:a|per) month", re.IGNORECASE)
_FAST = re.compile(r"single[- ]digit[- ](?:ms|milliseconds?)", re.IGNORECASE)
_TOLERANCE = 0.005


@dataclass(frozen=True)
class ClaimResult:
    """A claim with the verdict on it."""

    claim: Claim
    standing: Standing
    reason: str


@dataclass(frozen=True)
class MeasuredPattern:
    """The measurements of a pattern, for comparison with the claims about it."""

    reads: tuple[float, ...]
    """The measured read units of each call."""
    writes: tuple[float, ...]
    items: float
    """The average number of items that a call reads or writes."""
    split: str
    """The average capacity units of a call for the table and each index, as text."""
    at_scale: float | None
    """The estimated read units of a call for the declared item counts, or None if they do not depend on the number of
    items.
    """
    pages: float
    """The number of consecutive 1 MB requests that a call makes for the declared item counts."""
    assumed: tuple[str, ...] = ()
    """The assumptions that these figures make about numbers that the design does not declare."""


def judge(claim: Claim, figures: MeasuredPattern) -> ClaimResult:
    """Compare a claim about a pattern with the pattern's measurements, and return the claim with the verdict."""
    units = parse_units(claim.text)
    if units is not None:
        return _judge_units(claim, units, figures)
    if _FAST.search(claim.text):
        return _judge_speed(claim, figures.pages, figures.assumed)
    return ClaimResult(claim, "unproved", "running the pattern cannot measure it")


def _judge_units(claim: Claim, claimed: ClaimedUnits, figures: MeasuredPattern) -> ClaimResult:
    reads = claimed.kind == "read"
    consumed = figures.reads if reads else figures.writes
    unit = "RCU" if reads else "WCU"
    times = max(1.0, figures.items) if claimed.per_item else 1.0
    mean = sum(consumed) / len(consumed) / times
    suffix = " per item" if claimed.per_item else ""
    if reads and figures.at_scale is not None and not _within(figures.at_scale, claimed):
        reason = f"{figures.at_scale:,.1f} {unit} at the declared numbers, {mean:,.1f} as generated"
        if figures.assumed:
            return ClaimResult(claim, "unproved", _assuming(reason, figures.assumed))
        return ClaimResult(claim, "fails" if figures.at_scale > claimed.high else "less", reason)
    fits = mean <= claimed.high + _TOLERANCE
    reason = f"{mean:,.4g} {unit}{suffix} on average" + ("" if fits else f": {figures.split}")
    if reads and figures.assumed:
        return ClaimResult(claim, "unproved", _assuming(reason, figures.assumed))
    if fits:
        return ClaimResult(claim, "holds" if _within(mean, claimed) else "less", reason)
    return ClaimResult(claim, "fails", reason)


def _within(value: float, claimed: ClaimedUnits) -> bool:
    return claimed.low - _TOLERANCE <= value <= claimed.high + _TOLERANCE


def _judge_speed(claim: Claim, pages: float, assumed: Sequence[str]) -> ClaimResult:
    if pages > 1:
        reason = f"at the declared numbers, a call sends {pages:,.0f} sequential requests of 1 MB each"
        if assumed:
            return ClaimResult(claim, "unproved", _assuming(reason, assumed))
        return ClaimResult(claim, "fails", reason)
    return ClaimResult(claim, "unproved", "the embedded engine's latency does not predict the service's")


def _assuming(reason: str, assumed: Sequence[str]) -> str:
    return f"{reason}, and {'; '.join(assumed)}"


def judge_design_claim(
    claim: Claim,
    month: Estimate,
    book: PriceBook,
    pages: Sequence[tuple[str, float]],
    assumed: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
) -> ClaimResult:
    """Return a claim about the whole design, with the verdict on it.

    Depending on the claim, it is compared with the monthly estimate `month`, with the prices in `book`, or with
    `pages`. `pages` contains the name of each pattern and the average number of requests (pages) of a call. `assumed`
    maps the name of a pattern to the assumptions behind its figures.
    """
    for pattern, judge_claim in _DESIGN_CLAIMS:
        match = pattern.search(claim.text)
        if match is not None:
            return judge_claim(claim, match, month, book)
    if _FAST.search(claim.text):
        # Patterns with declared numbers come first, because they prove more than slower patterns without them.
        name, max_pages = max(
            pages, key=lambda entry: (entry[1] > 1 and entry[0] not in assumed, entry[1]), default=("", 0.0)
        )
        claim_result = _judge_speed(claim, max_pages, assumed.get(name, ()))
        return replace(claim_result, reason=f"{name}: {claim_result.reason}") if max_pages > 1 else claim_result
    return ClaimResult(claim, "unproved", "running the design cannot measure it")


def _judge_million(claim: Claim, match: re.Match[str], _month: Estimate, book: PriceBook) -> ClaimResult:
    reads = match["operation"].lower().startswith("read")
    price = book["read_unit" if reads else "write_unit"] * 1e6
    unit = (
        "strongly consistent reads of up to 4 KB, half of this if eventually consistent"
        if reads
        else "writes of up to 1 KB"
    )
    claimed = _number(match["price"])
    fits = abs(claimed - price) < _TOLERANCE / 10 or (reads and abs(claimed - price / 2) < _TOLERANCE / 10)
    reason = f"${price:g} per million {unit} ({book.region}, prices of {book.dated})"
    return ClaimResult(claim, "holds" if fits else "fails", reason)


def _judge_month(claim: Claim, match: re.Match[str], month: Estimate, book: PriceBook) -> ClaimResult:
    claimed = _number(match["price"])
    fits = month.total < claimed if match["under"] else abs(month.total - claimed) < _TOLERANCE
    reason = f"${month.total:,.2f} per month at the declared rates and numbers ({book.region}, prices of {book.dated})"
    if fits and month.guesses:
        return ClaimResult(claim, "unproved", f"{reason}, but some rates and numbers are not declared")
    assumed = undeclared_numbers(month.guesses)
    if assumed and not fits:
        return ClaimResult(claim, "unproved", _assuming(reason, assumed))
    return ClaimResult(claim, "holds" if fits else "fails", reason)


_DESIGN_CLAIMS: tuple[
    tuple[re.Pattern[str], Callable[[Claim, re.Match[str], Estimate, PriceBook], ClaimResult]], ...
] = (
    (_MILLION, _judge_million),
    (_MONTH, _judge_month),
)


def undeclared_numbers(guesses: Sequence[str]) -> tuple[str, ...]:
    """Return the assumptions that stand in for undeclared numbers. Results based on these assumptions do not prove a
    claim.
    """
    return tuple(guess for guess in guesses if "not declared" in guess)


def _number(text: str) -> float:
    return float(text.replace(",", "").rstrip("."))
