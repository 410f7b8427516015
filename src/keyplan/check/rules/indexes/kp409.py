"""Nothing ever leaves a sparse index

An index key with a condition holds items while the condition is true. If no pattern changes a field of the
condition, replaces the item or deletes it, and it does not expire, every item stays: the index grows like the
table, and its queries with it.

Declare the pattern that ends the condition (`set_(status="done")`), or give the items an expiry. An index of a class of
items that is meant to be for ever, such as premium accounts, is one to accept with that reason.

Source: developer guide, "Take advantage of sparse indexes".
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.load import Work
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.cost.selectivity import choices_of
from keyplan.design.conditions import paths_of
from keyplan.design.entities import EntitySpec
from keyplan.design.keys import BoundKey
from keyplan.design.requests_guards import expiry_of

RULE = Rule("KP409", "sparse-not-removed", ("warning",))


def check(subject: Subject) -> Iterator[Finding]:
    """Conditions of index keys that no pattern can end."""
    for _, entity in subject.entities:
        writes = subject.writes_of(entity)
        expires = expiry_of(entity) is not None
        for bound in entity.indexes:
            if bound.when is None or not writes or expires:
                continue
            names = {path.field for path in paths_of(bound.when)}
            varies = any(choices_of(entity.fields[name]) != 1 for name in names)
            if varies and not any(_ends(work, names, bound, entity) for work in writes):
                yield Finding(
                    RULE.code,
                    "warning",
                    entity.name,
                    f"{entity.name} is in index {bound.index.name} depending on {', '.join(sorted(names))}, and no"
                    " pattern changes that, replaces or deletes the item: nothing leaves the index",
                    f"declare the update that changes {', '.join(sorted(names))}",
                    bound.place,
                    bound.index.place,
                )


def _ends(work: Work, names: set[str], bound: BoundKey, entity: EntitySpec) -> bool:
    """Whether a write can take an item out of the index."""
    plan = work.plan
    if plan.operation in {"DeleteItem", "BatchWriteItem"}:
        return True
    if plan.operation == "PutItem":
        return plan.exists != "must_not"
    changed = {action.path.field for action in plan.actions}
    optional = {name for name in bound.fields if entity.fields[name].optional}
    return bool(changed & (names | optional))
