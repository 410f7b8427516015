"""Transactions that write items and the guard items that reserve their unique values.

A guard item, or sentinel, is an item whose key contains unique values. It stores the key of the item that has these
values, and expires together with that item. When an item receives unique values, the transaction puts the guard item on
the condition that no other item owns it. When an item no longer has the values, the transaction deletes the guard item.

Before an update or delete, the item is read to find the unique values that it currently has. The write has the
condition that these values are unchanged. If they have changed, the item is read again, and a new transaction is sent.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from keyplan import limits
from keyplan.client.codec import describe_item, key_of, reader_of
from keyplan.client.errors import (
    RequestRefusedError,
    RunError,
    ThrottledError,
    TransactionFailedError,
    UniqueTakenError,
    WriteConflictError,
)
from keyplan.client.failures import CONDITION, step_error, step_text, steps_text, with_steps
from keyplan.client.requests import CANCELLED, Context, Program, Request, Wait, reasons_of, send
from keyplan.design.arguments import shorten
from keyplan.design.declaring.patterns import WriteCall
from keyplan.design.entities import OWNER, BoundUnique, EntitySpec
from keyplan.design.fields.stored import StoredField, decode_value, is_stored_as_absent, validator
from keyplan.design.planning.plan import Plan
from keyplan.design.requests.build import ACTIONS, write_request
from keyplan.design.requests.items import Item, key_attribute_maker
from keyplan.design.requests.writer import Arguments, reader
from keyplan.design.requests.writes import NOW, with_time
from keyplan.dynamodb.values.attribute import item_bytes
from keyplan.errors import CONFLICTS, ServiceError

Role = Literal["item", "take", "release"]


@dataclass(frozen=True, eq=False)
class Action:
    """An action of a transaction, and the call that requires the action."""

    call: int
    """The index of the call that requires the action."""
    plan: Plan
    arguments: Arguments
    role: Role
    kind: str
    members: Request
    key: Item
    pinned: Mapping[str, Any] | None = None
    """The key, unique values and expiry time of the item, as read before the write. None if the item was not read."""
    rule: BoundUnique | None = None
    """The unique constraint whose guard item this action writes, or None if the action does not write a guard item."""
    values: tuple[Any, ...] = ()

    @property
    def request(self) -> Request:
        """The action as an element of TransactItems."""
        return {self.kind: self.members}

    @property
    def place(self) -> tuple[str, str]:
        """The name of the table, and the key of the item that the action writes."""
        return self.members["TableName"], repr(sorted(self.key.items()))


def actions_of(
    context: Context, number: int, call: WriteCall[Any], arguments: Arguments, skipped: frozenset[Any]
) -> Program[list[Action]]:
    """Return the actions that a call adds to a transaction: the write of its item, and the writes of guard items.

    `number` is the index of the call in the transaction. The guard items in `skipped` are not deleted, because other
    items own them.
    """
    plan = call.pattern.plan
    compiled = write_request(plan)
    table = context.table(plan.schema)
    members = compiled.action(arguments, table)
    key = members.get("Key") or {name: members["Item"][name] for name in plan.schema.key}
    kind = ACTIONS[plan.operation]
    if kind == "Update" and "UpdateExpression" not in members:
        kind = "ConditionCheck"  # a transaction cannot contain an update without changes
    item_action = Action(number, plan, arguments, "item", kind, members, key)
    if not plan.keeps_unique:
        return [item_action]
    old = None
    if plan.reads_first:
        old = yield from read_stored(context, key, table)
        item_action = _pinned_action(item_action, old)
    before = None if old is None else reader_of(plan.entity).entity(old).__dict__
    return [
        item_action,
        *_sentinels(
            item_action, before, _values_after(plan, arguments, before), _expiry(plan, members, arguments, old), skipped
        ),
    ]


def read_stored(context: Context, key: Item, table: str) -> Program[Item | None]:
    """Return the stored item with the given key, even if it has expired. Return None if it does not exist."""
    response = yield from send(context, "GetItem", {"TableName": table, "Key": key, "ConsistentRead": True})
    return response.get("Item") or None


def _pinned_attributes(spec: EntitySpec) -> tuple[str, ...]:
    """Return the attributes that must not change between the read and the write of an item with unique values."""
    names = dict.fromkeys(spec.fields[name].attribute for rule in spec.sentinels for name in rule.fields)
    ttl = spec.expiry_attribute
    return (*names, ttl) if ttl is not None and ttl not in names else tuple(names)


def _pinned_action(action: Action, old: Item | None) -> Action:
    """Return a copy of a write action, with the additional condition that the stored item is still `old`.

    The condition compares the unique values and the expiry time. If `old` is None, the condition requires that the item
    does not exist.
    """
    spec = action.plan.entity
    members = dict(action.members)
    names = dict(members.get("ExpressionAttributeNames", {}))
    values = dict(members.get("ExpressionAttributeValues", {}))
    names["#read_key"] = spec.schema.partition
    texts = ["attribute_not_exists(#read_key)" if old is None else "attribute_exists(#read_key)"]
    for number, attribute in enumerate(_pinned_attributes(spec) if old is not None else ()):
        names[f"#read{number}"] = attribute
        if old is not None and attribute in old:
            values[f":read{number}"] = old[attribute]
            texts.append(f"#read{number} = :read{number}")
        else:
            texts.append(f"attribute_not_exists(#read{number})")
    if "ConditionExpression" in members:
        texts.append(f"({members['ConditionExpression']})")
    members["ConditionExpression"] = " AND ".join(texts)
    members["ExpressionAttributeNames"] = names
    if values:
        members["ExpressionAttributeValues"] = values
    members["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
    pinned = {name: (old or {}).get(name) for name in (*spec.schema.key, *_pinned_attributes(spec))}
    return replace(action, members=members, pinned=pinned)


def has_pinned_changes(action: Action, stored: Item | None) -> bool:
    """Return True if an item's key, unique values or expiry time have changed since it was read for `action`."""
    if action.pinned is None:
        return False
    return any((stored or {}).get(name) != value for name, value in action.pinned.items())


