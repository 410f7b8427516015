"""What a call asks of the service, as it goes out: a plan and its arguments made into a request.

Requests are in the form of the Python SDK's client. What does not depend on arguments is worked out once per
plan; a call only fills in values. Connections send these requests, `keyplan explain` shows them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from keyplan import limits
from keyplan.design.plan import Plan
from keyplan.design.requests_guards import NOW
from keyplan.design.requests_items import check_model, maker_of
from keyplan.design.requests_keys import identity, item_key, walk_values
from keyplan.design.requests_reads import GetRequest, RangeRequest
from keyplan.design.requests_sources import WALKED, reader
from keyplan.design.requests_writes import WriteRequest

Request = dict[str, Any]

ACTIONS = {"PutItem": "Put", "UpdateItem": "Update", "DeleteItem": "Delete", "ConditionCheck": "ConditionCheck"}
"""What a transaction calls the operation of a plan that writes or checks one item."""


@lru_cache(maxsize=4096)
def write_request(plan: Plan) -> WriteRequest:
    """The request of a plan that writes one item."""
    return WriteRequest(plan)


@lru_cache(maxsize=4096)
def get_request(plan: Plan) -> GetRequest:
    """The request of a plan that reads items by key."""
    return GetRequest(plan)


@lru_cache(maxsize=4096)
def range_request(plan: Plan) -> RangeRequest:
    """The request of a query or a scan."""
    return RangeRequest(plan)


class BatchRequest:
    """The writes of a batch, by key: the last of several for one item counts."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._items = reader(plan.item)
        self._maker = maker_of(plan.entity)
        self._key = None if plan.key is None else item_key(plan.key)
        self._walk = None if plan.key is None or plan.walk is None else walk_values(plan.key, plan.walk[1])

    def writes(self, arguments: Mapping[str, Any]) -> list[Request]:
        """A PutRequest or DeleteRequest for each item, each item once."""
        found: dict[tuple[Any, ...], Request] = {}
        for key, write in self._puts(arguments) if self._walk is None else self._deletes(arguments):
            place = identity(key)
            found.pop(place, None)
            found[place] = write
        return list(found.values())

    def _puts(self, arguments: Mapping[str, Any]) -> list[tuple[Request, Request]]:
        made = []
        version = self.plan.entity.version
        for entity in self._items(arguments):
            check_model(self.plan.pattern, self.plan.entity, entity)
            item = self._maker.item(entity, None if version is None else getattr(entity, version) or 1)
            made.append(({name: item[name] for name in self.plan.schema.key}, {"PutRequest": {"Item": item}}))
        return made

    def _deletes(self, arguments: Mapping[str, Any]) -> list[tuple[Request, Request]]:
        assert self._walk is not None, "a batch of deletes goes over several values"
        assert self._key is not None, "of a key"
        keys = [self._key({**arguments, WALKED: value}) for value in self._walk(arguments)]
        return [(key, {"DeleteRequest": {"Key": key}}) for key in keys]


@lru_cache(maxsize=4096)
def batch_request(plan: Plan) -> BatchRequest:
    """The request of a plan that writes many items one by one."""
    return BatchRequest(plan)


def build(plan: Plan, arguments: Mapping[str, Any], *, table: str | None = None, now_s: int = 0) -> Request:
    """The request that a call sends; of several (walks, long batches) the first.

    `now_s` is the moment that expiry is compared with. A transaction's steps are built one by one, with
    `Transaction.calls`. Unique attributes add sentinels, which a connection works out from the stored item.
    """
    if plan.steps:
        raise ValueError(f"{plan.pattern} is a transaction: build the calls that it is made of one by one")
    told = {**arguments, NOW: now_s}
    name = table or plan.schema.name
    if plan.operation == "GetItem":
        return get_request(plan).request(told, name)
    if plan.operation == "BatchGetItem":
        get = get_request(plan)
        return get.batch(get.keys(told)[: limits.BATCH_GET_KEYS], name)
    if plan.operation in {"Query", "Scan"}:
        ranged = range_request(plan)
        sizes = [size for size in (plan.limit, plan.page_size) if size is not None and plan.select != "count"]
        return ranged.request(ranged.partitions(told)[0], name) | ({"Limit": min(sizes)} if sizes else {})
    if plan.operation == "BatchWriteItem":
        return {"RequestItems": {name: batch_request(plan).writes(told)[: limits.BATCH_WRITE_ITEMS]}}
    return write_request(plan).request(told, name)
