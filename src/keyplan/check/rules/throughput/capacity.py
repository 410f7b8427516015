"""Rules: capacity."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from keyplan import limits
from keyplan.check.finding import Finding, number
from keyplan.check.load import CapacityUse, Work
from keyplan.check.rule import design_rule
from keyplan.check.subject import Subject
from keyplan.cost.estimate import TARGET_USE
from keyplan.cost.expected import expected
from keyplan.design.workload import OnDemand, Provisioned

_INSTANT_GROWTH = 2


@design_rule("KP505", "warning")
def peak_above_warm_throughput(subject: Subject) -> Iterator[Finding]:
    """A peak that a new on-demand table does not serve at once

    On-demand tables and their indexes grow with their load, from a floor: a new one serves 4,000 write units and
    12,000 read units a second at once, and about double its previous peak after that. A launch, an import or a
    morning rush above the floor is throttled for minutes while partitions are added.

    It is found where the declared peak of a table or index is above its warm floor and more than twice its average.

    Raise the floor before the rush with warm throughput, and say so in the design: `OnDemand(warm_write=...)`. Or let
    the load rise over half an hour, or spread imports over time.

    Source: developer guide, "On-demand capacity mode" and "Understanding DynamoDB warm throughput".
    """
    for part in subject.capacity_uses:
        billing = part.table.schema.billing
        if not isinstance(billing, OnDemand):
            continue
        warm_read, warm_write = billing.served
        told = [("write", part.write, part.peak_write, warm_write), ("read", part.read, part.peak_read, warm_read)]
        for what, average, peak, floor in told:
            if peak > floor and peak > _INSTANT_GROWTH * average:
                yield peak_above_warm_throughput.finding(
                    part.name,
                    f"{part.where} takes {number(peak)} {what} units a second at the peak and {number(average)} on"
                    f" average; on demand it serves {floor:,} at first, and double the previous peak after that",
                    f"buy warm throughput for the peak and declare it: OnDemand(warm_{what}={int(peak):_})",
                    part.place,
                )


@design_rule("KP506", "warning")
def capacity_above_quota(subject: Subject) -> Iterator[Finding]:
    """More units a second than an account's quota

    A table and each of its indexes may take 40,000 write and 40,000 read units a second unless the quota is raised,
    and all provisioned tables of an account and Region 80,000 of each together. Above that, requests are throttled on
    demand, and a change of provisioned capacity is refused.

    Ask for a higher quota well before it is needed; it is granted, but not within the hour.

    Source: developer guide, "Quotas in Amazon DynamoDB".
    """
    for part in subject.capacity_uses:
        write, read = (0, 0) if part.bought is None else (part.bought.write, part.bought.read)
        told = [
            ("write", part.peak_write, write, limits.TABLE_WRITE_UNITS),
            ("read", part.peak_read, read, limits.TABLE_READ_UNITS),
        ]
        for what, peak, units, quota in told:
            if peak > quota:
                yield _above_quota(part, f"takes {number(peak)} {what} units a second at the peak", quota)
            elif units > quota:
                yield _above_quota(part, f"is provisioned with {units:,} {what} units a second", quota)
    yield from _account_quota(subject)


def _above_quota(part: CapacityUse, has: str, quota: int) -> Finding:
    return capacity_above_quota.finding(
        part.name,
        f"{part.where} {has}; the quota is {quota:,} unless it is raised",
        "ask for a higher quota before the load comes, or spread the load over several tables",
        part.place,
    )


def _account_quota(subject: Subject) -> Iterator[Finding]:
    bought = [part.bought for part in subject.capacity_uses if isinstance(part.bought, Provisioned)]
    told = [
        ("write", sum(one.write for one in bought), limits.ACCOUNT_WRITE_UNITS),
        ("read", sum(one.read for one in bought), limits.ACCOUNT_READ_UNITS),
    ]
    for what, units, quota in told:
        if units > quota:
            yield capacity_above_quota.finding(
                subject.design.name,
                f"the tables and indexes of {subject.design.name} are provisioned with {units:,} {what} units a second"
                f" together; the quota of an account in a Region is {quota:,} unless it is raised",
                "ask for a higher quota, or put the tables into several accounts",
                subject.tables[0].schema.place,
            )


@design_rule("KP510", "warning")
def bulk_job_starves_traffic(subject: Subject) -> Iterator[Finding]:
    """A bulk job that takes the capacity of everybody else

    A scan or a batch runs as fast as it is answered. On a provisioned table it uses up the second's units, and
    requests of users are throttled beside it; on demand it can still fill the warm floor of a table.

    It is found for scans and batches without a declared rate whose one call needs more units than the table has a
    second, on tables where that hurts: provisioned ones, and on-demand tables with declared traffic.

    Give the job a rate and keep to it, read less at a time with `page_size`, run it from an export to S3 or through an
    import, or raise the capacity for its duration.

    Source: developer guide, "Best practices for querying and scanning data" and "Avoiding sudden spikes".
    """
    for work in subject.works:
        if work.plan.operation not in {"Scan", "BatchWriteItem"} or work.rate is not None or _is_guessed(work):
            continue
        billing = work.plan.schema.billing
        if isinstance(billing, OnDemand) and not _has_other_traffic(subject, work):
            continue
        what, units = ("read", work.units.read) if work.plan.reading else ("write", _batch_units(work))
        has = _capacity_of(billing, what)
        if units > has:
            yield bulk_job_starves_traffic.finding(
                work.pattern.name,
                f"{work.pattern.name} takes {number(units)} {what} units a call as fast as it is answered, and table"
                f" {work.plan.schema.name} {'has' if isinstance(billing, Provisioned) else 'serves at first'}"
                f" {has:,} a second: {number(units / has)} seconds of everything",
                "declare a rate that leaves room and keep to it, or work on an export or by an import",
                work.pattern.place,
                work.plan.schema.place,
            )


def _is_guessed(work: Work) -> bool:
    return work.plan.reading and bool(expected(work.pattern).guesses)


def _capacity_of(billing: OnDemand | Provisioned, what: str) -> int:
    if isinstance(billing, Provisioned):
        return billing.read if what == "read" else billing.write
    read, write = billing.served
    return read if what == "read" else write


def _batch_units(work: Work) -> float:
    """A batch of one call: its declared number of items, or one request's 25, or all items where they are fewer."""
    if work.pattern.facts.returns is not None:
        return work.units.write
    items = work.plan.entity.items
    most = limits.BATCH_WRITE_ITEMS
    return work.units.write * (most if items is None else min(most, items.count))


