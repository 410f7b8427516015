"""Names of attributes that cost more than their values

The name of each attribute is stored with each item, and again in each index that holds it; it counts to the size
that units and storage are reckoned by. With a hundred million small items, names such as
`lastNotificationTimestamp` are most of the bill.

Store such fields under short names: `Annotated[datetime, Attribute("lnt")]`. The program keeps the long ones.

Found where names make a third of the declared size of an item and five dollars a month of storage.

Source: developer guide, "DynamoDB item sizes and formats" and "Best practices for storing large items and
attributes".
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.check.wording import counted
from keyplan.cost.prices import GB
from keyplan.cost.sizes import item_size
from keyplan.design.entities import EntitySpec

RULE = Rule("KP804", "long-attribute-names", ("advice",))
_SHARE, _DOLLARS = 1 / 3, 5.0


def check(subject: Subject) -> Iterator[Finding]:
    """Entities whose names weigh much and cost something."""
    for table, entity in subject.entities:
        size = item_size(entity)
        if entity.items is None or not size.declared:
            continue
        names = _name_bytes(entity)
        copies = 1 + sum(1 for bound in entity.indexes if bound.index.project == "all")
        price = subject.book.of_class("storage_gb_month", table.schema.table_class)
        dollars = entity.items.count * names * copies / GB * price
        if names > size.average * _SHARE and dollars >= _DOLLARS:
            held = counted(copies - 1, "index", "indexes")
            longest = max(entity.fields.values(), key=lambda field: len(field.attribute))
            yield Finding(
                RULE.code,
                "advice",
                entity.name,
                f"{names} of the {size.average} bytes of a {entity.name} are names of attributes: ${dollars:,.0f} a"
                f" month of storage with {held}, and more units for each write",
                f'store fields under short names: {longest.name}: Annotated[..., Attribute("{longest.name[0]}")]',
                entity.place,
            )


def _name_bytes(entity: EntitySpec) -> int:
    present = entity.items.present if entity.items is not None else {}
    total = sum(
        len(field.attribute.encode()) * (present.get(name, 1.0) if field.optional else 1.0)
        for name, field in entity.fields.items()
    )
    return round(total)
