"""A transport that keeps each request with its receipt, and the items that it wrote before and after."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from keyplan.client.requests import WRITES
from keyplan.cost.units import READS, Spent, of_receipts
from keyplan.dynamodb.values.types import Item
from keyplan.engine.engine import Engine
from keyplan.verify.shelves import Shelf, canonical

Request = dict[str, Any]
_DATA = READS | WRITES


@dataclass(frozen=True)
class Written:
    """An item that a request wrote, or checked."""

    table: str
    key: Request
    before: Item | None
    after: Item | None
    stored: Request | None
    """The same as `after`, with binary as bytes."""
    transactional: bool


@dataclass(frozen=True)
class Exchange:
    """A request that was answered."""

    operation: str
    request: Request
    answer: Mapping[str, Any]
    written: tuple[Written, ...]
    held: tuple[tuple[str, bool, Item | None], ...]
    """Of reads by key: table, whether the read is consistent, and what the shelves held there."""
    spent: Spent
    """What the receipt says."""


class Recorder:
    """Calls an engine and keeps what was said; the shelves follow every write."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.shelves: dict[str, Shelf] = {}
        self.exchanges: list[Exchange] = []

    def call(self, operation: str, request: Request) -> dict[str, Any]:
        """Run one operation. Raises ServiceError."""
        if operation not in _DATA:
            return self.engine.call(operation, request)
        targets = list(_targets(operation, request))
        held = tuple((table, strong, self.shelves[table].at(key)) for table, key, strong in _keys(operation, request))
        answer = self.engine.call(operation, {**request, "ReturnConsumedCapacity": "INDEXES"})
        written = tuple(self._written(table, key, operation) for table, key in targets)
        self.exchanges.append(Exchange(operation, request, answer, written, held, of_receipts(operation, answer)))
        return answer

    def taken(self) -> list[Exchange]:
        """What was said since this was last asked."""
        taken, self.exchanges = self.exchanges, []
        return taken

    def close(self) -> None:
        """The engine is closed by who opened it."""

    def _written(self, table: str, key: Request, operation: str) -> Written:
        shelf = self.shelves[table]
        key = {name: key[name] for name in shelf.schema.key}
        before = shelf.at(key)
        found = self.engine.call("GetItem", {"TableName": table, "Key": key, "ConsistentRead": True}).get("Item")
        after = canonical(found) if found else None
        shelf.put(key, after)
        return Written(table, key, before, after, found or None, operation == "TransactWriteItems")


def _targets(operation: str, request: Request) -> Iterator[tuple[str, Request]]:
    """The items that a request writes or checks: table, and the key or the whole item."""
    if operation in {"PutItem", "UpdateItem", "DeleteItem"}:
        yield request["TableName"], request.get("Key") or request["Item"]
    elif operation == "BatchWriteItem":
        for table, writes in request["RequestItems"].items():
            for write in writes:
                (members,) = write.values()
                yield table, members.get("Key") or members["Item"]
    elif operation == "TransactWriteItems":
        for action in request["TransactItems"]:
            (members,) = action.values()
            yield members["TableName"], members.get("Key") or members["Item"]


def _keys(operation: str, request: Request) -> Iterator[tuple[str, Request, bool]]:
    """The keys that a request reads, and whether consistently."""
    if operation == "GetItem":
        yield request["TableName"], request["Key"], bool(request.get("ConsistentRead"))
    elif operation == "BatchGetItem":
        for table, wanted in request["RequestItems"].items():
            for key in wanted["Keys"]:
                yield table, key, bool(wanted.get("ConsistentRead"))
