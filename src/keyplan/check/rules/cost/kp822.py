"""Units that a request cannot cost

Write units are whole: each write costs one for each kilobyte, rounded up, at least one, also a deletion; every
index that holds the item adds its own, twice where its key changes. "0.5 WCU", "1.5 WCU" and, with an index, "1 WCU"
cannot be. Read units come in halves: one for 4 KB read consistently, half of it eventually consistent, for what is
read and not for what is returned.

It is an error where the claim cannot be true whatever the data, and a warning where the declared numbers and sizes
give more than is claimed.

Take the figures of `keyplan explain` and `keyplan verify`, and name the size that they hold for.

Source: developer guide, "DynamoDB read and write operations" and "Provisioned throughput considerations for global
secondary indexes".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from keyplan.check.claims import ClaimedUnits, of_patterns, place_of, units_of
from keyplan.check.finding import Finding, Severity
from keyplan.check.load import number
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.cost.expected import Expected, expected
from keyplan.design.patterns import Pattern
from keyplan.design.workload import Claim

RULE = Rule("KP822", "claimed-units", ("error", "warning"))


def check(subject: Subject) -> Iterator[Finding]:
    """Claims of units below what a call costs."""
    for pattern, claim in of_patterns(subject):
        said = units_of(claim.text)
        if said is None or any(fault.code in {"KP301", "KP308"} for fault in pattern.plan.faults):
            continue
        told = expected(pattern)
        if said.what == "write" and not pattern.plan.reading:
            yield from _write(pattern, claim, said, told)
        elif said.what == "read" and pattern.plan.reading:
            yield from _read(pattern, claim, said, told)


def _write(pattern: Pattern[..., Any], claim: Claim, said: ClaimedUnits, told: Expected) -> Iterator[Finding]:
    sure = _sure_indexes(pattern, told)
    least = told.units.write + sum(sure.values()) if not pattern.plan.steps else told.units.write
    beside = f" and {', '.join(sure)} {number(sum(sure.values()))}" if sure else ""
    sentinels = " with its sentinels" if pattern.plan.entity.sentinels else ""
    if said.high < least:
        what = "write units are whole, and " if said.high != int(said.high) else ""
        yield _finding(
            pattern,
            claim,
            "error",
            f"{what}at least {number(least)} are due: the table takes {number(told.units.write)}{sentinels}{beside}",
        )
    elif said.low != int(said.low) or said.high != int(said.high):
        yield _finding(pattern, claim, "error", "write units are whole, one for each kilobyte begun")
    elif said.high < told.units.written and not told.guesses:
        yield _finding(
            pattern,
            claim,
            "warning",
            f"{number(told.units.written)} are expected on average, of which its indexes take"
            f" {number(told.units.written - told.units.write)}",
        )


def _sure_indexes(pattern: Pattern[..., Any], told: Expected) -> dict[str, float]:
    """What indexes take of every such write, those that not every item is in left out."""
    entity = pattern.plan.entity
    sure = [
        bound.index.name
        for bound in entity.indexes
        if bound.when is None and not any(entity.fields[name].optional for name in bound.fields)
    ]
    return {name: units for name, units in told.units.indexes.items() if name in sure}


def _read(pattern: Pattern[..., Any], claim: Claim, said: ClaimedUnits, told: Expected) -> Iterator[Finding]:
    least = 1.0 if pattern.plan.consistent else 0.5
    if said.high < least:
        kind = "a consistent read" if pattern.plan.consistent else "an eventually consistent read"
        yield _finding(pattern, claim, "error", f"{kind} costs at least {least:g}, even of nothing")
    elif said.high < told.units.read and not told.guesses:
        yield _finding(
            pattern,
            claim,
            "warning",
            f"{number(told.units.read)} are expected at the declared numbers, for {number(told.evaluated)} items read",
        )


def _finding(pattern: Pattern[..., Any], claim: Claim, severity: Severity, why: str) -> Finding:
    return Finding(
        RULE.code,
        severity,
        pattern.name,
        f'{pattern.name} is claimed to cost "{claim.text}": {why}',
        f"correct the claim; keyplan explain shows what {pattern.name} costs and why",
        place_of(pattern),
        claim.place,
    )
