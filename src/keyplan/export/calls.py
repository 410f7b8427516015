"""What patterns send, with example arguments, and what entities are stored as; or why there is no example of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from keyplan.client.requests import Context
from keyplan.client.transactions import actions_of
from keyplan.clock import SystemClock
from keyplan.design.entities import EntitySpec
from keyplan.design.patterns import Pattern, WriteCall
from keyplan.design.places import DesignError
from keyplan.design.projections import all_faults
from keyplan.design.requests import build
from keyplan.design.requests_guards import NOW
from keyplan.design.requests_items import Item, maker_of
from keyplan.design.template_errors import KeyValueError, MissingField
from keyplan.design.transactions import Transaction
from keyplan.dynamodb.values.keybytes import scalar_key
from keyplan.dynamodb.values.types import AttributeValue
from keyplan.export.aws_commands import plain
from keyplan.export.examples import EXAMPLE_MOMENT, arguments_of, example_model

_NOW_S = int(EXAMPLE_MOMENT.timestamp())
_BETWEEN = re.compile(r"BETWEEN (\S+) AND (\S+)")
_NO_EXAMPLE = (DesignError, KeyValueError, MissingField, ArithmeticError, AttributeError, TypeError, ValueError)
"""What is raised where no example that could be made up fits."""


@dataclass(frozen=True)
class Sent:
    """A request as the Python SDK's client takes it."""

    operation: str
    request: dict[str, Any]


def sent(pattern: Pattern[..., Any], prefix: str = "") -> Sent | str:
    """What a call sends, of several requests (walks, long batches) the first; or why that cannot be shown."""
    if faults := all_faults(pattern.plan):
        return f"it cannot work as declared: {faults[0].code}, {faults[0].problem}"
    try:
        arguments = arguments_of(pattern)
        if isinstance(pattern, Transaction):
            return _together(pattern.calls(arguments), prefix)
        plan = pattern.plan
        if not plan.reading and (plan.operation == "ConditionCheck" or plan.keeps_unique):
            return _together([WriteCall(pattern, arguments)], prefix)
        request = build(plan, arguments, table=prefix + plan.schema.name, now_s=_NOW_S)
        return Sent(plan.operation, _ascending(request))
    except _NO_EXAMPLE as error:
        return f"no example of its arguments fits: {error}"


def _ascending(request: dict[str, Any]) -> dict[str, Any]:
    """The request with the ends of its range in order: examples of text are names of parameters, and may be in none."""
    values = dict(request.get("ExpressionAttributeValues", {}))
    for low, high in _BETWEEN.findall(request.get("KeyConditionExpression", "")):
        if _order(values[low]) > _order(values[high]):
            values[low], values[high] = values[high], values[low]
    return {**request, "ExpressionAttributeValues": values} if values else request


def _order(value: AttributeValue) -> bytes:
    ((kind, content),) = plain(value).items()
    return scalar_key(kind, content)


def example_item(entity: EntitySpec) -> Item | str:
    """An entity's item, made of examples of its fields; or why there is none."""
    try:
        example: Any = example_model(entity.model)
        return maker_of(entity).item(example, 1)
    except _NO_EXAMPLE as error:
        return f"no example of {entity.name} fits: {error}"


def _together(calls: list[WriteCall[Any]], prefix: str) -> Sent | str:
    """The writes of calls and of their sentinels, as one transaction."""
    context = Context(clock=SystemClock(), cursor_key=b"", prefix=prefix)
    items = []
    for number, call in enumerate(calls):
        program = actions_of(context, number, call, {**call.arguments, NOW: _NOW_S}, frozenset())
        try:
            next(program)
        except StopIteration as done:
            items += [action.request for action in done.value]
        else:
            names = ", ".join(name for rule in call.pattern.plan.entity.sentinels for name in rule.fields)
            return f"it reads the item first: items that keep unique values ({names}) are written with what was read"
    return Sent("TransactWriteItems", {"TransactItems": items})
