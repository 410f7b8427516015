"""Generates least-privilege IAM policies, which allow exactly the requests of a design's patterns and consumers.

One statement contains all partitions of a table that an action is allowed to access. A batch or transaction on several
partitions is therefore allowed, whether DynamoDB evaluates its items separately or together.

Sources: DynamoDB developer guide, "Using IAM policy conditions for fine-grained access control" (condition keys, with
ForAllValues; a scan has no leading keys) and "Using IAM with DynamoDB transactions" (EnclosingOperation); IAM user
guide, "Single-valued vs. multivalued context keys" (ForAllValues is also true if the key is missing, which a Null
condition prevents), "IAM JSON policy elements: Sid" (letters and digits), "IAM and AWS STS quotas" (sizes without white
space).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from keyplan.design.declaring.patterns import Pattern
from keyplan.design.declaring.tables import Table
from keyplan.design.parameters import WRITE_TIME
from keyplan.design.planning.indexes import requested_attributes
from keyplan.design.planning.plan import Plan
from keyplan.export.examples import example_request
from keyplan.export.iam_keys import ANY, NOWHERE, Bindings, Leading, literal

MANAGED_POLICY_CHARACTERS = 6144
_VERSION = "2012-10-17"
"""The version of the policy language that supports variables."""
_KEYS = (
    "dynamodb:LeadingKeys",
    "dynamodb:SecondPartitionKeyValues",
    "dynamodb:ThirdPartitionKeyValues",
    "dynamodb:FourthPartitionKeyValues",
)
"""The condition keys for the partition key attributes, from the first to the fourth."""


_MAY_CHANGE_NOTHING = frozenset({"set_if_missing", "add_to_set", "remove_from_set"})
"""The update actions that an update omits from its request if their value is empty."""
_FAILURE_KEY = ("consumer", "event_id")


@dataclass(frozen=True)
class Account:
    """The account and Region of the tables, and the prefix of table names."""

    region: str = "*"
    number: str = "*"
    partition: str = "aws"
    prefix: str = ""

    def arn(self, table: str, subpath: str) -> str:
        """Return the ARN of a table, or of one of its indexes or streams. `subpath` is the path after the table name.

        For an empty table name, return "*".
        """
        if not table:
            return "*"
        name = f"arn:{self.partition}:dynamodb:{self.region}:{self.number}:table/{self.prefix}{table}"
        return f"{name}/{subpath}" if subpath else name


Texts = tuple[str, ...]
Location = tuple[str, str]
"""A table name and the path after it in the ARN, such as index/NAME."""


@dataclass(frozen=True)
class PolicyStatement:
    """A policy statement that allows actions on resources."""

    actions: Texts
    locations: tuple[Location, ...]
    leading: tuple[Texts, ...]
    """The allowed partitions, each as a tuple with one text per partition key attribute. If empty, all partitions are
    allowed.
    """
    limits: Limits

    def as_json(self, account: Account, sid: str) -> dict[str, Any]:
        """Return the statement in the JSON format of a policy."""
        statement: dict[str, Any] = {
            "Sid": sid,
            "Effect": "Allow",
            "Action": [f"dynamodb:{action}" for action in self.actions],
            "Resource": [account.arn(*location) for location in self.locations],
        }
        conditions = self._conditions()
        return {**statement, "Condition": conditions} if conditions else statement

    def _conditions(self) -> dict[str, Any]:
        patterns: dict[str, list[str]] = {}
        for name, texts in zip(_KEYS, zip(*self.leading, strict=True), strict=False):
            if ANY not in texts:
                patterns[name] = list(dict.fromkeys(texts))
        conditions: dict[str, Any] = {}
        if patterns:
            conditions |= {"ForAllValues:StringLike": patterns, "Null": dict.fromkeys(patterns, "false")}
        if self.limits.attributes:
            conditions["ForAllValues:StringEquals"] = {"dynamodb:Attributes": list(self.limits.attributes)}
        if self.limits.select:
            conditions["StringEquals"] = {"dynamodb:Select": self.limits.select}
        if self.limits.enclosed:
            conditions["ForAnyValue:StringEquals"] = {"dynamodb:EnclosingOperation": ["TransactWriteItems"]}
        return conditions

    @property
    def title(self) -> str:
        """Return an ID (Sid) for the statement. The ID consists of letters and digits."""
        table = self.locations[0][0]
        names = [table, *(_last(subpath) for _, subpath in self.locations if subpath.startswith("index/"))]
        verbs = [action.removesuffix("Item") for action in self.actions]
        return "".join(map(_camel, (*names[: 1 + _NAMED_INDEXES], *verbs))) + _TITLE_SUFFIXES[self.limits.enclosed]


_NAMED_INDEXES = 4
_TITLE_SUFFIXES = {False: "", True: "InTransactions"}


def _last(path: str) -> str:
    return path.rpartition("/")[2]


def _camel(name: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in re.split(r"[^A-Za-z0-9]+", name))


def policy(grants: Iterable[Grant], account: Account) -> dict[str, Any]:
    """Return one policy that allows all grants."""
    return _document(_statements(grants), account)


def policies(
    grants: Iterable[Grant], account: Account, max_characters: int = MANAGED_POLICY_CHARACTERS
) -> list[dict[str, Any]]:
    """Return policies that allow all grants. Each has at most `max_characters` characters, unless a single statement
    is longer.
    """
    groups: list[list[PolicyStatement]] = [[]]
    for statement in _statements(grants):
        if groups[-1] and size(_document([*groups[-1], statement], account)) > max_characters:
            groups.append([])
        groups[-1].append(statement)
    return [_document(statements, account) for statements in groups]


def size(document: Any) -> int:
    """Return the number of characters in a policy, not counting whitespace."""
    return len(re.sub(r"\s", "", json.dumps(document, ensure_ascii=False)))


def _document(statements: Sequence[PolicyStatement], account: Account) -> dict[str, Any]:
    sids: set[str] = set()
    documents = []
    for statement in statements:
        title = statement.title
        sid = next(
            candidate for number in count(1) if (candidate := title if number == 1 else f"{title}{number}") not in sids
        )
        sids.add(sid)
        documents.append(statement.as_json(account, sid))
    return {"Version": _VERSION, "Statement": documents}


# Statements with one action and one resource each. They are merged if that does not allow more.


def _statements(grants: Iterable[Grant]) -> list[PolicyStatement]:
    requests: dict[tuple[Location, str], dict[Limits, dict[Texts, None]]] = {}
    for grant in grants:
        by_limits = requests.setdefault(((grant.table, grant.subpath), grant.action), {})
        by_limits.setdefault(grant.limits, {})[() if grant.leading.is_open else grant.leading.texts] = None
    statements = [
        PolicyStatement((action,), (location,), leading, limits)
        for (location, action), by_limits in requests.items()
        for limits, leading in _by_partition(by_limits)
    ]
    by_location = _merged(statements, lambda statement: (statement.locations, statement.leading, statement.limits))
    return _merged(by_location, lambda statement: (statement.actions, statement.leading, statement.limits))


def _by_partition(by_limits: dict[Limits, dict[Texts, None]]) -> Iterator[tuple[Limits, tuple[Texts, ...]]]:
    """Yield each set of conditions with the partitions that are allowed under these conditions.

    A set of conditions is omitted if all of its partitions are also allowed without conditions. If a condition requires
    a transaction, partitions that are allowed without conditions are added, because a transaction can access them too.
    """
    unconditional = by_limits.get(Limits(), {})
    for limits, texts in by_limits.items():
        if limits != Limits() and (() in unconditional or not texts.keys() - unconditional.keys()):
            continue
        allowed_texts = {**unconditional, **texts} if limits.enclosed else texts
        for group in _groups(sorted(allowed_texts)):
            yield limits, group


def _groups(texts: Sequence[Texts]) -> Iterator[tuple[Texts, ...]]:
    """Divide partitions into groups that can each be expressed in one condition.

    If all partitions are allowed (an empty tuple in `texts`), yield a single empty group. If all partition keys have
    one attribute, yield all of them in one group. Otherwise, yield a separate group for each partition key.
    """
    if () in texts:
        yield ()
    elif all(len(text) == 1 for text in texts):
        yield tuple(texts)
    else:
        yield from ((text,) for text in texts)


def _merged(statements: Iterable[PolicyStatement], merge_key: Any) -> list[PolicyStatement]:
    """Merge statements that have equal values of `merge_key`, and return the resulting statements.

    A merged statement allows all actions and resources of the statements that it replaces.
    """
    merged_by_key: dict[Any, PolicyStatement] = {}
    for statement in statements:
        key = merge_key(statement)
        merged = merged_by_key.get(key, statement)
        merged_by_key[key] = PolicyStatement(
            tuple(dict.fromkeys((*merged.actions, *statement.actions))),
            tuple(dict.fromkeys((*merged.locations, *statement.locations))),
            statement.leading,
            statement.limits,
        )
    return list(merged_by_key.values())


@dataclass(frozen=True)
class Limits:
    """The conditions on a grant, except those on partition keys."""

    enclosed: bool = False
    """True if the action is allowed only as a part of TransactWriteItems."""
    select: str = ""
    """The value of dynamodb:Select that a request must have, or "" for any value."""
    attributes: tuple[str, ...] = ()
    """The attributes that the request is allowed to name if `select` is SPECIFIC_ATTRIBUTES."""


@dataclass(frozen=True)
class Grant:
    """The permission for one action on a table, an index or a stream."""

    action: str
    table: str
    """The declared name of the table, or "" for an action that has no resource."""
    subpath: str = ""
    """The path after the table in the ARN, such as index/NAME or stream/*."""
    leading: Leading = NOWHERE
    limits: Limits = field(default_factory=Limits)


def of_pattern(pattern: Pattern[..., Any], bindings: Bindings) -> Iterator[Grant]:
    """Yield the grants for all requests that a pattern sends."""
    plan = pattern.plan
    if plan.steps:
        for step in plan.steps:
            yield from _write(step, bindings, Limits(enclosed=True))
    elif plan.reading:
        yield _read(pattern, bindings)
        if plan.hydrated:
            yield from _hydration(plan, bindings)
    else:
        yield from _write(plan, bindings, Limits())


def _read(pattern: Pattern[..., Any], bindings: Bindings) -> Grant:
    plan = pattern.plan
    leading = NOWHERE if plan.key is None else bindings.for_call(plan.key.partition)
    subpath = "" if plan.index is None else f"index/{plan.index.name}"
    return Grant(plan.operation, plan.schema.name, subpath, leading, _selected(pattern))


def _hydration(plan: Plan, bindings: Bindings) -> Iterator[Grant]:
    """Yield the grants for reading whole items after a query on an index.

    A binding is used only if its parameter is in the partition key condition of the query.
    """
    parameter_names = (
        {name for value in plan.key.partition for name in value.sources} if plan.key is not None else set()
    )
    query_bindings = Bindings({name: value for name, value in bindings.values.items() if name in parameter_names})
    for entity in plan.entities:
        yield Grant("BatchGetItem", plan.schema.name, leading=query_bindings.for_item(entity.key.partition, None))


def _selected(pattern: Pattern[..., Any]) -> Limits:
    """Return the IAM conditions that limit a read to the data that its pattern requests: a count, or certain
    attributes.

    Every call to a pattern requests the same attributes.

    Source: API reference, Query: a ProjectionExpression without Select is SPECIFIC_ATTRIBUTES.
    """
    if pattern.plan.select != "count" and (
        pattern.plan.operation not in {"Query", "Scan"} or requested_attributes(pattern.plan) is None
    ):
        return Limits()
    call = example_request(pattern)
    if isinstance(call, str):
        return Limits()
    if call.request.get("Select") == "COUNT":
        return Limits(select="COUNT")
    if "ProjectionExpression" not in call.request:
        return Limits()
    names = call.request["ExpressionAttributeNames"].values()
    return Limits(select="SPECIFIC_ATTRIBUTES", attributes=tuple(sorted(names)))


def _write(plan: Plan, bindings: Bindings, limits: Limits) -> Iterator[Grant]:
    table, action = plan.schema.name, plan.operation
    leading = _written_partitions(plan, bindings)
    if action in {"ConditionCheck", "BatchWriteItem"}:
        yield Grant("ConditionCheckItem" if action == "ConditionCheck" else action, table, leading=leading)
        return
    is_guarded = plan.keeps_unique
    # A patch writes in a transaction only if the call sets unique values.
    enclosed = limits.enclosed or (is_guarded and not any(write_action.optional for write_action in plan.actions))
    yield Grant(action, table, leading=leading, limits=replace(limits, enclosed=enclosed))
    if is_guarded:
        yield from _sentinels(plan, bindings, leading)
    if action != "UpdateItem":
        return
    required = [action for action in plan.actions if not action.optional]
    patch_only = len(required) < len(plan.actions) and all(requirement.source is WRITE_TIME for requirement in required)
    may_change_nothing = plan.entity.version is None and all(
        requirement.name in _MAY_CHANGE_NOTHING for requirement in required
    )
    if may_change_nothing or patch_only:
        yield Grant(
            "ConditionCheckItem", table, leading=leading
        )  # an update without changes becomes a check in a transaction
    if plan.exists == "may" and plan.entity.checked_expiry is not None:
        yield Grant("DeleteItem", table, leading=leading)  # an expired item is deleted first


def _written_partitions(plan: Plan, bindings: Bindings) -> Leading:
    if plan.key is not None:
        return bindings.for_call(plan.key.partition)
    return bindings.for_item(plan.entity.key.partition, plan.item)


def _sentinels(plan: Plan, bindings: Bindings, leading: Leading) -> Iterator[Grant]:
    """Yield the grants for the items that reserve unique values: permissions to put them, to delete them, and to read
    the item that the write changes.
    """
    table = plan.schema.name
    if plan.reads_first:
        yield Grant("GetItem", table, leading=leading)
    actions = ["PutItem"] * (plan.operation != "DeleteItem") + ["DeleteItem"] * plan.reads_first
    for rule in plan.entity.sentinels:
        for action in actions:
            yield Grant(
                action, table, leading=bindings.for_item(rule.key.partition, None), limits=Limits(enclosed=True)
            )


# Consumers.


def of_consumers(table: Table, prefix: str, checkpoints: Table | None) -> Iterator[Grant]:
    """Yield the grants for running the consumers of a table: to read its stream, and to access the table `checkpoints`.

    In the checkpoint table, only the checkpoints of the table's consumers can be accessed. If the design declares no
    consumers for the table, these are the checkpoints of any consumer of the table.
    """
    yield Grant("ListStreams", "")
    for action in ("DescribeStream", "GetRecords", "GetShardIterator"):
        yield Grant(action, table.name, "stream/*")
    if checkpoints is None:
        return
    yield Grant("DescribeTable", checkpoints.name)
    declared = [_of_consumer(table, consumer.name, prefix) for consumer in table.consumers]
    for leading in declared or [Leading((literal(f"{prefix}{table.name}/") + ANY,))]:
        for action in ("Query", "PutItem", "UpdateItem", "DeleteItem"):
            yield Grant(action, checkpoints.name, leading=leading)


def of_failures(failure_table: Table, table: Table, prefix: str) -> Iterator[Grant]:
    """Yield the grants for storing failed records of the consumers of `table` in the table `failure_table`."""
    for consumer in table.consumers:
        if consumer.on_failure is not None:
            yield Grant("PutItem", failure_table.name, leading=_of_consumer(table, consumer.name, prefix))


def stores_failures(table: Table) -> bool:
    """Return True if a table has the key and the entity that TableDestination uses to store failed records."""
    return table.schema.key == _FAILURE_KEY and any(entity.name == "Failure" for entity in table.entities)


def _of_consumer(table: Table, name: str, prefix: str) -> Leading:
    return Leading((literal(f"{prefix}{table.name}/{name}"),))


# Comparing and creating tables.


def of_checks(table: Table) -> Iterator[Grant]:
    """Yield the grants for the requests that create_tables sends if the table already exists and matches its
    declaration.
    """
    yield Grant("DescribeTable", table.name)
    if table.schema.ttl is not None:
        yield Grant("DescribeTimeToLive", table.name)
    if table.schema.point_in_time_recovery:
        yield Grant("DescribeContinuousBackups", table.name)


def of_creation(table: Table) -> Iterator[Grant]:
    """Yield the grants for the requests that create_tables sends if the table does not exist.

    They also allow enabling TTL and point-in-time recovery.
    """
    yield from of_checks(table)
    yield Grant("CreateTable", table.name)
    if table.schema.ttl is not None:
        yield Grant("UpdateTimeToLive", table.name)
    if table.schema.point_in_time_recovery:
        yield Grant("UpdateContinuousBackups", table.name)
