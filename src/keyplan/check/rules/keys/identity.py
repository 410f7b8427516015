"""Rules for primary keys: how they identify items, and whether two items can have the same key."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations

from keyplan.check.field_names import (
    id_outside_key,
    is_identifier,
    is_key_of_period,
    is_time_by_type,
    is_time_name,
    kind_of,
    words_of,
)
from keyplan.check.finding import Finding
from keyplan.check.key_overlap import are_disjoint, as_template, common_key, is_unlikely, overlap, skeleton
from keyplan.check.rule import design_rule, fault_rule
from keyplan.check.subject import Subject
from keyplan.design.conditions.conditions import paths_of
from keyplan.design.declaring.tables import Table
from keyplan.design.entities import EntitySpec
from keyplan.design.errors import Place
from keyplan.design.fields.annotations import DeclaredField
from keyplan.design.fields.stored import StoredField
from keyplan.design.keys.encodings import PERIODS_S
from keyplan.design.keys.entity_keys import BoundKey, BoundKeyAttribute
from keyplan.design.keys.overlaps import Overlap
from keyplan.design.keys.placeholders import BoundPlaceholder, Text
from keyplan.design.keys.templates import BoundTemplate
from keyplan.design.parameters import EveryShard
from keyplan.design.planning.plan import KeySelection, KeyValue

optional_primary_key = fault_rule(
    "KP202",
    "optional-primary-key",
    """Primary key contains an optional field

    Finds primary keys with a field that can be None.

    Why is this bad? Every item must have a complete primary key. A write of an item without the field fails.

    Fix: make the field required, or remove it from the key. If the value is not known when the item is created, use
    another value in the primary key, and put the field into the key of an index: an item without the field is not in
    the index.

    Source: developer guide, "Core components of Amazon DynamoDB" (primary key).
    """,
)


@dataclass(frozen=True)
class _KeyOwner:
    """The owner of a key: an entity, or a unique constraint whose values are reserved by additional items."""

    entity: str
    name: str
    key: BoundKey
    place: Place
    is_entity: bool


@design_rule("KP203", "error", "warning", "advice", conflicts=True)
def key_collision(subject: Subject) -> Iterator[Finding]:
    """Two entities can have the same key

    Finds pairs of entities in one table whose primary keys can be equal. The rule considers all values that the
    declared types, lengths and patterns allow, for the partition key and sort key together. It also compares the keys
    of the items that reserve unique values (`unique=`). The finding shows a key that both entities can have.

    The finding is a warning if the keys are equal only for a value that contains a separator, because keyplan rejects
    writes of such values. It is also a warning if fields of different types follow the same prefix of the partition key
    (`EVENT#{date}` and `EVENT#{event_id}`), so items of both entities can share a partition. It is advice if the fields
    have the same type, and their names are the only sign that their values differ.

    Why is this bad? Only the primary key identifies an item in a table. A put of one entity replaces an item of the
    other without an error, and a read of one entity returns an item of the other.

    Fix: start the key of each entity with its own literal prefix, such as `USER#` and `TEAM#`, or declare field
    patterns (`Field(pattern=...)`) so that no value matches the patterns of both entities.

    Source: developer guide, "Core components of Amazon DynamoDB" (primary key); API reference, PutItem.
    """
    for table in subject.tables:
        for first, other in combinations(_key_owners(table), 2):
            overlap = common_key(first.key.attributes, other.key.attributes)
            if overlap is not None and not is_unlikely(overlap):
                yield _key_collision(first, other, overlap)
            elif overlap is None and first.is_entity and other.is_entity:
                yield from _prefix_collision(first, other)


def _key_owners(table: Table) -> Iterator[_KeyOwner]:
    for entity in table.entities:
        yield _KeyOwner(entity.name, entity.name, entity.key, entity.key.place, is_entity=True)
    for entity in table.entities:
        for rule in entity.sentinels:
            name = f"the sentinel of {entity.name}'s unique {', '.join(rule.fields)}"
            yield _KeyOwner(entity.name, name, rule.key, rule.key.place, is_entity=False)


def _key_collision(first: _KeyOwner, other: _KeyOwner, overlap: Overlap) -> Finding:
    texts = " and ".join(
        f"{part.attribute} = {text}" for part, text in zip(other.key.attributes, overlap.texts, strict=False)
    )
    is_certain = overlap.plain and overlap.certain
    collision = f"both {'' if is_certain else 'may '}have {texts or 'the same numbers'}"
    if not overlap.plain:
        collision += " if a value contains the other's separator"
    return key_collision.finding(
        other.entity,
        f"{first.name} ({first.key.text}) and {other.name} ({other.key.text}) can overwrite each other: {collision}",
        f"start the key of one of them with its own text, such as {other.entity.upper()}#",
        other.place,
        first.place,
        severity="error" if is_certain else "warning",
    )


def _prefix_collision(first: _KeyOwner, other: _KeyOwner) -> Iterator[Finding]:
    first_template, other_template = as_template(first.key.partition[0]), as_template(other.key.partition[0])
    if first_template is None or other_template is None or are_disjoint(first_template, other_template):
        return
    placeholders = _differing_placeholders(first_template, other_template)
    if placeholders is None:
        return
    shared_key = overlap((first_template,), (other_template,))
    if shared_key is None or not shared_key.plain:
        return
    yield key_collision.finding(
        other.entity,
        f"{first.name} and {other.name} can share the partition {shared_key.text}: after the prefix of"
        f" {other_template.text}"
        f" one has {placeholders[0].name} ({placeholders[0].field.type_name}), the other {placeholders[1].name}"
        f" ({placeholders[1].field.type_name})",
        f"give the IDs of {other.name} their own prefix",
        other.place,
        first.place,
        severity="warning" if placeholders[0].field.type is not placeholders[1].field.type else "advice",
    )


def _differing_placeholders(
    first_template: BoundTemplate, other_template: BoundTemplate
) -> tuple[BoundPlaceholder, BoundPlaceholder] | None:
    """Return the first pair of placeholders, at the same position of two templates, that contain values of different
    kinds, such as a date and an ID.

    Return None if no such pair exists, or if the literal texts of the templates differ.
    """
    if skeleton(first_template) != skeleton(other_template) or not first_template.literal_prefix:
        return None
    for first, second in zip(first_template.placeholders, other_template.placeholders, strict=True):
        if first.field.type is not second.field.type:
            return first, second
        if is_time_name(first.name) is not is_time_name(second.name):
            return first, second
    return None


primary_key_updated = fault_rule(
    "KP209",
    "primary-key-updated",
    """Update changes a field of the primary key

    Finds updates that change a field that the primary key contains.

    Why is this bad? DynamoDB rejects an update of a key attribute. If a template contains the field, the new value
    would result in the key of another item.

    Fix: delete the item and create the new one in one transaction, or identify the item by an ID that does not change
    and put the field into the key of an index.

    Source: API reference, UpdateItem; developer guide, "Update expressions".
    """,
)


@design_rule("KP210", "warning")
def missing_entity_prefix(subject: Subject) -> Iterator[Finding]:
    """Key does not identify the entity

    Finds tables without a `discriminator` in which several entities have keys without literal text. These entities are
    reported in one finding. If only one entity has such a key, it is not reported, because keyplan can identify its
    items.

    Why is this bad? Programs, stream consumers and people who read the table cannot determine the entity of an item. If
    another entity with keys of the same form is added later, existing keys must be rewritten.

    Fix: start the key with a prefix (`USER#`, `TASK#`), or declare the table with `discriminator="entity_type"`.

    Source: developer guide, "Best practices for designing and using partition keys effectively".
    """
    for table in subject.tables:
        if len(table.entities) < 2 or table.schema.discriminator is not None:
            continue
        without_prefix = [entity for entity in table.entities if not _has_literal(entity)]
        for entity in without_prefix if len(without_prefix) > 1 else ():
            yield missing_entity_prefix.finding(
                entity.name,
                f"programs and consumers cannot recognize an item of {entity.name}: its key"
                f" ({entity.key.text}) has no literal text, and {len(without_prefix)} of the"
                f" {len(table.entities)} entities of"
                f" table {table.name} have none",
                f"start the key with a prefix such as {entity.name.upper()}#, or declare the table with"
                ' discriminator="entity_type"',
                entity.key.place,
                table.schema.place,
                item=entity.name,
                cause=table.name,
            )


def _has_literal(entity: EntitySpec) -> bool:
    """Return True if the primary key of an entity contains literal letters or digits, such as USER in USER#{id}."""
    return any(
        isinstance(part, Text) and any(character.isalnum() for character in part.text)
        for attribute in entity.key.attributes
        if attribute.template is not None
        for part in attribute.template.parts
    )


