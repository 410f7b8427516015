"""Rules for cost: capacity mode, table class, consistent reads, attribute names and scans."""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding, count_text, number
from keyplan.check.relations import always_expires
from keyplan.check.rule import design_rule
from keyplan.check.subject import Subject
from keyplan.cost.estimate import SECONDS_PER_MONTH, TableCost
from keyplan.cost.prices import GB, PriceBook
from keyplan.cost.sizes import item_size
from keyplan.design.declaring.tables import Table
from keyplan.design.entities import EntitySpec

_MODE_SHARE, _MODE_FLOORS = 2 / 3, 5


@design_rule("KP801", "advice")
def capacity_mode(subject: Subject) -> Iterator[Finding]:
    """The other capacity mode is cheaper

    Finds tables whose cost at the declared rates would be at least a third lower in the other capacity mode, if this
    saves at least five times the design's `cost_floor` per month. On-demand cost is based on average rates, and
    provisioned cost on peak rates at 70% utilization. A table is skipped if one of its queries reads an unknown number
    of items (KP509 reports such queries).

    Why is this bad? On-demand capacity is billed per request. Provisioned capacity is billed by the hour, even if it is
    not used. A steady load is much cheaper with provisioned capacity. A rare or bursty load is cheaper with on-demand
    capacity.

    Fix: declare the other capacity mode. The capacity mode can be changed while the table is in use.

    Source: developer guide, "DynamoDB throughput capacity" and "Cost optimization: evaluate your table capacity mode";
    the prices included with keyplan.
    """
    guessed = {cost.table for cost in subject.estimate.patterns if cost.requests and not cost.expected.is_counted}
    for table, cost in zip(subject.tables, subject.estimate.tables, strict=True):
        on_demand = sum(part.on_demand for part in cost.parts)
        provisioned = sum(part.provisioned for part in cost.parts)
        if not on_demand or table.name in guessed:
            continue
        current, alternative = (provisioned, on_demand) if table.schema.provisioned else (on_demand, provisioned)
        if alternative < current * _MODE_SHARE and current - alternative >= _MODE_FLOORS * subject.design.cost_floor:
            mode, alternative_mode = (
                ("provisioned", "on demand") if table.schema.provisioned else ("on demand", "provisioned")
            )
            yield capacity_mode.finding(
                table.name,
                f"table {table.name} costs ${current:,.0f} per month {mode} at the declared rates, and would cost"
                f" ${alternative:,.0f} {alternative_mode} (prices of {subject.book.region}, {subject.book.dated})",
                "declare billing=OnDemand()"
                if table.schema.provisioned
                else "declare billing=Provisioned(...) with auto scaling, if the load is as steady as declared",
                table.schema.place,
            )


_CLASS_SHARE = 0.9


@design_rule("KP802", "advice")
def table_class(subject: Subject) -> Iterator[Finding]:
    """The other table class is cheaper

    Finds on-demand tables whose cost would be at least 10% lower in the other table class, if this saves at least the
    design's `cost_floor` per month. Costs are computed from the declared item counts, item sizes and rates. The free
    storage of the account is not deducted.

    Why is this bad? The Standard-Infrequent Access class charges 40% of the Standard price for storage, and 25% more
    for requests. It is cheaper for tables whose storage costs more than their requests, such as logs, archives and old
    orders.

    Fix: declare the other `table_class`. The class can be changed twice in thirty days while the table is in use.

    Source: developer guide, "DynamoDB table classes" and "Cost optimization: evaluate your table class selection".
    """
    for table, cost in zip(subject.tables, subject.estimate.tables, strict=True):
        if table.schema.provisioned or not any(part.on_demand for part in cost.parts):
            continue
        standard, infrequent = _standard_cost(cost, subject.book), cost.requests_ia + cost.storage_ia
        is_standard = table.schema.table_class == "STANDARD"
        current, alternative = (standard, infrequent) if is_standard else (infrequent, standard)
        alternative_class = "STANDARD_INFREQUENT_ACCESS" if is_standard else "STANDARD"
        if alternative < current * _CLASS_SHARE and current - alternative >= subject.design.cost_floor:
            yield table_class.finding(
                table.name,
                f"table {table.name} costs ${current:,.0f} per month for storage and requests in its class, and"
                f" would cost ${alternative:,.0f} as {alternative_class} (prices of {subject.book.region},"
                f" {subject.book.dated})",
                f'declare table_class="{alternative_class}"',
                table.schema.place,
            )


