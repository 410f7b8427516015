"""Rules for the size of keys and items."""

from __future__ import annotations

from collections.abc import Iterator

from keyplan import limits
from keyplan.check.declared_sizes import (
    is_unbounded,
    max_item_bytes,
    min_item_bytes,
    nesting,
    too_long_key,
    unbounded_key,
)
from keyplan.check.finding import Finding, number
from keyplan.check.load import monthly_price
from keyplan.check.rule import design_rule
from keyplan.check.subject import Subject
from keyplan.cost.sizes import entry_size, item_size
from keyplan.design.entities import EntitySpec


@design_rule("KP102", "error", "advice")
def partition_key_too_long(subject: Subject) -> Iterator[Finding]:
    """Partition key can exceed 2,048 bytes

    Finds partition keys that can exceed 2,048 bytes according to the declared lengths of their fields (error). Also
    finds free text without a `max_length` in a partition key (advice, one finding for all fields). A field whose type,
    name or `Attribute(kind="id")` indicates a generated ID is not treated as free text.

    Why is this bad? DynamoDB limits a partition key to 2,048 bytes of UTF-8 and rejects each write with a longer key.
    `max_length` counts characters, and a character takes up to four bytes: `max_length=600` allows 2,400 bytes.

    Fix: declare a smaller `max_length` or a `pattern` that allows only ASCII characters, or use a hash or an ID in the
    key.

    Source: developer guide, "Quotas in Amazon DynamoDB" (partition keys and sort keys).
    """
    for _, entity in subject.entities:
        keys = [(bound, part) for bound in (entity.key, *entity.indexes) for part in bound.partition]
        for bound, part in keys:
            yield from too_long_key(partition_key_too_long, entity, bound, part, limits.PARTITION_KEY_BYTES)
        yield from unbounded_key(partition_key_too_long, entity, keys, limits.PARTITION_KEY_BYTES)


@design_rule("KP103", "error", "advice")
def sort_key_too_long(subject: Subject) -> Iterator[Finding]:
    """Sort key can exceed 1,024 bytes

    Finds sort keys that can exceed 1,024 bytes according to the declared lengths of their fields (error). Also finds
    free text without a `max_length` in a sort key (advice, one finding for all fields). A field whose type, name or
    `Attribute(kind="id")` indicates a generated ID is not treated as free text.

    Why is this bad? DynamoDB limits a sort key to 1,024 bytes of UTF-8, half the limit of a partition key, and rejects
    each write with a longer key. A key that consists of several fields can become long: in
    `CATEGORY#{category}#{task_id}`, a category of 300 characters takes up to 1,200 bytes.

    Fix: declare a smaller `max_length` (a character takes up to four bytes) or a `pattern` that allows only ASCII
    characters, or remove the text from the key.

    Source: developer guide, "Quotas in Amazon DynamoDB" (partition keys and sort keys).
    """
    for _, entity in subject.entities:
        keys = [(bound, part) for bound in (entity.key, *entity.indexes) for part in bound.sort]
        for bound, part in keys:
            yield from too_long_key(sort_key_too_long, entity, bound, part, limits.SORT_KEY_BYTES)
        yield from unbounded_key(sort_key_too_long, entity, keys, limits.SORT_KEY_BYTES)


