"""Rules: writes."""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding, number
from keyplan.check.load import NOTABLE_UNITS, Work, monthly_price, units_a_second
from keyplan.check.rule import design_rule, fault_rule
from keyplan.check.subject import Subject
from keyplan.cost.expected import entries_written
from keyplan.design.declaring.tables import Table
from keyplan.design.keys.entity_keys import BoundIndexKey
from keyplan.design.schema import Index
from keyplan.design.workload import Provisioned

stale_index_key = fault_rule(
    "KP401",
    "stale-index-key",
    """An update leaves an index key stale

    The key of an index is text made of fields. An update that changes one of them must write the new text in the
    same request, and remove it when a field goes away; for that it must know every field that the text is made of.
    Where it does not, the item stays under its old key: a finished task among the open ones, for ever. This is the
    most frequent fault of designs with composed keys, and no error tells of it.

    Pass the fields that lack with `known(...)`: keyplan then writes the key, on condition that the item holds these
    values. A condition that keeps the item out of the index says enough, `when(F.due.missing())`; so does one by which
    it stays under its key, and a change that takes it out, such as a moment set for an index of `F.left_at.missing()`.
    Or set them too, replace the whole item, or let the index read the fields themselves.

    Source: developer guide, "Using Global Secondary Indexes in DynamoDB": index keys are plain attributes of items.
    """,
)


@design_rule("KP405", "warning", "advice")
def frequently_updated_index_key(subject: Subject) -> Iterator[Finding]:
    """An index key changes with every call

    When a key of an index changes, the service deletes the old entry and writes a new one: two index writes for one
    write of the table, of the whole entry each. For a status that changes three times in an item's life that is
    nothing; for points, counters and `updated_at` it is most of the bill, and a limit on the rate: all entries with
    one partition key share 1,000 write units a second.

    Keep such a field out of index keys: order by it in the program, write a snapshot for the list now and then, or
    split the index key over shards.

    Source: developer guide, "Using Global Secondary Indexes in DynamoDB", write throughput considerations.
    """
    for work in subject.works:
        if work.plan.operation != "UpdateItem":
            continue
        changed = {action.path.field for action in work.plan.actions}
        for bound, entries in entries_written(work.plan):
            moved = [name for name in bound.fields if name in changed]
            if moved and entries > 1:  # else one comes or goes, or none is there
                yield from _moved_entry(work, bound, moved)


def _moved_entry(work: Work, bound: BoundIndexKey, moved: list[str]) -> Iterator[Finding]:
    units, rate = work.units.indexes.get(bound.index.name, 0.0), work.rate
    problem = (
        f"{work.pattern.name} changes {', '.join(moved)}, a part of the key of index {bound.index.name}: each call"
        f" deletes and writes an entry, {number(units)} units beside {number(work.units.write)} of the table"
    )
    fix = f"keep {', '.join(moved)} out of the index key, or accept it where calls are few"
    if rate is None:
        yield frequently_updated_index_key.finding(
            work.pattern.name, problem, fix, work.pattern.place, bound.place, severity="advice"
        )
    elif units * rate.average >= NOTABLE_UNITS:
        yield frequently_updated_index_key.finding(
            work.pattern.name,
            f"{problem}, ${monthly_price(units * rate.average):,.0f} a month at {number(rate.average)} calls a second",
            fix,
            work.pattern.place,
            bound.place,
        )


_AMPLIFICATION = 5.0
"""Write units in all for each of the table: from here on the indexes are four fifths of the bill."""


