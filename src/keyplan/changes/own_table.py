"""A small table of the runners' own, its partition key the consumer: made where it is missing, read by consumer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from keyplan.changes.service import Service
from keyplan.clock import Clock
from keyplan.connections.connection import Connection
from keyplan.connections.steps import Transport
from keyplan.design.tables import Table

Item = dict[str, Any]


class OwnTable:
    """The table under its real name. Raises ServiceError for answers, RunError when it gives up."""

    def __init__(
        self,
        db: Connection | Transport,
        declare: Callable[[str], Table],
        name: str,
        *,
        create: bool | None,
        clock: Clock | None,
    ) -> None:
        """`create`: whether to make the table where it is missing; of itself only for an engine in this process."""
        self.service = Service(db, clock=clock)
        self._declare = declare
        self.name = self.service.table_name(declare(name))
        self.creates = self.service.is_embedded if create is None else create

    def make(self) -> None:
        """Make it, or see that it is there as declared."""
        self.service.create(self._declare(self.name))

    def put(self, item: Item) -> None:
        """Put an item, new or not."""
        self.service.call("PutItem", {"TableName": self.name, "Item": item})

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
