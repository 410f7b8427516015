"""A partition key that is a constant or the time of writing

With a partition key that is one text, all items of a table or index lie in one partition: "LEADERBOARD",
"ALL", "ACTIVE". With the day or hour of writing as the key it is a new one each day, but always one at a time.
Either way the whole load meets 1,000 write units and 3,000 read units a second, and more capacity does not help.

For a few items it is right and handy, so it is found only where the declared numbers say that it will hurt:
100,000 items and more under one constant, or more than a tenth of a partition's write or read units a second.

Shard the key and merge the shards when reading (`every_shard()`), keep only those items in the index that are
asked for, or cache a list that many read and few change.

Source: developer guide, "Best practices for designing and using partition keys effectively" and "Using write
sharding to distribute workloads evenly".
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan import limits
from keyplan.check.finding import Finding
from keyplan.check.heat import HotKey
from keyplan.check.load import number
from keyplan.check.rising import rises
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.cost.selectivity import share_in_index
from keyplan.design.entities import EntitySpec
from keyplan.design.keys import BoundKey

RULE = Rule("KP504", "constant-partition-key", ("warning",))
_MANY_ITEMS = 100_000
_NOTABLE = 0.1


def check(subject: Subject) -> Iterator[Finding]:
    """Constant keys and keys of the time of writing, with notable numbers."""
    told = {(hot.name, hot.entity.name): hot for hot in subject.hot_keys}
    for hot in told.values():
        if hot.bound is None:
            yield from _constant(hot, None, hot.entity)
    for table, entity in subject.entities:
        for bound in (entity.key, *entity.indexes):
            if bound.index is not None and bound.index.kind == "LSI":
                continue
            known = told.get((table.name if bound.index is None else bound.index.name, entity.name))
            if not any(part.fields for part in bound.partition):
                yield from _constant(known, bound, entity)
            elif known is not None:
                yield from _moment(known, bound, entity)


def _constant(hot: HotKey | None, bound: BoundKey | None, entity: EntitySpec) -> Iterator[Finding]:
    write = hot.write(peak=True) if hot is not None else 0.0
    read = hot.read(peak=True) if hot is not None else 0.0
    items = _items_under(bound, entity)
    if items < _MANY_ITEMS and not _notable(write, read):
        return
    index = bound.index if bound is not None else hot.index if hot is not None else None
    where = entity.schema.where(index)
    text = _text(hot, bound)
    parts = [f"{items:,.0f} items"] if items else []
    parts += [f"{number(write)} write units a second at the peak"] if write else []
    parts += [f"{number(read)} read units a second at the peak"] if read else []
    yield Finding(
        RULE.code,
        "warning",
        index.name if index is not None else entity.name,
        f"every {entity.name} has the partition key {text} in {where}: {', '.join(parts)} in one partition, which"
        f" serves {limits.PARTITION_WRITE_UNITS:,} write and {limits.PARTITION_READ_UNITS:,} read units a second",
        "shard the key, such as TEXT#{id:shard(8)}, and read it with every_shard(); or keep only what is asked for in"
        " the index with when=",
        bound.place if bound is not None else entity.place,
        entity.schema.place_of(index),
    )


def _text(hot: HotKey | None, bound: BoundKey | None) -> str:
    if bound is not None:
        return " and ".join(part.text for part in bound.partition)
    return hot.shape.partition(" = ")[2] if hot is not None else ""


def _notable(write: float, read: float) -> bool:
    return write > limits.PARTITION_WRITE_UNITS * _NOTABLE or read > limits.PARTITION_READ_UNITS * _NOTABLE


def _items_under(bound: BoundKey | None, entity: EntitySpec) -> float:
    if entity.items is None:
        return 0.0
    return entity.items.count * (share_in_index(entity, bound) if bound is not None else 1.0)


def _moment(hot: HotKey, bound: BoundKey, entity: EntitySpec) -> Iterator[Finding]:
    names = [name for part in bound.partition for name in part.fields]
    if not all(rises(entity.fields[name]) for name in names):
        return
    units = sum(load.write * (load.peak / load.share) for load in hot.loads if load.share)
    if units <= limits.PARTITION_WRITE_UNITS * _NOTABLE:
        return
    yield Finding(
        RULE.code,
        "warning",
        hot.name,
        f"the partition key of {hot.where} is made of {', '.join(names)} alone: at any moment all"
        f" {number(units)} write units a second at the peak go to one key, and a partition serves"
        f" {limits.PARTITION_WRITE_UNITS:,}",
        "add a field that varies, or a shard, and read the shards with every_shard()",
        hot.place,
        hot.table.schema.place_of(hot.index),
    )
