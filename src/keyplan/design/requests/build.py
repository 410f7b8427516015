"""Functions that build the requests of a call, and check expressions against DynamoDB's limits.

Requests use the format of the boto3 client. Everything that does not depend on arguments is computed once per plan, and
a call only fills in values. Connections send these requests, and `keyplan explain` shows them.

Source of the limits on expressions (4 KB, and 300 operators and functions): developer guide, "Quotas in Amazon
DynamoDB".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Any

from keyplan import limits
from keyplan.design.errors import DesignError
from keyplan.design.planning.plan import PatternDeclaration, Plan
from keyplan.design.requests.items import (
    ComputedFields,
    Item,
    check_model,
    item_builder,
    item_key_maker,
    key_identity,
    walk_values,
)
from keyplan.design.requests.reads import GetRequest, RangeRequest, hydration_members
from keyplan.design.requests.updates import UpdateExpression
from keyplan.design.requests.writer import WALK_VALUE, RequestPlaceholders, reader
from keyplan.design.requests.writes import WriteConditions, WriteRequest, with_time
from keyplan.dynamodb.expressions.tokens import WORD, tokenize

Request = dict[str, Any]

ACTIONS = {"PutItem": "Put", "UpdateItem": "Update", "DeleteItem": "Delete", "ConditionCheck": "ConditionCheck"}
"""Maps operations that write or check one item, such as PutItem, to the names of transaction actions, such as Put."""


@lru_cache(maxsize=4096)
def write_request(plan: Plan) -> WriteRequest:
    """Return the cached request builder for a plan that writes one item."""
    return WriteRequest(plan)


@lru_cache(maxsize=4096)
def get_request(plan: Plan) -> GetRequest:
    """Return the cached request builder for a plan that reads items by key."""
    return GetRequest(plan)


@lru_cache(maxsize=4096)
def range_request(plan: Plan) -> RangeRequest:
    """Return the cached request builder for a query or a scan."""
    return RangeRequest(plan)


class BatchRequest:
    """Builder of the write requests in a batch. If an item occurs several times, only its last write is sent."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._items = reader(plan.item)
        self._maker = item_builder(plan.entity)
        self._computed = ComputedFields(plan.entity, exists="may", counts=False)
        self._key = None if plan.key is None else item_key_maker(plan.key)
        self._walk = None if plan.key is None or plan.walk is None else walk_values(plan.key, plan.walk[1])

    def writes(self, arguments: Mapping[str, Any]) -> list[Request]:
        """Return one PutRequest or DeleteRequest for each distinct key."""
        requests: dict[tuple[Any, ...], Request] = {}
        for key, write in self._puts(arguments) if self._walk is None else self._deletes(arguments):
            identity = key_identity(key)
            requests.pop(identity, None)
            requests[identity] = write
        return list(requests.values())

    def _puts(self, arguments: Mapping[str, Any]) -> list[tuple[Request, Request]]:
        requests = []
        for entity in self._items(arguments):
            check_model(self.plan.pattern, self.plan.entity, entity)
            item = self._maker.item(entity, self._computed.values(entity, arguments))
            requests.append(({name: item[name] for name in self.plan.schema.key}, {"PutRequest": {"Item": item}}))
        return requests

    def _deletes(self, arguments: Mapping[str, Any]) -> list[tuple[Request, Request]]:
        assert self._walk is not None, "a batch of deletes goes over several values"
        assert self._key is not None, "of a key"
        keys = [self._key({**arguments, WALK_VALUE: value}) for value in self._walk(arguments)]
        return [(key, {"DeleteRequest": {"Key": key}}) for key in keys]


@lru_cache(maxsize=4096)
def batch_request(plan: Plan) -> BatchRequest:
    """Return the cached request builder for a plan that writes many items without a transaction."""
    return BatchRequest(plan)


