"""Request programs that write a single item, or write many items in batches.

A request program is a generator that yields requests.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from keyplan import limits
from keyplan.client.codec import describe_item, key_of, reader_of
from keyplan.client.errors import NotFoundError, OutcomeUnknownError, RunError, ThrottledError, TransactionFailedError
from keyplan.client.failures import (
    CONDITION,
    KEY_VALUE_ERRORS,
    FirstAttemptError,
    condition_error,
    key_value_error,
)
from keyplan.client.reads import read_item
from keyplan.client.requests import Context, Outcome, Program, Request, Response, Wait, send
from keyplan.client.transactions import blocks_update, read_stored, remove_expired, transact
from keyplan.design.declaring.patterns import Call, WriteCall
from keyplan.design.fields.stored import decode_value
from keyplan.design.parameters import WRITE_TIME
from keyplan.design.planning.plan import Plan
from keyplan.design.requests.build import batch_request, write_request
from keyplan.design.requests.items import Item, item_builder
from keyplan.design.requests.writer import Arguments
from keyplan.design.requests.writes import NOW
from keyplan.errors import KeyplanError, ServiceError

_NOT_REPEATABLE = frozenset({"add", "append"})


def write(context: Context, call: WriteCall[Any], arguments: Arguments) -> Program[Any]:
    """Write one item, and return the result that the pattern declares, such as the written entity."""
    plan = call.pattern.plan
    if plan.operation == "ConditionCheck" or plan.keeps_unique:
        return (yield from _with_sentinels(context, call, arguments))
    compiled = write_request(plan)
    request = compiled.request(arguments, context.table(plan.schema))
    outcome = Outcome()
    while True:
        try:
            response = yield from send(context, plan.operation, request, outcome, repeatable=is_repeatable(plan))
        except ServiceError as error:
            if error.code != CONDITION:
                raise
            stored = error.members.get("Item") or None
            if outcome.uncertain and _was_applied(plan, arguments, stored):
                response = {}
                break
            if not blocks_update(plan, arguments, stored):
                key = request.get("Key") or request["Item"]
                failure = condition_error(plan, arguments, key, stored, error.code)
                raise (_outcome_unknown(failure) if outcome.uncertain else failure) from error
            yield from remove_expired(context, plan, arguments, request)
        else:
            break
    return _result(plan, arguments, response)


def direct_write(context: Context, plan: Plan, send: Callable[[str, Request], Response]) -> Callable[[Call[Any]], Any]:
    """Return a function that runs calls to a pattern that writes one item.

    Each call sends one request directly. The function raises FirstAttemptError if DynamoDB returns an error. If the
    write depends on the time, the error contains the arguments with the time of the attempt. A retry uses this time to
    recognize the item that the first attempt wrote.
    """
    table, compiled, operation = context.table(plan.schema), write_request(plan), plan.operation
    request, add_time = compiled.request, context.arguments if compiled.uses_time else None
    stored_entity = compiled.read_item if operation == "PutItem" and not compiled.sets_fields else None

    def run(call: Call[Any]) -> Any:
        arguments = call.arguments
        try:
            if add_time is not None:
                arguments = add_time(arguments)
            answer = send(operation, request(arguments, table))
        except ServiceError as error:
            raise FirstAttemptError(error, None if add_time is None else arguments) from error
        except KeyplanError:
            raise
        except KEY_VALUE_ERRORS as error:
            raise key_value_error(plan, error) from error
        return _result(plan, arguments, answer) if stored_entity is None else stored_entity(arguments)

    return run


def is_repeatable(plan: Plan) -> bool:
    """Return True if applying a write twice has the same effect as applying it once."""
    return not any(
        action.name in _NOT_REPEATABLE or (action.name == "remove" and isinstance(action.path.parts[-1], int))
        for action in plan.actions
    )


def _was_applied(plan: Plan, arguments: Arguments, stored: Item | None) -> bool:
    """Return True if the stored item shows that an earlier attempt of the write was applied although no response
    arrived.
    """
    if plan.operation == "DeleteItem":
        return stored is None
    return _is_item_of_put(plan, arguments, stored)


def _is_item_of_put(plan: Plan, arguments: Arguments, stored: Item | None) -> bool:
    """Return True if the stored item equals the item that a put writes. This means that an earlier attempt of the put
    succeeded.
    """
    if stored is None or plan.operation != "PutItem":
        return False
    compiled = write_request(plan)
    entity = compiled.entity(arguments)
    return _decoded_item(item_builder(plan.entity).item(entity, compiled.computed_values(arguments))) == _decoded_item(
        stored
    )


def _decoded_item(item: Item) -> dict[str, Any]:
    """Return an item's attribute values as Python values, for comparing two items.

    Differences in number format and in the order of set elements do not affect this comparison.
    """
    return {name: decode_value(value) for name, value in item.items()}


def _outcome_unknown(error: RunError) -> OutcomeUnknownError:
    return OutcomeUnknownError(
        f"an earlier attempt received no response and may have been applied: {error}",
        entity=error.entity,
        key=error.key,
        code=error.code,
    )


def _result(plan: Plan, arguments: Arguments, response: Request) -> Any:
    if plan.operation == "PutItem":
        return _stored_entity(plan, arguments)
    item = response.get("Attributes")
    if plan.returns == "old":
        return read_item(plan, item, arguments.get(NOW, 0))  # without a time, the item cannot expire
    return None if item is None else reader_of(plan.entity).entity(item)


def _stored_entity(plan: Plan, arguments: Arguments) -> Any:
    """Return the entity that a put stored: the caller's entity with its new version and write timestamps."""
    compiled = write_request(plan)
    entity, write_values = compiled.entity(arguments), compiled.computed_values(arguments)
    if not write_values:
        return entity
    changes = {name: value for name, value in write_values.items() if getattr(entity, name) != value}
    return entity.model_copy(update=changes) if changes else entity


