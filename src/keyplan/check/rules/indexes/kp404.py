"""An index holds what no pattern reads there

Entries of an index are copies that are written, stored and billed. Two kinds are for nothing: entries of an
entity that no reader of the index asks for, which happens in overloaded indexes when an entity stores fields
under the index's attributes; and whole items of more than 1 KB, one write unit, in an index that patterns only count.

Leave the entity out of the index (another attribute name, a key with `when=`), or project keys only.

Source: developer guide, "Best practices for using secondary indexes", choosing projections.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.load import monthly_price, units_a_second
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.cost.sizes import item_size
from keyplan.design.entities import EntitySpec

RULE = Rule("KP404", "over-projection", ("warning",))
_SMALL_BYTES = 1024


def check(subject: Subject) -> Iterator[Finding]:
    """Entities in an index that nobody reads there, and whole items that are only counted."""
    for table, index in subject.indexes:
        readers = subject.readers_of(table, index)
        read = {entity.name for pattern in readers for entity in pattern.plan.entities}
        for entity in table.entities if readers else ():
            bound = entity.key_in(index)
            if bound is None or entity.name in read:
                continue
            written = units_a_second(subject.works, table.schema, index.name, entity)
            cost = f", for ${monthly_price(written):,.2f} a month of writes" if written else ""
            yield Finding(
                RULE.code,
                "warning",
                entity.name,
                f"{entity.name} is in index {index.name}, and none of its readers"
                f" ({', '.join(pattern.name for pattern in readers)}) asks for {entity.name}{cost}",
                f"keep {entity.name} out of the index, or declare the pattern that reads it there",
                bound.place,
                index.place,
            )
        large = [entity for entity in table.entities if entity.name in read and _is_large(entity)]
        only_counted = readers and all(one.plan.select == "count" and one.plan.filter is None for one in readers)
        if only_counted and index.project == "all" and large:
            yield Finding(
                RULE.code,
                "warning",
                index.name,
                f"index {index.name} holds whole items ({large[0].name}: {item_size(large[0]).average:,} bytes), and"
                " patterns only count them",
                'project="keys"',
                index.place,
                readers[0].place,
            )


def _is_large(entity: EntitySpec) -> bool:
    """Whether an entry of keys would cost fewer write units."""
    return item_size(entity).average > _SMALL_BYTES