@design_rule("KP406", "warning", "advice")
def index_write_amplification(subject: Subject) -> Iterator[Finding]:
    """One write is five

    A write of an item is also a write of every index that it is in, and two where an index key changes. A create of
    a small item with four indexes costs five write units, not one; so do its delete and each change of a projected
    field. Documents that state "1 WCU" for it are wrong by that factor.

    Let indexes be sparse (`when=`), share one index between patterns that have the same partition, project keys
    only where the readers need no more, or accept the factor.

    Source: developer guide, "Using Global Secondary Indexes in DynamoDB", write throughput considerations.
    """
    for work in subject.works:
        if work.plan.reading or not work.units.write or work.units.written < _AMPLIFICATION * work.units.write:
            continue
        rate = work.rate
        per_second = f", ${monthly_price(work.units.written * rate.average):,.2f} a month" if rate is not None else ""
        parts = ", ".join(f"{name} {number(units)}" for name, units in work.units.indexes.items())
        yield index_write_amplification.finding(
            work.pattern.name,
            f"{work.pattern.name} costs {number(work.units.written)} write units a call, {number(work.units.write)} of"
            f" them for {work.plan.entity.name} itself and the rest for indexes ({parts}){per_second}",
            "make indexes sparse, let patterns share one, or project less",
            work.pattern.place,
            work.plan.entity.place,
            severity="warning" if rate is not None else "advice",
        )


@design_rule("KP407", "warning")
def index_back_pressure(subject: Subject) -> Iterator[Finding]:
    """An index can hold back the table's writes

    A write is accepted only if every index can take its part. On a provisioned table each global index has capacity
    of its own: one that is bought too small throttles writes of the table, although the table itself has capacity to
    spare.

    Declare `GSI(..., billing=Provisioned(read=..., write=...))` with at least what the patterns write to the index at
    their peak, or as much as the table where that is not known. (An index that declares none at all is KP511's.)

    Source: developer guide, "Understanding global secondary index (GSI) write throttling and back pressure".
    """
    for table, index in subject.indexes:
        billing = table.schema.billing
        if index.kind != "GSI" or not isinstance(billing, Provisioned):
            continue
        needed = units_a_second(subject.works, table.schema, index.name, peak=True)
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
            f"patterns write {number(needed)} units a second to index {index.name} at their peak, and it has"
            f" {index.billing.write}: the table's writes are throttled"
        )
    if not needed and index.billing.write < billing.write:
        return (
            f"index {index.name} has {index.billing.write} write units and table {table.name} {billing.write}, and no"
            " rates say that less is enough"
        )
    return ""


@design_rule("KP412", "warning")
def hot_projected_attribute(subject: Subject) -> Iterator[Finding]:
    """A field that changes often is copied into indexes

    An update that changes a projected field rewrites the entry of each index that holds it, a whole entry at a
    time, though its key stays the same. A view counter in a table with three indexes that project all costs four
    write units for each view.

    Project only what readers of the index show, or keep counters and timestamps in an item of their own.

    Source: developer guide, "Using Global Secondary Indexes in DynamoDB", write throughput considerations.
    """
    for work in subject.works:
        rate = work.rate
        if work.plan.operation != "UpdateItem" or rate is None:
            continue
        copies = _copy_units(work)
        per_second = sum(copies.values()) * rate.average
        if per_second >= NOTABLE_UNITS:
            changed = ", ".join(dict.fromkeys(action.path.field for action in work.plan.actions))
            yield hot_projected_attribute.finding(
                work.pattern.name,
                f"{work.pattern.name} changes {changed}, which {', '.join(copies)} hold copies of:"
                f" {number(sum(copies.values()))} write units a call beside {number(work.units.write)} of the table,"
                f" ${monthly_price(per_second):,.0f} a month at {number(rate.average)} calls a second",
                f"leave {changed} out of the projections, or keep it in an item of its own",
                work.pattern.place,
                work.plan.entity.place,
            )


def _copy_units(work: Work) -> dict[str, float]:
    """Units of indexes that are written only because they project what changes."""
    changed = {action.path.field for action in work.plan.actions}
    return {
        bound.index.name: work.units.indexes[bound.index.name]
        for bound in work.plan.entity.indexes
        if bound.index.name in work.units.indexes and not changed & set(bound.depends_on)
    }