def _with_sentinels(context: Context, call: WriteCall[Any], arguments: Arguments) -> Program[Any]:
    """Run a single write as a transaction. Used for condition checks, and for writes of items with unique values."""
    plan = call.pattern.plan
    table = context.table(plan.schema)
    key = write_request(plan).key(arguments)
    old = None
    if plan.returns == "old":
        old = yield from read_stored(context, key, table)
    try:
        yield from transact(context, [call], None, now_s=arguments[WRITE_TIME._name].timestamp())
    except TransactionFailedError as error:
        raise error.reason from error.__cause__
    if plan.operation == "PutItem":
        return _stored_entity(plan, arguments)
    if plan.returns == "old":
        return read_item(plan, old, arguments[NOW])
    if plan.returns != "new":
        return None
    item = yield from read_stored(context, key, table)
    if item is None:
        key_values = key_of(plan.entity, key)
        raise NotFoundError(
            f"{describe_item(plan.entity, key_values)} was updated, and then deleted by another client before it was"
            " read",
            entity=plan.entity.name,
            key=key_values,
        )
    return reader_of(plan.entity).entity(item)


def batch_write(context: Context, plan: Plan, arguments: Arguments) -> Program[None]:
    """Write many items in batches. If the arguments contain several writes of one item, only the last one is sent."""
    writes = batch_request(plan).writes(arguments)
    for start in range(0, len(writes), limits.BATCH_WRITE_ITEMS):
        yield from _write_chunk(context, plan, writes[start : start + limits.BATCH_WRITE_ITEMS])


def _write_chunk(context: Context, plan: Plan, writes: Sequence[Request]) -> Program[None]:
    """Send up to 25 writes. Send unprocessed writes again until all of them are processed."""
    request: Request = {"RequestItems": {context.table(plan.schema): list(writes)}}
    remaining, fruitless = len(writes), 0
    while True:
        response = yield from send(context, "BatchWriteItem", request)
        unprocessed = response.get("UnprocessedItems")
        if not unprocessed:
            return
        still_remaining = sum(len(table_writes) for table_writes in unprocessed.values())
        fruitless = 0 if still_remaining < remaining else fruitless + 1
        if fruitless >= context.retries.attempts:
            raise ThrottledError(
                f"{plan.pattern}: the service wrote none of the remaining items in {fruitless} attempts"
            )
        remaining = still_remaining
        yield Wait(context.retries.wait_s(fruitless + 1, context.clock))
        request = {"RequestItems": unprocessed}
