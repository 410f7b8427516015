"""Rules for published figures (`claims=`): capacity units, prices, latencies and the free tier."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import isclose
from typing import Any

from keyplan.check.claims import (
    SINGLE_DIGIT_MS,
    ClaimedUnits,
    all_claims,
    claim_place,
    design_claims,
    parse_milliseconds,
    parse_price,
    parse_units,
    parse_year_and_month,
    pattern_claims,
)
from keyplan.check.finding import Finding, Severity, count_text, number
from keyplan.check.rule import design_rule
from keyplan.check.subject import Subject
from keyplan.cost.expected import Expected, expected, pages
from keyplan.cost.prices import GB
from keyplan.design.declaring.patterns import Pattern
from keyplan.design.errors import Place
from keyplan.design.workload import Claim, OnDemand

_FREE_REQUESTS = re.compile(r"\d[\d.,]*\s*(?:M|million)?\s*(?:read|write)s?(?:\s+requests)?\b", re.IGNORECASE)
_FREE_TIER = re.compile(r"\bfree[- ]tier\b", re.IGNORECASE)


@design_rule("KP809", "warning")
def beyond_free_tier(subject: Subject) -> Iterator[Finding]:
    """Design exceeds the free tier

    Finds claims that a design fits in the free tier, if the design stores more than 25 GB or provisions more than 25
    write or read capacity units. Also finds claims that a certain number of read or write requests is free, if the
    design has on-demand tables.

    Why is this bad? The permanent free tier covers 25 GB of storage in the Standard class, 25 provisioned write
    capacity units and 25 provisioned read capacity units. It applies to the whole account, not to each table. On-demand
    requests are not included.

    Fix: state the cost that `keyplan price` computes for the design, and subtract the free tier once for the account.

    Source: the pricing page; developer guide, "DynamoDB throughput capacity" (free tier of provisioned mode).
    """
    for name, claim in design_claims(subject):
        if not _FREE_TIER.search(claim.text):
            continue
        on_demand = [table.name for table in subject.tables if isinstance(table.schema.billing, OnDemand)]
        if on_demand and _FREE_REQUESTS.search(claim.text):
            yield beyond_free_tier.finding(
                name,
                f'"{claim.text}": requests to table {", ".join(on_demand)} are billed from the first, because the free'
                " tier covers provisioned units only",
                "state what the requests cost (keyplan price), or declare billing=Provisioned(...)",
                claim.place,
            )
        exceeded = _exceeded_limits(subject)
        if exceeded:
            yield beyond_free_tier.finding(
                name,
                f'"{claim.text}": the design has {" and ".join(exceeded)}',
                "state what the design costs (keyplan price), and subtract the free tier once for the account",
                claim.place,
            )


def _exceeded_limits(subject: Subject) -> list[str]:
    free_tier = subject.book.free
    stored_gb = sum(part.storage_bytes for table in subject.estimate.tables for part in table.parts) / GB
    capacities = [part.provisioned for part in subject.capacity_uses if part.provisioned is not None]
    figures = [
        (stored_gb, free_tier["storage_gb"], "GB of storage"),
        (
            sum(capacity.write for capacity in capacities),
            free_tier["provisioned_write_units"],
            "provisioned write units",
        ),
        (sum(capacity.read for capacity in capacities), free_tier["provisioned_read_units"], "provisioned read units"),
    ]
    return [
        f"{amount:,.0f} {label}, of which {free_amount:g} are free"
        for amount, free_amount, label in figures
        if amount > free_amount
    ]


_MAX_AGE_MONTHS = 12


@design_rule("KP811", "advice")
def outdated_price(subject: Subject) -> Iterator[Finding]:
    """Price is outdated

    Finds claimed prices whose source is dated more than twelve months before the prices included with keyplan.

    Why is this bad? Prices change: the prices of on-demand requests were halved on 1 November 2024.

    Fix: look up the current price, and state the date in the source of the claim: `Claim("$0.625 per million writes",
    "pricing page, 2026-08")`.

    Source: the pricing page; the date of the prices included with keyplan.
    """
    for name, claim, place in all_claims(subject):
        yield from _price_age(subject, name, claim, place)


def _price_age(subject: Subject, name: str, claim: Claim, place: Place) -> Iterator[Finding]:
    dated = parse_year_and_month(claim.source)
    if dated is None or parse_price(claim.text) is None:
        return
    book = subject.book.dated
    months = (book.year - dated[0]) * 12 + book.month - dated[1]
    if months > _MAX_AGE_MONTHS:
        yield outdated_price.finding(
            name,
            f'"{claim.text}" is from {claim.source}, {months} months before the prices of {book} in the package',
            "look the price up again, and put the new date into the claim's source",
            place,
        )


_FORMER_FACTOR = 2.0
"""The ratio of on-demand prices before 2024-11-01 to current prices."""


@design_rule("KP820", "warning")
def wrong_price(subject: Subject) -> Iterator[Finding]:
    """Claimed price is wrong

    Finds claimed prices per million requests that differ by more than 1% from the prices included with keyplan. These
    are the on-demand prices of the Standard table class.

    Why is this bad? In us-east-1, a million read units cost $0.25 and a million write units $1.25 until 31 October
    2024. Both prices were halved on 1 November 2024. Prices apply to capacity units, not to requests: a read unit
    covers a consistent read of up to 4 KB, a write unit covers a write of up to 1 KB, and each index uses additional
    write units. A million requests can therefore cost more.

    Fix: state the price with its Region and date, or use `keyplan price` to compute it.

    Source: the pricing page; AWS announcement of 14 November 2024, "Amazon DynamoDB reduces prices for on-demand
    throughput".
    """
    for name, claim, place in all_claims(subject):
        yield from _price_difference(subject, name, claim, place)


def _price_difference(subject: Subject, name: str, claim: Claim, place: Place) -> Iterator[Finding]:
    claimed = parse_price(claim.text)
    if claimed is None:
        return
    book = subject.book
    price = book[f"{claimed.kind}_unit"] * 1e6
    if isclose(claimed.per_million, price, rel_tol=0.01):
        return
    old = isclose(claimed.per_million, price * _FORMER_FACTOR, rel_tol=0.01)
    yield wrong_price.finding(
        name,
        f'"{claim.text}": a million {claimed.kind} units cost ${price:g} on demand in {book.region} ({book.dated})'
        + ("; the claim was the price until it was halved on 2024-11-01" if old else ""),
        "state the price with its Region and date, for units of 4 KB read or 1 KB written",
        place,
    )


@design_rule("KP822", "error", "warning")
def wrong_units(subject: Subject) -> Iterator[Finding]:
    """Claimed units are wrong

    Finds patterns whose claimed capacity units are impossible for a call (error), or lower than the estimate for the
    declared item counts and sizes (warning). Patterns with the same claim are reported in one finding.

    Why is this bad? A write uses one write unit per KB, rounded up, and a delete uses at least one write unit. In
    addition, a write uses one write unit per KB of the projected attributes in every index that contains the item, and
    twice as many if the index key changes. "0.5 WCU" and "1.5 WCU" are impossible, and so is "1 WCU" for an item in an
    index. A read of 4 KB uses one read unit if it is consistent, and half a read unit otherwise. Items that a filter
    removes are billed like returned items.

    Fix: use the figures from `keyplan explain` and `keyplan verify`, and state the item size to which they apply.

    Source: developer guide, "DynamoDB read and write operations" and "Provisioned throughput considerations for global
    secondary indexes".
    """
    for pattern, claim in pattern_claims(subject):
        claimed = parse_units(claim.text)
        if claimed is None or any(fault.code in {"KP301", "KP308"} for fault in pattern.plan.faults):
            continue
        estimate = expected(pattern)
        if claimed.kind == "write" and not pattern.plan.reading:
            yield from _write_claim(pattern, claim, claimed, estimate)
        elif claimed.kind == "read" and pattern.plan.reading:
            yield from _read_claim(pattern, claim, claimed, estimate)


def _write_claim(
    pattern: Pattern[..., Any], claim: Claim, claimed: ClaimedUnits, estimate: Expected
) -> Iterator[Finding]:
    index_units = _certain_indexes(pattern, estimate)
    minimum = estimate.units.write + sum(index_units.values()) if not pattern.plan.steps else estimate.units.write
    index_text = f" and {', '.join(index_units)} {number(sum(index_units.values()))}" if index_units else ""
    sentinels = " with its sentinels" if pattern.plan.entity.sentinels else ""
    if claimed.high < minimum:
        prefix = "write units are rounded up, and " if claimed.high != int(claimed.high) else ""
        yield _units_finding(
            pattern,
            claim,
            "error",
            f"{prefix}at least {number(minimum)} are billed: the table takes"
            f" {number(estimate.units.write)}{sentinels}{index_text}",
        )
    elif claimed.low != int(claimed.low) or claimed.high != int(claimed.high):
        yield _units_finding(pattern, claim, "error", "write units are whole numbers, one per KB, rounded up")
    elif claimed.high < estimate.units.total_write and not estimate.guesses:
        yield _units_finding(
            pattern,
            claim,
            "warning",
            f"{number(estimate.units.total_write)} are expected on average, of which its indexes take"
            f" {number(estimate.units.total_write - estimate.units.write)}",
        )


def _certain_indexes(pattern: Pattern[..., Any], estimate: Expected) -> dict[str, float]:
    """Return the write units that every call to a pattern uses on indexes, by index name. Only indexes that contain all
    items of the entity are included.
    """
    entity = pattern.plan.entity
    certain_names = [
        bound.index.name
        for bound in entity.indexes
        if bound.only_if is None and not any(entity.fields[name].optional for name in bound.fields)
    ]
    return {name: units for name, units in estimate.units.indexes.items() if name in certain_names}


def _read_claim(
    pattern: Pattern[..., Any], claim: Claim, claimed: ClaimedUnits, estimate: Expected
) -> Iterator[Finding]:
    minimum = 1.0 if pattern.plan.consistent else 0.5
    if claimed.high < minimum:
        kind = "a consistent read" if pattern.plan.consistent else "an eventually consistent read"
        yield _units_finding(pattern, claim, "error", f"{kind} costs at least {minimum:g}, even if it finds nothing")
    elif claimed.high < estimate.units.read and not estimate.guesses:
        yield _units_finding(
            pattern,
            claim,
            "warning",
            f"{number(estimate.units.read)} are expected at the declared numbers, for {number(estimate.evaluated)}"
            f" items read",
        )


def _units_finding(pattern: Pattern[..., Any], claim: Claim, severity: Severity, reason: str) -> Finding:
    return wrong_units.finding(
        pattern.name,
        f'{pattern.name} is claimed to cost "{claim.text}": {reason}',
        f"correct the claim; keyplan explain shows what {pattern.name} costs and why",
        claim_place(pattern),
        claim.place,
        severity=severity,
        item=pattern.name,
        cause=claim.text,
    )


_PAGE_MS = 20.0
"""A low estimate of the time that DynamoDB needs to read and send a full page, in milliseconds."""


@design_rule("KP823", "warning")
def wrong_latency(subject: Subject) -> Iterator[Finding]:
    """Claimed latency is too low

    Finds claimed latencies that are too low for scans and for queries that read more than one page. A latency is too
    low if it is less than 20 ms per page. For a scan, a latency of 10 ms or less is always too low.

    Why is this bad? Reading one item or a small page takes milliseconds. A scan, or a query for thousands of items,
    reads pages of 1 MB one after the other.

    Fix: specify which patterns the latency applies to. For the other patterns, use an index, a counter or a background
    job.

    Source: developer guide, "What is Amazon DynamoDB" (latency of item operations), "Scanning tables" and "Paginating
    table query results" (1 MB per page).
    """
    for name, claim in design_claims(subject):
        milliseconds = parse_milliseconds(claim.text)
        slow = [
            slow_pattern
            for slow_pattern in subject.design.patterns
            if milliseconds is not None and _is_slow(slow_pattern, milliseconds)
        ]
        if slow:
            names = ", ".join(slow_pattern.name for slow_pattern in slow[:4])
            yield wrong_latency.finding(
                name,
                f'"{claim.text}": {names} read {_pages_text(slow[0])}',
                "name the patterns that it applies to",
                claim.place,
                slow[0].place,
            )
    for pattern, claim in pattern_claims(subject):
        milliseconds = parse_milliseconds(claim.text)
        if milliseconds is not None and _is_slow(pattern, milliseconds):
            yield wrong_latency.finding(
                pattern.name,
                f'{pattern.name} is claimed to take "{claim.text}", but reads {_pages_text(pattern)}',
                "remove the claim, or give the pattern an index or a counter",
                claim_place(pattern),
            )


def _is_slow(pattern: Pattern[..., Any], milliseconds: float) -> bool:
    plan = pattern.plan
    if plan.operation == "Scan":
        return milliseconds <= SINGLE_DIGIT_MS or pages(pattern) * _PAGE_MS > milliseconds
    return plan.operation == "Query" and not plan.faults and pages(pattern) * _PAGE_MS > max(milliseconds, _PAGE_MS)


def _pages_text(pattern: Pattern[..., Any]) -> str:
    count, whole = max(1.0, pages(pattern)), pattern.plan.operation == "Scan"
    size = count_text(round(count), "page of 1 MB", "pages of 1 MB each")
    return f"{'the whole table' if whole else 'a large range'}, about {size}"
