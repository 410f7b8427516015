"""Programs that read items by key: one, several, several at one moment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keyplan import limits
from keyplan.connections.codec import OWNER, reader_of
from keyplan.connections.context import Context
from keyplan.connections.errors import ThrottledError
from keyplan.connections.sending import send
from keyplan.connections.steps import Program, Wait
from keyplan.design.plan import Plan
from keyplan.design.requests import get_request
from keyplan.design.requests_guards import NOW
from keyplan.design.requests_items import Item
from keyplan.design.requests_keys import identity
from keyplan.design.requests_sources import Arguments


def get(context: Context, plan: Plan, arguments: Arguments) -> Program[Any]:
    """One item, or None."""
    request = get_request(plan).request(arguments, context.table(plan.schema))
    answer = yield from send(context, "GetItem", request)
    return read_item(plan, answer.get("Item"), arguments[NOW])


def read_item(plan: Plan, item: Item | None, now_s: int) -> Any:
    """What an item is to the caller: an entity, or None where there is none or it has expired."""
    if not item or OWNER in item:
        return None
    reader = reader_of(plan.entity)
    if plan.expired == "drop" and reader.has_expired(item, now_s):
        return None
    return reader.entity(item)


def batch_get(context: Context, plan: Plan, arguments: Arguments) -> Program[list[Any]]:
    """An entity or None for each key, in the order that was asked for."""
    get = get_request(plan)
    keys = get.keys(arguments)
    remaining = list({identity(key): key for key in keys}.values())
    found: dict[tuple[Any, ...], Any] = {}
    for start in range(0, len(remaining), limits.BATCH_GET_KEYS):
        items = yield from _chunk(context, plan, remaining[start : start + limits.BATCH_GET_KEYS])
        for item in items:
            place = identity({part: item[part] for part in keys[0]})
            found[place] = read_item(plan, item, arguments[NOW])
    return [found.get(identity(key)) for key in keys]


def _chunk(context: Context, plan: Plan, keys: list[Item]) -> Program[list[Item]]:
    """The items of up to 100 keys; what the service leaves undone is asked for again."""
    table = context.table(plan.schema)
    request = get_request(plan).batch(keys, table)
    items: list[Item] = []
    fruitless = 0
    while True:
        answer = yield from send(context, "BatchGetItem", request)
        got = answer.get("Responses", {}).get(table, [])
        items += got
        unprocessed = answer.get("UnprocessedKeys")
        if not unprocessed:
            return items
        fruitless = 0 if got else fruitless + 1
        if fruitless >= context.retries.attempts:
            raise ThrottledError(f"{plan.pattern}: the service leaves keys unread, after {fruitless} attempts")
        yield Wait(context.retries.wait_s(fruitless + 1, context.clock))
        request = {"RequestItems": unprocessed}


def transact_get(context: Context, gets: Sequence[tuple[Plan, Arguments]]) -> Program[tuple[Any, ...]]:
    """Several items as they are at one moment."""
    actions = []
    for plan, arguments in gets:
        request = get_request(plan).request(arguments, context.table(plan.schema))
        request.pop("ConsistentRead", None)
        actions.append({"Get": request})
    answer = yield from send(context, "TransactGetItems", {"TransactItems": actions})
    pairs = zip(gets, answer["Responses"], strict=True)
    return tuple(read_item(plan, one.get("Item"), arguments[NOW]) for (plan, arguments), one in pairs)
