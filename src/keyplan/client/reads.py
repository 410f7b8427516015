"""Request programs that read one or more items by key. A request program is a generator that yields requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

from keyplan import limits
from keyplan.client.codec import plan_reader
from keyplan.client.errors import ThrottledError, WriteConflictError
from keyplan.client.failures import KEY_VALUE_ERRORS, FirstAttemptError, key_value_error, step_error, with_steps
from keyplan.client.requests import Context, Program, Request, Response, Wait, reasons_of, send
from keyplan.design.declaring.patterns import Call
from keyplan.design.entities import OWNER
from keyplan.design.planning.plan import Plan
from keyplan.design.requests.build import get_request
from keyplan.design.requests.items import Item, key_identity
from keyplan.design.requests.writer import Arguments
from keyplan.design.requests.writes import NOW
from keyplan.errors import KeyplanError, ServiceError


def get(context: Context, plan: Plan, arguments: Arguments) -> Program[Any]:
    """Return the entity that is stored under the key in a call's arguments, or None if the item does not exist.

    If the item has expired, return None, unless the pattern requests expired items.
    """
    request = get_request(plan).request(arguments, context.table(plan.schema))
    response = yield from send(context, "GetItem", request)
    return read_item(plan, response.get("Item"), arguments[NOW])


def direct_get(context: Context, plan: Plan, send: Callable[[str, Request], Response]) -> Callable[[Call[Any]], Any]:
    """Return a function that runs calls to a pattern that reads one item.

    Each call sends one GetItem request directly. The function raises FirstAttemptError if DynamoDB returns an error.
    """
    reader, table, compiled = plan_reader(plan), context.table(plan.schema), get_request(plan)
    key, members = compiled.key, compiled.members
    entity, has_expired, now = reader.entity, reader.has_expired, context.clock.now
    drops = plan.expired == "drop" and reader.expires

    def run(call: Call[Any]) -> Any:
        try:
            request = {"TableName": table, "Key": key(call.arguments)}
            item = send("GetItem", request | members if members else request).get("Item")
        except ServiceError as error:
            raise FirstAttemptError(error, None) from error
        except KeyplanError:
            raise
        except KEY_VALUE_ERRORS as error:
            raise key_value_error(plan, error) from error
        if not item or OWNER in item or (drops and has_expired(item, int(now()))):
            return None
        return entity(item)

    return run


def read_item(plan: Plan, item: Item | None, now_s: int) -> Any:
    """Convert an item to its entity. Return None if the item is missing.

    If the item has expired, return None, unless the pattern requests expired items.
    """
    if not item or OWNER in item:
        return None
    reader = plan_reader(plan)
    if plan.expired == "drop" and reader.has_expired(item, now_s):
        return None
    return reader.entity(item)


def batch_get(context: Context, plan: Plan, arguments: Arguments) -> Program[list[Any]]:
    """Return the entity for each key, in the order of the keys. Missing items are None."""
    table = context.table(plan.schema)
    keys = get_request(plan).keys(arguments)
    items_by_place = yield from fetch(context, [(table, key) for key in keys], {table: members_of([plan])})
    return [read_item(plan, items_by_place.get((table, key_identity(key))), arguments[NOW]) for key in keys]


def get_several(context: Context, gets: Sequence[tuple[Plan, Arguments]]) -> Program[tuple[Any, ...]]:
    """Return a tuple with the entity for each single-item read in `gets`. Missing items are None.

    The items are read in batches, with as few requests as possible.
    """
    places = [(context.table(plan.schema), get_request(plan).key(arguments)) for plan, arguments in gets]
    plans: dict[str, dict[Plan, None]] = {}
    for plan, _ in gets:
        plans.setdefault(context.table(plan.schema), {})[plan] = None
    items_by_place = yield from fetch(
        context, places, {table: members_of([*reading]) for table, reading in plans.items()}
    )
    pairs = zip(gets, places, strict=True)
    return tuple(
        read_item(plan, items_by_place.get((table, key_identity(key))), arguments[NOW])
        for (plan, arguments), (table, key) in pairs
    )


def members_of(plans: Sequence[Plan]) -> Request:
    """Return the parameters for one table in a BatchGetItem request, without the keys to read.

    The parameters contain a projection only if a single plan reads the table.
    """
    members: Request = {"ConsistentRead": True} if any(plan.consistent for plan in plans) else {}
    return members | get_request(plans[0]).projection if len(plans) == 1 else members


Place = tuple[str, tuple[Any, ...]]
"""The name of a table, and a primary key in a hashable form."""


def fetch(
    context: Context, places: Sequence[tuple[str, Item]], members: Mapping[str, Request]
) -> Program[dict[Place, Item]]:
    """Read items in batches of up to 100, and return them by table and key. Missing items are omitted.

    `places` contains the table name and the key of each item. `members` maps each table to the other parameters of its
    reads, such as a projection. Raises ThrottledError if DynamoDB repeatedly returns unprocessed keys.
    """
    keys_by_place = {(table, key_identity(key)): key for table, key in places}
    names = {table: tuple(key) for table, key in places}
    items_by_place: dict[Place, Item] = {}
    for start in range(0, len(keys_by_place), limits.BATCH_GET_KEYS):
        keys: dict[str, list[Item]] = {}
        for (table, _), key in islice(keys_by_place.items(), start, start + limits.BATCH_GET_KEYS):
            keys.setdefault(table, []).append(key)
        request = {table: {"Keys": keys_of, **members[table]} for table, keys_of in keys.items()}
        for table, item in (yield from _batch(context, request)):
            items_by_place[table, key_identity({part: item[part] for part in names[table]})] = item
    return items_by_place


def _batch(context: Context, request: Request) -> Program[list[tuple[str, Item]]]:
    """Read up to 100 keys, and repeat the read for unprocessed keys. Return pairs of a table name and an item."""
    items: list[tuple[str, Item]] = []
    fruitless = 0
    while True:
        response = yield from send(context, "BatchGetItem", {"RequestItems": request})
        received = [
            (table, item) for table, table_items in response.get("Responses", {}).items() for item in table_items
        ]
        items += received
        request = response.get("UnprocessedKeys") or {}
        if not request:
            return items
        fruitless = 0 if received else fruitless + 1
        if fruitless >= context.retries.attempts:
            tables = ", ".join(request)
            raise ThrottledError(f"{tables}: the service read none of the remaining keys in {fruitless} attempts")
        yield Wait(context.retries.wait_s(fruitless + 1, context.clock))


def transact_get(context: Context, gets: Sequence[tuple[Plan, Arguments]]) -> Program[tuple[Any, ...]]:
    """Read several items by key in one transaction, as of the same point in time. Missing items are None."""
    actions = []
    for plan, arguments in gets:
        request = get_request(plan).request(arguments, context.table(plan.schema))
        request.pop("ConsistentRead", None)
        actions.append({"Get": request})
    try:
        transaction_response = yield from send(context, "TransactGetItems", {"TransactItems": actions})
    except (WriteConflictError, ThrottledError) as last_error:
        cause = last_error.__cause__
        reasons = reasons_of(cause) if isinstance(cause, ServiceError) else []
        errors = [
            None
            if reason.get("Code", "None") == "None"
            else step_error(plan, arguments, action["Get"]["Key"], action["Get"], reason)
            for (plan, arguments), action, reason in zip(gets, actions, reasons, strict=False)
        ]
        steps = [(plan.pattern, arguments) for plan, arguments in gets]
        summary = f"no item was read after {context.retries.attempts} attempts"
        raise with_steps(last_error, summary, steps, errors) from cause
    pairs = zip(gets, transaction_response["Responses"], strict=True)
    return tuple(read_item(plan, response.get("Item"), arguments[NOW]) for (plan, arguments), response in pairs)
