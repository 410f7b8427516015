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

from __future__ import annotations

from collections.abc import Iterator, Sequence

from keyplan import limits
from keyplan.check.finding import Finding
from keyplan.check.key_shares import key_share
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.cost.selectivity import share_in_index
from keyplan.cost.sizes import entry_size
from keyplan.design.entities import EntitySpec
from keyplan.design.keys import BoundKey

RULE = Rule("KP508", "partition-growth", ("error", "warning"))


def check(subject: Subject) -> Iterator[Finding]:
    """Keys under which the declared numbers put more than a partition holds."""
    for table, entity in subject.entities:
        local = any(index.kind == "LSI" for index in table.schema.indexes)
        for bound in (entity.key, *entity.indexes):
            if bound.index is not None and bound.index.kind == "LSI":
                continue
            stored = _bytes_under(entity, bound, table.entities)
            if stored <= limits.PARTITION_BYTES:
                continue
            refused = local and bound.index is None
            then = "with a local index every write beyond that is refused" if refused else "a query of it has no end"
            where = table.schema.where(bound.index)
            yield Finding(
                RULE.code,
                "error" if refused else "warning",
                entity.name if bound.index is None else bound.index.name,
                f"the most used key of {where} holds {stored / limits.GIB:,.0f} GB of {entity.name}: a partition"
                f" holds 10 GB, and {then}",
                "put a period into the partition key, such as {created_at:month}, or let old items expire",
                bound.place,
                table.schema.place_of(bound.index),
            )


def _bytes_under(entity: EntitySpec, bound: BoundKey, others: Sequence[EntitySpec]) -> float:
    if entity.items is None or not bound.sort:
        return 0.0
    share = key_share(bound.partition, entity, {}, others)
    if share is None:
        return 0.0
    return entity.items.count * share_in_index(entity, bound) * share * entry_size(entity, bound).average
