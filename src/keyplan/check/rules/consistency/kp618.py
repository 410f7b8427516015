"""An item is deleted, and what belongs to it stays

A delete removes one item. It knows nothing of the comments of a post or the members of a team that are stored under its
key, in this table or another: they stay, are paid for, and are there again when the key is used anew.

Declare how they go: `batch_delete` of the parts, found by a query, before or after the delete (a program that fails in
between must be able to go on), or one transaction where they are few. An expiry of the parts does it as well, and a
consumer that takes `Removed` of the owner. Or keep the item and mark it as deleted.

Found are deletes of items to which others belong that no pattern deletes, that do not all expire, and of whose owner no
consumer takes `Removed`. What belongs to an item has all fields of its key and more, and lies in its partition, or one
of these fields is called after it (`post_id` of a Post). What the same transaction puts in its place is no part of it.

Source: API reference, DeleteItem (deletes a single item) and BatchWriteItem.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.belonging import belongs, watched
from keyplan.check.expiry import always_expires
from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.entities import EntitySpec
from keyplan.design.patterns import Pattern

RULE = Rule("KP618", "delete-leaves-parts", ("warning",))
_DELETES = frozenset({"delete", "batch_delete"})


def check(subject: Subject) -> Iterator[Finding]:
    """Entities that nothing deletes, whose key has the whole key of one that is deleted."""
    deleting: dict[EntitySpec, Pattern[..., object]] = {}
    for _, pattern, plan in subject.patterns:
        if pattern.kind in _DELETES:
            deleting.setdefault(plan.entity, pattern)
    told = watched(subject, "removed")
    moved = set(_moved(subject))
    for _, part in subject.entities:
        if part in deleting or always_expires(part):
            continue
        for owner, pattern in deleting.items():
            if owner.name in told or not owner.key.fields or (owner, part) in moved:
                continue
            if belongs(part, owner):
                yield Finding(
                    RULE.code,
                    "warning",
                    pattern.name,
                    f"{pattern.name} deletes a {owner.name}, and no pattern deletes a {part.name}, which belongs to one"
                    f" by {', '.join(owner.key.fields)}: it stays behind, and belongs to the next one of that key",
                    f"declare a batch_delete of {part.name} and use it too, or take Removed[{owner.name}] from the"
                    " stream and delete them",
                    pattern.place,
                    part.place,
                )


def _moved(subject: Subject) -> Iterator[tuple[EntitySpec, EntitySpec]]:
    """Entities that a transaction deletes, with those that it puts in their place."""
    for pattern in subject.design.patterns:
        steps = pattern.plan.steps
        put = [step.entity for step in steps if step.operation == "PutItem"]
        yield from ((step.entity, one) for step in steps if step.operation == "DeleteItem" for one in put)
