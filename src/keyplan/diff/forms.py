"""Conditions, values and plans as forms that compare across designs."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from enum import Enum
from typing import Any

from keyplan.design.conditions import Condition, Path, Size
from keyplan.design.plan import KeyCondition, KeyValue, Plan
from keyplan.design.symbols import CALLED
from keyplan.design.terms_writes import Action

Form = Hashable
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
"""Where an object without a text of its own lies, which is another place in each design."""


def condition_form(told: Condition | None) -> Form:
    """A condition; None for none."""
    if told is None:
        return None
    op = getattr(told, "op", None) or getattr(told, "name", "")
    return (type(told).__name__, op, *(_operand(one) for one in told.operands()))


def _operand(one: object) -> Form:
    if isinstance(one, Condition):
        return condition_form(one)
    if isinstance(one, Path):
        return ("path", *(value_form(part) for part in one.parts))
    if isinstance(one, Size):
        return ("size", _operand(one.path))
    return value_form(one)


def value_form(value: object) -> Form:
    """A constant by its value, a parameter by its name."""
    if isinstance(value, CALLED):
        return ("given", repr(value))
    if isinstance(value, Enum):
        return value_form(value.value)
    if isinstance(value, (list, tuple)):
        return tuple(value_form(one) for one in value)
    if isinstance(value, (set, frozenset)):
        return frozenset(value_form(one) for one in value)
    if isinstance(value, Mapping):
        return frozenset((value_form(name), value_form(one)) for name, one in value.items())
    return (type(value).__name__, _ADDRESS.sub("", repr(value)))


def plan_form(plan: Plan) -> dict[str, Form]:
    """What a plan asks, by what a reader calls it."""
    return {
        "operation": (plan.operation, plan.select),
        "entities": tuple(sorted(spec.name for spec in plan.entities)),
        "index": plan.index.name if plan.index is not None else None,
        "key condition": _key(plan.key),
        "filter": (condition_form(plan.filter), condition_form(plan.residue)),
        "condition": (condition_form(plan.condition), plan.exists, condition_form(plan.replace_when)),
        "changes": tuple(_action(one) for one in plan.actions),
        "known values": _sources(plan.known),
        "version": value_form(plan.version),
        "direction": plan.descending,
        "consistency": plan.consistent,
        "expired items": plan.expired,
        "limit": (plan.limit, plan.page_size),
        "answer": plan.returns,
        "steps": tuple(one.pattern for one in plan.steps),
        "repeats": tuple(value_form(one) for one in plan.repeats),
    }


def partition_form(plan: Plan) -> Form:
    """What cursors of a plan are bound to, beside its name: index, direction, and the partitions that it asks."""
    partition = () if plan.key is None else tuple(_value(one) for one in plan.key.partition)
    return (plan.index.name if plan.index is not None else None, plan.descending, partition)


def _key(told: KeyCondition | None) -> Form:
    if told is None:
        return None
    sort = tuple((one.op, _value(one.low), None if one.high is None else _value(one.high)) for one in told.sort)
    return (tuple(_value(one) for one in told.partition), sort)


def _value(told: KeyValue) -> Form:
    text = None if told.template is None else told.template.text
    return (told.attribute, told.part, text, _sources(told.sources))


def _sources(told: Mapping[str, Any]) -> Form:
    return tuple(sorted((name, value_form(one)) for name, one in told.items()))


def _action(told: Action) -> Form:
    return (told.word, _operand(told.path), value_form(told.source))
