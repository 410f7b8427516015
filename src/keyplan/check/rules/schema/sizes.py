"""Rules: sizes."""

from __future__ import annotations

from collections.abc import Iterator

from keyplan import limits
from keyplan.check.declared_sizes import grows_without_end, most_item_bytes, nesting, too_long, unbounded
from keyplan.check.finding import Finding, number
from keyplan.check.load import NOTABLE_UNITS, monthly_price
from keyplan.check.rule import design_rule
from keyplan.check.subject import Subject
from keyplan.cost.sizes import entry_size, item_size
from keyplan.design.entities import EntitySpec


@design_rule("KP102", "error", "advice")
def partition_key_too_long(subject: Subject) -> Iterator[Finding]:
    """A partition key can pass 2,048 bytes

    The value of a partition key may have 2,048 bytes of UTF-8. A template or field whose declared lengths allow
    more makes keys that the service refuses, item by item, in production: the declaration proves it. Text that
    people write and that nothing bounds is pointed out as advice; identifiers that programs make are not.

    Lengths count characters, and a character has up to four bytes, so `max_length=600` can be 2,400 bytes.
    Declare a smaller `max_length`, a `pattern` of plain characters, or put a hash or an id into the key instead.

    Source: developer guide, "Quotas in Amazon DynamoDB", partition keys and sort keys.
    """
    for _, entity in subject.entities:
        for bound in (entity.key, *entity.indexes):
            for part in bound.partition:
                yield from too_long(partition_key_too_long, entity, bound, part, limits.PARTITION_KEY_BYTES)
                yield from unbounded(partition_key_too_long, entity, bound, part, limits.PARTITION_KEY_BYTES)


@design_rule("KP103", "error", "advice")
def sort_key_too_long(subject: Subject) -> Iterator[Finding]:
    """A sort key can pass 1,024 bytes

    The value of a sort key may have 1,024 bytes of UTF-8, half of what a partition key may have. Composed sort
    keys grow quietly: `CATEGORY#{category}#{task_id}` with a category of 300 characters may take 1,200 bytes, and
    the write that does so is refused. Text that people write and that nothing bounds is pointed out as advice.

    Declare a smaller `max_length` (a character has up to four bytes), a `pattern` of plain characters, or keep the
    text out of the key.

    Source: developer guide, "Quotas in Amazon DynamoDB", partition keys and sort keys.
    """
    for _, entity in subject.entities:
        for bound in (entity.key, *entity.indexes):
            for part in bound.sort:
                yield from too_long(sort_key_too_long, entity, bound, part, limits.SORT_KEY_BYTES)
                yield from unbounded(sort_key_too_long, entity, bound, part, limits.SORT_KEY_BYTES)


@design_rule("KP104", "error", "warning")
def item_too_large(subject: Subject) -> Iterator[Finding]:
    """An item can pass 400 KB

    An item, names and values together, may have 400 KB (409,600 bytes); the write that passes it is refused. The
    declaration tells in three ways: the sizes that the design states (`Items(bytes=Bytes(...))`), the lengths that
    its fields allow, and updates that append to a list or set which nothing bounds, so that the item grows until
    one day it cannot be written any more. Long before that every change is billed for the whole item.

    Declare lengths that fit, put what grows into items of its own in the same item collection, or keep large
    content in an object store with its key in the item.

    Source: developer guide, "Quotas in Amazon DynamoDB", item size; "Best practices for storing large items".
    """
    for _, entity in subject.entities:
        told = entity.items.bytes if entity.items is not None else None
        if told is not None:
            yield from _declared_size(entity, max(told.average, told.p99 or 0, told.most or 0))
        if told is None or told.most is None:
            yield from _allowed_size(entity)
    for _, pattern, plan in subject.patterns:
        for action in plan.actions:
            name = action.path.field
            stored = plan.entity.fields[name]
            if action.name in {"append", "add_to_set"} and grows_without_end(stored, action.path):
                yield item_too_large.finding(
                    pattern.name,
                    f"{pattern.name} adds to {plan.entity.name}.{name}, and nothing bounds it: each call rewrites and"
                    " bills the whole item, and at 400 KB the writes are refused",
                    f"write an item for each member, in the item collection of {plan.entity.name}, or declare"
                    f" {name} with a max_length that conditions keep",
                    pattern.place.at(name),
                    plan.entity.place,
                    severity="warning",
                )


def _declared_size(entity: EntitySpec, most: int) -> Iterator[Finding]:
    if most > limits.ITEM_BYTES:
        yield item_too_large.finding(
            entity.name,
            f"items of {entity.name} are declared with up to {most:,} bytes, and an item may have"
            f" {limits.ITEM_BYTES:,}",
            "split the item, or keep its large content in an object store",
            entity.place.at("Bytes("),
        )


