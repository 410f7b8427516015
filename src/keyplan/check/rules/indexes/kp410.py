"""An item collection of a table with local indexes can pass 10 GB

With a local index all items of one partition key, with their index entries, lie in one partition, and together
they may have 10 GB. At that size every write that makes the collection larger is refused
(ItemCollectionSizeLimitExceededException), and such an index cannot be removed from the table.

Use global indexes, which know no such limit, or let the partition key grow with the data (user and year).

Source: developer guide, "Local Secondary Indexes", item collection size limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from keyplan import limits
from keyplan.check.finding import Finding
from keyplan.check.key_shares import key_share
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.cost.selectivity import share_in_index
from keyplan.cost.sizes import entry_size, item_size
from keyplan.design.entities import EntitySpec

RULE = Rule("KP410", "local-index-collection", ("warning", "advice"))


def check(subject: Subject) -> Iterator[Finding]:
    """Collections that the declared numbers make too large, or of which nothing is said."""
    for table in subject.tables:
        locals_ = [index for index in table.schema.indexes if index.kind == "LSI"]
        if not locals_:
            continue
        sizes = {entity.name: _largest(entity, table.entities) for entity in table.entities}
        known = [size for size in sizes.values() if size is not None]
        total = sum(known)
        if total > limits.ITEM_COLLECTION_BYTES:
            yield Finding(
                RULE.code,
                "warning",
                table.name,
                f"by the declared numbers the largest item collection of table {table.name}, with its local index"
                f" entries, has {total / limits.GIB:,.1f} GB, and it may have 10",
                "use global indexes, or a partition key that grows with the data",
                locals_[0].place,
                table.schema.place,
            )
        elif len(known) < len(sizes):
            yield Finding(
                RULE.code,
                "advice",
                table.name,
                f"table {table.name} has local indexes, so no item collection may pass 10 GB, and nothing says how"
                f" much of one is {', '.join(name for name, size in sizes.items() if size is None)}",
                "declare items=Items(count, bytes=..., distinct={partition field: number}), or use global indexes",
                locals_[0].place,
                table.schema.place,
            )


def _largest(entity: EntitySpec, others: Sequence[EntitySpec]) -> float | None:
    """Bytes of the largest collection of an entity, with its entries in local indexes."""
    items, share = entity.items, key_share(entity.key.partition, entity, {}, others)
    if items is None or share is None:
        return None
    one = float(item_size(entity).average)
    for bound in entity.indexes:
        if bound.index.kind == "LSI":
            one += share_in_index(entity, bound) * entry_size(entity, bound).average
    return items.count * share * one
