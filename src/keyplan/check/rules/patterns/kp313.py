"""Two patterns are one

Both make the same request of the same arguments: the same operation on the same key, filter, order and
changes. Two names for one thing drift apart, and each is priced, documented and tested for itself.

Keep one of them. Where the two differ in how often they are called, one pattern with the sum of the rates says
the same.

Source: keyplan's own rule: a design says each thing once.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.conditions import Compare, Condition, Function, Path, Size
from keyplan.design.places import Place
from keyplan.design.plan import KeyValue, Plan
from keyplan.design.symbols import Each, Param

RULE = Rule("KP313", "duplicate-pattern", ("advice",))


def check(subject: Subject) -> Iterator[Finding]:
    """Patterns of one table with one plan."""
    for table in subject.tables:
        seen: dict[Hashable, tuple[str, Place]] = {}
        for pattern in table.patterns:
            shape = _shape(pattern.plan)
            if shape in seen:
                name, place = seen[shape]
                yield Finding(
                    RULE.code,
                    "advice",
                    pattern.name,
                    f"{pattern.name} asks for exactly what {name} asks for",
                    "keep one of them",
                    pattern.place,
                    place,
                )
            seen.setdefault(shape, (pattern.name, pattern.place))


def _shape(plan: Plan) -> Hashable:
    """What a plan asks, without the names of its parameters."""
    key = plan.key
    return (
        plan.operation,
        plan.index.name if plan.index is not None else None,
        tuple(entity.name for entity in plan.entities),
        None if key is None else tuple(_value(value) for value in key.partition),
        None if key is None else tuple((one.op, _value(one.low), _value(one.high)) for one in key.sort),
        _operand(plan.filter),
        _operand(plan.condition),
        _operand(plan.replace_when),
        (plan.exists, plan.version is None, plan.item is None, plan.expired, plan.returns),
        tuple((action.word, _operand(action.path), _operand(action.source)) for action in plan.actions),
        tuple(plan.known),
        (plan.descending, plan.consistent, plan.select, plan.limit, plan.page_size),
    )


def _value(value: KeyValue | None) -> Hashable:
    if value is None:
        return None
    written = value.template.text if value.template is not None else None
    return value.attribute, written, value.part, tuple((name, _operand(one)) for name, one in value.sources.items())


def _operand(operand: object) -> Hashable:
    if isinstance(operand, Param):
        return "parameter"
    if isinstance(operand, Each):
        return "each", _operand(operand.values)
    if isinstance(operand, Path):
        return tuple(_operand(part) for part in operand.parts)
    if isinstance(operand, Size):
        return "size", _operand(operand.path)
    if isinstance(operand, Condition):
        op = operand.op if isinstance(operand, Compare) else operand.name if isinstance(operand, Function) else ""
        return type(operand).__name__, op, tuple(_operand(one) for one in operand.operands())
    return repr(operand)
