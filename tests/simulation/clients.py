"""Clients that retry, the history they know of, and the auditor who compares it with the database.

Every client says what it is about to do before it does it and what came of it. After an internal error a
write may have been applied or not: that is the one doubt that the service leaves, and the only one that
the auditor grants. A transaction with a client token leaves none, since it can be sent again.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tests.engine import tables_of

from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan.errors import (
    ConditionalCheckFailedError,
    InternalServerError,
    ServiceError,
    TransactionCanceledError,
)

ACCOUNTS = 6
BEGINNING = 100
MAX_TRIES = 40
TRANSIENT = frozenset(
    (
        "InternalServerError",
        "ProvisionedThroughputExceededException",
        "ThrottlingException",
        "TransactionConflictException",
        "TransactionInProgressException",
    )
)
_TRANSIENT_REASONS = frozenset(("None", "TransactionConflict", "ProvisionedThroughputExceeded", "ThrottlingError"))


@dataclass
class History:
    """Acknowledged and uncertain writes of the clients."""

    certain: Counter[str] = field(default_factory=Counter)
    """Additions to each counter that were acknowledged."""
    doubtful: Counter[str] = field(default_factory=Counter)
    """Additions whose answer was an internal error."""
    balances: Counter[str] = field(default_factory=Counter)
    created: dict[str, str] = field(default_factory=dict)
    """Client that received the acknowledgement of each created item."""
    perhaps: dict[str, set[str]] = field(default_factory=dict)
    """Who may have, after an internal error."""
    puts: dict[str, set[int]] = field(default_factory=dict)
    """The versions that each item may have."""
    errors: Counter[str] = field(default_factory=Counter)
    trail: list[str] = field(default_factory=list)
    """Every call and what came of it, to compare runs."""


class Clients:
    """Several clients, taking turns as one seed says."""

    def __init__(self, engine: Engine, clock: ManualClock, seed: int) -> None:
        self.engine = engine
        self.clock = clock
        self.random = random.Random(seed)
        self.history = History()
        self.number = 0

    def open_accounts(self) -> None:
        """Store the initial amount of every account, with retries, because repeating this is harmless."""
        for number in range(ACCOUNTS):
            name = f"account{number}"
            item = {**tables_of.key(name), "balance": {"N": str(BEGINNING)}, "g": {"S": "account"}}
            while True:
                try:
                    self.call("PutItem", {"TableName": "things", "Item": item})
                    break
                except ServiceError as error:
                    _check_transient(error)
            self.history.balances[name] = BEGINNING

    def run(self, turns: int) -> None:
        """So many operations."""
        acts = (self.transfer, self.count, self.create, self.put, self.batch, self.look, self.pass_time)
        for _ in range(turns):
            self.number += 1
            self.random.choice(acts)()

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """One call, written down."""
        try:
            response = self.engine.call(operation, request)
        except ServiceError as error:
            self.history.errors[error.code] += 1
            self.history.trail.append(f"{operation} {error.code}")
            raise
        self.history.trail.append(f"{operation} {response}")
        return response

    def transfer(self) -> None:
        """Move money from one account to another, again with the same token until the outcome is known."""
        giver, taker = (f"account{number}" for number in self.random.sample(range(ACCOUNTS), 2))
        amount = self.random.randint(1, 60)

        def change(name: str, by: int, least: int) -> dict[str, Any]:
            return {
                "Update": {
                    "TableName": "things",
                    "Key": tables_of.key(name),
                    "UpdateExpression": "ADD balance :by",
                    "ConditionExpression": "balance >= :least",
                    "ExpressionAttributeValues": {":by": {"N": str(by)}, ":least": {"N": str(least)}},
                }
            }

        request = {
            "ClientRequestToken": f"transfer-{self.number}",
            "TransactItems": [change(giver, -amount, amount), change(taker, amount, 0)],
        }
        for _ in range(MAX_TRIES):
            try:
                self.call("TransactWriteItems", request)
            except TransactionCanceledError as error:
                codes = {reason["Code"] for reason in error.members["CancellationReasons"]}
                if codes <= _TRANSIENT_REASONS:
                    self.wait()
                    continue
                assert codes == {"None", "ConditionalCheckFailed"}
                assert self.history.balances[giver] < amount, "refused though there was enough"
                return
            except ServiceError as error:
                _check_transient(error)
                self.wait()
                continue
            assert self.history.balances[giver] >= amount, "moved though there was too little"
            self.history.balances[giver] -= amount
            self.history.balances[taker] += amount
            return
        raise AssertionError("a transfer was never answered")

    def count(self) -> None:
        """Add one to a counter; not repeated in doubt."""
        name = f"counter{self.random.randrange(4)}"
        request = {
            "TableName": "things",
            "Key": tables_of.key(name),
            "UpdateExpression": "ADD hits :one SET g = :g",
            "ExpressionAttributeValues": {":one": {"N": "1"}, ":g": {"S": f"by{self.random.randrange(3)}"}},
        }
        for _ in range(MAX_TRIES):
            try:
                self.call("UpdateItem", request)
            except InternalServerError:
                self.history.doubtful[name] += 1
                return
            except ServiceError as error:
                _check_transient(error)
                self.wait()
                continue
            self.history.certain[name] += 1
            return
        raise AssertionError("a counter was never answered")

    def create(self) -> None:
        """Create an item that nobody may have created before."""
        name, who = f"unique{self.random.randrange(12)}", f"client{self.number}"
        request = {
            "TableName": "things",
            "Item": {**tables_of.key(name), "owner": {"S": who}, "g": {"S": "unique"}},
            "ConditionExpression": "attribute_not_exists(p)",
        }
        for _ in range(MAX_TRIES):
            try:
                self.call("PutItem", request)
            except ConditionalCheckFailedError:
                assert name in self.history.created or name in self.history.perhaps, "refused though nobody was first"
                return
            except InternalServerError:
                self.history.perhaps.setdefault(name, set()).add(who)
                return
            except ServiceError as error:
                _check_transient(error)
                self.wait()
                continue
            assert name not in self.history.created, "created twice"
            self.history.created[name] = who
            return

    def put(self) -> None:
        """Write an item's next version."""
        name = f"item{self.random.randrange(10)}"
        item = self._version(name)
        for _ in range(MAX_TRIES):
            try:
                self.call("PutItem", {"TableName": "things", "Item": item})
            except InternalServerError:
                self.history.puts.setdefault(name, {0}).add(self.number)
                return
            except ServiceError as error:
                _check_transient(error)
                self.wait()
                continue
            self.history.puts[name] = {self.number}
            return

    def batch(self) -> None:
        """Write several items, and again what was left unprocessed."""
        names = [f"item{number}" for number in self.random.sample(range(10), 4)]
        unprocessed = [{"PutRequest": {"Item": self._version(name)}} for name in names]
        for _ in range(MAX_TRIES):
            items = {request["PutRequest"]["Item"]["p"]["S"] for request in unprocessed}
            try:
                response = self.call("BatchWriteItem", {"RequestItems": {"things": unprocessed}})
            except InternalServerError:
                for name in items:
                    self.history.puts.setdefault(name, {0}).add(self.number)
                return
            except ServiceError as error:
                _check_transient(error)
                self.wait()
                continue
            unprocessed = response["UnprocessedItems"].get("things", [])
            unprocessed_names = {request["PutRequest"]["Item"]["p"]["S"] for request in unprocessed}
            assert unprocessed_names <= items
            for name in items - unprocessed_names:
                self.history.puts[name] = {self.number}
            if not unprocessed:
                return
            self.wait()

    def _version(self, name: str) -> dict[str, Any]:
        return {
            **tables_of.key(name),
            "version": {"N": str(self.number)},
            "g": {"S": f"g{self.random.randrange(3)}"},
            **({"t": {"N": str(int(self.clock.now()) + 10**6)}} if self.random.random() < 0.3 else {}),
        }

    def look(self) -> None:
        """Read an item in both ways; what is consistent must be right."""
        name = self.random.choice(sorted(self.history.puts) or ["item0"])
        request = {"TableName": "things", "Key": tables_of.key(name)}
        for consistent in (False, True):
            try:
                item = self.call("GetItem", {**request, "ConsistentRead": consistent}).get("Item")
            except ServiceError as error:
                _check_transient(error)
                return
            if consistent:
                assert _version_of(item) in self.history.puts.get(name, {0})

    def pass_time(self) -> None:
        """Advance the clock and run the engine's due work."""
        self.clock.advance(self.random.random() * 3)
        self.engine.settle()
        self.engine.sweep()

    def wait(self) -> None:
        """Before a retry."""
        self.clock.advance(0.5 + self.random.random())


