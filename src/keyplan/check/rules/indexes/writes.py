"""Rules for writes that are incorrect, more expensive or throttled because of indexes."""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding, number
from keyplan.check.load import PlannedRequest, index_units_per_second, monthly_price
from keyplan.check.rule import design_rule, fault_rule
from keyplan.check.subject import Subject
from keyplan.cost.expected import entries_written
from keyplan.design.declaring.tables import Table
from keyplan.design.keys.entity_keys import BoundIndexKey
from keyplan.design.schema import Index
from keyplan.design.workload import Provisioned, Rate

stale_index_key = fault_rule(
    "KP401",
    "stale-index-key",
    """Update leaves a stale index key

    Finds updates that change a field in the template of an index key if the values of the template's other fields are
    unknown. For an update with `.patch(...)`, every combination of fields is checked, because a call can omit some
    fields.

    Why is this bad? The update must write the new key text, or remove it, in the same request. Otherwise, the item
    keeps its old key in the index: for example, a finished task is still listed among the open tasks, and no error is
    raised. This is the most common error in designs whose keys consist of several fields.

    Fix: pass the values of the missing fields with `.assuming(...)`. The update then writes the key, and fails if the
    item does not have these values. A condition is also sufficient if it is true only for items that are not in the
    index (`.condition(F.due.missing())`), or only for items whose index key does not change. Or set the other fields
    too, replace the whole item, or use the fields themselves as key attributes of the index. In a patch, require all
    fields of the key in each call (`.set(...)`), or pass the stored values of the fields that a call can omit.

    Source: developer guide, "Using Global Secondary Indexes in DynamoDB": index keys are plain attributes of items.
    """,
    conflicts=True,
)


@design_rule("KP405", "warning")
def frequently_updated_index_key(subject: Subject) -> Iterator[Finding]:
    """Index key changes often

    Finds updates that change a field of an index key, if the index writes use at least 25 write units per second at the
    declared rate (about $40 per month), and cost at least the design's `cost_floor` per month. All updates of one index
    key are reported in one finding.

    Why is this bad? When an index key changes, DynamoDB deletes the old item from the index and writes a new one. Each
    write to the table then causes two index writes. For fields such as points, counters and `updated_at`, these index
    writes can cause most of the cost. All items with the same partition key share 1,000 write units per second.

    Fix: do not use the field in index keys: sort the results in the program, or use a copy of the field that is updated
    periodically. Alternatively, shard the index key.

    Source: developer guide, "Using Global Secondary Indexes in DynamoDB" (write throughput considerations).
    """
    for request in subject.requests:
        if request.plan.operation != "UpdateItem":
            continue
        changed = {action.path.field for action in request.plan.actions}
        for bound, entries in entries_written(request.plan):
            changed_fields = [name for name in bound.fields if name in changed]
            units = request.units.indexes.get(bound.index.name, 0.0)
            # With at most one entry, the item enters the index, leaves it, or is not in it.
            if (
                changed_fields
                and entries > 1
                and request.rate is not None
                and subject.is_notable(units * request.rate.average)
            ):
                yield _moved_entry(request, bound, changed_fields, request.rate)


def _moved_entry(request: PlannedRequest, bound: BoundIndexKey, changed_fields: list[str], rate: Rate) -> Finding:
    units = request.units.indexes[bound.index.name]
    return frequently_updated_index_key.finding(
        request.pattern.name,
        f"each call of {request.pattern.name} deletes and writes an entry of index {bound.index.name}, whose key"
        " contains"
        f" {', '.join(changed_fields)}: {number(units)} units plus {number(request.units.write)} for the table,"
        f" ${monthly_price(units * rate.average):,.0f} per month at {number(rate.average)} calls per second",
        f"keep {', '.join(changed_fields)} out of the index key, or suppress this if the order needs it",
        request.pattern.place,
        bound.place,
        item=request.pattern.name,
        cause=f"{bound.index.name} {' '.join(changed_fields)}",
    )


_AMPLIFICATION = 5.0
"""The lowest reported ratio of all write units to the table's write units. At this ratio, indexes cause 80% of the
write cost.
"""


