"""Errors of refused requests: which condition failed, in the terms of the design."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from keyplan.client.codec import item_named, key_of, reader_of
from keyplan.client.errors import (
    AlreadyExistsError,
    ConditionFailedError,
    NotFoundError,
    RequestRefusedError,
    RunError,
    TableMissingError,
    TokenReusedError,
    UnreadableItemError,
    VersionConflictError,
)
from keyplan.client.requests import CONFLICTS, THROTTLED, given_up
from keyplan.design.conditions.conditions import (
    AndCondition,
    BetweenCondition,
    CompareCondition,
    Condition,
    FieldSize,
    FunctionCondition,
    InCondition,
    NotCondition,
    OrCondition,
)
from keyplan.design.conditions.evaluation import fill
from keyplan.design.planning.plan import Plan
from keyplan.design.requests.items import Item
from keyplan.design.requests.writer import Arguments, reader
from keyplan.design.requests.writes import NOW
from keyplan.errors import ServiceError


def condition_text(condition: Condition) -> str:
    """A condition as it is written in Python."""
    return _TEXTS[type(condition)](condition)


def _operand(operand: object) -> str:
    return f"{operand.path!r}.size()" if isinstance(operand, FieldSize) else repr(operand)


def _compare(condition: CompareCondition) -> str:
    op = {"=": "==", "<>": "!="}.get(condition.op, condition.op)
    return f"{_operand(condition.left)} {op} {_operand(condition.right)}"


def _between(condition: BetweenCondition) -> str:
    low, high = _operand(condition.low), _operand(condition.high)
    return f"{_operand(condition.operand)}.between({low}, {high})"


def _in(condition: InCondition) -> str:
    return f"{_operand(condition.operand)}.is_in({', '.join(map(_operand, condition.choices))})"


def _function(condition: FunctionCondition) -> str:
    name = {"attribute_exists": "exists", "attribute_not_exists": "missing"}.get(condition.name, condition.name)
    given = ", ".join(_operand(operand) for operand in condition.operands()[1:])
    return f"{_operand(condition.path)}.{name}({given})"


def _all(condition: AndCondition) -> str:
    return " & ".join(f"({condition_text(part)})" for part in condition.parts)


def _any(condition: OrCondition) -> str:
    return " | ".join(f"({condition_text(part)})" for part in condition.parts)


def _not(condition: NotCondition) -> str:
    return f"~({condition_text(condition.part)})"


_TEXTS: dict[type, Callable[[Any], str]] = {
    CompareCondition: _compare,
    BetweenCondition: _between,
    InCondition: _in,
    FunctionCondition: _function,
    AndCondition: _all,
    OrCondition: _any,
    NotCondition: _not,
}


CONDITION = "ConditionalCheckFailedException"


def condition_failed(
    plan: Plan, arguments: Arguments, key: Mapping[str, Any], found: Item | None, code: str
) -> RunError:
    """The error of a write whose condition was false; `found` is the item as it was."""
    spec = plan.entity
    if found is not None and reader_of(spec).has_expired(found, arguments[NOW]):
        found = None
    about: dict[str, Any] = {"entity": spec.name, "key": key_of(spec, key), "code": code}
    named = item_named(spec, about["key"])
    if plan.exists == "must" and found is None:
        return NotFoundError(f"{named} is not there", **about)
    item = _readable(plan, found)
    if plan.exists == "must_not" and found is not None:
        return AlreadyExistsError(f"{named} is there already", item=item, **about)
    if plan.version is not None and (conflict := _version_conflict(plan, arguments, found)) is not None:
        expected, stored = conflict
        is_there = "is not there" if stored is None else f"has version {stored}"
        problem = f"{named} {is_there}, and version {expected} was expected"
        return VersionConflictError(problem, expected=expected, found=stored, item=item, **about)
    text = _conditions(plan, arguments)
    where = "there is no such item" if found is None else "the item is otherwise"
    return ConditionFailedError(f"{named}: {text} is not true, {where}", condition=text, item=item, **about)


def _readable(plan: Plan, found: Item | None) -> Any:
    """The entity, for the caller's information; None where it cannot be read."""
    if found is None:
        return None
    try:
        return reader_of(plan.entity).entity(found)
    except UnreadableItemError:
        return None


def _version_conflict(plan: Plan, arguments: Arguments, found: Item | None) -> tuple[int, int | None] | None:
    spec = plan.entity
    assert spec.version is not None, "only a versioned entity has an expected version"
    expected = int(reader(plan.version)(arguments))
    if found is None:
        return expected, None
    stored = int(found.get(spec.fields[spec.version].attribute, {"N": "0"}).get("N", "0"))
    return None if stored == expected else (expected, stored)


def _conditions(plan: Plan, arguments: Arguments) -> str:
    texts = [] if plan.condition is None else [condition_text(fill(plan.condition, arguments))]
    texts += [f"F.{name} == {reader(source)(arguments)!r}" for name, source in plan.assumed.items()]
    return " & ".join(texts) or "the condition"


_REASONS = {"ConditionalCheckFailed": CONDITION, "ValidationError": "ValidationException"}


def step_failed(plan: Plan, arguments: Arguments, key: Mapping[str, Any], reason: Mapping[str, Any]) -> RunError:
    """The error of one action of a cancelled transaction."""
    code = str(reason.get("Code"))
    if code == "ConditionalCheckFailed":
        return condition_failed(plan, arguments, key, reason.get("Item") or None, _REASONS[code])
    about: dict[str, Any] = {"entity": plan.entity.name, "key": key_of(plan.entity, key), "code": code}
    named = item_named(plan.entity, about["key"])
    if code in CONFLICTS or code in THROTTLED:
        passing = ServiceError(str(reason.get("Message", code)), CancellationReasons=[reason])
        return given_up(passing, 1)
    return RequestRefusedError(f"{named}: {reason.get('Message', code)}", **about)


def refused(plan: Plan, table: str, error: ServiceError) -> RunError:
    """The error of a request that the service refused for a reason that has nothing to do with its conditions."""
    if error.code == "ResourceNotFoundException":
        return TableMissingError(
            f"{plan.pattern}: table {table} is not there, or lacks what is asked of it ({error.message}); make it with"
            " connection.create_tables(...) or with what deploys your tables",
            code=error.code,
        )
    if error.code == "IdempotentParameterMismatchException":
        return TokenReusedError(
            f"{plan.pattern}: the token was used within ten minutes for a transaction that is not the same, or that"
            " met other items; give each transaction a token of its own",
            code=error.code,
        )
    return RequestRefusedError(
        f"{plan.pattern}: the service refused the request: {error.message}", entity=plan.entity.name, code=error.code
    )
