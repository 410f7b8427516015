"""Rules: savings."""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding, counted, number
from keyplan.check.relations import always_expires
from keyplan.check.rule import design_rule
from keyplan.check.subject import Subject
from keyplan.cost.estimate import SECONDS_A_MONTH, TableCost
from keyplan.cost.prices import GB, PriceBook
from keyplan.cost.sizes import item_size
from keyplan.design.declaring.tables import Table
from keyplan.design.entities import EntitySpec

_MODE_SHARE, _MODE_DOLLARS = 2 / 3, 20.0


@design_rule("KP801", "advice")
def capacity_mode(subject: Subject) -> Iterator[Finding]:
    """The other way of paying for capacity would be cheaper

    On demand, each request is paid for; provisioned, capacity is paid for by the hour, used or not. Load that is steady
    costs a fraction when it is provisioned; load that comes in bursts, or hardly at all, costs less on demand.

    It is reckoned from the declared rates: on demand by their averages, provisioned by their peaks at 70 % use. Only
    differences of a third and of twenty dollars a month are worth a word, and none of a table of which nothing tells
    how many items a query reads (KP509).

    The capacity mode can be changed while the table is in use.

    Source: developer guide, "DynamoDB throughput capacity" and "Cost optimization: evaluate your table capacity mode";
    prices from the book that is shipped.
    """
    guessed = {cost.table for cost in subject.month.patterns if cost.requests and not cost.expected.is_counted}
    for table, cost in zip(subject.tables, subject.month.tables, strict=True):
        on_demand = sum(part.on_demand for part in cost.parts)
        provisioned = sum(part.provisioned for part in cost.parts)
        if not on_demand or table.name in guessed:
            continue
        now, other = (provisioned, on_demand) if table.schema.provisioned else (on_demand, provisioned)
        if other < now * _MODE_SHARE and now - other >= _MODE_DOLLARS:
            mode, better = ("provisioned", "on demand") if table.schema.provisioned else ("on demand", "provisioned")
            yield capacity_mode.finding(
                table.name,
                f"table {table.name} costs ${now:,.0f} a month {mode} at the declared rates, and would cost"
                f" ${other:,.0f} {better} (prices of {subject.book.region}, {subject.book.dated})",
                "declare billing=OnDemand()"
                if table.schema.provisioned
                else "declare billing=Provisioned(...) with auto scaling, if the load is as steady as declared",
                table.schema.place,
            )


_CLASS_SHARE, _CLASS_DOLLARS = 0.9, 10.0


@design_rule("KP802", "advice")
def table_class(subject: Subject) -> Iterator[Finding]:
    """The other table class would be cheaper

    Standard-Infrequent Access stores for 40 % of the price and charges a quarter more for each request. It is the
    cheaper class for tables whose storage costs more than their requests: logs, archives, old orders.

    It is reckoned from the declared numbers, sizes and rates of on-demand tables, before the free storage of an
    account. Only differences of a tenth and of ten dollars a month are worth a word.

    The class can be changed while the table is in use, twice in thirty days.

    Source: developer guide, "DynamoDB table classes" and "Cost optimization: evaluate your table class selection".
    """
    for table, cost in zip(subject.tables, subject.month.tables, strict=True):
        if table.schema.provisioned or not any(part.on_demand for part in cost.parts):
            continue
        standard, infrequent = _standard_cost(cost, subject.book), cost.requests_ia + cost.storage_ia
        is_standard = table.schema.table_class == "STANDARD"
        now, other = (standard, infrequent) if is_standard else (infrequent, standard)
        better = "STANDARD_INFREQUENT_ACCESS" if is_standard else "STANDARD"
        if other < now * _CLASS_SHARE and now - other >= _CLASS_DOLLARS:
            yield table_class.finding(
                table.name,
                f"table {table.name} costs ${now:,.0f} a month for storage and requests in its class, and would cost"
                f" ${other:,.0f} as {better} (prices of {subject.book.region}, {subject.book.dated})",
                f'declare table_class="{better}"',
                table.schema.place,
            )


def _standard_cost(cost: TableCost, book: PriceBook) -> float:
    total = 0.0
    for part in cost.parts:
        total += SECONDS_A_MONTH * book.on_demand(part.read, part.write, "STANDARD")
        total += part.storage_bytes / GB * book["storage_gb_month"]
    return total