@design_rule("KP104", "error", "warning")
def item_too_large(subject: Subject) -> Iterator[Finding]:
    """Item can exceed 400 KB

    Finds entities whose items can exceed 400 KB according to their declared size (`Volume(bytes=Bytes(...))`) or field
    lengths. Also finds updates that append to a list or set without a maximum length.

    Why is this bad? DynamoDB limits an item to 400 KB (409,600 bytes), names and values together, and rejects larger
    writes. An item that grows without a limit eventually reaches a size at which updates fail. Long before it reaches
    this size, each update is billed for the whole item.

    Fix: declare smaller lengths, store each element as a separate item in the same item collection, or store large
    content in an object store and its key in the item.

    Source: developer guide, "Quotas in Amazon DynamoDB" (item size); "Best practices for storing large items".
    """
    for _, entity in subject.entities:
        size = entity.volume.bytes if entity.volume is not None else None
        if size is not None:
            yield from _declared_size(entity, max(size.average, size.p99 or 0, size.most or 0))
        if size is None or size.most is None:
            yield from _allowed_size(entity)
    for _, pattern, plan in subject.patterns:
        for action in plan.actions:
            name = action.path.field
            field = plan.entity.fields[name]
            if action.name in {"append", "add_to_set"} and is_unbounded(field, action.path):
                yield item_too_large.finding(
                    pattern.name,
                    f"{pattern.name} fails once {plan.entity.name}.{name} has grown to 400 KB, and each call"
                    f" before that is billed for the whole item: {name} has no bound",
                    f"store each member as its own item in the item collection of {plan.entity.name}, or declare"
                    f" {name} with a max_length that conditions enforce",
                    pattern.place.at(name),
                    plan.entity.place,
                    severity="warning",
                )


def _declared_size(entity: EntitySpec, max_size: int) -> Iterator[Finding]:
    if max_size > limits.ITEM_BYTES:
        yield item_too_large.finding(
            entity.name,
            f"writes of {entity.name} fail over {limits.ITEM_BYTES:,} bytes, and its declared size is up to"
            f" {max_size:,}",
            "split the item, or keep its large content in an object store",
            entity.place.at("Bytes("),
        )


def _allowed_size(entity: EntitySpec) -> Iterator[Finding]:
    max_size, largest = max_item_bytes(entity)
    if max_size > limits.ITEM_BYTES:
        yield item_too_large.finding(
            entity.name,
            f"writes of {entity.name} fail over {limits.ITEM_BYTES:,} bytes, and its declared lengths"
            f" allow {max_size:,}, most of them in {largest}",
            f"declare {largest} shorter, or declare the largest size of an item: volume=Volume(...,"
            " bytes=Bytes(most=...))",
            entity.place,
            severity="warning",
        )


_LARGE_BYTES = 100 * 1024


@design_rule("KP105", "warning")
def large_item_rewritten(subject: Subject) -> Iterator[Finding]:
    """Large item is rewritten often

    Finds updates and replacements of items over 100 KB, if they use at least 25 write units per second (about $40 per
    month) and cost at least the design's `cost_floor` per month.

    Why is this bad? A write is billed for the whole item, not for the changed attribute: setting one flag in a 100 KB
    item uses 100 write units, and 100 more in every index that projects all attributes. A partition supports 1,000
    write units per second.

    Fix: store the attributes that change (a counter, a status, a version) in a small, separate item in the same item
    collection. One query still reads both items.

    Source: developer guide, "Read and write capacity"; "Best practices for storing large items and attributes".
    """
    for request in subject.requests:
        plan, rate = request.plan, request.rate
        rewrites = plan.operation == "UpdateItem" or (plan.operation == "PutItem" and plan.exists != "must_not")
        if not rewrites or rate is None:
            continue
        size = item_size(plan.entity)
        per_second = request.units.total_write * rate.average
        if size.declared and size.average > _LARGE_BYTES and subject.is_notable(per_second):
            yield large_item_rewritten.finding(
                request.pattern.name,
                f"{request.pattern.name} costs ${monthly_price(per_second):,.0f} per month:"
                f" {number(rate.average)} times per second it rewrites {plan.entity.name}, {size.average:,}"
                f" bytes on average, for {number(request.units.total_write)} write units",
                "move the attributes that change into a small item in the same item collection",
                request.pattern.place,
                plan.entity.place,
            )


