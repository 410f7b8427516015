"""An index has few partition keys

All entries with one partition key share one partition's capacity: 1,000 write and 3,000 read units a second,
and an order by time keeps even that from being split. An index on a status, a type or a constant ("ALL",
"LEADERBOARD") sends everything to a handful of them, and when one is throttled, the writes of the table are.

Spread the key over shards (`FEED#{post_id:shard(8)}`, read with `every_shard()`), put something with many
values in front (the tenant, the day), or let the index be sparse, so that little is in it.

Without declared rates such a key is pointed out as it is, up to ten of them, of more than a thousand items. With rates
it is a matter of numbers: this reports keys that take more than half of what a partition serves, and KP501 those that
take more than all of it.

Source: developer guide, "Best practices for designing and using partition keys effectively".
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan import limits
from keyplan.check.finding import Finding
from keyplan.check.load import number, units_a_second
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.cost.expected import expected
from keyplan.design.entities import EntitySpec
from keyplan.design.keys import BoundIndexKey, BoundKey, KeyAttribute
from keyplan.design.schema import Index
from keyplan.design.tables import Table
from keyplan.design.workload import Distinct

RULE = Rule("KP414", "few-index-keys", ("warning",))
FEW = 10
"""Values of a partition key up to which an index without declared rates is pointed out."""
_SMALL_TABLE = 1_000


def check(subject: Subject) -> Iterator[Finding]:
    """Index partition keys of few values, with too much load or without declared load."""
    for table, index in subject.indexes:
        if index.kind != "GSI":
            continue
        for entity in table.entities:
            bound = entity.key_in(index)
            told = _values(entity, bound) if bound is not None else None
            if bound is None or told is None:
                continue
            problem = _problem(subject, table, entity, bound, told)
            if problem:
                yield Finding(
                    RULE.code,
                    "warning",
                    index.name,
                    f"{entity.name} has {number(told.count)} partition {'key' if told.count == 1 else 'keys'} in index"
                    f" {index.name} ({', '.join(part.text for part in bound.partition)}), and {problem}",
                    "spread the key over shards, put something with many values in front, or make the index sparse",
                    bound.place,
                    index.place,
                )


def _problem(subject: Subject, table: Table, entity: EntitySpec, bound: BoundIndexKey, told: Distinct) -> str:
    index = bound.index
    writes = [work for work in subject.writes_of(entity) if work.units.indexes.get(index.name)]
    rated = [work for work in writes if work.rate is not None]
    hot = told.hottest_share * units_a_second(subject.works, table.schema, index.name, entity, peak=True)
    read = told.hottest_share * _read_peak(subject, table, index)
    for load, limit, what in (
        (hot, limits.PARTITION_WRITE_UNITS, "write"),
        (read, limits.PARTITION_READ_UNITS, "read"),
    ):
        if limit / 2 < load <= limit:
            return (
                f"one of them takes {number(load)} {what} units a second at the peak, of {limit:,} that a partition"
                " serves: at twice the load the table is throttled"
            )
    small = entity.items is not None and entity.items.count <= _SMALL_TABLE
    sharded = any(shards for part in bound.partition for _, shards in _holes(part))
    if rated or small or sharded or told.count > FEW:
        return ""
    return (
        "no rates say how much is written: one of them takes"
        f" {limits.PARTITION_WRITE_UNITS:,} write units a second, and more throttles the table"
    )


def _read_peak(subject: Subject, table: Table, index: Index) -> float:
    return sum(
        expected(pattern).units.read * pattern.facts.rate.highest
        for pattern in subject.readers_of(table, index)
        if pattern.facts.rate is not None
    )


def _values(entity: EntitySpec, bound: BoundKey) -> Distinct | None:
    """How many values the partition key has; None where that is many, or nothing tells."""
    count, hottest = 1, 1.0
    for part in bound.partition:
        for name, shards in _holes(part):
            told = entity.items.values_of(name) if entity.items is not None and not shards else None
            few = _few(entity, part, name) if told is None else told
            if few is None:
                return None
            count *= few.count
            hottest *= few.hottest_share
    return Distinct(count, hottest)


def _holes(part: KeyAttribute) -> Iterator[tuple[str, int]]:
    """Fields of a key attribute, with the number of shards that their hole spreads them over."""
    if part.template is None:
        yield from ((name, 0) for name in part.fields)
        return
    yield from ((hole.name, hole.shards) for hole in part.template.holes)


def _few(entity: EntitySpec, part: KeyAttribute, name: str) -> Distinct | None:
    if part.template is not None:
        hole = next(hole for hole in part.template.holes if hole.name == name)
        return None if hole.encoding.choices is None else Distinct(len(hole.encoding.choices))
    choices = entity.fields[name].declared.choices
    return None if choices is None else Distinct(len(choices))