def _check_transient(error: ServiceError) -> None:
    assert error.code in TRANSIENT, error


def _version_of(item: dict[str, Any] | None) -> int:
    return 0 if item is None else int(item["version"]["N"])


class Auditor:
    """Compares the database, once everything has settled, with what the clients know."""

    def __init__(self, engine: Engine, history: History) -> None:
        self.items = {item["p"]["S"]: item for item in _read_all(engine)}
        self.engine = engine
        self.history = history

    def audit(self) -> None:
        """No effect is lost or doubled except where an internal error left a doubt."""
        for name, balance in self.history.balances.items():
            assert int(self.items[name]["balance"]["N"]) == balance
        assert sum(self.history.balances.values()) == ACCOUNTS * BEGINNING
        for name in {*self.history.certain, *self.history.doubtful}:
            hits = int(self.items[name]["hits"]["N"]) if name in self.items else 0
            certain = self.history.certain[name]
            assert certain <= hits <= certain + self.history.doubtful[name], name
        for name, who in self.history.created.items():
            assert self.items[name]["owner"]["S"] == who
        for name, owners in self.history.perhaps.items():
            if name not in self.history.created and name in self.items:
                assert self.items[name]["owner"]["S"] in owners
        for name, versions in self.history.puts.items():
            assert _version_of(self.items.get(name)) in versions, name
        known_ids = {*self.history.balances, *self.history.certain, *self.history.doubtful}
        known_ids |= {*self.history.created, *self.history.perhaps, *self.history.puts}
        assert set(self.items) <= known_ids

    def check_index(self) -> None:
        """Check that the index contains exactly the items with its key."""
        results = {item["p"]["S"]: item for item in _read_all(self.engine, IndexName="by_g")}
        assert results == {name: item for name, item in self.items.items() if "g" in item}


def _read_all(engine: Engine, **members: Any) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    request: dict[str, Any] = {"TableName": "things", **members}
    while True:
        response = engine.call("Scan", request)
        items += response["Items"]
        if "LastEvaluatedKey" not in response:
            return items
        request["ExclusiveStartKey"] = response["LastEvaluatedKey"]