def build(plan: Plan, arguments: Mapping[str, Any], *, table: str | None = None, now_s: float = 0) -> Request:
    """Build the request of a call. If the call sends several requests, such as a long batch, build the first one.

    `now_s` is the time of the call, in seconds since 1970. To build the steps of a transaction one by one, use
    `Transaction.calls`. The guard items that reserve unique values are not included: a connection adds them, because
    they depend on the stored item.
    """
    if plan.steps:
        raise ValueError(f"{plan.pattern} is a transaction: build its calls one by one")
    values = with_time(arguments, now_s)
    name = table or plan.schema.name
    if plan.operation == "GetItem":
        return get_request(plan).request(values, name)
    if plan.operation == "BatchGetItem":
        get = get_request(plan)
        return get.batch(get.keys(values)[: limits.BATCH_GET_KEYS], name)
    if plan.operation in {"Query", "Scan"}:
        builder = range_request(plan)
        sizes = [size for size in (plan.limit, plan.page_size) if size is not None and plan.select != "count"]
        return builder.request(builder.partitions(values)[0], name) | ({"Limit": min(sizes)} if sizes else {})
    if plan.operation == "BatchWriteItem":
        return {"RequestItems": {name: batch_request(plan).writes(values)[: limits.BATCH_WRITE_ITEMS]}}
    return write_request(plan).request(values, name)


def build_hydration(plan: Plan, keys: list[Item], *, table: str | None = None) -> Request:
    """Build the request that reads up to 100 full items from the table after the pattern has read an index."""
    return {"RequestItems": {table or plan.schema.name: {"Keys": keys, **hydration_members(plan)}}}


_OPERATORS = frozenset({"AND", "OR", "NOT", "IN", "BETWEEN", "=", "<>", "<", "<=", ">", ">="})
_SHORTER_UPDATE = "change fewer fields at once, or store fields that change together in one nested model"
_SHORTER_CONDITION = "compare with a range or a list of values, F.x.is_in(...), or store the result in a separate field"


def check_expression_limits(pattern: PatternDeclaration, plan: Plan) -> None:
    """Raise DesignError if a condition, filter or update expression exceeds DynamoDB's limits.

    Plans with faults are not checked, because they cannot be sent and their keys may be incomplete.
    """
    if plan.faults:
        return
    for kind, text in expressions(plan):
        operators, size = 0 if kind == "update" else count_operators(text), len(text.encode())
        if operators > limits.EXPRESSION_OPERATORS:
            excess = f"{operators} operators and functions, but the limit is {limits.EXPRESSION_OPERATORS}"
        elif size > limits.EXPRESSION_BYTES:
            excess = f"{size:,} bytes, but the limit is {limits.EXPRESSION_BYTES:,}"
        else:
            continue
        raise DesignError(
            f"the {kind} of {pattern.name} has {excess}",
            place=pattern.place,
            fix=_SHORTER_UPDATE if kind == "update" else _SHORTER_CONDITION,
        )


def expressions(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield the kind and the text of each expression of a plan. The kind is "filter", "condition" or "update", and the
    text is the longest possible form of the expression.
    """
    if plan.filter is not None:
        yield "filter", RangeRequest(plan).filter
    placeholders = RequestPlaceholders()
    if plan.operation == "UpdateItem" or plan.condition is not None or plan.replaceable is not None or plan.assumed:
        conditions = WriteConditions(plan, placeholders)
        if conditions.longest:
            yield "condition", conditions.longest
    if plan.operation == "UpdateItem":
        yield "update", UpdateExpression(plan, placeholders).longest


def count_operators(text: str) -> int:
    """Return the number of operators and functions in an expression, as DynamoDB counts them for its limit.

    The AND in a BETWEEN condition is not counted.
    """
    tokens = tokenize(text)
    kinds = [token.kind for token, next_token in pairwise(tokens) if _is_operator(token.kind, next_token.kind)]
    return len(kinds) - kinds.count("BETWEEN")


def _is_operator(kind: str, next_kind: str) -> bool:
    return kind in _OPERATORS or (kind == WORD and next_kind == "(")
