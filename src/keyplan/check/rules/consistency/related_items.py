"""Rules: related items."""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.load import Work
from keyplan.check.relations import always_expires, belongs, entities_with_consumer
from keyplan.check.rule import design_rule
from keyplan.check.subject import Subject
from keyplan.cost.selectivity import choices_of
from keyplan.design.declaring.patterns import Pattern
from keyplan.design.entities import EntitySpec
from keyplan.design.planning.plan import Plan


@design_rule("KP616", "warning")
def copy_not_updated(subject: Subject) -> Iterator[Finding]:
    """A copy of a state that is not changed with it

    A booking's status is also kept beside its user, so that the user's list needs one query. From then on there are two
    truths, and every change has to change both in one transaction, or the lists disagree for ever.

    Found are entities that hold one item for each item of another (their key is made of its fields), with a field of
    the same name and the same few values, where a write changes one of the two and no transaction that it is part of
    changes the other.

    Change both in one transaction, or drop the copy and read the original.

    Source: developer guide, "Best practices for managing many-to-many relationships" (duplicated data) and "Managing
    complex workflows with DynamoDB transactions".
    """
    entities = [entity for _, entity in subject.entities]
    for original in entities:
        for copy in entities:
            for field in _copied_fields(original, copy):
                works = [work for work in subject.writes_of(original) if _changes_field(work, field)]
                alone = next((work for work in works if not _changes_copy(work, copy, field)), None)
                if alone is not None:
                    yield _stale_copy(alone, original, copy, field)


def _copied_fields(original: EntitySpec, copy: EntitySpec) -> Iterator[str]:
    if original is copy or not copy.key.fields or not original.key.fields:
        return
    one_each = set(copy.key.fields) <= set(original.fields) and set(original.key.fields) <= set(copy.fields)
    if not one_each or set(original.key.fields) == set(copy.key.fields):
        return
    for name, field in original.fields.items():
        twin = copy.fields.get(name)
        if twin is not None and choices_of(field) and field.type_code != "BOOL" and twin.annotation == field.annotation:
            yield name


def _changes_field(work: Work, field: str) -> bool:
    return any(action.path.field == field for action in work.plan.actions)


def _changes_copy(work: Work, copy: EntitySpec, field: str) -> bool:
    return any(step.entity is copy and _writes_field(step, field) for step in work.pattern.plan.steps)


def _writes_field(step: Plan, field: str) -> bool:
    return step.operation == "PutItem" or any(action.path.field == field for action in step.actions)


def _stale_copy(work: Work, original: EntitySpec, copy: EntitySpec, field: str) -> Finding:
    return copy_not_updated.finding(
        copy.name,
        f"{copy.name}.{field} repeats {original.name}.{field}, and {work.pattern.name} changes only the original: they"
        " will disagree",
        f"change both in one transaction, or leave {field} out of {copy.name} and read {original.name}",
        copy.place,
        work.pattern.place,
    )


_DELETE_KINDS = frozenset({"delete", "batch_delete"})


@design_rule("KP618", "warning")
def delete_orphans_children(subject: Subject) -> Iterator[Finding]:
    """An item is deleted, and what belongs to it stays

    A delete removes one item. It knows nothing of the comments of a post or the members of a team that are stored under
    its key, in this table or another: they stay, are paid for, and are there again when the key is used anew.

    Declare how they go: `batch_delete` of the parts, found by a query, before or after the delete (a program that fails
    in between must be able to go on), or one transaction where they are few. An expiry of the parts does it as well,
    and a consumer that takes `Removed` of the owner. Or keep the item and mark it as deleted.

    Found are deletes of items to which others belong that no pattern deletes, that do not all expire, and of whose
    owner no consumer takes `Removed`. What belongs to an item has all fields of its key and more, and lies in its
    partition, or one of these fields is called after it (`post_id` of a Post). What the same transaction puts in its
    place is no part of it.

    Source: API reference, DeleteItem (deletes a single item) and BatchWriteItem.
    """
    deleting: dict[EntitySpec, Pattern[..., object]] = {}
    for _, pattern, plan in subject.patterns:
        if pattern.kind in _DELETE_KINDS:
            deleting.setdefault(plan.entity, pattern)
    told = entities_with_consumer(subject, "removed")
    moved = set(_replaced_entities(subject))
    for _, part in subject.entities:
        if part in deleting or always_expires(part):
            continue
        for owner, pattern in deleting.items():
            if owner.name in told or not owner.key.fields or (owner, part) in moved:
                continue
            if belongs(part, owner):
                yield delete_orphans_children.finding(
                    pattern.name,
                    f"{pattern.name} deletes a {owner.name}, and no pattern deletes a {part.name}, which belongs to one"
                    f" by {', '.join(owner.key.fields)}: it stays behind, and belongs to the next one of that key",
                    f"declare a batch_delete of {part.name} and use it too, or take Removed[{owner.name}] from the"
                    " stream and delete them",
                    pattern.place,
                    part.place,
                )


def _replaced_entities(subject: Subject) -> Iterator[tuple[EntitySpec, EntitySpec]]:
    """Entities that a transaction deletes, with those that it puts in their place."""
    for pattern in subject.design.patterns:
        steps = pattern.plan.steps
        put = [step.entity for step in steps if step.operation == "PutItem"]
        yield from ((step.entity, one) for step in steps if step.operation == "DeleteItem" for one in put)