@design_rule("KP211", "warning")
def case_folded_primary_key(subject: Subject) -> Iterator[Finding]:
    """Values that differ in case share one item

    Finds primary keys that convert a field to lowercase or uppercase, such as `{name:lower}`, if two values of the
    field can be equal except for their case.

    Why is this bad? "Anna" and "ANNA" identify the same item: creating the second item fails, and putting it replaces
    the first item. This is usually intended for email addresses, but the stored field can still be "ANNA" while the key
    contains "anna".

    Fix: normalize the field's value with a pydantic validator and use the unchanged value in the key, or suppress the
    finding.

    Source: developer guide, "Supported data types and naming rules": names and values are case-sensitive.
    """
    for _, entity in subject.entities:
        for part in entity.key.attributes:
            for placeholder in part.template.placeholders if part.template is not None else ():
                if placeholder.spec in {"lower", "upper"} and not _allows_one_case(placeholder.field, placeholder.spec):
                    yield case_folded_primary_key.finding(
                        entity.name,
                        f"values of {entity.name}.{placeholder.name} that differ in case are one item: the primary key"
                        f" {part.text} folds it to {placeholder.spec} case",
                        f"fold {placeholder.name} in a validator, and write {{{placeholder.name}}}",
                        entity.key.place.at(f"{{{placeholder.name}:"),
                        entity.place,
                    )


