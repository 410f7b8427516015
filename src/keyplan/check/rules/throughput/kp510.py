"""A bulk job that takes the capacity of everybody else

A scan or a batch runs as fast as it is answered. On a provisioned table it uses up the second's units, and
requests of users are throttled beside it; on demand it can still fill the warm floor of a table.

It is found for scans and batches without a declared rate whose one call needs more units than the table has a
second, on tables where that hurts: provisioned ones, and on-demand tables with declared traffic.

Give the job a rate and keep to it, read less at a time with `page_size`, run it from an export to S3 or through an
import, or raise the capacity for its duration.

Source: developer guide, "Best practices for querying and scanning data" and "Avoiding sudden spikes".
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan import limits
from keyplan.check.finding import Finding
from keyplan.check.load import Work, number
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.cost.expected import expected
from keyplan.design.workload import OnDemand, Provisioned

RULE = Rule("KP510", "bulk-beside-traffic", ("warning",))


def check(subject: Subject) -> Iterator[Finding]:
    """Scans and batches larger than what a second holds."""
    for work in subject.works:
        if work.plan.operation not in {"Scan", "BatchWriteItem"} or work.rate is not None or _guessed(work):
            continue
        billing = work.plan.schema.billing
        if isinstance(billing, OnDemand) and not _traffic_beside(subject, work):
            continue
        what, units = ("read", work.units.read) if work.plan.reading else ("write", _written(work))
        has = _has(billing, what)
        if units > has:
            yield Finding(
                RULE.code,
                "warning",
                work.pattern.name,
                f"{work.pattern.name} takes {number(units)} {what} units a call as fast as it is answered, and table"
                f" {work.plan.schema.name} {'has' if isinstance(billing, Provisioned) else 'serves at first'}"
                f" {has:,} a second: {number(units / has)} seconds of everything",
                "declare a rate that leaves room and keep to it, or work on an export or by an import",
                work.pattern.place,
                work.plan.schema.place,
            )


def _guessed(work: Work) -> bool:
    return work.plan.reading and bool(expected(work.pattern).guesses)


def _has(billing: OnDemand | Provisioned, what: str) -> int:
    if isinstance(billing, Provisioned):
        return billing.read if what == "read" else billing.write
    read, write = billing.served
    return read if what == "read" else write


def _written(work: Work) -> float:
    """A batch of one call: its declared number of items, or one request's 25, or all items where they are fewer."""
    if work.pattern.facts.returns is not None:
        return work.units.write
    items = work.plan.entity.items
    most = limits.BATCH_WRITE_ITEMS
    return work.units.write * (most if items is None else min(most, items.count))


def _traffic_beside(subject: Subject, work: Work) -> bool:
    return any(other.rate is not None and other.plan.schema is work.plan.schema for other in subject.works)
