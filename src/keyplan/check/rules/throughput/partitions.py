"""Rules for shards, the growth of item collections, and undeclared item counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil

from keyplan import limits
from keyplan.check.claims import parse_units
from keyplan.check.finding import Finding, number
from keyplan.check.partition_load import HotKey, key_share
from keyplan.check.rule import design_rule
from keyplan.check.subject import Subject
from keyplan.cost.expected import expected
from keyplan.cost.selectivity import share_in_index
from keyplan.cost.sizes import entry_size
from keyplan.design.declaring.tables import Table
from keyplan.design.entities import EntitySpec
from keyplan.design.keys.entity_keys import BoundKey

_EXCESS_FACTOR = 16


@design_rule("KP507", "warning")
def shard_count(subject: Subject) -> Iterator[Finding]:
    """Number of shards does not fit the load

    Finds sharded keys whose load per shard exceeds the throughput of a partition. Also finds keys with at least 16
    times as many shards as the load requires.

    Why is this bad? A key such as `FEED#{id:shard(8)}` distributes one value across eight partition keys, each with
    1,000 write and 3,000 read units per second. If the number of shards is too low, requests are still throttled. If
    the number of shards is too high, reads are expensive: every read queries all shards, uses at least half a read unit
    for each shard, and waits for the slowest one.

    Fix: choose the number of shards so that each shard uses at most half of a partition's throughput at the peak.

    Source: developer guide, "Using write sharding to distribute workloads evenly".
    """
    for hot_key in subject.hot_keys:
        if not hot_key.shard_count:
            continue
        write, read = hot_key.write(peak=True), hot_key.read(peak=True)
        needed = max(
            1, ceil(2 * hot_key.shard_count * write / limits.PARTITION_WRITE_UNITS), _shards_for_reads(hot_key, read)
        )
        if write > limits.PARTITION_WRITE_UNITS or read > limits.PARTITION_READ_UNITS:
            problem = f"is throttled: it takes {number(write)} write and {number(read)} read units per second at the"
            problem += f" peak, and serves {limits.PARTITION_WRITE_UNITS:,} and {limits.PARTITION_READ_UNITS:,}"
            yield _shard_finding(
                hot_key, f"each of {hot_key.shard_count} shards of {hot_key.label} {problem}", f"use {needed} shards"
            )
        elif write and hot_key.shard_count >= _EXCESS_FACTOR * needed:
            write_units = number(write * hot_key.shard_count)
            problem = (
                f"every read of {hot_key.label} queries {hot_key.shard_count} shards, and {write_units} write units"
                f" per second at the peak need {needed}"
            )
            yield _shard_finding(hot_key, problem, f"use {max(2, needed)} shards")


def _shards_for_reads(hot_key: HotKey, read: float) -> int:
    # A read of all shards loads each shard equally, so more shards do not help.
    return hot_key.shard_count if read > limits.PARTITION_READ_UNITS / 2 else 1


def _shard_finding(hot_key: HotKey, problem: str, fix: str) -> Finding:
    return shard_count.finding(
        hot_key.name,
        problem,
        f"{fix}; existing keys keep their shard, so rewrite them or read both numbers for a while",
        hot_key.place,
        hot_key.table.schema.place_of(hot_key.index),
    )


@design_rule("KP508", "error", "warning")
def item_collection_growth(subject: Subject) -> Iterator[Finding]:
    """Item collection exceeds 10 GB

    Finds partition keys with more than 10 GB of items according to the declared item counts and sizes. The finding is
    an error in tables with a local index.

    Why is this bad? A partition stores about 10 GB. If an item collection is larger, DynamoDB splits it by sort key. If
    the table has a local index, the collection cannot be split, and writes that add to it fail. Even after a split, a
    query for 10 GB reads 10,000 pages, and the newest items usually receive most of the load.

    Fix: add a period to the partition key (`{user_id}#{day:month}`) and read the periods with `each(...)`, give old
    items an expiry, or use separate partition keys for items that are only read by ID.

    Source: developer guide, "Partitions and data distribution" and "Item collections in local secondary indexes".
    """
    for table, entity in subject.entities:
        local = any(index.kind == "LSI" for index in table.schema.indexes)
        for bound in (entity.key, *entity.indexes):
            if bound.index is not None and bound.index.kind == "LSI":
                continue
            size = _largest_collection_bytes(entity, bound, table.entities)
            if size <= limits.PARTITION_BYTES:
                continue
            refused = local and bound.index is None
            consequence = (
                "with a local index, writes beyond that fail" if refused else "a query of it reads all of them"
            )
            target = table.schema.label_of(bound.index)
            yield item_collection_growth.finding(
                entity.name if bound.index is None else bound.index.name,
                f"the most used key of {target} grows to {size / limits.GIB:,.0f} GB of {entity.name}: a"
                f" partition holds 10 GB, and {consequence}",
                "add a period to the partition key, such as {created_at:month}, or let old items expire",
                bound.place,
                table.schema.place_of(bound.index),
                severity="error" if refused else "warning",
            )


def _largest_collection_bytes(entity: EntitySpec, bound: BoundKey, other_entities: Sequence[EntitySpec]) -> float:
    if entity.volume is None or not bound.sort:
        return 0.0
    share = key_share(bound.partition, entity, {}, other_entities)
    if share is None:
        return 0.0
    return entity.volume.count * share_in_index(entity, bound) * share * entry_size(entity, bound).average


@design_rule("KP509", "advice")
def missing_workload_numbers(subject: Subject) -> Iterator[Finding]:
    """Entity declares no volume

    Finds entities without `volume=Volume(...)` that are used by patterns with a rate or a claim about capacity units.
    Also finds queries with a partition key whose number of values is unknown.

    Why is this bad? Hot keys, the monthly cost and unbounded queries can be checked only if the number, size and
    distribution of items are known. A query with a partition key whose number of values is unknown is priced as if it
    read all items.

    Fix: declare `volume=Volume(count=..., bytes=Bytes(...), distinct={...})` on the entities. Approximate numbers are
    sufficient. For a query, you can declare `expected_items=` instead.

    Source: developer guide, "Best practices for designing and architecting with DynamoDB": know the size, shape and
    velocity of the data before the design.
    """
    for table in subject.tables:
        reasons_by_entity = _entities_needing_numbers(table)
        missing = [
            entity.name for entity in table.entities if entity.volume is None and entity.name in reasons_by_entity
        ]
        if missing:
            reasons = list(dict.fromkeys(reasons_by_entity[name] for name in missing))
            yield missing_workload_numbers.finding(
                table.name,
                f"checks and estimates of {', '.join(reasons)} are incomplete: {', '.join(missing)} has no"
                " declared number and size of items",
                "declare volume=Volume(count=..., bytes=Bytes(...)); rough numbers are enough",
                next(entity.place for entity in table.entities if entity.name == missing[0]),
                table.schema.place,
            )
        yield from _unknown_query_sizes(table)


def _unknown_query_sizes(table: Table) -> Iterator[Finding]:
    """Yield findings for queries that have a rate and read an unknown number of items per key."""
    for pattern in table.patterns:
        plan = pattern.plan
        if pattern.facts.rate is None or plan.operation != "Query" or plan.limit is not None or plan.faults:
            continue
        unknown_sizes = [guess for guess in expected(pattern).guesses if guess.startswith("the number of values")]
        if unknown_sizes:
            yield missing_workload_numbers.finding(
                pattern.name,
                f"{pattern.name} is priced as reading every item: {unknown_sizes[0]}",
                "declare distinct={...} in the entity's volume, or expected_items=... of the pattern; rough"
                " numbers are enough",
                pattern.place,
                plan.entity.place,
            )


def _entities_needing_numbers(table: Table) -> dict[str, str]:
    """Return the entities that must declare a number of items, because they are used by a pattern with a rate or a
    claim about capacity units.

    The result maps the name of each entity to the name of such a pattern.
    """
    patterns: dict[str, str] = {}
    for pattern in table.patterns:
        has_claim = any(parse_units(claim.text) for claim in pattern.facts.claims)
        if has_claim or pattern.facts.rate is not None:
            for entity in pattern.plan.entities:
                patterns.setdefault(entity.name, pattern.name)
    return patterns
