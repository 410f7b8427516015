"""Tables in which runners store checkpoints and failed records. Their partition key is the consumer name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from keyplan.client.connection import Connection
from keyplan.client.errors import TableMissingError
from keyplan.client.failures import CONDITION
from keyplan.client.requests import Transport
from keyplan.clock import Clock
from keyplan.design.declaring.tables import Table
from keyplan.design.entities import Entity
from keyplan.errors import ServiceError
from keyplan.streams.checkpoints import ConsumerState, ShardLease
from keyplan.streams.errors import LeaseLostError
from keyplan.streams.streams import Service

Item = dict[str, Any]


class RunnerTable:
    """A table in which runners store their own data. It is accessed by its physical name.

    Methods raise ServiceError for rejected requests, and RunError if the database cannot be reached.
    """

    def __init__(
        self,
        db: Connection | Transport,
        declare: Callable[[str], Table],
        name: str,
        *,
        remedy: str,
        create: bool | None,
        clock: Clock | None,
    ) -> None:
        """Prepare access to a table that runners own.

        `declare` returns the declaration of the table with a given name. `remedy` is the advice in the error message
        for a missing table. `create` determines whether a missing table is created. By default, a missing table is
        created only if the database is an engine in this process.
        """
        self._remedy = remedy
        self.service = Service(db, clock=clock)
        self._declare = declare
        self.name = self.service.table_name(declare(name))
        self.creates = self.service.is_embedded if create is None else create

    def create(self) -> None:
        """Create the table, or verify that the existing table matches its declaration."""
        self.service.create(self._declare(self.name))

    def check(self) -> None:
        """Verify that the table exists. Raises TableMissingError if it does not exist."""
        self._call("DescribeTable", {"TableName": self.name})

    def put(self, item: Item) -> None:
        """Put an item into the table, replacing an existing item. Raises TableMissingError if the table
        does not exist.
        """
        self._call("PutItem", {"TableName": self.name, "Item": item})

    def _call(self, operation: str, request: Item) -> None:
        try:
            self.service.call(operation, request)
        except ServiceError as error:
            if error.code != "ResourceNotFoundException":
                raise
            raise TableMissingError(f"missing table {self.name} {self._remedy}") from error

    def items(self, consumer: str) -> Iterator[Item]:
        """Yield the items of a consumer in sort key order. The items are read with strong consistency."""
        request: Item = {
            "TableName": self.name,
            "KeyConditionExpression": "consumer = :consumer",
            "ExpressionAttributeValues": {":consumer": {"S": consumer}},
            "ConsistentRead": True,
        }
        while True:
            response = self.service.call("Query", request)
            yield from response["Items"]
            if "LastEvaluatedKey" not in response:
                return
            request["ExclusiveStartKey"] = response["LastEvaluatedKey"]


DEFAULT_NAME = "keyplan-checkpoints"
_RETENTION_S = 7 * 24 * 3600
_REMEDY = (
    "for checkpoints: create it (keys consumer and what, both String; TTL attribute expires_at), or let the runner"
    " create it: Runner(..., checkpoints=TableCheckpoints(db, create=True))"
)


def checkpoint_table(name: str = DEFAULT_NAME) -> Table:
    """Return the declaration of the checkpoint table with the given name, for use in designs and exports."""
    table = Table(name, pk="consumer", sk="what", ttl="expires_at")

    @table.entity(name="Checkpoint")
    class Checkpoint(Entity):
        consumer: str
        what: str

    return table


class TableCheckpoints:
    """Checkpoints in a table, which can be in a different database than the stream."""

    def __init__(
        self,
        db: Connection | Transport,
        *,
        table: str = DEFAULT_NAME,
        create: bool | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Prepare access to the checkpoint table.

        `create` determines whether a missing table is created. By default, a missing table is created only if the
        database is an engine in this process.
        """
        self._table = RunnerTable(db, checkpoint_table, table, remedy=_REMEDY, create=create, clock=clock)
        self._service, self.table = self._table.service, self._table.name

    def prepare(self) -> None:
        """Create the checkpoint table, or verify that it exists.

        Raises TableMissingError if the table does not exist and must not be created.
        """
        if self._table.creates:
            self._table.create()
        else:
            self._table.check()

    def state(self, consumer: str) -> ConsumerState:
        """Return the stored state of a consumer: its start time, its progress in each shard, and its runners."""
        begins_at_s, is_known = None, False
        leases: dict[str, ShardLease] = {}
        runners: dict[str, float] = {}
        for item in self._table.items(consumer):
            kind, _, name = item["what"]["S"].partition("/")
            if kind == "shard":
                leases[name] = _lease_of(item)
            elif kind == "runner":
                runners[name] = float(item["until"]["N"])
            else:
                is_known = True
                begins_at_s = float(item["begins_at"]["N"]) if "begins_at" in item else None
        return ConsumerState(begins_at_s, is_known, leases, runners)

    def begin(self, consumer: str, begins_at_s: float | None) -> bool:
        """Store the start time of a new consumer, and return True.

        If the consumer was started before, change nothing and return False.
        """
        item = _table_key(consumer, "start")
        if begins_at_s is not None:
            item["begins_at"] = {"N": repr(begins_at_s)}
        request = {"TableName": self.table, "Item": item, "ConditionExpression": "attribute_not_exists(consumer)"}
        return self._call_conditional("PutItem", request) is not None

    def acquire(self, consumer: str, shard: str, runner: str, now_s: float, until_s: float) -> ShardLease | None:
        """Acquire a shard for a consumer until `until_s`, and return the lease, or None if the shard is not free."""
        response = self._call_conditional(
            "UpdateItem",
            {
                "TableName": self.table,
                "Key": _table_key(consumer, f"shard/{shard}"),
                "UpdateExpression": "SET #owner = :runner, #until = :until,"
                " #fence = if_not_exists(#fence, :none) + :one",
                "ConditionExpression": "(attribute_not_exists(#done) OR #done = :false) AND"
                " (attribute_not_exists(#owner) OR #owner = :runner OR #until <= :now)",
                "ExpressionAttributeNames": {name: name[1:] for name in ("#owner", "#until", "#fence", "#done")},
                "ExpressionAttributeValues": {
                    ":runner": {"S": runner},
                    ":until": {"N": repr(until_s)},
                    ":now": {"N": repr(now_s)},
                    ":none": {"N": "0"},
                    ":one": {"N": "1"},
                    ":false": {"BOOL": False},
                },
                "ReturnValues": "ALL_NEW",
            },
        )
        return None if response is None else _lease_of(response["Attributes"])

    def save(self, lease: ShardLease) -> None:
        """Store the lease's position and expiry time.

        Raises LeaseLostError if another runner has since acquired the shard.
        """
        self._store(lease, {"until": {"N": repr(lease.until_s)}})

    def release(self, lease: ShardLease) -> None:
        """Store the lease's position, and release the shard for other runners.

        Raises LeaseLostError if another runner has since acquired the shard.
        """
        self._store(lease, {}, removed_names=("owner", "until"))

    def _store(self, lease: ShardLease, changes: Item, *, removed_names: tuple[str, ...] = ()) -> None:
        """Store a shard lease. Set the attributes in `changes`, and remove the attributes in `removed_names`.

        Raises LeaseLostError if another runner has since acquired the shard.
        """
        values: Item = {"done": {"BOOL": lease.done}, **changes}
        if lease.position is not None:
            values["position"] = {"S": str(lease.position)}
        if lease.starts is not None:
            values["starts"] = {"S": str(lease.starts)}
        if lease.done:
            values["expires_at"] = {"N": str(int(self._service.clock.now()) + _RETENTION_S)}
        update = "SET " + ", ".join(f"#{name} = :{name}" for name in values)
        if removed_names:
            update += " REMOVE " + ", ".join(f"#{name}" for name in removed_names)
        request = {
            "TableName": self.table,
            "Key": _table_key(lease.consumer, f"shard/{lease.shard}"),
            "UpdateExpression": update,
            "ConditionExpression": "#fence = :fence",
            "ExpressionAttributeNames": {f"#{name}": name for name in ("fence", *values, *removed_names)},
            "ExpressionAttributeValues": {
                ":fence": {"N": str(lease.fence)},
                **{f":{name}": value for name, value in values.items()},
            },
        }
        if self._call_conditional("UpdateItem", request) is None:
            raise LeaseLostError(f"{lease.consumer}: {lease.shard} was taken over by another runner")

    def announce(self, consumer: str, runner: str, until_s: float) -> None:
        """Record that a runner of the consumer is alive until `until_s`."""
        item = {
            **_table_key(consumer, f"runner/{runner}"),
            "until": {"N": repr(until_s)},
            "expires_at": {"N": str(int(until_s) + _RETENTION_S)},
        }
        self._table.put(item)

    def withdraw(self, consumer: str, runner: str) -> None:
        """Remove a runner from the stored state of the consumer."""
        self._service.call("DeleteItem", {"TableName": self.table, "Key": _table_key(consumer, f"runner/{runner}")})

    def _call_conditional(self, operation: str, request: Item) -> Item | None:
        """Run a conditional write and return its response, or None if the condition failed."""
        try:
            return self._service.call(operation, request)
        except ServiceError as error:
            if error.code != CONDITION:
                raise
            return None


def _table_key(consumer: str, sort_key: str) -> Item:
    return {"consumer": {"S": consumer}, "what": {"S": sort_key}}


def _lease_of(item: Item) -> ShardLease:
    return ShardLease(
        item["consumer"]["S"],
        item["what"]["S"].partition("/")[2],
        int(item["position"]["S"]) if "position" in item else None,
        item.get("done", {}).get("BOOL", False),
        item.get("owner", {}).get("S"),
        float(item["until"]["N"]) if "until" in item else 0.0,
        int(item.get("fence", {}).get("N", "0")),
        int(item["starts"]["S"]) if "starts" in item else None,
    )