def _allows_one_case(field: DeclaredField, case: str) -> bool:
    """Return True if converting a field's values to one case, "lower" or "upper", never makes two different values
    equal.
    """
    if field.choices is not None:
        texts = [str(choice) for choice in field.stored_choices]
        return len({getattr(text, case)() for text in texts}) == len(texts)
    ranges = "A-Z" if case == "lower" else "a-z"
    return field.pattern is not None and field.pattern.startswith("^") and "[^" not in field.pattern and (
        ranges not in field.pattern and "\\w" not in field.pattern and "." not in field.pattern.replace("\\.", "")
    )  # fmt: skip


_TIMESTAMP_NAME = re.compile(r"(^|_)(at|time|timestamp|datetime|moment)$")


@design_rule("KP216", "warning", "advice")
def timestamp_only_identity(subject: Subject) -> Iterator[Finding]:
    """Only a timestamp identifies items

    Finds primary keys whose sort key consists only of a timestamp. The severity is warning for a `datetime` field or a
    field with `Attribute(kind="timestamp")`, and advice if the field's name is the only sign of a timestamp. All
    entities with the same timestamp field are reported in one finding. An entity that no pattern writes is not reported
    if patterns write other entities of the table.

    Also finds sort keys that consist of a day or another period, if the entity has an ID that the key does not contain.
    An example is a receipt with a `receipt_id` and the key `USER#{user_id}`, `RECEIPT#{day}`.

    Why is this bad? Two items with the same partition key and time have the same key: putting the second item replaces
    the first item, and creating it fails. The same time can occur twice if a clock has a low resolution, an import
    contains past times, or a retry sends the same time again. Two receipts of the same user and day always have the
    same key.

    Fix: append an ID to the timestamp: `{at:utc_ms}#{event_id}`. Items are still sorted by time.

    Source: developer guide, "Core components of Amazon DynamoDB" (primary key); API reference, PutItem.
    """
    for table, entity in subject.entities:
        has_writes = any(write.plan.operation != "DeleteItem" for write in subject.writes_of(entity))
        if not has_writes and any(not pattern.plan.reading for pattern in table.patterns):
            continue
        for part in entity.key.sort:
            names = list(part.fields)
            if names and all(_is_timestamp(entity, part, name) for name in names):
                yield timestamp_only_identity.finding(
                    entity.name,
                    f"two items of {entity.name} with the same {' and '.join(names)} overwrite each other: nothing"
                    f" else in the key ({entity.key.text}) differs within a partition",
                    f"append an ID to {names[-1]} in the sort key",
                    entity.key.place,
                    table.schema.place,
                    severity="warning" if all(is_time_by_type(entity.fields[name]) for name in names) else "advice",
                    item=entity.name,
                    cause=" ".join(names),
                )
        id_field = id_outside_key(entity)
        has_id = any(is_identifier(entity.fields[name]) for name in entity.key.fields)
        has_put = any(pattern.kind == "put" and pattern.plan.entity is entity for pattern in table.patterns)
        if (
            id_field is not None and is_key_of_period(entity) and (has_id or not has_put)
        ):  # otherwise KP606 reports the put
            yield _same_period(entity, id_field)


