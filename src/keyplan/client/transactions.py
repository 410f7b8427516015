"""Programs of transactions: calls made into actions, sent with a token, and their reasons when they fail."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from keyplan.client.actions import Action, actions_of, has_moved, merged
from keyplan.client.clearing import clear, is_in_the_way
from keyplan.client.codec import OWNER
from keyplan.client.context import Context
from keyplan.client.errors import RunError, TransactionConflictError, TransactionFailedError, UniqueTakenError
from keyplan.client.outcomes import step_failed
from keyplan.client.sending import CANCELLED, CONFLICTS, reasons_of, send
from keyplan.client.steps import Program, Wait
from keyplan.client.wording import item_named, key_of
from keyplan.design.field_decoding import decode_value
from keyplan.design.patterns import WriteCall
from keyplan.design.requests_guards import NOW
from keyplan.errors import ServiceError

_TOKENS_REMEMBERED = 1000


def transact(context: Context, calls: Sequence[WriteCall[Any]], token: str | None) -> Program[None]:
    """Apply all of some writes or none. Raises TransactionFailedError with a reason for each call."""
    told = token or str(uuid.UUID(int=context.clock.random.getrandbits(128), version=4))
    now_s = moment(context, token)
    skipped: frozenset[Any] = frozenset()
    for attempt in range(1, context.retries.attempts + 1):
        actions: list[Action] = []
        for number, call in enumerate(calls):
            arguments = {**call.arguments, NOW: now_s}
            actions += yield from actions_of(context, number, call, arguments, skipped)
        actions = merged(actions)
        if not actions:
            return
        request = {"TransactItems": [action.request for action in actions], "ClientRequestToken": told}
        try:
            yield from send(context, "TransactWriteItems", request)
        except ServiceError as error:
            if error.code != CANCELLED:
                raise
            reasons = reasons_of(error)
            if not has_raced(actions, reasons):
                raise _failed(calls, actions, reasons, error) from error
            skipped |= _others(actions, reasons)
            for action, reason in zip(actions, reasons, strict=False):
                if action.role == "item" and is_in_the_way(action.plan, action.arguments, reason.get("Item")):
                    yield from clear(context, action.plan, action.arguments, action.members)
        else:
            return
        # What was read has changed: read again, and send what is another transaction under a token of its own.
        told = str(uuid.uuid5(uuid.NAMESPACE_OID, told))
        yield Wait(context.retries.wait_s(attempt, context.clock))
    raise TransactionConflictError(
        f"others keep changing the unique values of the same items, after {context.retries.attempts} attempts",
        code="ConditionalCheckFailed",
    )


def moment(context: Context, token: str | None) -> int:
    """The moment that expiry is compared with: of a repeated token its first, so that the request is the same."""
    if token is None:
        return context.now_s()
    with context.lock:
        if token not in context.moments and len(context.moments) >= _TOKENS_REMEMBERED:
            context.moments.pop(next(iter(context.moments)))
        return context.moments.setdefault(token, context.now_s())


def has_raced(actions: Sequence[Action], reasons: Sequence[dict[str, Any]]) -> bool:
    """Whether a transaction failed because what was read before it has changed, and may succeed when made anew."""
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


def _has_changed(action: Action, found: Any) -> bool:
    return has_moved(action, found) or is_in_the_way(action.plan, action.arguments, found)


def _others(actions: Sequence[Action], reasons: Sequence[dict[str, Any]]) -> frozenset[Any]:
    """Sentinels that were to be deleted and belong to another item by now."""
    return frozenset(
        action.place
        for action, reason in zip(actions, reasons, strict=False)
        if action.role == "release" and reason.get("Code") == "ConditionalCheckFailed"
    )


def _failed(
    calls: Sequence[WriteCall[Any]], actions: Sequence[Action], reasons: Sequence[dict[str, Any]], error: ServiceError
) -> TransactionFailedError:
    found: list[RunError | None] = [None] * len(calls)
    for action, reason in zip(actions, reasons, strict=False):
        if reason.get("Code", "None") != "None" and found[action.call] is None:
            found[action.call] = _reason(action, reason)
            found[action.call].__cause__ = error  # type: ignore[union-attr]  # it was just set
    told = "; ".join(
        f"{number + 1}. {call.pattern.name}: {reason}"
        for number, (call, reason) in enumerate(zip(calls, found, strict=True))
        if reason is not None
    )
    return TransactionFailedError(f"nothing was applied: {told or error.message}", reasons=found, code=error.code)


def _reason(action: Action, reason: dict[str, Any]) -> RunError:
    if action.role == "take" and reason["Code"] == "ConditionalCheckFailed":
        return _taken(action, reason)
    return step_failed(action.plan, action.arguments, action.key, reason)


def _taken(action: Action, reason: dict[str, Any]) -> UniqueTakenError:
    spec = action.plan.entity
    assert action.rule is not None, "a sentinel stands for a rule"
    held = (reason.get("Item") or {}).get(OWNER)
    owner = None if held is None else decode_value(held)
    pairs = ", ".join(f"{name}={value!r}" for name, value in zip(action.rule.fields, action.values, strict=True))
    by = "" if owner is None else f" by {item_named(spec, owner)}"
    return UniqueTakenError(
        f"{spec.name} with {pairs} is taken{by}",
        fields=action.rule.fields,
        values=action.values,
        owner=owner,
        entity=spec.name,
        key=key_of(spec, _item_key(action)),
        code="ConditionalCheckFailed",
    )


def _item_key(action: Action) -> dict[str, Any]:
    """The key of the item that a sentinel's action belongs to."""
    owner: dict[str, Any] = action.members["ExpressionAttributeValues"][":owner"]["M"]
    return owner
