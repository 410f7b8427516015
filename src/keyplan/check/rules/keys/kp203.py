"""Two entities can make the same key

Items of one table are told apart by their primary keys alone. When the keys of two entities can have the same
text, a put of one silently replaces the other, and a read of one returns the other. The templates are compared
as languages: all values that the declared types, lengths and patterns allow, for both attributes of the key
together. A finding shows a key that both can make; without one there is none.

It is a warning where the shared key needs a separator inside a value, which keyplan refuses at the write, and
where two kinds of ids share a prefix (`EVENT#{date}` and `EVENT#{event_id}`): their items then lie in
partitions of one name, and each query must tell them apart.

Give each entity a literal prefix of its own, such as `USER#` and `TEAM#`, or declare patterns that cannot meet.

Source: developer guide, "Core components of Amazon DynamoDB", primary key; API reference, PutItem.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from keyplan.check.finding import Finding
from keyplan.check.keyspace import apart, as_template, is_far_fetched, overlap, shared, skeleton
from keyplan.check.names import is_moment
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.algebra import Overlap
from keyplan.design.keys import BoundKey
from keyplan.design.places import Place
from keyplan.design.tables import Table
from keyplan.design.template_holes import BoundHole
from keyplan.design.templates import BoundTemplate

RULE = Rule("KP203", "shared-key", ("error", "warning"))


@dataclass(frozen=True)
class _Owner:
    """Whose key it is: an entity, or the sentinel of one of its unique rules."""

    entity: str
    name: str
    key: BoundKey
    place: Place
    is_entity: bool


def check(subject: Subject) -> Iterator[Finding]:
    """Pairs of entities and sentinels whose primary keys can be equal, or whose partitions can."""
    for table in subject.tables:
        for one, other in combinations(_owners(table), 2):
            found = shared(one.key.attributes, other.key.attributes)
            if found is not None and not is_far_fetched(found):
                yield _same_key(one, other, found)
            elif found is None and one.is_entity and other.is_entity:
                yield from _same_prefix(one, other)


def _owners(table: Table) -> Iterator[_Owner]:
    for entity in table.entities:
        yield _Owner(entity.name, entity.name, entity.key, entity.key.place, is_entity=True)
    for entity in table.entities:
        for rule in entity.sentinels:
            name = f"the sentinel of {entity.name}'s unique {', '.join(rule.fields)}"
            yield _Owner(entity.name, name, rule.key, rule.key.place, is_entity=False)


def _same_key(one: _Owner, other: _Owner, found: Overlap) -> Finding:
    texts = " and ".join(
        f"{part.attribute} = {text}" for part, text in zip(other.key.attributes, found.texts, strict=False)
    )
    sure = found.plain and found.certain
    how = f"both {'' if sure else 'may '}make {texts or 'the same numbers'}"
    if not found.plain:
        how += ", where a value holds the other's separator"
    return Finding(
        RULE.code,
        "error" if sure else "warning",
        other.entity,
        f"{one.name} ({one.key.text}) and {other.name} ({other.key.text}) can have one key: {how}",
        f"begin the key of one of them with a text of its own, such as {other.entity.upper()}#",
        other.place,
        one.place,
    )


def _same_prefix(one: _Owner, other: _Owner) -> Iterator[Finding]:
    ours, theirs = as_template(one.key.partition[0]), as_template(other.key.partition[0])
    if ours is None or theirs is None or apart(ours, theirs):
        return
    holes = _different(ours, theirs)
    if holes is None:
        return
    found = overlap((ours,), (theirs,))
    if found is None or not found.plain:
        return
    yield Finding(
        RULE.code,
        "warning",
        other.entity,
        f"{one.name} and {other.name} share the prefix of {theirs.text}, and what follows is {holes[0].name} of one"
        f" ({holes[0].field.type_name}) and {holes[1].name} of the other ({holes[1].field.type_name}): the partition"
        f" {found.text} can belong to either",
        f"give the ids of {other.name} a prefix of their own",
        other.place,
        one.place,
    )


def _different(ours: BoundTemplate, theirs: BoundTemplate) -> tuple[BoundHole, BoundHole] | None:
    """Holes at one place behind one literal text that hold values of different kinds."""
    if skeleton(ours) != skeleton(theirs) or not ours.literal_prefix:
        return None
    for one, other in zip(ours.holes, theirs.holes, strict=True):
        if one.field.type is not other.field.type:
            return one, other
        if is_moment(one.name) is not is_moment(other.name):
            return one, other
    return None