def _standard_cost(cost: TableCost, book: PriceBook) -> float:
    total = 0.0
    for part in cost.parts:
        total += SECONDS_PER_MONTH * book.on_demand(part.read, part.write, "STANDARD")
        total += part.storage_bytes / GB * book["storage_gb_month"]
    return total


@design_rule("KP803", "advice")
def unneeded_consistent_read(subject: Subject) -> Iterator[Finding]:
    """Consistent read is not needed

    Finds consistent reads that declare neither `after=[...]` (the writes whose results they must return) nor
    `decides=...`, if their additional cost is at least the design's `cost_floor` per month.

    Why is this bad? A consistent read uses twice as many capacity units as an eventually consistent one. It is needed
    only if the result must include writes that were made less than a second ago.

    Fix: remove `consistent=True`, or declare why it is needed.

    Source: developer guide, "DynamoDB read consistency" and "Read and write capacity".
    """
    costs = {(cost.table, cost.name): cost for cost in subject.estimate.patterns}
    for table, pattern, plan in subject.patterns:
        if not plan.consistent or pattern.facts.after or pattern.facts.decides:
            continue
        cost = costs[table.name, pattern.name]
        extra_cost = cost.requests / 2
        if extra_cost >= subject.design.cost_floor:
            basis = "its declared rate" + (" and an assumed number of items" if cost.expected.guesses else "")
            yield unneeded_consistent_read.finding(
                pattern.name,
                f"{pattern.name} costs ${extra_cost:,.2f} per month more because it reads consistently, at"
                f" {basis} (prices of {subject.book.region}, {subject.book.dated})",
                'remove consistent=True, or declare after=["..."] with the writes that it must show',
                pattern.place.at("consistent="),
            )


_NAME_SHARE = 1 / 3


@design_rule("KP804", "advice")
def long_attribute_names(subject: Subject) -> Iterator[Finding]:
    """Long attribute names increase the cost

    Finds entities whose attribute names take up at least a third of the declared item size, if storing these names
    costs at least the design's `cost_floor` per month.

    Why is this bad? The name of each attribute is stored in each item, and again in each index that projects the
    attribute. It counts toward capacity units and storage. With 100 million small items, names such as
    `lastNotificationTimestamp` can cause most of the cost.

    Fix: store fields under short names: `Annotated[datetime, Attribute("lnt")]`. Programs still use the long names.

    Source: developer guide, "DynamoDB item sizes and formats" and "Best practices for storing large items and
    attributes".
    """
    for table, entity in subject.entities:
        size = item_size(entity)
        if entity.volume is None or not size.declared:
            continue
        name_bytes = _name_bytes(entity)
        copies = 1 + sum(1 for bound in entity.indexes if bound.index.project == "all")
        price = subject.book.price_in_class("storage_gb_month", table.schema.table_class)
        monthly_cost = entity.volume.count * name_bytes * copies / GB * price
        if name_bytes > size.average * _NAME_SHARE and monthly_cost >= subject.design.cost_floor:
            index_count = count_text(copies - 1, "index", "indexes")
            longest = max(entity.fields.values(), key=lambda field: len(field.attribute))
            yield long_attribute_names.finding(
                entity.name,
                f"attribute names cost ${monthly_cost:,.0f} per month of storage with {index_count}: {name_bytes}"
                " of the"
                f" {size.average} bytes of a {entity.name}, and more units for each write",
                f'store fields under short names: {longest.name}: Annotated[..., Attribute("{longest.name[0]}")]',
                entity.place,
            )