def _values_after(plan: Plan, arguments: Arguments, before: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return the field values that an item has after a write, or None if the write deletes the item.

    `before` contains the field values before the write, or is None if the item did not exist.
    """
    if plan.operation == "DeleteItem":
        return None
    if plan.operation == "PutItem":
        compiled = write_request(plan)
        return {**compiled.entity(arguments).__dict__, **compiled.computed_values(arguments)}
    assert plan.key is not None, "an update names its item"
    after = dict(before or {})
    after.update({name: reader(source)(arguments) for part in plan.key.values for name, source in part.sources.items()})
    for action in plan.actions:
        name, value = action.path.field, reader(action.source)(arguments)
        if len(action.path.parts) == 1 and action.name in {"set", "set_if_missing"}:
            if action.name == "set" or after.get(name) is None:
                after[name] = None if is_stored_as_absent(value) else _validated(plan.entity.fields[name], value)
        elif len(action.path.parts) == 1 and action.name == "remove":
            after[name] = None
        elif action.name == "add" and len(action.path.parts) == 1:
            after[name] = (after.get(name) or 0) + (-value if action.negative else value)
    return after


def _validated(field: StoredField, value: Any) -> Any:
    """Return the value that an update stores. Validation can change an argument, for example to lower case."""
    return value if field.write_time is not None else validator(field)(value)


def _expiry(plan: Plan, members: Request, arguments: Arguments, old: Item | None) -> Any:
    """Return the expiry time of an item after a write as an attribute value, or None if the item does not expire."""
    ttl = plan.entity.expiry_attribute
    if ttl is None or plan.operation == "DeleteItem":
        return None
    if plan.operation == "PutItem":
        return members["Item"].get(ttl)
    expiry = (old or {}).get(ttl)
    for action in plan.actions:
        stored = plan.entity.fields[action.path.field]
        if stored.attribute == ttl:
            value = None if action.name == "remove" else reader(action.source)(arguments)
            expiry = None if value is None else stored.encode(value)
    return expiry


def _sentinels(
    item_action: Action,
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any] | None,
    expiry: Any,
    skipped: frozenset[Any],
) -> list[Action]:
    actions = []
    for rule in item_action.plan.entity.sentinels:
        old, new = _values(rule, before), _values(rule, after)
        if old is not None and (new is None or _key(rule, old) != _key(rule, new)):
            released = _delete_sentinel(item_action, rule, old)
            if released.place not in skipped:
                actions.append(released)
        if new is not None:
            actions.append(_put_sentinel(item_action, rule, new, expiry))
    return actions


def _values(rule: BoundUnique, values: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the field values that form the key of a guard item.

    Return None if `values` is None. Also return None if a unique field is None, because the constraint then does not
    apply.
    """
    if values is None:
        return None
    unique_values = {name: values.get(name) for name in rule.fields}
    return None if any(value is None for value in unique_values.values()) else {**values, **unique_values}


def _key(rule: BoundUnique, values: Mapping[str, Any]) -> Item:
    return {part.attribute: key_attribute_maker(part)(values) or {} for part in rule.key.attributes}


def _owner(item_action: Action) -> Item:
    return {"M": item_action.key}


def _put_sentinel(item_action: Action, rule: BoundUnique, values: Mapping[str, Any], expiry: Any) -> Action:
    """Return an action that puts a guard item, on the condition that the values are not reserved for another item.

    `item_action` is the write of the item that has the values. An expired guard item does not reserve the values.
    """
    key = _key(rule, values)
    item: Item = {**key, OWNER: _owner(item_action)}
    members = {"TableName": item_action.members["TableName"], "Item": item, **_owner_condition(item_action)}
    ttl = item_action.plan.entity.expiry_attribute
    if item_action.plan.entity.checked_expiry is not None:
        members["ConditionExpression"] += " OR #expiry <= :now"
        members["ExpressionAttributeNames"]["#expiry"] = ttl
        members["ExpressionAttributeValues"][":now"] = {"N": str(item_action.arguments[NOW])}
    if ttl is not None and expiry is not None:
        item[ttl] = expiry
    return _sentinel_action(item_action, "take", rule, values, members)


def _delete_sentinel(item_action: Action, rule: BoundUnique, values: Mapping[str, Any]) -> Action:
    """Return an action that deletes a guard item, on the condition that it belongs to the item of `item_action`.

    `values` are the unique values that this item had before the write.
    """
    members = {
        "TableName": item_action.members["TableName"],
        "Key": _key(rule, values),
        **_owner_condition(item_action),
    }
    return _sentinel_action(item_action, "release", rule, values, members)


def _owner_condition(item_action: Action) -> Request:
    """Return the condition parameters for writing the guard item of the item that `item_action` writes.

    The condition is false if the guard item belongs to a different item.
    """
    return {
        "ConditionExpression": "attribute_not_exists(#key) OR #owner = :owner",
        "ExpressionAttributeNames": {"#key": item_action.plan.schema.partition, "#owner": OWNER},
        "ExpressionAttributeValues": {":owner": _owner(item_action)},
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


def _sentinel_action(
    item_action: Action, role: Role, rule: BoundUnique, values: Mapping[str, Any], members: Request
) -> Action:
    return replace(
        item_action,
        role=role,
        kind="Put" if role == "take" else "Delete",
        members=members,
        key=_key(rule, values),
        pinned=None,
        rule=rule,
        values=tuple(values[name] for name in rule.fields),
    )


def merge_actions(actions: list[Action]) -> list[Action]:
    """Return the actions with at most one action for each guard item.

    If one call releases a value that another call reserves, a single action changes the owner of the guard item.
    """
    releases = {action.place: action for action in actions if action.role == "release"}
    reserved_places = {action.place for action in actions if action.role == "take"}
    result = []
    for action in actions:
        if action.role == "release" and action.place in reserved_places:
            continue
        before = releases.get(action.place) if action.role == "take" else None
        result.append(action if before is None else _with_released_owner(before, action))
    return result


def _with_released_owner(release: Action, action: Action) -> Action:
    members = dict(action.members)
    members["ConditionExpression"] += " OR #owner = :before"
    before = release.members["ExpressionAttributeValues"][":owner"]
    members["ExpressionAttributeValues"] = {**members["ExpressionAttributeValues"], ":before": before}
    return replace(action, members=members)


_TOKENS_REMEMBERED = 1000


def blocks_update(plan: Plan, arguments: Arguments, stored: Item | None) -> bool:
    """Return True if the stored item has expired and must be deleted before an upsert.

    Otherwise, the update would keep the other attributes of the expired item. The result for a put is False, because a
    put replaces the whole item.
    """
    if plan.operation != "UpdateItem" or plan.exists != "may" or stored is None:
        return False
    return reader_of(plan.entity).has_expired(stored, arguments[NOW])


def remove_expired(context: Context, plan: Plan, arguments: Arguments, request: Request) -> Program[None]:
    """Delete the item that `request` updates, if the item has expired."""
    delete = {
        "TableName": request["TableName"],
        "Key": request["Key"],
        "ConditionExpression": "#ttl <= :now",
        "ExpressionAttributeNames": {"#ttl": plan.entity.expiry_attribute},
        "ExpressionAttributeValues": {":now": {"N": str(arguments[NOW])}},
    }
    try:
        yield from send(context, "DeleteItem", delete)
    except ServiceError as error:
        if error.code != CONDITION:  # otherwise another client already deleted or replaced it
            raise


def transact(
    context: Context,
    calls: Sequence[WriteCall[Any]],
    token: str | None,
    pattern: str = "",
    *,
    now_s: float | None = None,
) -> Program[None]:
    """Apply all writes in one transaction, or none of them.

    `pattern` is the pattern name for error messages. `now_s` is the time of the call in seconds since 1970, if it was
    already determined.

    Raises TransactionFailedError with a reason for each failed call. Raises WriteConflictError or ThrottledError if the
    last attempt fails because of a conflict or throttling. Their messages list the failed steps.
    """
    sent_token = token or str(uuid.UUID(int=context.clock.random.getrandbits(128), version=4))
    now_s = first_attempt_time(context, token) if now_s is None else now_s
    skipped: frozenset[Any] = frozenset()
    for attempt in range(1, context.retries.attempts + 1):
        actions: list[Action] = []
        for number, call in enumerate(calls):
            arguments = with_time(call.arguments, now_s)
            actions += yield from actions_of(context, number, call, arguments, skipped)
        actions = merge_actions(actions)
        if not actions:
            return
        reasons = yield from _attempt(context, calls, actions, sent_token, pattern)
        if reasons is None:
            return
        skipped |= _foreign_sentinels(actions, reasons)
        for action, reason in zip(actions, reasons, strict=False):
            if action.role == "item" and blocks_update(action.plan, action.arguments, reason.get("Item")):
                yield from remove_expired(context, action.plan, action.arguments, action.members)
        # An item has changed since it was read. Read the items again, and send a new transaction with a new token.
        sent_token = str(uuid.uuid5(uuid.NAMESPACE_OID, sent_token))
        yield Wait(context.retries.wait_s(attempt, context.clock))
    raise WriteConflictError(
        f"other clients keep changing the unique values of the same items, after {context.retries.attempts} attempts",
        code="ConditionalCheckFailed",
    )


def _attempt(
    context: Context, calls: Sequence[WriteCall[Any]], actions: Sequence[Action], token: str, pattern: str
) -> Program[list[dict[str, Any]] | None]:
    """Send a transaction. Return None if it succeeds.

    Return the cancellation reasons if an item or guard item has changed, so the transaction must be built again.
    """
    request = {"TransactItems": [action.request for action in actions], "ClientRequestToken": token}
    try:
        yield from send(context, "TransactWriteItems", request)
    except (WriteConflictError, ThrottledError) as last_error:
        raise _with_steps(last_error, calls, actions, context.retries.attempts) from last_error.__cause__
    except ServiceError as error:
        if error.code == "ValidationException":
            raise _rejection_error(pattern or calls[0].pattern.name, calls, actions, error) from error
        if error.code != CANCELLED:
            raise
        reasons = reasons_of(error)
        if not has_raced(actions, reasons):
            raise _transaction_error(calls, actions, reasons, error) from error
        return reasons
    return None


def first_attempt_time(context: Context, token: str | None) -> float:
    """Return the time of a transaction, in seconds since 1970.

    For a repeated token, this is the time of the first attempt, so that the request stays the same.
    """
    if token is None:
        return context.clock.now()
    with context.lock:
        if token not in context.token_times and len(context.token_times) >= _TOKENS_REMEMBERED:
            context.token_times.pop(next(iter(context.token_times)))
        return context.token_times.setdefault(token, context.clock.now())


def has_raced(actions: Sequence[Action], reasons: Sequence[dict[str, Any]]) -> bool:
    """Return True if a transaction failed only because items or guard items changed after they were read.

    A retry can then succeed.
    """
    raced = False
    for action, reason in zip(actions, reasons, strict=False):
        code = reason.get("Code", "None")
        if code == "None" or code in CONFLICTS:
            continue
        if code != "ConditionalCheckFailed":
            return False
        if action.role == "release" or (action.role == "item" and _has_changed(action, reason.get("Item"))):
            raced = True
        else:
            return False
    return raced


def _has_changed(action: Action, stored: Any) -> bool:
    return has_pinned_changes(action, stored) or blocks_update(action.plan, action.arguments, stored)


def _foreign_sentinels(actions: Sequence[Action], reasons: Sequence[dict[str, Any]]) -> frozenset[Any]:
    """Return the guard items that the transaction tried to delete but that belong to other items."""
    return frozenset(
        action.place
        for action, reason in zip(actions, reasons, strict=False)
        if action.role == "release" and reason.get("Code") == "ConditionalCheckFailed"
    )


def _transaction_error(
    calls: Sequence[WriteCall[Any]], actions: Sequence[Action], reasons: Sequence[dict[str, Any]], error: ServiceError
) -> TransactionFailedError:
    errors = _errors_of(calls, actions, reasons, error)
    problem = f"no write was applied: {_steps_text(calls, errors) or error.message}"
    return TransactionFailedError(problem, reasons=errors, code=error.code)


def _errors_of(
    calls: Sequence[WriteCall[Any]], actions: Sequence[Action], reasons: Sequence[dict[str, Any]], cause: ServiceError
) -> list[RunError | None]:
    """Return, for each call, the error of its first failed action, or None if the call did not fail."""
    errors: list[RunError | None] = [None] * len(calls)
    for action, reason in zip(actions, reasons, strict=False):
        if reason.get("Code", "None") != "None" and errors[action.call] is None:
            error = _action_error(action, reason)
            error.__cause__ = cause
            errors[action.call] = error
    return errors


def _steps_text(calls: Sequence[WriteCall[Any]], errors: Sequence[RunError | None]) -> str:
    return steps_text([(call.pattern.name, call.arguments) for call in calls], errors)


def _step_text(calls: Sequence[WriteCall[Any]], number: int) -> str:
    return step_text(number, calls[number].pattern.name, calls[number].arguments)


def _with_steps(
    last_error: WriteConflictError | ThrottledError,
    calls: Sequence[WriteCall[Any]],
    actions: Sequence[Action],
    attempts: int,
) -> RunError:
    """Return a copy of the error `last_error` whose message lists the steps that caused the last cancellation."""
    cause = last_error.__cause__
    reasons = reasons_of(cause) if isinstance(cause, ServiceError) else []
    errors = [] if not reasons else _errors_of(calls, actions, reasons, cause)  # type: ignore[arg-type]  # as above
    summary = f"no write was applied after {attempts} attempts"
    return with_steps(last_error, summary, [(call.pattern.name, call.arguments) for call in calls], errors)


def _rejection_error(
    pattern: str, calls: Sequence[WriteCall[Any]], actions: Sequence[Action], error: ServiceError
) -> RequestRefusedError:
    """Return the error for a transaction that DynamoDB rejected as invalid.

    If possible, the message names the steps that caused the rejection.
    """
    bytes_of = {action.call: item_bytes(action.members["Item"]) for action in actions if "Item" in action.members}
    places: dict[tuple[str, str], list[Action]] = {}
    for action in actions:
        places.setdefault(action.place, []).append(action)
    repeated_actions = next((item_actions for item_actions in places.values() if len(item_actions) > 1), None)
    if len(actions) > limits.TRANSACTION_ACTIONS:
        detail = f"{len(actions)} actions, but the limit is {limits.TRANSACTION_ACTIONS}"
        if len(actions) > len(calls):
            detail += f"; {len(actions) - len(calls)} of them write or delete unique values"
    elif repeated_actions is not None:
        steps = " and ".join(_step_text(calls, action.call) for action in repeated_actions)
        spec = repeated_actions[0].plan.entity
        detail = (
            f"multiple operations on one item: {steps}: {describe_item(spec, key_of(spec, repeated_actions[0].key))}"
        )
    elif sum(bytes_of.values()) > limits.TRANSACTION_BYTES:
        largest = max(bytes_of, key=bytes_of.__getitem__)
        detail = (
            f"the items have {sum(bytes_of.values()):,} bytes, but the limit is"
            f" {limits.TRANSACTION_BYTES:,}; the largest is {_step_text(calls, largest)}"
        )
    else:
        detail = error.message
    return RequestRefusedError(f"{pattern}: the service refused the request: {detail}", code=error.code)


def _action_error(action: Action, reason: dict[str, Any]) -> RunError:
    if action.role == "take" and reason["Code"] == "ConditionalCheckFailed":
        return _unique_error(action, reason)
    return step_error(action.plan, action.arguments, action.key, action.members, reason)


def _unique_error(action: Action, reason: dict[str, Any]) -> UniqueTakenError:
    spec = action.plan.entity
    assert action.rule is not None, "a sentinel stands for a rule"
    current = (reason.get("Item") or {}).get(OWNER)
    owner = None if current is None else decode_value(current)
    pairs = ", ".join(f"{name}={shorten(value)}" for name, value in zip(action.rule.fields, action.values, strict=True))
    owner_text = "" if owner is None else f" by {describe_item(spec, owner)}"
    return UniqueTakenError(
        f"{pairs} of {spec.name} is already taken{owner_text}",
        fields=action.rule.fields,
        values=action.values,
        owner=owner,
        entity=spec.name,
        key=key_of(spec, _item_key(action)),
        code="ConditionalCheckFailed",
    )


def _item_key(action: Action) -> dict[str, Any]:
    """Return the key of the item that owns the guard item of an action."""
    owner: dict[str, Any] = action.members["ExpressionAttributeValues"][":owner"]["M"]
    return owner
