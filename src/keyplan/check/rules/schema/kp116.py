"""An item and its local index entries can pass 400 KB together

Entries of local secondary indexes are stored in the item's own partition and count towards the item's 400 KB:
a 150 KB item with two local indexes that project all takes 450 KB, and its write is refused, although the item
alone would fit.

Project keys only, use a global index, whose entries count for themselves, or keep large content elsewhere.

Source: developer guide, "Local Secondary Indexes", item size and projected attributes.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan import limits
from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.cost.sizes import entry_size, item_size
from keyplan.design.entities import EntitySpec

RULE = Rule("KP116", "local-index-item-bytes", ("warning",))


def check(subject: Subject) -> Iterator[Finding]:
    """Items that fit alone, but not with what local indexes hold of them."""
    for _, entity in subject.entities:
        locals_ = [bound for bound in entity.indexes if bound.index.kind == "LSI"]
        most = _most(entity)
        if not locals_ or most is None or most > limits.ITEM_BYTES:
            continue
        together = most + sum(
            most if bound.index.project in {"all", None} else entry_size(entity, bound).p99 for bound in locals_
        )
        if together > limits.ITEM_BYTES:
            names = ", ".join(bound.index.name for bound in locals_)
            yield Finding(
                RULE.code,
                "warning",
                entity.name,
                f"items of {entity.name} have up to {most:,} bytes, and with their entries in {names} {together:,}: the"
                f" two together may have {limits.ITEM_BYTES:,}",
                "project keys only, or use a global index",
                entity.place,
                locals_[0].index.place,
            )


def _most(entity: EntitySpec) -> int | None:
    size = item_size(entity)
    return (size.most or size.p99) if size.declared else None
