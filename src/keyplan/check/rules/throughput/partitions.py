"""Rules: partitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil

from keyplan import limits
from keyplan.check.claims import units_of
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

_FAR_TOO_MANY = 16


@design_rule("KP507", "warning")
def shard_count(subject: Subject) -> Iterator[Finding]:
    """A number of shards that does not fit the load

    A key such as `FEED#{id:shard(8)}` spreads one hot value over eight partitions, each with 1,000 write and 3,000
    read units a second. With too few shards each of them is still too hot. With too many, every read asks all of
    them, pays at least half a read unit for each, and waits for the slowest.

    Take about as many shards as the peak needs at half of a partition's limit, so that a doubling fits.

    Source: developer guide, "Using write sharding to distribute workloads evenly".
    """
    for hot in subject.hot_keys:
        if not hot.sharded:
            continue
        write, read = hot.write(peak=True), hot.read(peak=True)
        needed = max(1, ceil(2 * hot.sharded * write / limits.PARTITION_WRITE_UNITS), _shards_for_reads(hot, read))
        if write > limits.PARTITION_WRITE_UNITS or read > limits.PARTITION_READ_UNITS:
            problem = f"still takes {number(write)} write and {number(read)} read units a second at the peak, and"
            problem += f" serves {limits.PARTITION_WRITE_UNITS:,} and {limits.PARTITION_READ_UNITS:,}"
            yield _shard_finding(hot, f"each of {hot.sharded} shards of {hot.where} {problem}", f"use {needed} shards")
        elif write and hot.sharded >= _FAR_TOO_MANY * needed:
            problem = f"{hot.where} has {hot.sharded} shards for {number(write * hot.sharded)} write units a second at"
            problem += f" the peak: {needed} would do, and every read asks all {hot.sharded}"
            yield _shard_finding(hot, problem, f"use {max(2, needed)} shards")


def _shards_for_reads(hot: HotKey, read: float) -> int:
    # Reads of all shards load each of them alike; more shards do not help them.
    return hot.sharded if read > limits.PARTITION_READ_UNITS / 2 else 1


def _shard_finding(hot: HotKey, problem: str, fix: str) -> Finding:
    return shard_count.finding(
        hot.name,
        problem,
        fix + "; existing keys keep their shard, so rewrite them or read both numbers for a while",
        hot.place,
        hot.table.schema.place_of(hot.index),
    )


@design_rule("KP508", "error", "warning")
def item_collection_growth(subject: Subject) -> Iterator[Finding]:
    """Items of one key that outgrow a partition

    A partition holds about 10 GB. The items of one partition key value may be more than that, spread over several
    partitions by sort key, as long as the table has no local secondary index; with one, the service refuses every
    write that would make the collection larger.

    Even where it works, 10 GB under one key mean 10,000 pages of a query, and a load that only the newest part of
    them sees.

    Put a period into the partition key (`{user_id}#{day:month}`) and walk the periods with `each(...)`, let old items
    expire, or move what is only looked up by id to keys of their own.

    Source: developer guide, "Partitions and data distribution" and "Item collections in local secondary indexes".
    """
    for table, entity in subject.entities:
        local = any(index.kind == "LSI" for index in table.schema.indexes)
        for bound in (entity.key, *entity.indexes):
            if bound.index is not None and bound.index.kind == "LSI":
                continue
            stored = _largest_collection_bytes(entity, bound, table.entities)
            if stored <= limits.PARTITION_BYTES:
                continue
            refused = local and bound.index is None
            then = "with a local index every write beyond that is refused" if refused else "a query of it has no end"
            where = table.schema.where(bound.index)
            yield item_collection_growth.finding(
                entity.name if bound.index is None else bound.index.name,
                f"the most used key of {where} holds {stored / limits.GIB:,.0f} GB of {entity.name}: a partition"
                f" holds 10 GB, and {then}",
                "put a period into the partition key, such as {created_at:month}, or let old items expire",
                bound.place,
                table.schema.place_of(bound.index),
                severity="error" if refused else "warning",
            )


def _largest_collection_bytes(entity: EntitySpec, bound: BoundKey, others: Sequence[EntitySpec]) -> float:
    if entity.items is None or not bound.sort:
        return 0.0
    share = key_share(bound.partition, entity, {}, others)
    if share is None:
        return 0.0
    return entity.items.count * share_in_index(entity, bound) * share * entry_size(entity, bound).average


@design_rule("KP509", "advice")
def missing_workload_numbers(subject: Subject) -> Iterator[Finding]:
    """Numbers that are missing

    Hot keys, the cost of a month, pages that never end: these follow from how many items there are, how large they
    are and how their fields vary. Where a design declares rates or claims units of a request, but not the numbers
    of an entity that these rest on, nothing can be said of them, and silence would look like approval. The same goes
    for a query of one key where nothing tells how many such keys there are: its cost is then that of all items.

    Declare `items=Items(count=..., bytes=Bytes(...), distinct={...})` of the entities named. Rough figures do. Of a
    query, `returns=` tells as much.

    Source: developer guide, "Best practices for designing and architecting with DynamoDB": know the size, shape and
    velocity of the data before the design.
    """
    for table in subject.tables:
        wanted = _entities_needing_numbers(table)
        lacking = [entity.name for entity in table.entities if entity.items is None and entity.name in wanted]
        if lacking:
            reasons = list(dict.fromkeys(wanted[name] for name in lacking))
            yield missing_workload_numbers.finding(
                table.name,
                f"nothing is declared of the number and size of {', '.join(lacking)}, which rates or claims of"
                f" {', '.join(reasons)} rest on",
                "add items=Items(count=..., bytes=Bytes(...)) to them; rough figures do",
                next(entity.place for entity in table.entities if entity.name == lacking[0]),
                table.schema.place,
            )
        yield from _unknown_query_sizes(table)


def _unknown_query_sizes(table: Table) -> Iterator[Finding]:
    """Queries with a rate of which nothing tells how much has the key that they ask for."""
    for pattern in table.patterns:
        plan = pattern.plan
        if pattern.facts.rate is None or plan.operation != "Query" or plan.limit is not None or plan.faults:
            continue
        unsaid = [guess for guess in expected(pattern).guesses if guess.startswith("how many values")]
        if unsaid:
            yield missing_workload_numbers.finding(
                pattern.name,
                f"{unsaid[0]}: {pattern.name} is reckoned to read every one of them",
                "add distinct={...} to the entity's items, or returns=... to the pattern; rough figures do",
                pattern.place,
                plan.entity.place,
            )


def _entities_needing_numbers(table: Table) -> dict[str, str]:
    """Entities whose numbers a rate or a claim rests on, with the pattern that says it."""
    found: dict[str, str] = {}
    for pattern in table.patterns:
        claimed = any(units_of(claim.text) for claim in pattern.facts.claims)
        if claimed or pattern.facts.rate is not None:
            for entity in pattern.plan.entities:
                found.setdefault(entity.name, pattern.name)
    return found