def _has_other_traffic(subject: Subject, work: Work) -> bool:
    return any(other.rate is not None and other.plan.schema is work.plan.schema for other in subject.works)


@design_rule("KP511", "error")
def index_without_capacity(subject: Subject) -> Iterator[Finding]:
    """An index of a provisioned table without capacity of its own

    On a table whose capacity is provisioned, every global index has read and write units of its own. A table cannot
    be created without them, and what is bought for the table does not serve its indexes.

    An index needs at least the write units of the writes that reach it, or it holds up the table: a write is only
    accepted when the table and all its indexes have room.

    Declare `GSI(..., billing=Provisioned(read=..., write=...))`, or use on-demand capacity, where there is nothing to
    divide.

    Source: developer guide, "Using global secondary indexes: provisioned throughput considerations"; API reference,
    GlobalSecondaryIndex.
    """
    for table, index in subject.indexes:
        billing = table.schema.billing
        if index.kind == "GSI" and isinstance(billing, Provisioned) and index.billing is None:
            yield index_without_capacity.finding(
                index.name,
                f"table {table.name} is provisioned with {billing.read} read and {billing.write} write units a second,"
                f" and index {index.name} has no capacity of its own: the table cannot be created",
                f"add billing=Provisioned(read=..., write={billing.write}) to the index, or use OnDemand()",
                index.place,
                table.schema.place,
            )


@design_rule("KP512", "error", "warning")
def insufficient_capacity(subject: Subject) -> Iterator[Finding]:
    """Provisioned capacity below the declared load

    The read and write units a second that are bought must cover what the patterns ask for at their declared rates:
    units of a call times calls a second, for the table and for each index apart. Unused units of five minutes are
    kept for bursts, which covers a short peak and no lasting one.

    It is an error where the average load is above the capacity, and a warning where the peak is.

    Buy as much as the peak needs at about 70 % use, let auto scaling follow slow changes, or use on-demand capacity.

    Source: developer guide, "Provisioned capacity mode" and "Burst capacity".
    """
    for part in subject.capacity_uses:
        if part.bought is None:
            continue
        yield from _shortfall(part, "write", (part.write, part.peak_write), part.bought.write)
        yield from _shortfall(part, "read", (part.read, part.peak_read), part.bought.read)


def _shortfall(part: CapacityUse, what: str, load: tuple[float, float], bought: int) -> Iterator[Finding]:
    average, peak = load
    if peak <= bought:
        return
    always = average > bought
    yield insufficient_capacity.finding(
        part.name,
        f"{part.where} has {bought:,} {what} units a second, and its patterns take"
        f" {number(average if always else peak)} {'on average' if always else 'at the peak'}",
        f"buy {max(1, ceil(peak / TARGET_USE)):,} {what} units, or use OnDemand()",
        part.place,
        severity="error" if always else "warning",
    )
