"""Rules: identity."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations

from keyplan.check.field_names import is_time_name, words_of
from keyplan.check.finding import Finding
from keyplan.check.key_overlap import are_disjoint, as_template, is_unlikely, overlap, shared, skeleton
from keyplan.check.rule import design_rule, fault_rule
from keyplan.check.subject import Subject
from keyplan.design.annotations import DeclaredField
from keyplan.design.conditions.conditions import paths_of
from keyplan.design.declaring.tables import Table
from keyplan.design.entities import EntitySpec
from keyplan.design.errors import Place
from keyplan.design.keys.encodings import PERIODS_S
from keyplan.design.keys.entity_keys import BoundKey, BoundKeyAttribute
from keyplan.design.keys.holes import BoundHole, Text
from keyplan.design.keys.overlaps import Overlap
from keyplan.design.keys.templates import BoundTemplate
from keyplan.design.parameters import EveryShard
from keyplan.design.planning.plan import KeyRange, KeyValue

optional_primary_key = fault_rule(
    "KP202",
    "optional-primary-key",
    """A primary key is made of an optional field

    Every item has all of its primary key. A key that is made of a field which may be None cannot be made for some
    items of the declared type, and their writes fail.

    Make the field required, or leave it out of the key. Where the value is only known later, key the item by what
    is known from the start and put the value into the key of an index: an item without it is not in the index.

    Source: developer guide, "Core components of Amazon DynamoDB", primary key.
    """,
)


@dataclass(frozen=True)
class _Owner:
    """Whose key it is: an entity, or the sentinel of one of its unique rules."""

    entity: str
    name: str
    key: BoundKey
    place: Place
    is_entity: bool


@design_rule("KP203", "error", "warning")
def key_collision(subject: Subject) -> Iterator[Finding]:
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
    for table in subject.tables:
        for one, other in combinations(_owners(table), 2):
            found = shared(one.key.attributes, other.key.attributes)
            if found is not None and not is_unlikely(found):
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
    return key_collision.finding(
        other.entity,
        f"{one.name} ({one.key.text}) and {other.name} ({other.key.text}) can have one key: {how}",
        f"begin the key of one of them with a text of its own, such as {other.entity.upper()}#",
        other.place,
        one.place,
        severity="error" if sure else "warning",
    )


def _same_prefix(one: _Owner, other: _Owner) -> Iterator[Finding]:
    ours, theirs = as_template(one.key.partition[0]), as_template(other.key.partition[0])
    if ours is None or theirs is None or are_disjoint(ours, theirs):
        return
    holes = _differing_holes(ours, theirs)
    if holes is None:
        return
    found = overlap((ours,), (theirs,))
    if found is None or not found.plain:
        return
    yield key_collision.finding(
        other.entity,
        f"{one.name} and {other.name} share the prefix of {theirs.text}, and what follows is {holes[0].name} of one"
        f" ({holes[0].field.type_name}) and {holes[1].name} of the other ({holes[1].field.type_name}): the partition"
        f" {found.text} can belong to either",
        f"give the ids of {other.name} a prefix of their own",
        other.place,
        one.place,
        severity="warning",
    )


def _differing_holes(ours: BoundTemplate, theirs: BoundTemplate) -> tuple[BoundHole, BoundHole] | None:
    """Holes at one place behind one literal text that hold values of different kinds."""
    if skeleton(ours) != skeleton(theirs) or not ours.literal_prefix:
        return None
    for one, other in zip(ours.holes, theirs.holes, strict=True):
        if one.field.type is not other.field.type:
            return one, other
        if is_time_name(one.name) is not is_time_name(other.name):
            return one, other
    return None


primary_key_updated = fault_rule(
    "KP209",
    "primary-key-updated",
    """An update changes a field of the primary key

    The primary key is the item's identity: the service refuses an update that changes one of its attributes, and a
    template made of a field that changes would point to another item than the one that holds the value.

    Delete the item and create the new one in one transaction, or key the item by an id that stays and put the
    field that changes into the key of an index.

    Source: API reference, UpdateItem; developer guide, "Update expressions".
    """,
)


@design_rule("KP210", "warning")
def missing_entity_prefix(subject: Subject) -> Iterator[Finding]:
    """Items of several entities, and nothing in the key that names theirs

    In a table of several entities an item should tell what it is: by a literal prefix in its key (`USER#`,
    `TASK#`), or by an attribute that names its entity. Where an entity's key is made of values alone, programs,
    stream consumers and people who look at the table can only guess, and a second entity of that form cannot be
    added without moving the first.

    Begin the key with a prefix, or declare the table with `discriminator="entity_type"`.

    Source: developer guide, "Best practices for designing and using partition keys effectively"; NoSQL design,
    generic key names.
    """
    for table in subject.tables:
        if len(table.entities) < 2 or table.schema.discriminator is not None:
            continue
        for entity in table.entities:
            if not _has_literal(entity):
                yield missing_entity_prefix.finding(
                    entity.name,
                    f"nothing in the key of {entity.name} ({entity.key.text}) says what it is, in table"
                    f" {table.name} with {len(table.entities)} entities",
                    f"write a prefix such as {entity.name.upper()}#, or declare the table with"
                    ' discriminator="entity_type"',
                    entity.key.place,
                    table.schema.place,
                )


def _has_literal(entity: EntitySpec) -> bool:
    """Whether some key attribute holds letters of its own."""
    return any(
        isinstance(part, Text) and any(character.isalnum() for character in part.text)
        for attribute in entity.key.attributes
        if attribute.template is not None
        for part in attribute.template.parts
    )


@design_rule("KP211", "warning")
def case_folded_primary_key(subject: Subject) -> Iterator[Finding]:
    """Two values that differ in case are one item

    `{name:lower}` in a primary key makes "Anna" and "ANNA" the same item: the second create is refused, and a plain
    put replaces the first. For identities that people type, such as e-mail addresses, that is usually meant, but
    then the stored field may still say "ANNA" while the key says "anna".

    Bring the value into one form before it becomes the field (a pydantic validator), and use the field as it is;
    or accept this finding where the fold is meant.

    Source: developer guide, "Supported data types and naming rules": names and values are case-sensitive.
    """
    for _, entity in subject.entities:
        for part in entity.key.attributes:
            for hole in part.template.holes if part.template is not None else ():
                if hole.spec in {"lower", "upper"} and not _allows_one_case(hole.field, hole.spec):
                    yield case_folded_primary_key.finding(
                        entity.name,
                        f"{entity.name}.{hole.name} is folded to {hole.spec} case in {part.text}, its primary key:"
                        " values that differ in case are one item",
                        f"fold {hole.name} where it is made, and write {{{hole.name}}}",
                        entity.key.place.at(f"{{{hole.name}:"),
                        entity.place,
                    )


def _allows_one_case(field: DeclaredField, case: str) -> bool:
    """Whether the declaration allows one case only."""
    if field.choices is not None:
        texts = [str(choice) for choice in field.stored_choices]
        return len({getattr(text, case)() for text in texts}) == len(texts)
    ranges = "A-Z" if case == "lower" else "a-z"
    return field.pattern is not None and field.pattern.startswith("^") and "[^" not in field.pattern and (
        ranges not in field.pattern and "\\w" not in field.pattern and "." not in field.pattern.replace("\\.", "")
    )  # fmt: skip


_TIMESTAMP_NAME = re.compile(r"(^|_)(at|time|timestamp|datetime|moment)$")


@design_rule("KP216", "warning")
def timestamp_only_identity(subject: Subject) -> Iterator[Finding]:
    """Only a moment tells items apart

    A primary key of a partition and a time makes the time the item's identity. Two events of one thread in the same
    millisecond are then one item: a put of the second silently replaces the first, and a create of it is refused.
    Clocks tick more coarsely than one thinks, imports carry past times, and retries carry the same one.

    Put something of the item's own behind the moment, such as its id: `{at:utc_ms}#{event_id}`. Lists stay in the
    order of time, and a repeat of the same write is a repeat.

    Source: developer guide, "Core components of Amazon DynamoDB", primary key; API reference, PutItem.
    """
    for table, entity in subject.entities:
        for part in entity.key.sort:
            names = list(part.fields)
            if names and all(_is_timestamp(entity, part, name) for name in names):
                yield timestamp_only_identity.finding(
                    entity.name,
                    f"only {' and '.join(names)} tells items of {entity.name} in one partition apart"
                    f" ({entity.key.text}): two of the same moment are one item",
                    f"put an id of the item behind {names[-1]} in the sort key",
                    entity.key.place,
                    table.schema.place,
                )


def _is_timestamp(entity: EntitySpec, part: BoundKeyAttribute, name: str) -> bool:
    """Whether a field of the key is a point in time, not a day or an hour that is meant as a group."""
    holes = [hole for hole in part.template.holes if hole.name == name] if part.template is not None else []
    if any(hole.spec in PERIODS_S for hole in holes):
        return not all(hole.spec in PERIODS_S for hole in holes)
    stored = entity.fields[name]
    if stored.annotation is datetime:
        return True
    return stored.annotation in {str, int, float} and _TIMESTAMP_NAME.search(words_of(name)) is not None


@design_rule("KP217", "warning")
def shard_only_identity(subject: Subject) -> Iterator[Finding]:
    """A key holds only a shard of what it is asked by

    `{game:shard(4)}` writes one of four numbers, so that every fourth game has the same. A primary key that holds
    nothing else of the game makes one player's scores in two such games the same item: the second create is refused, an
    update of one changes the other. A query by `pk(game=game)` of a key like that gives the items of all games of the
    shard.

    Write the value too: `GAME#{game}#{player:shard(4)}` spreads the players of one game, `every_shard()` reads them
    all. A query of an index that groups values by shard on purpose asks all shards, or filters by the field.

    Source: developer guide, "Using write sharding to distribute workloads evenly".
    """
    for _, entity in subject.entities:
        for name in _shard_only_fields(entity.key.attributes):
            yield shard_only_identity.finding(
                entity.name,
                f"the primary key of {entity.name} ({entity.key.text}) holds only a shard of {name}: items that differ"
                f" in {name} alone may be one item",
                f"write {{{name}}} in the key too, and spread it by a field that differs within one {name}",
                entity.key.place.at(f"{{{name}:shard"),
                entity.place,
            )
    for _, pattern, plan in subject.patterns:
        if plan.operation != "Query" or plan.key is None:
            continue
        for name in _queried_by_shard(plan.key):
            if name in {path.field for path in paths_of(plan.filter)}:
                continue
            yield shard_only_identity.finding(
                pattern.name,
                f"{pattern.name} asks for a value of {name}, and {plan.schema.where(plan.index)} holds only its shard"
                " in the key: items of other values in that shard are given too",
                f"write {{{name}}} in the key too, or add where(F.{name} == {name})",
                pattern.place.at(f"{name}="),
                plan.entities[0].place,
            )


def _shard_only_fields(parts: Iterable[BoundKeyAttribute | KeyValue]) -> list[str]:
    """Fields of which these parts of a key hold shards and nothing else."""
    shards: dict[str, bool] = {}
    for part in parts:
        holes = part.template.holes if part.template is not None else ()
        names = part.fields if isinstance(part, BoundKeyAttribute) else part.sources
        for name in names:
            only = [bool(hole.shards) for hole in holes if hole.name == name]
            shards[name] = shards.get(name, True) and bool(only) and all(only)
    return [name for name, only in shards.items() if only]


def _queried_by_shard(condition: KeyRange) -> list[str]:
    """Fields that a query gives a value of, and whose shard alone it compares."""
    return [
        name
        for name in _shard_only_fields(condition.values)
        if not any(isinstance(part.sources.get(name), EveryShard) for part in condition.values)
    ]
