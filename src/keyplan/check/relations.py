"""How entities relate: children of an owner, entities that expire, items that guard a unique value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from keyplan.check.field_names import words_of
from keyplan.check.subject import Subject
from keyplan.design.declaring.transactions import Transaction
from keyplan.design.entities import EntitySpec
from keyplan.design.keys.entity_keys import key_text


def belongs(child: EntitySpec, owner: EntitySpec) -> bool:
    """Return True if a child's key holds its owner's whole key and more, in the owner's partition or under its name."""
    own, owners = set(child.key.fields), set(owner.key.fields)
    return owners < own and (_share_partition(child, owner) or _is_named_after(owner, owners))


def _share_partition(child: EntitySpec, owner: EntitySpec) -> bool:
    return child.schema is owner.schema and key_text(child.key.partition) == key_text(owner.key.partition)


def _is_named_after(owner: EntitySpec, fields: set[str]) -> bool:
    noun = words_of(owner.name).rpartition("_")[2]
    return any(noun in words_of(name).split("_") for name in fields)


def entities_with_consumer(subject: Subject, event: Literal["removed", "expired"]) -> set[str]:
    """Return the names of the entities for which a consumer handles such an event."""
    consumers = [consumer for table in subject.tables for consumer in table.consumers if event in consumer.events]
    return {entity.name for consumer in consumers for entity in consumer.entities}


def may_expire(entity: EntitySpec) -> bool:
    """Return True if items of an entity can have an expiry, which may be optional."""
    return any(field.attribute == entity.schema.ttl for field in entity.fields.values())


def always_expires(entity: EntitySpec) -> bool:
    """Return True if every item of an entity has an expiry."""
    return any(field.attribute == entity.schema.ttl and not field.optional for field in entity.fields.values())


@dataclass(frozen=True, eq=False)
class Guard:
    """An entity that keeps a value of another entity unique, written by hand instead of with `unique=`.

    Its key consists of plain fields of the guarded entity, and one transaction creates both.
    """

    guarded: EntitySpec
    guard: EntitySpec
    transaction: Transaction[Any]

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields whose values it keeps unique."""
        return self.guard.key.fields


def guards_of(subject: Subject) -> Iterator[Guard]:
    """Yield the guards of a design."""
    for transaction in subject.design.transactions:
        puts = [plan for plan in transaction.plan.steps if plan.operation == "PutItem"]
        created = list(dict.fromkeys(plan.entity for plan in puts))
        conditional = dict.fromkeys(plan.entity for plan in puts if plan.exists == "must_not")
        for guarded in created:
            for guard in conditional:
                if _is_lesser(guard, guarded, created) and _has_key_from(guard, guarded):
                    yield Guard(guarded, guard, transaction)


def _has_key_from(guard: EntitySpec, guarded: EntitySpec) -> bool:
    """Return True if the guard's key consists of fields that the guarded entity has outside of its own key."""
    names = guard.key.fields
    return bool(names) and all(name in guarded.fields and name not in guarded.key.fields for name in names)


def _is_lesser(guard: EntitySpec, guarded: EntitySpec, created: list[EntitySpec]) -> bool:
    """Return True if the first of two entities has fewer fields, or as many and is created later."""
    if len(guard.fields) != len(guarded.fields):
        return len(guard.fields) < len(guarded.fields)
    return created.index(guard) > created.index(guarded)