def _name_bytes(entity: EntitySpec) -> int:
    present = entity.volume.present if entity.volume is not None else {}
    total = sum(
        len(field.attribute.encode()) * (present.get(name, 1.0) if field.optional else 1.0)
        for name, field in entity.fields.items()
    )
    return round(total)


_EXPORTS_PER_MONTH = 30


@design_rule("KP808", "advice")
def export_instead_of_scan(subject: Subject) -> Iterator[Finding]:
    """Export is cheaper than scans

    Finds tables whose scans cost more than a daily export, if the difference is at least the design's `cost_floor` per
    month.

    Why is this bad? Each scan is billed for every item in the table. An export to S3 is billed once per GB, uses no
    capacity, and can be read any number of times.

    Fix: export the table (this requires point-in-time recovery) and change the jobs to read the export.

    Source: developer guide, "DynamoDB data export to Amazon S3: how it works"; the prices included with keyplan.
    """
    costs = {(cost.table, cost.name): cost for cost in subject.estimate.patterns}
    for table, table_cost in zip(subject.tables, subject.estimate.tables, strict=True):
        scans = [pattern for pattern in table.patterns if pattern.plan.operation == "Scan"]
        scan_cost = sum(costs[table.name, pattern.name].requests for pattern in scans)
        export_cost = table_cost.parts[0].storage_bytes / GB * subject.book["export_gb"] * _EXPORTS_PER_MONTH
        if scans and scan_cost - export_cost >= subject.design.cost_floor:
            names = ", ".join(pattern.name for pattern in scans)
            yield export_instead_of_scan.finding(
                table.name,
                f"scans of table {table.name} ({names}) cost ${scan_cost:,.0f} per month, and a daily export to"
                f" S3 ${export_cost:,.0f} (prices of {subject.book.region}, {subject.book.dated})",
                "export the table and let the jobs read the export, which is up to a day old",
                scans[0].place,
                table.schema.place,
            )


_EXPIRING_FACTOR, _EXPIRING_WRITES = 10, 10.0


@design_rule("KP810", "warning")
def mixed_retention_table(subject: Subject) -> Iterator[Finding]:
    """Short-lived and permanent items share a table

    Finds tables with a stream or point-in-time recovery whose expiring entities are written at least ten times per
    second, and more than ten times as often as the other entities.

    Why is this bad? Streams, recovery, capacity and table class are settings of the whole table. If clicks and orders
    share a table, and clicks are written a thousand times as often, the stream and recovery that only the orders need
    are billed for every click. If the table is deleted or throttled, both clicks and orders are affected.

    Fix: store expiring entities that are written often in a separate table. Transactions and batch reads work across
    tables.

    Source: developer guide, "Data modeling foundations in DynamoDB" (multi-table design).
    """
    for table in subject.tables:
        if table.schema.stream is None and not table.schema.point_in_time_recovery:
            continue
        expiring_rate, permanent_rate = (
            _write_rate(subject, table, expiring=True),
            _write_rate(subject, table, expiring=False),
        )
        if permanent_rate and expiring_rate >= _EXPIRING_WRITES and expiring_rate > _EXPIRING_FACTOR * permanent_rate:
            names = ", ".join(entity.name for entity in table.entities if always_expires(entity))
            feature = "stream" if table.schema.stream is not None else "point-in-time recovery"
            yield mixed_retention_table.finding(
                table.name,
                f"the {feature} of table {table.name} is billed for {number(expiring_rate)} writes per second of"
                f" {names}, which expire, and only {number(permanent_rate)} of all other entities",
                f"give {names} their own table; transactions work across tables",
                next(entity.place for entity in table.entities if always_expires(entity)),
                table.schema.place,
            )


def _write_rate(subject: Subject, table: Table, *, expiring: bool) -> float:
    return sum(
        request.rate.average
        for request in subject.requests
        if request.rate is not None
        and not request.plan.reading
        and request.plan.schema is table.schema
        and always_expires(request.plan.entity) is expiring
    )
