"""Rules for items that depend on other items: copies and children."""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.load import PlannedRequest
from keyplan.check.relations import (
    always_expires,
    belongs_to,
    entities_with_consumer,
    replaced_entities,
    share_partition,
)
from keyplan.check.rule import design_rule
from keyplan.check.subject import Subject
from keyplan.cost.selectivity import choices_of
from keyplan.design.declaring.patterns import Pattern
from keyplan.design.entities import EntitySpec
from keyplan.design.planning.plan import Plan


@design_rule("KP616", "warning")
def copy_not_updated(subject: Subject) -> Iterator[Finding]:
    """Denormalized copy is not updated

    Finds entities that contain a copy of another entity's field, if a write changes the original field, and no
    transaction that contains this write also changes the copy. An entity is assumed to contain a copy if three
    conditions are met: its key consists of fields of the other entity, it contains the other entity's key fields, and
    both entities have a field with the same name and choices.

    Why is this bad? For example, the status of a booking is also stored with its user, so that the user's bookings can
    be listed with one query. If a write changes only one of the two items, they differ permanently.

    Fix: change both items in one transaction, or remove the copy and read the original.

    Source: developer guide, "Best practices for managing many-to-many relationships" (duplicated data) and "Managing
    complex workflows with DynamoDB transactions".
    """
    entities = [entity for _, entity in subject.entities]
    for original in entities:
        for copy in entities:
            for field in _copied_fields(original, copy):
                writes = [write for write in subject.writes_of(original) if _changes_field(write, field)]
                write_without_copy = next((write for write in writes if not _changes_copy(write, copy, field)), None)
                if write_without_copy is not None:
                    yield _stale_copy(write_without_copy, original, copy, field)


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


def _changes_field(request: PlannedRequest, field: str) -> bool:
    return any(action.path.field == field for action in request.plan.actions)


def _changes_copy(request: PlannedRequest, copy: EntitySpec, field: str) -> bool:
    return any(step.entity is copy and _writes_field(step, field) for step in request.pattern.plan.steps)


def _writes_field(step: Plan, field: str) -> bool:
    return step.operation == "PutItem" or any(action.path.field == field for action in step.actions)


def _stale_copy(request: PlannedRequest, original: EntitySpec, copy: EntitySpec, field: str) -> Finding:
    return copy_not_updated.finding(
        copy.name,
        f"{copy.name}.{field} and {original.name}.{field} will disagree: {request.pattern.name} changes only the"
        " original",
        f"change both in one transaction, or remove {field} from {copy.name} and read {original.name}",
        copy.place,
        request.pattern.place,
    )


_DELETE_KINDS = frozenset({"delete", "batch_delete"})


@design_rule("KP618", "warning", "advice", of_absence=True)
def delete_orphans_children(subject: Subject) -> Iterator[Finding]:
    """Delete leaves orphaned items

    Finds deletes of items with children, unless a pattern deletes the children, all children expire, or a consumer
    handles the owner's `Removed` event. An item is a child if it is in the owner's partition, and its key contains all
    key fields of the owner and at least one more field. If it is in another partition, it is a child only if the
    owner's key has two or more fields, or if the only field of that key is named after the owner (`post_id` for a
    Post). For children in another partition, the severity is advice, because the fields could refer to another entity.
    If a transaction deletes an item and puts an item of another entity in its place, the new item is not treated as a
    child.

    Why is this bad? A delete removes one item. The comments on a post or the members of a team remain and are billed.
    If an item with the same key is created later, they become children of the new item.

    Fix: query the children and delete them with `batch_delete`, before or after the owner is deleted. If an owner has
    only a few children, delete all these items in one transaction. Alternatively, give the children an expiry, handle
    the owner's `Removed` event in a consumer, or keep the item and mark it as deleted.

    Source: API reference, DeleteItem (deletes a single item) and BatchWriteItem.
    """
    delete_patterns: dict[EntitySpec, Pattern[..., object]] = {}
    for _, pattern, plan in subject.patterns:
        if pattern.kind in _DELETE_KINDS:
            delete_patterns.setdefault(plan.entity, pattern)
    consumed = entities_with_consumer(subject, "removed")
    replacements = set(replaced_entities(subject))
    for _, part in subject.entities:
        if part in delete_patterns or always_expires(part):
            continue
        for owner, pattern in delete_patterns.items():
            if owner.name in consumed or not owner.key.fields or (owner, part) in replacements:
                continue
            if belongs_to(part, owner):
                yield delete_orphans_children.finding(
                    pattern.name,
                    f"{part.name} items become orphaned when {pattern.name} deletes a {owner.name}: they belong to"
                    f" it by {', '.join(owner.key.fields)}, and no pattern deletes them",
                    f"declare a batch_delete of {part.name} and use it too, or handle Removed[{owner.name}] in a"
                    " consumer and delete them",
                    pattern.place,
                    part.place,
                    severity="warning" if share_partition(part, owner) else "advice",
                )
