"""The workload for all targets: seeded items of 1 KB, their keys, and calls on them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

Request = dict[str, Any]

TABLE = "bench"
ITEM_BYTES = 1024
ITEMS_PER_PARTITION = 100
PAGE_ITEMS = 20
BATCH_ITEMS = 25
TRANSACTION_ITEMS = 4
SCAN_ITEMS = 100
STATUSES = ("new", "paid", "packed", "shipped", "delivered", "returned", "closed", "lost", "held", "void")


class Operation(StrEnum):
    """The measured operations, in the order of the report."""

    PUT = "put"
    CONDITIONAL_PUT = "conditional put"
    GET = "get"
    QUERY = "query 20"
    COUNTER = "counter with condition"
    TRANSACT = "transact write 4"
    BATCH = "batch write 25"
    SCAN = "scan with filter"


WRITES = frozenset(Operation) - {Operation.GET, Operation.QUERY, Operation.SCAN}


@dataclass(frozen=True, slots=True)
class Call:
    """A DynamoDB request: the name of the operation, and its parameters in JSON form (without binary values)."""

    name: str
    request: Request


@dataclass(frozen=True, slots=True)
class Workload:
    """`items` items of 1 KB in partitions of 100 items, and seeded calls on random items.

    The same seed generates the same items and calls, so that all targets run the same work.
    """

    items: int = 10_000
    seed: int = 7
    table: str = TABLE

    def create_table(self) -> Call:
        return Call(
            "CreateTable",
            {
                "TableName": self.table,
                "AttributeDefinitions": [
                    {"AttributeName": "pk", "AttributeType": "S"},
                    {"AttributeName": "sk", "AttributeType": "S"},
                ],
                "KeySchema": [
                    {"AttributeName": "pk", "KeyType": "HASH"},
                    {"AttributeName": "sk", "KeyType": "RANGE"},
                ],
                "BillingMode": "PAY_PER_REQUEST",
            },
        )

    def load(self, first: int = 0) -> Iterator[Call]:
        """Yield the batch writes that fill the table, starting with the item at index `first`, in key order."""
        for start in range(first, self.items, BATCH_ITEMS):
            yield self._batch(range(start, min(start + BATCH_ITEMS, self.items)), revision=0)

    def calls(self, operation: Operation, count: int, stream: int = 0) -> list[Call]:
        """Return `count` calls of one operation, which are repeated. Each `stream` has different random keys.

        A stream is a thread or a repetition. The second half of the calls writes different content to the keys of the
        first half, because SQLite skips a row that is written again unchanged. Repeated identical calls would therefore
        soon measure nothing.
        """
        half = (count + 1) // 2
        calls = [
            call for phase in (0, 1) for call in itertools.islice(self._generate_calls(operation, stream, phase), half)
        ]
        return calls[:count]

    def _generate_calls(self, operation: Operation, stream: int, phase: int) -> Iterator[Call]:
        # The seed is a string, because it is hashed the same way in every process.
        seed_text = f"{self.seed} {operation} {stream}"
        generator = random.Random(seed_text if operation in WRITES else f"{seed_text} {phase}")
        build_call = _BUILDERS[operation]
        while True:
            yield build_call(self, generator, phase)

    def new_puts(self, stream: int = 0) -> Iterator[Call]:
        """Yield puts of new items at random positions of the key order, without an end."""
        generator = random.Random(f"{self.seed} new {stream}")
        for index in itertools.count():
            call = self.put_call(index % self.items, revision=0)
            call.request["Item"]["pk"] = {"S": f"customer#{generator.randrange(10**8):08d}"}
            call.request["Item"]["sk"] = {"S": f"new#{index:08d}"}
            yield call

    def key(self, index: int) -> Request:
        return {
            "pk": {"S": f"customer#{index // ITEMS_PER_PARTITION:08d}"},
            "sk": {"S": f"order#{index % ITEMS_PER_PARTITION:06d}"},
        }

    def item(self, index: int, revision: int) -> Request:
        """Return the item at an index: nine attributes, one of them a map, with 1,024 bytes as DynamoDB counts them."""
        generator = random.Random(self.seed * 1_000_003 + index * 31 + revision)
        item: Request = {
            **self.key(index),
            "hits": {"N": "0"},
            "version": {"N": "1"},
            "status": {"S": STATUSES[generator.randrange(len(STATUSES))]},
            "created_at": {"S": f"2025-{1 + generator.randrange(12):02d}-{1 + generator.randrange(28):02d}T08:30:00Z"},
            "amount": {"N": f"{100 + generator.randrange(900)}.{10 + generator.randrange(89)}"},
            "address": {"M": {"city": {"S": "Reykjavik"}, "postcode": {"S": f"{10000 + generator.randrange(89999)}"}}},
            "note": {"S": ""},
        }
        item["note"] = {"S": f"{generator.getrandbits(4096):01024x}"[: ITEM_BYTES - _map_bytes(item)]}
        return item

    def put_call(self, index: int, revision: int) -> Call:
        return Call("PutItem", {"TableName": self.table, "Item": self.item(index, revision)})

    def get_call(self, index: int) -> Call:
        return Call("GetItem", {"TableName": self.table, "Key": self.key(index)})

    def query_call(self, partition_index: int) -> Call:
        return Call(
            "Query",
            {
                "TableName": self.table,
                "KeyConditionExpression": "pk = :pk",
                "ExpressionAttributeValues": {":pk": self.key(partition_index * ITEMS_PER_PARTITION)["pk"]},
                "Limit": PAGE_ITEMS,
            },
        )

    def _put(self, generator: random.Random, phase: int) -> Call:
        return self.put_call(generator.randrange(self.items), _revision(generator, phase))

    def _conditional_put(self, generator: random.Random, phase: int) -> Call:
        call = self._put(generator, phase)
        call.request["ConditionExpression"] = "attribute_not_exists(pk) OR version < :next"
        call.request["ExpressionAttributeValues"] = {":next": {"N": "2"}}
        return call

    def _get(self, generator: random.Random, _phase: int) -> Call:
        return self.get_call(generator.randrange(self.items))

    def _query(self, generator: random.Random, _phase: int) -> Call:
        return self.query_call(generator.randrange(max(1, self.items // ITEMS_PER_PARTITION)))

    def _update(self, index: int) -> Request:
        return {
            "TableName": self.table,
            "Key": self.key(index),
            "UpdateExpression": "SET hits = hits + :one",
            "ConditionExpression": "hits < :most",
            "ExpressionAttributeValues": {":one": {"N": "1"}, ":most": {"N": "1000000000"}},
        }

    def _counter(self, generator: random.Random, _phase: int) -> Call:
        return Call("UpdateItem", {**self._update(generator.randrange(self.items)), "ReturnValues": "UPDATED_NEW"})

    def _transact(self, generator: random.Random, phase: int) -> Call:
        """Return a transaction on four items: a put, a conditional put, an increment of a counter, and a condition
        check.
        """
        first, second, third, fourth = generator.sample(range(self.items), TRANSACTION_ITEMS)
        conditional_put = self.put_call(second, _revision(generator, phase)).request
        conditional_put["ConditionExpression"] = "attribute_exists(pk)"
        check = {"TableName": self.table, "Key": self.key(fourth), "ConditionExpression": "attribute_exists(pk)"}
        actions = [
            {"Put": self.put_call(first, _revision(generator, phase)).request},
            {"Put": conditional_put},
            {"Update": self._update(third)},
            {"ConditionCheck": check},
        ]
        return Call("TransactWriteItems", {"TransactItems": actions})

    def _batch_write(self, generator: random.Random, phase: int) -> Call:
        return self._batch(generator.sample(range(self.items), BATCH_ITEMS), _revision(generator, phase))

    def _batch(self, indexes: range | list[int], revision: int) -> Call:
        puts = [{"PutRequest": {"Item": self.item(index, revision)}} for index in indexes]
        return Call("BatchWriteItem", {"RequestItems": {self.table: puts}})

    def _scan(self, generator: random.Random, _phase: int) -> Call:
        """Return a scan that starts at a random item, reads 100 items and returns about 10 of them."""
        return Call(
            "Scan",
            {
                "TableName": self.table,
                "ExclusiveStartKey": self.key(generator.randrange(self.items)),
                "FilterExpression": "#status = :status AND hits < :most",
                "ExpressionAttributeNames": {"#status": "status"},
                "ExpressionAttributeValues": {
                    ":status": {"S": generator.choice(STATUSES)},
                    ":most": {"N": "1000000000"},
                },
                "Limit": SCAN_ITEMS,
            },
        )


def _revision(generator: random.Random, phase: int) -> int:
    """Return a random revision that differs from the first one. The two phases have different revisions."""
    return 1 + 2 * generator.randrange(1000) + phase


_BUILDERS = {
    Operation.PUT: Workload._put,
    Operation.CONDITIONAL_PUT: Workload._conditional_put,
    Operation.GET: Workload._get,
    Operation.QUERY: Workload._query,
    Operation.COUNTER: Workload._counter,
    Operation.TRANSACT: Workload._transact,
    Operation.BATCH: Workload._batch_write,
    Operation.SCAN: Workload._scan,
}


def check_answer(operation: Operation, answer: Request) -> str | None:
    """Return why a response does not show the requested work, or None. This ensures that fast but wrong responses do
    not count.
    """
    match operation:
        case Operation.GET if "note" not in answer.get("Item", {}):
            return "GetItem returned no item"
        case Operation.QUERY if len(answer.get("Items", [])) != PAGE_ITEMS:
            return f"Query returned {len(answer.get('Items', []))} items, not {PAGE_ITEMS}"
        case Operation.COUNTER if "hits" not in answer.get("Attributes", {}):
            return "UpdateItem returned no counter"
        case Operation.BATCH if answer.get("UnprocessedItems"):
            return "BatchWriteItem left items unprocessed"
        case Operation.SCAN if "ScannedCount" not in answer:
            return "Scan returned no count"
    return None


def item_bytes(item: Request) -> int:
    """Return the size of an item in bytes as DynamoDB counts it, for the types that this workload uses."""
    return _map_bytes(item)


def _map_bytes(members: Request) -> int:
    return sum(len(name.encode()) + _value_bytes(value) for name, value in members.items())


def _value_bytes(value: Request) -> int:
    ((kind, content),) = value.items()
    if kind == "M":
        return 3 + len(content) + _map_bytes(content)
    if kind == "N":
        return 1 + (len(content.replace(".", "").strip("0")) + 1) // 2
    return len(content.encode())
