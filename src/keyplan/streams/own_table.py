"""A small table of the runners' own, its partition key the consumer: made where it is missing, read by consumer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from keyplan.client.connection import Connection
from keyplan.client.errors import TableMissingError
from keyplan.client.steps import Transport
from keyplan.clock import Clock
from keyplan.design.tables import Table
from keyplan.errors import ServiceError
from keyplan.streams.service import Service

Item = dict[str, Any]


class OwnTable:
    """The table under its real name. Raises ServiceError for answers, RunError when it gives up."""

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
        """`remedy`: what to do where it is missing. `create`: whether to make it there; of itself only for an engine
        in this process."""
        self._remedy = remedy
        self.service = Service(db, clock=clock)
        self._declare = declare
        self.name = self.service.table_name(declare(name))
        self.creates = self.service.is_embedded if create is None else create

    def make(self) -> None:
        """Make it, or see that it is there as declared."""
        self.service.create(self._declare(self.name))

    def check(self) -> None:
        """See that it is there. Raises TableMissingError."""
        self._call("DescribeTable", {"TableName": self.name})

    def put(self, item: Item) -> None:
        """Put an item, new or not. Raises TableMissingError."""
        self._call("PutItem", {"TableName": self.name, "Item": item})

    def _call(self, operation: str, request: Item) -> None:
        try:
            self.service.call(operation, request)
        except ServiceError as error:
            if error.code != "ResourceNotFoundException":
                raise
            raise TableMissingError(f"there is no table {self.name} {self._remedy}") from error

    def items(self, consumer: str) -> Iterator[Item]:
        """All that is kept of a consumer, as it is now, by sort key."""
        request: Item = {
            "TableName": self.name,
            "KeyConditionExpression": "consumer = :consumer",
            "ExpressionAttributeValues": {":consumer": {"S": consumer}},
            "ConsistentRead": True,
        }
        while True:
            answer = self.service.call("Query", request)
            yield from answer["Items"]
            if "LastEvaluatedKey" not in answer:
                return
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]