def _allowed_size(entity: EntitySpec) -> Iterator[Finding]:
    most, largest = most_item_bytes(entity)
    if most > limits.ITEM_BYTES:
        yield item_too_large.finding(
            entity.name,
            f"the declared lengths of {entity.name} allow {most:,} bytes, {largest} most of them, and an item may have"
            f" {limits.ITEM_BYTES:,}",
            f"declare {largest} shorter, or say what items have at most: items=Items(..., bytes=Bytes(most=...))",
            entity.place,
            severity="warning",
        )


_LARGE_BYTES = 100 * 1024


@design_rule("KP105", "warning")
def large_item_rewritten(subject: Subject) -> Iterator[Finding]:
    """A large item is rewritten often

    A write is billed for the whole item, not for what it changes: setting one flag of a 100 KB item costs 100
    write units, and the same again in every index that projects what changed. Above 100 KB, rates that look small
    use up a partition, which takes 1,000 write units a second. Found from 25 write units a second on, some forty
    dollars a month.

    Keep what changes in a small item of its own (the counter, the status, the version), next to the large one in
    the same item collection, so that one query still reads both.

    Source: developer guide, "Read and write capacity"; "Best practices for storing large items and attributes".
    """
    for work in subject.works:
        plan, rate = work.plan, work.rate
        rewrites = plan.operation == "UpdateItem" or (plan.operation == "PutItem" and plan.exists != "must_not")
        if not rewrites or rate is None:
            continue
        size = item_size(plan.entity)
        per_second = work.units.written * rate.average
        if size.declared and size.average > _LARGE_BYTES and per_second >= NOTABLE_UNITS:
            yield large_item_rewritten.finding(
                work.pattern.name,
                f"{work.pattern.name} rewrites {plan.entity.name}, {size.average:,} bytes on average,"
                f" {number(rate.average)} times a second: {number(work.units.written)} write units each,"
                f" ${monthly_price(per_second):,.0f} a month",
                "keep what changes in a small item beside it",
                work.pattern.place,
                plan.entity.place,
            )


@design_rule("KP110", "error", "warning")
def nesting_too_deep(subject: Subject) -> Iterator[Finding]:
    """A value is nested deeper than 32 levels

    Lists and maps may lie in one another 32 levels deep; the write of a deeper value is refused. Hardly any type
    declares so many levels, but a model that holds itself (a comment with replies, a folder with folders) has no
    end, and its depth is decided by whoever sends the data.

    Store such trees flat: an item for each node, with its parent's id or its path in the key, so that one query
    reads a branch.

    Source: developer guide, "Quotas in Amazon DynamoDB", nested attribute depth.
    """
    for _, entity in subject.entities:
        for name, stored in entity.fields.items():
            levels = nesting(stored.info.annotation)
            if levels is not None and levels <= limits.NESTING_LEVELS:
                continue
            deep = "has no end of levels" if levels is None else f"has {levels} levels"
            yield nesting_too_deep.finding(
                entity.name,
                f"{entity.name}.{name} {deep} of lists and maps in one another, and a value may have"
                f" {limits.NESTING_LEVELS}",
                "store an item for each node, with its parent or its path in the key",
                entity.place.at(f"{name}: "),
                severity="warning" if levels is None else "error",
            )


@design_rule("KP116", "warning")
def local_index_item_too_large(subject: Subject) -> Iterator[Finding]:
    """An item and its local index entries can pass 400 KB together

    Entries of local secondary indexes are stored in the item's own partition and count towards the item's 400 KB:
    a 150 KB item with two local indexes that project all takes 450 KB, and its write is refused, although the item
    alone would fit.

    Project keys only, use a global index, whose entries count for themselves, or keep large content elsewhere.

    Source: developer guide, "Local Secondary Indexes", item size and projected attributes.
    """
    for _, entity in subject.entities:
        locals_ = [bound for bound in entity.indexes if bound.index.kind == "LSI"]
        most = _largest_item(entity)
        if not locals_ or most is None or most > limits.ITEM_BYTES:
            continue
        together = most + sum(
            most if bound.index.project in {"all", None} else entry_size(entity, bound).p99 for bound in locals_
        )
        if together > limits.ITEM_BYTES:
            names = ", ".join(bound.index.name for bound in locals_)
            yield local_index_item_too_large.finding(
                entity.name,
                f"items of {entity.name} have up to {most:,} bytes, and with their entries in {names} {together:,}: the"
                f" two together may have {limits.ITEM_BYTES:,}",
                "project keys only, or use a global index",
                entity.place,
                locals_[0].index.place,
            )


def _largest_item(entity: EntitySpec) -> int | None:
    size = item_size(entity)
    return (size.most or size.p99) if size.declared else None
