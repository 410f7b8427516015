"""How entities relate: children of an owner, entities that expire, items that guard a unique value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from keyplan.check.field_names import words_of
from keyplan.check.subject import Subject
from keyplan.design.conditions.conditions import equal_fields
from keyplan.design.declaring.patterns import Pattern
from keyplan.design.declaring.transactions import Transaction
from keyplan.design.entities import EntitySpec
from keyplan.design.keys.entity_keys import key_text
from keyplan.design.planning.plan import Plan


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


def guarded_writes(subject: Subject, pattern: Pattern[..., Any]) -> list[Pattern[..., Any]]:
    """Return the writing patterns that a decision guards: those named by `guards=`."""
    names = pattern.facts.guards
    return [write for write in subject.design.patterns if write.name in names and not write.plan.reading]


def steps_in(write: Pattern[..., Any]) -> tuple[Plan, ...]:
    """Return the plans of a transaction's steps, or the pattern's own plan."""
    return write.plan.steps or (write.plan,)


def is_conditional(write: Pattern[..., Any], read: Plan) -> bool:
    """Return True if a write fails when the items that a decision was based on have changed.

    It states a condition, a version or stored values, or it creates the item that was looked up. Of a transaction one
    step is enough.
    """
    return any(_states_condition(step) or _creates_found(step, read) for step in steps_in(write))


def keeps_looked_up_unique(write: Pattern[..., Any], read: Plan) -> bool:
    """Return True if a write fails when another item has the values that a read looked for.

    An index cannot be part of a condition: after a read through one, only a sentinel or a key of these values counts.
    """
    looked_up = _looked_up(read)
    return any(
        _creates_found(step, read)
        or (step.keeps_unique and any(looked_up.issuperset(rule.fields) for rule in step.entity.sentinels))
        or (read.index is None and _states_condition(step))
        for step in steps_in(write)
    )


def _states_condition(step: Plan) -> bool:
    return step.condition is not None or step.version is not None or bool(step.assumed)


def _creates_found(step: Plan, read: Plan) -> bool:
    """Return True if a step creates an item whose key consists of the fields by which the read looked."""
    return step.exists == "must_not" and _looked_up(read).issuperset(step.entity.key.fields)


def _looked_up(read: Plan) -> set[str]:
    """Return the fields that must equal a value in a read's key and filter."""
    values = [] if read.key is None else [*read.key.partition, *(one.low for one in read.key.sort if one.op == "=")]
    return {name for value in values for name in value.sources} | equal_fields(read.filter)


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