_CONSISTENT_READ_DOLLARS = 1.0


@design_rule("KP803", "advice")
def unneeded_consistent_read(subject: Subject) -> Iterator[Finding]:
    """A consistent read that nothing asks for

    A consistent read costs twice as many units as an eventually consistent one, and is only needed where a write of the
    last second must show. A design says that it must with `after=[...]` (the writes that it has to show) or
    `decides=...` (what the program decides by it).

    Drop `consistent=True`, or say why it is there. Reads that cost less than a dollar a month more are left alone.

    Source: developer guide, "DynamoDB read consistency" and "Read and write capacity".
    """
    costs = {(cost.table, cost.name): cost for cost in subject.month.patterns}
    for table, pattern, plan in subject.patterns:
        if not plan.consistent or pattern.facts.after or pattern.facts.decides:
            continue
        cost = costs[table.name, pattern.name]
        extra = cost.requests / 2
        if extra >= _CONSISTENT_READ_DOLLARS:
            rests_on = "its declared rate" + (", for as many items as are assumed" if cost.expected.guesses else "")
            yield unneeded_consistent_read.finding(
                pattern.name,
                f"{pattern.name} reads consistently, and nothing says which writes it must show: ${extra:,.2f} a"
                f" month more at {rests_on} (prices of {subject.book.region}, {subject.book.dated})",
                'drop consistent=True, or declare after=["..."] with the writes that it must show',
                pattern.place.at("consistent="),
            )


_NAME_SHARE, _NAME_DOLLARS = 1 / 3, 5.0


@design_rule("KP804", "advice")
def long_attribute_names(subject: Subject) -> Iterator[Finding]:
    """Names of attributes that cost more than their values

    The name of each attribute is stored with each item, and again in each index that holds it; it counts to the size
    that units and storage are reckoned by. With a hundred million small items, names such as
    `lastNotificationTimestamp` are most of the bill.

    Store such fields under short names: `Annotated[datetime, Attribute("lnt")]`. The program keeps the long ones.

    Found where names make a third of the declared size of an item and five dollars a month of storage.

    Source: developer guide, "DynamoDB item sizes and formats" and "Best practices for storing large items and
    attributes".
    """
    for table, entity in subject.entities:
        size = item_size(entity)
        if entity.items is None or not size.declared:
            continue
        names = _name_bytes(entity)
        copies = 1 + sum(1 for bound in entity.indexes if bound.index.project == "all")
        price = subject.book.of_class("storage_gb_month", table.schema.table_class)
        dollars = entity.items.count * names * copies / GB * price
        if names > size.average * _NAME_SHARE and dollars >= _NAME_DOLLARS:
            held = counted(copies - 1, "index", "indexes")
            longest = max(entity.fields.values(), key=lambda field: len(field.attribute))
            yield long_attribute_names.finding(
                entity.name,
                f"{names} of the {size.average} bytes of a {entity.name} are names of attributes: ${dollars:,.0f} a"
                f" month of storage with {held}, and more units for each write",
                f'store fields under short names: {longest.name}: Annotated[..., Attribute("{longest.name[0]}")]',
                entity.place,
            )


def _name_bytes(entity: EntitySpec) -> int:
    present = entity.items.present if entity.items is not None else {}
    total = sum(
        len(field.attribute.encode()) * (present.get(name, 1.0) if field.optional else 1.0)
        for name, field in entity.fields.items()
    )
    return round(total)


_DOMINANT_SHARE, _DOMINANT_DOLLARS, _FEWEST_PATTERNS = 0.5, 100.0, 3


