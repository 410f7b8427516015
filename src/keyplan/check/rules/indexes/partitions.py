"""Rules for the partitions of indexes: their size and number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from keyplan import limits
from keyplan.check.finding import Finding, number
from keyplan.check.load import index_units_per_second
from keyplan.check.partition_load import key_share
from keyplan.check.rule import design_rule
from keyplan.check.subject import Subject
from keyplan.cost.expected import expected
from keyplan.cost.selectivity import share_in_index
from keyplan.cost.sizes import entry_size, item_size
from keyplan.design.declaring.tables import Table
from keyplan.design.entities import EntitySpec
from keyplan.design.keys.entity_keys import BoundIndexKey, BoundKey, BoundKeyAttribute
from keyplan.design.schema import Index
from keyplan.design.workload import Distinct


@design_rule("KP410", "warning", "advice")
def local_index_collection_size(subject: Subject) -> Iterator[Finding]:
    """Item collection with local indexes can exceed 10 GB

    Finds tables with local indexes whose largest item collection exceeds 10 GB according to the declared item counts
    and sizes (warning), or has an unknown size (advice).

    Why is this bad? In a table with a local index, all items with the same partition key and their copies in local
    indexes can have a total size of at most 10 GB. A write that exceeds this size fails with
    ItemCollectionSizeLimitExceededException, and the index cannot be removed.

    Fix: use global indexes, which do not limit the size of item collections. Alternatively, use a partition key that
    has more values as the data grows, such as user and year.

    Source: developer guide, "Local Secondary Indexes" (item collection size limit).
    """
    for table in subject.tables:
        locals_ = [index for index in table.schema.indexes if index.kind == "LSI"]
        if not locals_:
            continue
        sizes = {entity.name: _largest_collection(entity, table.entities) for entity in table.entities}
        known_sizes = [size for size in sizes.values() if size is not None]
        total = sum(known_sizes)
        if total > limits.ITEM_COLLECTION_BYTES:
            yield local_index_collection_size.finding(
                table.name,
                f"writes of table {table.name} fail once an item collection has 10 GB, and its largest has"
                f" {total / limits.GIB:,.1f} GB with local index entries",
                "use global indexes, or a partition key that grows with the data",
                locals_[0].place,
                table.schema.place,
            )
        elif len(known_sizes) < len(sizes):
            yield local_index_collection_size.finding(
                table.name,
                f"writes of table {table.name} fail once an item collection has 10 GB, and the size of"
                f" {', '.join(name for name, size in sizes.items() if size is None)} is unknown",
                "declare volume=Volume(count, bytes=..., distinct={partition field: number}), or use global indexes",
                locals_[0].place,
                table.schema.place,
                severity="advice",
            )


def _largest_collection(entity: EntitySpec, other_entities: Sequence[EntitySpec]) -> float | None:
    """Return the estimated size in bytes of an entity's largest item collection, including the copies of the items in
    local indexes.

    Return None if the declarations do not determine the size. The number of partition keys can be derived from the
    declarations of `other_entities`.
    """
    items, share = entity.volume, key_share(entity.key.partition, entity, {}, other_entities)
    if items is None or share is None:
        return None
    entity_bytes = float(item_size(entity).average)
    for bound in entity.indexes:
        if bound.index.kind == "LSI":
            entity_bytes += share_in_index(entity, bound) * entry_size(entity, bound).average
    return items.count * share * entity_bytes


_FEW_KEYS = 10
"""The maximum number of partition keys for which an index without declared rates is reported."""
_SMALL_TABLE = 1_000


@design_rule("KP414", "warning", implied_by=("KP501",))
def low_cardinality_index_key(subject: Subject) -> Iterator[Finding]:
    """Index has few partition keys

    Finds global indexes whose partition key has few values, such as a status, a type or a constant. If rates are
    declared, an index is reported if one key uses more than half of a partition's throughput (KP501 reports keys that
    exceed the full throughput). Without rates, an index is reported if it has at most ten partition keys, each with
    more than a thousand items.

    Why is this bad? All items with the same partition key share 1,000 write units and 3,000 read units per second. A
    sort key that increases with time prevents DynamoDB from splitting the partition. If writes to one key of the index
    are throttled, so are writes to the table.

    Fix: shard the key (`FEED#{post_id:shard(8)}`, read with `every_shard()`), start the key with a field that has many
    values (such as the tenant or the day), or make the index sparse. If the load of each key is low, declare `rate=`
    for the patterns that write and read the index: with a rate for a write, only a key that uses more than half of a
    partition's throughput is reported.

    Source: developer guide, "Best practices for designing and using partition keys effectively".
    """
    for table, index in subject.indexes:
        if index.kind != "GSI":
            continue
        for entity in table.entities:
            bound = entity.key_in(index)
            distinct = _distinct_keys(entity, bound) if bound is not None else None
            if bound is None or distinct is None:
                continue
            problem = _load_problem(subject, table, entity, bound, distinct)
            if problem:
                yield low_cardinality_index_key.finding(
                    index.name,
                    f"{entity.name} has {number(distinct.count)} partition"
                    f" {'key' if distinct.count == 1 else 'keys'} in"
                    f" index {index.name} ({', '.join(part.text for part in bound.partition)}), and {problem}",
                    "shard the key, put a field with many values first, or make the index sparse",
                    bound.place,
                    index.place,
                )


def _load_problem(subject: Subject, table: Table, entity: EntitySpec, bound: BoundIndexKey, distinct: Distinct) -> str:
    index = bound.index
    writes = [write for write in subject.writes_of(entity) if write.units.indexes.get(index.name)]
    has_rate = any(write.rate is not None for write in writes)
    write_load = distinct.hottest_share * index_units_per_second(
        subject.requests, table.schema, index.name, entity, peak=True
    )
    read_load = distinct.hottest_share * _peak_reads(subject, table, index)
    for load, limit, access in (
        (write_load, limits.PARTITION_WRITE_UNITS, "write"),
        (read_load, limits.PARTITION_READ_UNITS, "read"),
    ):
        if limit / 2 < load <= limit:
            return (
                f"one of them takes {number(load)} of {limit:,} {access} units per second at the peak: at twice the"
                f" load it"
                " is throttled"
            )
    is_small = entity.volume is not None and entity.volume.count <= _SMALL_TABLE
    is_sharded = any(shards for part in bound.partition for _, shards in _fields_and_shards(part))
    if has_rate or is_small or is_sharded or distinct.count > _FEW_KEYS:
        return ""
    return (
        f"writes of the table are throttled beyond {limits.PARTITION_WRITE_UNITS:,} write units per second for one of"
        " them; no rates are declared"
    )


def _peak_reads(subject: Subject, table: Table, index: Index) -> float:
    return sum(
        expected(pattern).units.read * pattern.facts.rate.highest
        for pattern in subject.readers_of(table, index)
        if pattern.facts.rate is not None
    )


def _distinct_keys(entity: EntitySpec, bound: BoundKey) -> Distinct | None:
    """Return the number of partition key values in an index, or None if it is large or unknown."""
    count, hottest = 1, 1.0
    for part in bound.partition:
        for name, shards in _fields_and_shards(part):
            declared = entity.volume.values_of(name) if entity.volume is not None and not shards else None
            distinct = _declared_values(entity, part, name) if declared is None else declared
            if distinct is None:
                return None
            count *= distinct.count
            hottest *= distinct.hottest_share
    return Distinct(count, hottest)


def _fields_and_shards(part: BoundKeyAttribute) -> Iterator[tuple[str, int]]:
    """Yield each field of a key attribute with the number of its hash shards, or with 0 if the field is not sharded."""
    if part.template is None:
        yield from ((name, 0) for name in part.fields)
        return
    yield from ((placeholder.name, placeholder.shards) for placeholder in part.template.placeholders)


def _declared_values(entity: EntitySpec, part: BoundKeyAttribute, name: str) -> Distinct | None:
    if part.template is not None:
        placeholder = next(placeholder for placeholder in part.template.placeholders if placeholder.name == name)
        return None if placeholder.encoding.choices is None else Distinct(len(placeholder.encoding.choices))
    choices = entity.fields[name].declared.choices
    return None if choices is None else Distinct(len(choices))
