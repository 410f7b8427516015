"""Relations between entities: owners and children, expiring entities, and entities that reserve unique values.

Rules read the plans of patterns. A plan describes the requests that a pattern sends.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from keyplan.check.field_names import words_of
from keyplan.check.partition_load import is_constant
from keyplan.check.subject import Subject
from keyplan.cost.selectivity import same_field
from keyplan.design.conditions.conditions import equal_fields, paths_of
from keyplan.design.declaring.consumers import Changed, Consumer
from keyplan.design.declaring.patterns import Pattern
from keyplan.design.declaring.transactions import Transaction
from keyplan.design.entities import EntitySpec
from keyplan.design.keys.entity_keys import key_text
from keyplan.design.planning.plan import Plan


def belongs_to(child: EntitySpec, owner: EntitySpec) -> bool:
    """Return True if the key of `child` contains all key fields of `owner` and at least one more.

    If the owner's key has only one field, the field in the key of `child` could refer to a third entity. The two
    entities must then also share a partition, or the field must be named after the owner.
    """
    child_fields, owner_fields = set(child.key.fields), set(owner.key.fields)
    if not owner_fields < child_fields:
        return False
    shares_all_fields = len(owner_fields) > 1 and all(same_field(owner, child, name) for name in owner_fields)
    return shares_all_fields or share_partition(child, owner) or _is_named_after(owner, owner_fields)


def share_partition(child: EntitySpec, owner: EntitySpec) -> bool:
    """Return True if the partition keys of two entities have the same template. Items with the same key values are then
    in the same item collection.
    """
    return child.schema is owner.schema and key_text(child.key.partition) == key_text(owner.key.partition)


def _is_named_after(owner: EntitySpec, fields: set[str]) -> bool:
    noun = words_of(owner.name).rpartition("_")[2]
    return any(noun in words_of(name).split("_") for name in fields)


def entities_with_consumer(subject: Subject, event: Literal["removed", "expired"]) -> set[str]:
    """Return the names of the entities for which a consumer handles the event."""
    consumers = [consumer for table in subject.tables for consumer in table.consumers if event in consumer.events]
    return {entity.name for consumer in consumers for entity in consumer.entities}


def may_expire(entity: EntitySpec) -> bool:
    """Return True if the entity declares an expiry time, even an optional one."""
    return any(field.attribute == entity.schema.ttl for field in entity.fields.values())


def always_expires(entity: EntitySpec) -> bool:
    """Return True if every item of an entity has an expiry time."""
    return any(field.attribute == entity.schema.ttl and not field.optional for field in entity.fields.values())


def guarded_writes(subject: Subject, pattern: Pattern[..., Any]) -> list[Pattern[..., Any]]:
    """Return the writes that depend on the result of a read. The read's pattern lists them in `guards=`."""
    names = pattern.facts.guards
    return [write for write in subject.design.patterns if write.name in names and not write.plan.reading]


def steps_in(write: Pattern[..., Any]) -> tuple[Plan, ...]:
    """Return the plan of each step of a transaction. For a pattern that is not a transaction, return a tuple with its
    own plan.
    """
    return write.plan.steps or (write.plan,)


def replaced_entities(subject: Subject) -> Iterator[tuple[EntitySpec, EntitySpec]]:
    """Yield each pair of an entity that a transaction deletes and an entity that the same transaction puts."""
    for pattern in subject.design.patterns:
        steps = pattern.plan.steps
        put = [step.entity for step in steps if step.operation == "PutItem"]
        yield from ((step.entity, entity) for step in steps if step.operation == "DeleteItem" for entity in put)


def is_state(subject: Subject, entity: EntitySpec, name: str, *, excluded: Pattern[..., Any]) -> bool:
    """Return True if a field is a state, which means that something in the design depends on the field's value.

    One of the following depends on it: a condition on another write, a read with `decides="state"`, a condition on an
    index key, a consumer's filter, or another update that sets the field to a constant. The pattern `excluded` is
    ignored.
    """
    if any(name in {path.field for path in paths_of(bound.only_if)} for bound in entity.indexes):
        return True
    consumers = [consumer for table in subject.tables for consumer in table.consumers if entity in consumer.entities]
    if any(name in _filtered_fields(consumer) for consumer in consumers):
        return True
    for pattern in subject.design.patterns:
        plan = pattern.plan
        if plan.reading and pattern.facts.decides == "state" and entity in plan.entities:
            return True
        for step in steps_in(pattern) if pattern is not excluded and not plan.reading else ():
            if step.entity is entity and (name in conditional_fields(step) or _is_set_to_constant(step, name)):
                return True
    return False


