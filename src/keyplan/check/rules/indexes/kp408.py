"""Items without a value are not in the index

An item that lacks one key attribute of an index is not in the index at all: a subscription that was never
notified has no `last_notified_at`, so the query for those to be notified never finds it, and it never will be
notified. A sparse index is useful where it is intended. An optional field does not say so: declare
`when=F.due_date.exists()` on the key, or the share of items that have the field, `Items(present={"due_date": 0.3})`.

A query for one value of the field, or for a range with a lower end (`gte`, `gt`, `between`), cannot mean items without
a value and is not reported. A range that has only an upper end can: subscriptions last notified before today include
those that were never notified.

If all items are expected, make the field required and give it a value from the start, such as the time of
creation.

Source: developer guide, "Take advantage of sparse indexes".
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.entities import EntitySpec
from keyplan.design.keys import BoundKey
from keyplan.design.plan import Plan

RULE = Rule("KP408", "accidental-sparse", ("warning",))


def check(subject: Subject) -> Iterator[Finding]:
    """Optional fields in index keys, where a reader does not ask for a value of them and nothing says it is meant."""
    for table, entity in subject.entities:
        for bound in entity.indexes:
            if bound.when is not None:
                continue
            for name in _undeclared(entity, bound):
                for pattern in subject.readers_of(table, bound.index):
                    if entity in pattern.plan.entities and name not in _pinned(pattern.plan):
                        yield Finding(
                            RULE.code,
                            "warning",
                            pattern.name,
                            f"{pattern.name} reads {entity.name} from index {bound.index.name}, and items without"
                            f" {name}, which may be None, are not in it",
                            f"make {name} required with a value from the start, or say that it is meant:"
                            f" {_said(bound, name)}",
                            pattern.place,
                            bound.place,
                        )
                        break


def _undeclared(entity: EntitySpec, bound: BoundKey) -> list[str]:
    """Optional fields of an index key of which the design does not say how many items have them."""
    told = entity.items.present if entity.items is not None else {}
    return [name for name in bound.fields if entity.fields[name].optional and name not in told]


def _said(bound: BoundKey, name: str) -> str:
    """How a design says that an index is meant to be sparse; a key of plain fields takes no condition."""
    share = f"items=Items(..., present={{{name!r}: 0.5}}), with the share of items that have it"
    made = any(part.template is not None for part in bound.attributes)
    return f"when=F.{name}.exists(), or {share}" if made else share


def _pinned(plan: Plan) -> set[str]:
    """Return the fields of which a pattern requires a value, or a lowest one: an item without them cannot be meant."""
    if plan.key is None:
        return set()
    names = {name for value in plan.key.partition for name in value.sources}
    return names | {name for one in plan.key.sort if one.op not in {"<", "<="} for name in one.low.sources}