@design_rule("KP110", "error", "warning")
def nesting_too_deep(subject: Subject) -> Iterator[Finding]:
    """Value can be nested more than 32 levels deep

    Finds fields whose type has more than 32 nested levels of lists and maps (error). Also finds fields that can be
    nested to any depth, such as comments with replies or folders that contain folders (warning).

    Why is this bad? DynamoDB rejects the write of a value that is nested deeper than 32 levels. With a recursive model,
    the sender of the data determines the depth.

    Fix: store each node as a separate item, with its path in the key. One query then reads a node with all its
    descendants.

    Source: developer guide, "Quotas in Amazon DynamoDB" (nested attribute depth).
    """
    for _, entity in subject.entities:
        for name, field in entity.fields.items():
            levels = nesting(field.info.annotation)
            if levels is not None and levels <= limits.NESTING_LEVELS:
                continue
            deep = "is recursive" if levels is None else f"has {levels} levels"
            yield nesting_too_deep.finding(
                entity.name,
                f"writes of {entity.name} fail if {name} is nested more than {limits.NESTING_LEVELS} levels"
                f" deep: its type {deep}",
                "store each node as its own item, with its parent or its path in the key",
                entity.place.at(f"{name}: "),
                severity="warning" if levels is None else "error",
            )


@design_rule("KP116", "warning")
def local_index_item_too_large(subject: Subject) -> Iterator[Finding]:
    """Item and its local index entries can exceed 400 KB

    Finds entities whose items are within the limit of 400 KB, but can exceed it together with their copies in local
    secondary indexes.

    Why is this bad? The limit of 400 KB applies to an item together with its copies in local secondary indexes. The
    write of a 150 KB item to a table with two local indexes that project all attributes is rejected, because the total
    is 450 KB.

    Fix: project only keys, use a global index, which has a separate limit for each item, or store large content
    elsewhere.

    Source: developer guide, "Local Secondary Indexes" (item size and projected attributes).
    """
    for _, entity in subject.entities:
        local_indexes = [bound for bound in entity.indexes if bound.index.kind == "LSI"]
        max_size = _largest_item(entity)
        if not local_indexes or max_size is None or max_size > limits.ITEM_BYTES:
            continue
        total = max_size + sum(
            max_size if bound.index.project in {"all", None} else entry_size(entity, bound).p99
            for bound in local_indexes
        )
        if total > limits.ITEM_BYTES:
            names = ", ".join(bound.index.name for bound in local_indexes)
            yield local_index_item_too_large.finding(
                entity.name,
                f"writes of {entity.name} fail: an item of {max_size:,} bytes with its entries in {names} has"
                f" {total:,}, and the limit for both is {limits.ITEM_BYTES:,}",
                "project keys only, or use a global index",
                entity.place,
                local_indexes[0].index.place,
            )


def _largest_item(entity: EntitySpec) -> int | None:
    size = item_size(entity)
    return (size.most or size.p99) if size.declared else None


@design_rule("KP117", "warning")
def declared_size_too_small(subject: Subject) -> Iterator[Finding]:
    """Declared item size is smaller than the attribute names

    Finds entities whose declared average size (`Volume(bytes=Bytes(...))`) is smaller than the sum of the shortest
    possible key and the names of the attributes that every item has. Optional fields and sets are not included.

    Why is this bad? The size of an item includes the names of its attributes. If the declared size omits them, the
    computed prices, capacity units and loads on keys are too low: ten attributes with names of 12 bytes add 120 bytes
    to each item.

    Fix: declare the size of names and values together. `keyplan verify` measures the size of generated items.

    Source: developer guide, "DynamoDB item sizes and formats" (an item's size is the sum of its attribute names and
    values).
    """
    for _, entity in subject.entities:
        declared = entity.volume.bytes if entity.volume is not None else None
        min_size = min_item_bytes(entity)
        if declared is not None and declared.average < min_size:
            yield declared_size_too_small.finding(
                entity.name,
                f"prices and units of {entity.name} are too low: its declared size is {declared.average:,} bytes on"
                f" average, and its key and attribute names alone take {min_size:,}",
                "declare the size of names and values together: Bytes(...)",
                entity.place.at("Bytes("),
            )