@design_rule("KP406", "warning")
def index_write_amplification(subject: Subject) -> Iterator[Finding]:
    """Write amplification from indexes

    Finds writes that, together with their index writes, consume at least five times the write units that they consume
    on the table alone, if the index writes cost at least the design's `cost_floor` per month at the declared rate.

    Why is this bad? Each write of an item is also a write to every index that contains the item, or two writes if the
    index key changes. Creating a small item with four indexes costs five write units.

    Fix: make indexes sparse (`only_if=`), use one index for all patterns that query by the same partition key, or
    project keys only.

    Source: developer guide, "Using Global Secondary Indexes in DynamoDB" (write throughput considerations).
    """
    for request in subject.requests:
        if (
            request.plan.reading
            or not request.units.write
            or request.units.total_write < _AMPLIFICATION * request.units.write
        ):
            continue
        index_units = request.units.total_write - request.units.write
        if request.rate is None or monthly_price(index_units * request.rate.average) < subject.design.cost_floor:
            continue
        cost = f"${monthly_price(request.units.total_write * request.rate.average):,.2f} per month"
        parts = ", ".join(f"{name} {number(units)}" for name, units in request.units.indexes.items())
        yield index_write_amplification.finding(
            request.pattern.name,
            f"{request.pattern.name} costs {number(request.units.total_write)} write units per call,"
            f" {number(request.units.write)} of them for {request.plan.entity.name} and the rest for indexes"
            f" ({parts}), {cost}",
            "make indexes sparse, let patterns share one, or project less",
            request.pattern.place,
            request.plan.entity.place,
        )


@design_rule("KP407", "warning")
def index_back_pressure(subject: Subject) -> Iterator[Finding]:
    """Index throttles writes of its table

    Finds global indexes with less write capacity than patterns use at peak, in tables with provisioned capacity. If no
    rates are declared, an index is reported if it has less write capacity than its table. KP511 reports an index whose
    capacity is not declared.

    Why is this bad? A write succeeds only if the table and every index have enough capacity. A global index of a
    provisioned table has its own capacity. If the capacity of an index is too small, writes to the table are throttled.

    Fix: declare `GSI(..., billing=Provisioned(read=..., write=...))` with the peak write units of the index, or with
    the table's write capacity if the peak is unknown.

    Source: developer guide, "Understanding global secondary index (GSI) write throttling and back pressure".
    """
    for table, index in subject.indexes:
        billing = table.schema.billing
        if index.kind != "GSI" or not isinstance(billing, Provisioned):
            continue
        needed = index_units_per_second(subject.requests, table.schema, index.name, peak=True)
        problem = _capacity_problem(table, index, billing, needed)
        if problem:
            write = max(billing.write, int(needed) + 1)
            yield index_back_pressure.finding(
                index.name,
                problem,
                f"declare billing=Provisioned(read=..., write={write}) of the index",
                index.place,
                table.schema.place,
            )


def _capacity_problem(table: Table, index: Index, billing: Provisioned, needed: float) -> str:
    if index.billing is None:
        return ""
    if needed > index.billing.write:
        return (
            f"writes of table {table.name} are throttled: patterns write {number(needed)} units per second to index"
            f" {index.name} at the peak, and it has {index.billing.write}"
        )
    if not needed and index.billing.write < billing.write:
        return (
            f"index {index.name} can throttle table {table.name}: it has {index.billing.write} write units, the table"
            f" {billing.write}, and no rates show that less is enough"
        )
    return ""


@design_rule("KP412", "warning")
def hot_projected_attribute(subject: Subject) -> Iterator[Finding]:
    """Frequently updated attribute is projected into indexes

    Finds updates that change projected attributes but no index key, if their index writes use at least 25 write units
    per second (about $40 per month) and cost at least the design's `cost_floor` per month.

    Why is this bad? The update rewrites the whole item in each index that projects the attribute. In a table with three
    indexes that project all attributes, incrementing a view counter uses four write units.

    Fix: project only the attributes that queries on the index return, or store counters and timestamps in separate
    items.

    Source: developer guide, "Using Global Secondary Indexes in DynamoDB" (write throughput considerations).
    """
    for request in subject.requests:
        rate = request.rate
        if request.plan.operation != "UpdateItem" or rate is None:
            continue
        copy_units = _copy_units(request)
        per_second = sum(copy_units.values()) * rate.average
        if subject.is_notable(per_second):
            changed = ", ".join(dict.fromkeys(action.path.field for action in request.plan.actions))
            yield hot_projected_attribute.finding(
                request.pattern.name,
                f"{request.pattern.name} rewrites copies in {', '.join(copy_units)} when it changes {changed}:"
                f" {number(sum(copy_units.values()))} write units per call, ${monthly_price(per_second):,.0f} per"
                f" month at {number(rate.average)} calls per second",
                f"leave {changed} out of the projections, or keep it in its own item",
                request.pattern.place,
                request.plan.entity.place,
            )


def _copy_units(request: PlannedRequest) -> dict[str, float]:
    """Return the write units that a write uses on indexes whose keys it does not change, by index name.

    The write updates these indexes only because they project a changed attribute.
    """
    changed = {action.path.field for action in request.plan.actions}
    return {
        bound.index.name: request.units.indexes[bound.index.name]
        for bound in request.plan.entity.indexes
        if bound.index.name in request.units.indexes and not changed & set(bound.depends_on)
    }