def _filtered_fields(consumer: Consumer) -> set[str]:
    if isinstance(consumer.filter, Changed):
        return {consumer.filter.field}
    return {path.field for path in paths_of(consumer.filter)}


def conditional_fields(step: Plan) -> set[str]:
    """Return the fields that a write's condition compares, and the fields passed with `assuming()`."""
    return {path.field for path in paths_of(step.condition)} | set(step.assumed)


def _is_set_to_constant(step: Plan, name: str) -> bool:
    return any(
        action.path.field == name and action.name == "set" and action.source is not None and is_constant(action.source)
        for action in step.actions
    )


def writes_another_entity(write: Pattern[..., Any], read: Plan) -> bool:
    """Return True if a write does not change any entity that a read returns. Such a read only authorizes the write."""
    return all(step.entity not in read.entities for step in steps_in(write))


def is_conditional(write: Pattern[..., Any], read: Plan) -> bool:
    """Return True if a write fails when the items that a read returned have changed since the read."""
    return any(states_condition(step) or _creates_read_item(step, read) for step in steps_in(write))


def keeps_looked_up_unique(write: Pattern[..., Any], read: Plan) -> bool:
    """Return True if a write fails when another item has the values that a read looked up.

    A condition cannot refer to an index. After a read through an index, only a uniqueness guard item or a primary key
    with these values makes the write fail.
    """
    looked_up = _looked_up_fields(read)
    return any(
        _creates_read_item(step, read)
        or (step.keeps_unique and any(looked_up.issuperset(rule.fields) for rule in step.entity.sentinels))
        or (read.index is None and states_condition(step))
        for step in steps_in(write)
    )


def states_condition(step: Plan) -> bool:
    """Return True if a write fails unless its item satisfies a condition or has a given version or expected values."""
    return step.condition is not None or step.version is not None or bool(step.assumed)


def _creates_read_item(step: Plan, read: Plan) -> bool:
    """Return True if a step creates an item whose key consists of the fields that the read looked up."""
    return step.exists == "must_not" and _looked_up_fields(read).issuperset(step.entity.key.fields)


def _looked_up_fields(read: Plan) -> set[str]:
    """Return the fields that a read compares with = in its key condition and filter."""
    values = (
        []
        if read.key is None
        else [*read.key.partition, *(condition.low for condition in read.key.sort if condition.op == "=")]
    )
    return {name for value in values for name in value.sources} | equal_fields(read.filter)


@dataclass(frozen=True, eq=False)
class Guard:
    """An entity that reserves unique values of another entity, declared as an entity instead of with `unique=`.

    The fields of its key are non-key fields of the guarded entity, and one transaction creates items of both.
    """

    guarded: EntitySpec
    guard: EntitySpec
    transaction: Transaction[Any]

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of the guarded entity whose combined value is reserved."""
        return self.guard.key.fields


def guards_of(subject: Subject) -> Iterator[Guard]:
    """Yield each entity of a design that reserves unique values of another entity."""
    for transaction in subject.design.transactions:
        puts = [plan for plan in transaction.plan.steps if plan.operation == "PutItem"]
        created = list(dict.fromkeys(plan.entity for plan in puts))
        conditional = dict.fromkeys(plan.entity for plan in puts if plan.exists == "must_not")
        for guarded in created:
            for guard in conditional:
                if _is_guard(guard, guarded, created) and _has_key_from(guard, guarded):
                    yield Guard(guarded, guard, transaction)


def _has_key_from(guard: EntitySpec, guarded: EntitySpec) -> bool:
    """Return True if the guard's key consists of non-key fields of the guarded entity."""
    names = guard.key.fields
    return bool(names) and all(name in guarded.fields and name not in guarded.key.fields for name in names)


def _is_guard(guard: EntitySpec, guarded: EntitySpec, created: list[EntitySpec]) -> bool:
    """Return True if `guard` is likely to reserve values of `guarded`, and not the other way round.

    This is assumed if `guard` has fewer fields, or has the same number of fields and is created later in the
    transaction.
    """
    if len(guard.fields) != len(guarded.fields):
        return len(guard.fields) < len(guarded.fields)
    return created.index(guard) > created.index(guarded)
