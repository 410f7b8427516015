"""More units a second than an account's quota

A table and each of its indexes may take 40,000 write and 40,000 read units a second unless the quota is raised,
and all provisioned tables of an account and Region 80,000 of each together. Above that, requests are throttled on
demand, and a change of provisioned capacity is refused.

Ask for a higher quota well before it is needed; it is granted, but not within the hour.

Source: developer guide, "Quotas in Amazon DynamoDB".
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan import limits
from keyplan.check.capacity import Part, parts_of
from keyplan.check.finding import Finding
from keyplan.check.load import number
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.workload import Provisioned

RULE = Rule("KP506", "capacity-quota", ("warning",))


def check(subject: Subject) -> Iterator[Finding]:
    """Peaks, or bought capacity, above the quotas."""
    for part in parts_of(subject):
        write, read = (0, 0) if part.bought is None else (part.bought.write, part.bought.read)
        told = [
            ("write", part.peak_write, write, limits.TABLE_WRITE_UNITS),
            ("read", part.peak_read, read, limits.TABLE_READ_UNITS),
        ]
        for what, peak, units, quota in told:
            if peak > quota:
                yield _of_part(part, f"takes {number(peak)} {what} units a second at the peak", quota)
            elif units > quota:
                yield _of_part(part, f"is provisioned with {units:,} {what} units a second", quota)
    yield from _account(subject)


def _of_part(part: Part, has: str, quota: int) -> Finding:
    return Finding(
        RULE.code,
        "warning",
        part.name,
        f"{part.where} {has}; the quota is {quota:,} unless it is raised",
        "ask for a higher quota before the load comes, or spread the load over several tables",
        part.place,
    )


def _account(subject: Subject) -> Iterator[Finding]:
    bought = [part.bought for part in parts_of(subject) if isinstance(part.bought, Provisioned)]
    told = [
        ("write", sum(one.write for one in bought), limits.ACCOUNT_WRITE_UNITS),
        ("read", sum(one.read for one in bought), limits.ACCOUNT_READ_UNITS),
    ]
    for what, units, quota in told:
        if units > quota:
            yield Finding(
                RULE.code,
                "warning",
                subject.design.name,
                f"the tables and indexes of {subject.design.name} are provisioned with {units:,} {what} units a second"
                f" together; the quota of an account in a Region is {quota:,} unless it is raised",
                "ask for a higher quota, or put the tables into several accounts",
                subject.tables[0].schema.place,
            )
