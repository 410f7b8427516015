"""Items that only keep a value from being used twice, written by hand instead of by `unique=`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from keyplan.check.subject import Subject
from keyplan.design.entities import EntitySpec
from keyplan.design.transactions import Transaction


@dataclass(frozen=True, eq=False)
class Guard:
    """An entity whose key is made of another's plain fields, and which is created together with it."""

    guarded: EntitySpec
    guard: EntitySpec
    transaction: Transaction[Any]

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields whose values it keeps."""
        return self.guard.key.fields


def guards_of(subject: Subject) -> Iterator[Guard]:
    """Every pair of entities that a transaction creates of which one's key is made of the other's fields."""
    for transaction in subject.design.transactions:
        puts = [plan for plan in transaction.plan.steps if plan.operation == "PutItem"]
        created = list(dict.fromkeys(plan.entity for plan in puts))
        refused = dict.fromkeys(plan.entity for plan in puts if plan.exists == "must_not")
        for guarded in created:
            for guard in refused:
                if _lesser(guard, guarded, created) and _keeps(guard, guarded):
                    yield Guard(guarded, guard, transaction)


def _keeps(guard: EntitySpec, guarded: EntitySpec) -> bool:
    """Whether the key is made of fields of the other that are not in the other's own key."""
    names = guard.key.fields
    return bool(names) and all(name in guarded.fields and name not in guarded.key.fields for name in names)


def _lesser(guard: EntitySpec, guarded: EntitySpec, created: list[EntitySpec]) -> bool:
    """Of two entities that name each other, the guard is the one with fewer fields, or the one created later."""
    if len(guard.fields) != len(guarded.fields):
        return len(guard.fields) < len(guarded.fields)
    return created.index(guard) > created.index(guarded)
