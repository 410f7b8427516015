"""Nothing in the design can answer this

A key condition gives every field of the partition key, and then leading fields of the sort key. A pattern that
knows less cannot be served by the key or index that it names, however few items it wants. An entity that must
be found by some fields (`found_by`) and has no key, index or unique value that begins with them can only be
found by reading all of them.

Add an index whose key begins with what is known, or an item that points from the one to the other, such as an
idempotency key or an e-mail address with the id that it belongs to (`unique=` keeps such items).

Source: developer guide, "Key condition expressions for the Query operation".
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.entities import EntitySpec
from keyplan.design.keys import BoundKey, KeyAttribute

RULE = Rule("KP301", "not-servable", ("error",))


def check(subject: Subject) -> Iterator[Finding]:
    """Patterns that no key serves, and fields that must find an entity and cannot."""
    yield from subject.errors_of(RULE.code)
    for _, entity in subject.entities:
        for names in entity.found_by:
            if not _is_findable(entity, set(names)):
                yield _not_found(entity, names)


def _is_findable(entity: EntitySpec, names: set[str]) -> bool:
    if any(set(rule.fields) <= names for rule in entity.sentinels):
        return True
    return any(_answers(bound, names) for bound in (entity.key, *entity.indexes))


def _answers(bound: BoundKey, names: set[str]) -> bool:
    """Whether a key condition on this key can say all of the names."""
    needed = {name for part in bound.partition for name in _needed(part)}
    in_partition = {name for part in bound.partition for name in part.fields}
    order = [name for part in bound.sort for name in part.fields]
    leading = set(takewhile(names.__contains__, order))
    return needed <= names and names - in_partition <= leading


def _needed(part: KeyAttribute) -> Iterator[str]:
    """Fields that must be known; what has few values, such as a shard, can be asked for one by one."""
    if part.template is None:
        yield from part.fields
        return
    yield from (hole.name for hole in part.template.holes if hole.encoding.choices is None)


def _not_found(entity: EntitySpec, names: tuple[str, ...]) -> Finding:
    keys = "; ".join(
        (f"index {bound.index.name}: " if bound.index is not None else "") + bound.text
        for bound in (entity.key, *entity.indexes)
    )
    wanted = " and ".join(names)
    return Finding(
        RULE.code,
        "error",
        entity.name,
        f"{entity.name} must be found by {wanted}, and no key or index begins with {wanted} ({keys})",
        f"add an index on {wanted}, or a pointer item whose key is made of {wanted}: unique={list(names)!r} keeps one",
        entity.place.at("found_by"),
        entity.schema.place,
    )