@design_rule("KP805", "advice")
def dominant_cost_pattern(subject: Subject) -> Iterator[Finding]:
    """One pattern is most of the bill

    Where one of several patterns makes more than half of what requests cost, it is where thinking about cost pays: a
    smaller projection, a cache, fewer items per page, a narrower key.

    It is said for designs whose requests cost a hundred dollars a month and more at the declared rates and on-demand
    prices, unless nothing tells how many items that pattern reads (KP509).

    Source: developer guide, "Cost optimization on DynamoDB tables"; prices from the book that is shipped.
    """
    pairs = zip(subject.design.patterns, subject.month.patterns, strict=True)
    costs = [(cost, pattern) for pattern, cost in pairs if cost.requests]
    total = sum(cost.requests for cost, _ in costs)
    if total < _DOMINANT_DOLLARS or len(costs) < _FEWEST_PATTERNS:
        return
    top, pattern = max(costs, key=lambda pair: pair[0].requests)
    if top.requests <= total * _DOMINANT_SHARE or not top.expected.is_counted:
        return
    units = top.expected.units
    yield dominant_cost_pattern.finding(
        top.name,
        f"{top.name} makes ${top.requests:,.0f} of the ${total:,.0f} that requests cost a month:"
        f" {number(units.read + units.written)} units a call, {number(top.calls)} calls (prices of"
        f" {subject.book.region}, {subject.book.dated})",
        "read fewer or smaller items per call, cache it, or drop indexes that its writes pay for",
        pattern.place,
    )


_EXPORTS_A_MONTH = 30
_SCAN_DOLLARS = 5.0


@design_rule("KP808", "advice")
def export_instead_of_scan(subject: Subject) -> Iterator[Finding]:
    """Scans that an export would do for less

    A scan pays for every item each time. An export to S3 pays once for each gigabyte, takes no capacity from users, and
    can be read as often as one likes. Where scans of a table cost five dollars a month more than an export every day,
    let the jobs read the export.

    Exports need point-in-time recovery.

    Source: developer guide, "DynamoDB data export to Amazon S3: how it works"; prices from the book that is shipped.
    """
    costs = {(cost.table, cost.name): cost for cost in subject.month.patterns}
    for table, month in zip(subject.tables, subject.month.tables, strict=True):
        scans = [pattern for pattern in table.patterns if pattern.plan.operation == "Scan"]
        scanned = sum(costs[table.name, pattern.name].requests for pattern in scans)
        export = month.parts[0].storage_bytes / GB * subject.book["export_gb"] * _EXPORTS_A_MONTH
        if scanned - export >= _SCAN_DOLLARS:
            names = ", ".join(pattern.name for pattern in scans)
            yield export_instead_of_scan.finding(
                table.name,
                f"scans of table {table.name} ({names}) cost ${scanned:,.0f} a month, and an export to S3 every day"
                f" ${export:,.0f} (prices of {subject.book.region}, {subject.book.dated})",
                "export the table and let the jobs read the export; their answers are then up to a day old",
                scans[0].place,
                table.schema.place,
            )


_EXPIRING_FACTOR, _EXPIRING_WRITES = 10, 10.0


@design_rule("KP810", "warning")
def mixed_retention_table(subject: Subject) -> Iterator[Finding]:
    """Entities in one table that need different care

    Stream, expiry, recovery, capacity and class belong to the table, so everything in it gets the same. Clicks that are
    written a thousand times as often as orders make recovery and the stream of the orders' table as expensive as
    their own, and an accident with one is an accident with both.

    It is found where a table with a stream or point-in-time recovery takes more than ten times as many writes of
    entities that expire as of entities that stay, and ten of them a second.

    Give what is written much and kept briefly a table of its own. Transactions and reads work across tables.

    Source: developer guide, "Data modeling foundations in DynamoDB" (multi-table design).
    """
    for table in subject.tables:
        if table.schema.stream is None and not table.schema.point_in_time_recovery:
            continue
        passing, lasting = _write_rate(subject, table, expiring=True), _write_rate(subject, table, expiring=False)
        if lasting and passing >= _EXPIRING_WRITES and passing > _EXPIRING_FACTOR * lasting:
            names = ", ".join(entity.name for entity in table.entities if always_expires(entity))
            care = "stream" if table.schema.stream is not None else "point-in-time recovery"
            yield mixed_retention_table.finding(
                table.name,
                f"table {table.name} takes {number(passing)} writes a second of {names}, which expire, and"
                f" {number(lasting)} of everything else: its {care} is for the few and paid for the many",
                f"give {names} a table of its own; transactions and reads work across tables",
                next(entity.place for entity in table.entities if always_expires(entity)),
                table.schema.place,
            )


def _write_rate(subject: Subject, table: Table, *, expiring: bool) -> float:
    return sum(
        work.rate.average
        for work in subject.works
        if work.rate is not None
        and not work.plan.reading
        and work.plan.schema is table.schema
        and always_expires(work.plan.entity) is expiring
    )
