"""Rules for capacity: warm throughput, quotas and provisioned capacity."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from keyplan import limits
from keyplan.check.finding import Finding, number
from keyplan.check.load import CapacityUse, PlannedRequest
from keyplan.check.rule import design_rule
from keyplan.check.subject import Subject
from keyplan.cost.estimate import TARGET_USE
from keyplan.cost.expected import expected
from keyplan.design.workload import OnDemand, Provisioned

_INSTANT_GROWTH = 2


@design_rule("KP505", "warning")
def peak_above_warm_throughput(subject: Subject) -> Iterator[Finding]:
    """Peak exceeds the warm throughput of an on-demand table

    Finds on-demand tables and indexes whose declared peak exceeds their warm throughput and is more than twice the
    average.

    Why is this bad? A new on-demand table immediately supports 4,000 write and 12,000 read units per second, and later
    about twice its previous peak. If the load is higher, for example at a launch or during an import, requests are
    throttled for minutes.

    Fix: raise the warm throughput before the peak and declare it (`OnDemand(warm_write=...)`), increase the load
    gradually over half an hour, or distribute imports over time.

    Source: developer guide, "On-demand capacity mode" and "Understanding DynamoDB warm throughput".
    """
    for use in subject.capacity_uses:
        billing = use.table.schema.billing
        if not isinstance(billing, OnDemand):
            continue
        warm_read, warm_write = billing.served
        loads = [("write", use.write, use.peak_write, warm_write), ("read", use.read, use.peak_read, warm_read)]
        for access, average, peak, floor in loads:
            if peak > floor and peak > _INSTANT_GROWTH * average:
                yield peak_above_warm_throughput.finding(
                    use.name,
                    f"{use.label} is throttled at its peak of {number(peak)} {access} units per second (average"
                    f" {number(average)}): on demand it serves {floor:,} at first, and twice the previous peak"
                    " later",
                    f"raise the warm throughput to the peak and declare it: OnDemand(warm_{access}={int(peak):_})",
                    use.place,
                )


@design_rule("KP506", "warning")
def capacity_above_quota(subject: Subject) -> Iterator[Finding]:
    """Capacity exceeds the account quota

    Finds tables and indexes that use more than 40,000 write or read units per second at the declared peak, or have more
    than 40,000 units provisioned. Also finds designs that provision more than 80,000 write or read units in total.

    Why is this bad? By default, an account can use 40,000 read and 40,000 write units per second for each table in a
    Region, and provision 80,000 of each in total. With on-demand capacity, requests above the quota are throttled. With
    provisioned capacity, a request to increase the capacity above the quota fails.

    Fix: request a higher quota well before the load increases.

    Source: developer guide, "Quotas in Amazon DynamoDB".
    """
    for use in subject.capacity_uses:
        write, read = (0, 0) if use.provisioned is None else (use.provisioned.write, use.provisioned.read)
        figures = [
            ("write", use.peak_write, write, limits.TABLE_WRITE_UNITS),
            ("read", use.peak_read, read, limits.TABLE_READ_UNITS),
        ]
        for access, peak, units, quota in figures:
            if peak > quota:
                yield _above_quota(use, f"takes {number(peak)} {access} units per second at the peak", quota)
            elif units > quota:
                yield _above_quota(use, f"is provisioned with {units:,} {access} units per second", quota)
    yield from _account_quota(subject)


def _above_quota(use: CapacityUse, load_text: str, quota: int) -> Finding:
    return capacity_above_quota.finding(
        use.name,
        f"{use.label} {load_text}: requests above the quota of {quota:,} fail until it is raised",
        "request a higher quota before the load comes, or spread the load over several tables",
        use.place,
    )


def _account_quota(subject: Subject) -> Iterator[Finding]:
    capacities = [use.provisioned for use in subject.capacity_uses if isinstance(use.provisioned, Provisioned)]
    figures = [
        ("write", sum(capacity.write for capacity in capacities), limits.ACCOUNT_WRITE_UNITS),
        ("read", sum(capacity.read for capacity in capacities), limits.ACCOUNT_READ_UNITS),
    ]
    for access, units, quota in figures:
        if units > quota:
            yield capacity_above_quota.finding(
                subject.design.name,
                f"provisioning fails: tables and indexes of {subject.design.name} have {units:,} {access} units"
                f" per second, and the quota of an account in a Region is {quota:,}",
                "request a higher quota, or put the tables into several accounts",
                subject.tables[0].schema.place,
            )


@design_rule("KP510", "warning")
def bulk_job_starves_traffic(subject: Subject) -> Iterator[Finding]:
    """Bulk job uses all capacity

    Finds scans and batches without a declared rate if a single call needs more capacity units than the table supports
    per second. On-demand tables are checked only if other patterns with a rate use them.

    Why is this bad? A scan or batch runs as fast as DynamoDB allows. On a provisioned table, it uses all capacity
    units, and other requests are throttled. On an on-demand table, it can exceed the warm throughput.

    Fix: declare a rate for the job and enforce it, read smaller pages with `page_size`, use an export to S3 or an
    import from S3, or increase the capacity for the duration of the job.

    Source: developer guide, "Best practices for querying and scanning data" and "Avoiding sudden spikes".
    """
    for request in subject.requests:
        if request.plan.operation not in {"Scan", "BatchWriteItem"} or request.rate is not None or _is_guessed(request):
            continue
        billing = request.plan.schema.billing
        if isinstance(billing, OnDemand) and not _has_other_traffic(subject, request):
            continue
        access, units = ("read", request.units.read) if request.plan.reading else ("write", _batch_units(request))
        capacity = _capacity_of(billing, access)
        if units > capacity:
            yield bulk_job_starves_traffic.finding(
                request.pattern.name,
                f"one call of {request.pattern.name} uses all capacity of table {request.plan.schema.name} for"
                f" {number(units / capacity)} seconds: {number(units)} {access} units, and the table"
                f" {'has' if isinstance(billing, Provisioned) else 'serves at first'} {capacity:,} per second",
                "declare a rate that leaves capacity and keep to it, or use an export or import",
                request.pattern.place,
                request.plan.schema.place,
            )


def _is_guessed(request: PlannedRequest) -> bool:
    return request.plan.reading and bool(expected(request.pattern).guesses)


def _capacity_of(billing: OnDemand | Provisioned, access: str) -> int:
    if isinstance(billing, Provisioned):
        return billing.read if access == "read" else billing.write
    read, write = billing.served
    return read if access == "read" else write


def _batch_units(request: PlannedRequest) -> float:
    """Return the write units of one call to a batch pattern.

    If the number of items per call is not declared, a full batch of 25 items is assumed, unless the entity has fewer
    items.
    """
    if request.pattern.facts.expected_items is not None:
        return request.units.write
    items = request.plan.entity.volume
    max_items = limits.BATCH_WRITE_ITEMS
    return request.units.write * (max_items if items is None else min(max_items, items.count))


def _has_other_traffic(subject: Subject, request: PlannedRequest) -> bool:
    return any(other.rate is not None and other.plan.schema is request.plan.schema for other in subject.requests)


@design_rule("KP511", "error", conflicts=True)
def index_without_capacity(subject: Subject) -> Iterator[Finding]:
    """Index has no provisioned capacity

    Finds global indexes without `billing=` on provisioned tables.

    Why is this bad? DynamoDB rejects the table, because every global index of a provisioned table must have its own
    read and write capacity. If the write capacity of an index is lower than its writes require, writes to the table are
    throttled.

    Fix: declare `GSI(..., billing=Provisioned(read=..., write=...))`, or use on-demand capacity.

    Source: developer guide, "Using global secondary indexes: provisioned throughput considerations"; API reference,
    GlobalSecondaryIndex.
    """
    for table, index in subject.indexes:
        billing = table.schema.billing
        if index.kind == "GSI" and isinstance(billing, Provisioned) and index.billing is None:
            yield index_without_capacity.finding(
                index.name,
                f"creating table {table.name} fails: it is provisioned with {billing.read} read and"
                f" {billing.write} write units per second, and index {index.name} has no capacity",
                f"add billing=Provisioned(read=..., write={billing.write}) to the index, or use OnDemand()",
                index.place,
                table.schema.place,
            )


@design_rule("KP512", "error", "warning")
def insufficient_capacity(subject: Subject) -> Iterator[Finding]:
    """Provisioned capacity is below the declared load

    Finds tables and indexes whose patterns use more capacity units per second than are provisioned. The finding is an
    error if the average load exceeds the capacity, and a warning if only the peak does.

    Why is this bad? Requests above the capacity are throttled. DynamoDB keeps the unused capacity of the last five
    minutes for bursts, which is sufficient only for a short peak.

    Fix: provision for the peak at about 70% utilization, use auto scaling for slow changes, or use on-demand capacity.

    Source: developer guide, "Provisioned capacity mode" and "Burst capacity".
    """
    for use in subject.capacity_uses:
        if use.provisioned is None:
            continue
        yield from _shortfall(use, "write", (use.write, use.peak_write), use.provisioned.write)
        yield from _shortfall(use, "read", (use.read, use.peak_read), use.provisioned.read)


def _shortfall(use: CapacityUse, access: str, load: tuple[float, float], provisioned: int) -> Iterator[Finding]:
    average, peak = load
    if peak <= provisioned:
        return
    is_constant = average > provisioned
    yield insufficient_capacity.finding(
        use.name,
        f"{use.label} is throttled: it has {provisioned:,} {access} units per second, and its patterns take"
        f" {number(average if is_constant else peak)} {'on average' if is_constant else 'at the peak'}",
        f"provision {max(1, ceil(peak / TARGET_USE)):,} {access} units, or use OnDemand()",
        use.place,
        severity="error" if is_constant else "warning",
    )