def _same_period(entity: EntitySpec, id_field: StoredField) -> Finding:
    period = entity.key.sort[-1].text
    return timestamp_only_identity.finding(
        entity.name,
        f"two items of {entity.name} with the same {period} overwrite each other: the key ({entity.key.text}) does not"
        f" contain {id_field.name}",
        f"append {{{id_field.name}}} to the sort key",
        entity.key.place,
        entity.place.at(id_field.name),
        severity="warning" if kind_of(id_field) == "id" else "advice",
    )


def _is_timestamp(entity: EntitySpec, part: BoundKeyAttribute, name: str) -> bool:
    """Return True if a key field contains a point in time, not a period that groups items."""
    placeholders = (
        [placeholder for placeholder in part.template.placeholders if placeholder.name == name]
        if part.template is not None
        else []
    )
    if any(placeholder.spec in PERIODS_S for placeholder in placeholders):
        return not all(placeholder.spec in PERIODS_S for placeholder in placeholders)
    field = entity.fields[name]
    if kind_of(field) is not None:
        return kind_of(field) == "timestamp"
    return field.annotation in {str, int, float} and _TIMESTAMP_NAME.search(words_of(name)) is not None


@design_rule("KP217", "warning")
def shard_only_identity(subject: Subject) -> Iterator[Finding]:
    """Key contains only a shard of a field

    Finds primary keys that contain only the shard number of a field, not its value. Also finds queries that use such a
    key to request one value of the field.

    Why is this bad? `{game:shard(4)}` writes one of four shard numbers, so about a quarter of all games share each
    number. If the primary key contains nothing else about the game, scores in two games can have the same key. A query
    with `pk(game=game)` returns the items of all games in the shard.

    Fix: include the field's value in the key: `GAME#{game}#{player:shard(4)}` distributes the players of one game
    across shards, and `every_shard()` reads all shards. If an index groups values by shard intentionally, query all
    shards or filter by the field.

    Source: developer guide, "Using write sharding to distribute workloads evenly".
    """
    for _, entity in subject.entities:
        for name in _shard_only_fields(entity.key.attributes):
            yield shard_only_identity.finding(
                entity.name,
                f"items of {entity.name} with different values of {name} can overwrite each other: the primary key"
                f" ({entity.key.text}) contains only its shard",
                f"write {{{name}}} in the key too, and shard by a field that differs within one {name}",
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
                f"{pattern.name} returns items with other values of {name}: the key of"
                f" {plan.schema.label_of(plan.index)} contains only its shard",
                f"write {{{name}}} in the key too, or add .filter(F.{name} == {name})",
                pattern.place.at(f"{name}="),
                plan.entities[0].place,
            )


def _shard_only_fields(parts: Iterable[BoundKeyAttribute | KeyValue]) -> list[str]:
    """Return the fields of which the given key attributes contain only the shard number, not the value."""
    is_shard_only: dict[str, bool] = {}
    for part in parts:
        placeholders = part.template.placeholders if part.template is not None else ()
        names = part.fields if isinstance(part, BoundKeyAttribute) else part.sources
        for name in names:
            is_shard = [bool(placeholder.shards) for placeholder in placeholders if placeholder.name == name]
            is_shard_only[name] = is_shard_only.get(name, True) and bool(is_shard) and all(is_shard)
    return [name for name, is_shard in is_shard_only.items() if is_shard]


def _queried_by_shard(condition: KeySelection) -> list[str]:
    """Return the fields for which a query specifies a value, although the key contains only the shard number of the
    value.

    The query then also returns items with other values of the field.
    """
    return [
        name
        for name in _shard_only_fields(condition.values)
        if not any(isinstance(part.sources.get(name), EveryShard) for part in condition.values)
    ]
