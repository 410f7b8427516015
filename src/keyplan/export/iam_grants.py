"""What patterns and consumers are allowed to ask, request by request as connections and runners send them.

Sources: Service Authorization Reference, "Actions, resources, and condition keys for Amazon DynamoDB" (which action has
which condition key); developer guide, "Using IAM with DynamoDB transactions" (a transaction needs the actions of its
parts, a check ConditionCheckItem).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from keyplan.design.patterns import Pattern
from keyplan.design.plan import Plan
from keyplan.design.requests_guards import expiry_of
from keyplan.design.tables import Table
from keyplan.export.calls import sent
from keyplan.export.iam_keys import ANY, NOWHERE, Bindings, Leading, literal

_MAY_CHANGE_NOTHING = frozenset({"set_if_missing", "add_to_set", "remove_from_set"})
"""Actions of updates that are left out where their value is empty."""
_FAILURE_KEY = ("consumer", "event_id")


@dataclass(frozen=True)
class Limits:
    """What a request must be like beside its partition."""

    enclosed: bool = False
    """Whether it is part of a TransactWriteItems."""
    select: str = ""
    """Its dynamodb:Select; any where it is empty."""
    attributes: tuple[str, ...] = ()
    """With SPECIFIC_ATTRIBUTES: the attributes that it may name."""


@dataclass(frozen=True)
class Grant:
    """One action on a table, an index or a stream."""

    action: str
    table: str
    """Its declared name; empty for what has no resource."""
    under: str = ""
    """What follows the table in the ARN: index/NAME, stream/*."""
    leading: Leading = NOWHERE
    limits: Limits = field(default_factory=Limits)


def of_pattern(pattern: Pattern[..., Any], bindings: Bindings) -> Iterator[Grant]:
    """Everything that a call of a pattern sends."""
    plan = pattern.plan
    if plan.steps:
        for step in plan.steps:
            yield from _write(step, bindings, Limits(enclosed=True))
    elif plan.reading:
        yield _read(pattern, bindings)
    else:
        yield from _write(plan, bindings, Limits())


def _read(pattern: Pattern[..., Any], bindings: Bindings) -> Grant:
    plan = pattern.plan
    leading = NOWHERE if plan.key is None else bindings.of_call(plan.key.partition)
    under = "" if plan.index is None else f"index/{plan.index.name}"
    return Grant(plan.operation, plan.schema.name, under, leading, _selected(pattern))


def _selected(pattern: Pattern[..., Any]) -> Limits:
    """Counts see no more of the items than they count by: keys, and what tells whose they are and whether they expired.

    Names in a request are the same in every call.

    Source: API reference, Query: a ProjectionExpression without Select is SPECIFIC_ATTRIBUTES.
    """
    if pattern.plan.select != "count":
        return Limits()
    told = sent(pattern)
    if isinstance(told, str):
        return Limits()
    if told.request.get("Select") == "COUNT":
        return Limits(select="COUNT")
    if "ProjectionExpression" not in told.request:
        return Limits()
    named = told.request["ExpressionAttributeNames"].values()
    return Limits(select="SPECIFIC_ATTRIBUTES", attributes=tuple(sorted(named)))


def _write(plan: Plan, bindings: Bindings, limits: Limits) -> Iterator[Grant]:
    table, action = plan.schema.name, plan.operation
    leading = _written(plan, bindings)
    if action in {"ConditionCheck", "BatchWriteItem"}:
        yield Grant("ConditionCheckItem" if action == "ConditionCheck" else action, table, leading=leading)
        return
    guarded = plan.keeps_unique
    yield Grant(action, table, leading=leading, limits=replace(limits, enclosed=limits.enclosed or guarded))
    if guarded:
        yield from _sentinels(plan, bindings, leading)
    if action != "UpdateItem":
        return
    if plan.entity.version is None and all(one.name in _MAY_CHANGE_NOTHING for one in plan.actions):
        yield Grant("ConditionCheckItem", table, leading=leading)  # what an update without changes is in a transaction
    if plan.exists == "may" and expiry_of(plan.entity) is not None:
        yield Grant("DeleteItem", table, leading=leading)  # an expired item is cleared away first


def _written(plan: Plan, bindings: Bindings) -> Leading:
    if plan.key is not None:
        return bindings.of_call(plan.key.partition)
    return bindings.of_item(plan.entity.key.partition, plan.item)


def _sentinels(plan: Plan, bindings: Bindings, leading: Leading) -> Iterator[Grant]:
    """The item as it was is read, what it gives up is released, what it takes is put."""
    table = plan.schema.name
    if plan.reads_first:
        yield Grant("GetItem", table, leading=leading)
    actions = ["PutItem"] * (plan.operation != "DeleteItem") + ["DeleteItem"] * plan.reads_first
    for rule in plan.entity.sentinels:
        for action in actions:
            yield Grant(action, table, leading=bindings.of_item(rule.key.partition, None), limits=Limits(enclosed=True))


# Consumers.


def of_consumers(table: Table, prefix: str, checkpoints: Table | None) -> Iterator[Grant]:
    """Return what a runner of a table's consumers sends: reads of the stream, and checkpoints kept in a table.

    A table that declares no consumer may be read by any: their checkpoints are all those that begin with its name.
    """
    yield Grant("ListStreams", "")
    for action in ("DescribeStream", "GetRecords", "GetShardIterator"):
        yield Grant(action, table.name, "stream/*")
    if checkpoints is None:
        return
    yield Grant("DescribeTable", checkpoints.name)
    named = [_of_consumer(table, consumer.name, prefix) for consumer in table.consumers]
    for leading in named or [Leading((literal(f"{prefix}{table.name}/") + ANY,))]:
        for action in ("Query", "PutItem", "UpdateItem", "DeleteItem"):
            yield Grant(action, checkpoints.name, leading=leading)


def of_failures(kept_in: Table, table: Table, prefix: str) -> Iterator[Grant]:
    """Records of a table that failed for good, put into a table for them."""
    for consumer in table.consumers:
        if consumer.on_failure is not None:
            yield Grant("PutItem", kept_in.name, leading=_of_consumer(table, consumer.name, prefix))


def keeps_failures(table: Table) -> bool:
    """Whether a table is one that TableDestination writes to."""
    return table.schema.key == _FAILURE_KEY and any(entity.name == "Failure" for entity in table.entities)


def _of_consumer(table: Table, name: str, prefix: str) -> Leading:
    return Leading((literal(f"{prefix}{table.name}/{name}"),))


# Comparing and creating tables.


def of_checks(table: Table) -> Iterator[Grant]:
    """Return what create_tables sends for a table that exists as declared."""
    yield Grant("DescribeTable", table.name)
    if table.schema.ttl is not None:
        yield Grant("DescribeTimeToLive", table.name)
    if table.schema.point_in_time_recovery:
        yield Grant("DescribeContinuousBackups", table.name)


def of_creation(table: Table) -> Iterator[Grant]:
    """Return what create_tables sends for a table that is missing, or whose expiry or backups are off."""
    yield from of_checks(table)
    yield Grant("CreateTable", table.name)
    if table.schema.ttl is not None:
        yield Grant("UpdateTimeToLive", table.name)
    if table.schema.point_in_time_recovery:
        yield Grant("UpdateContinuousBackups", table.name)
