"""Failed records as items of a table: one for each consumer and record, however often it is sent.

    consumer (partition key)   event_id (sort key)   attributes
    orders/notify              c4ca4238...           error, attempts, failed_at, failure (JSON)

A record whose images would not fit into an item is kept without them: keys and sequence number tell where it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from keyplan.client.connection import Connection
from keyplan.client.steps import Transport
from keyplan.clock import Clock
from keyplan.design.entities import Entity
from keyplan.design.tables import Table
from keyplan.streams.failures import Failure
from keyplan.streams.own_table import OwnTable

DEFAULT_NAME = "keyplan-failures"
_MOST_BYTES = 390_000
"""Of the JSON text; the service's limit for an item is 400 KB, and its other attributes need little."""
_MOST_TEXT = 4000
_REMEDY = "for failed records: make it (consumer, event_id: both String), or say TableDestination(db, create=True)"


def failure_table(name: str = DEFAULT_NAME) -> Table:
    """The table as it is declared, for designs and exports that are to hold it."""
    table = Table(name, pk="consumer", sk="event_id")

    @table.entity(name="Failure")
    class Kept(Entity):
        consumer: str
        event_id: str

    return table


class TableDestination:
    """Keeps failed records in a table."""

    def __init__(
        self,
        db: Connection | Transport,
        *,
        table: str = DEFAULT_NAME,
        create: bool | None = None,
        clock: Clock | None = None,
    ) -> None:
        """`create`: whether to make the table where it is missing; of itself only for an engine in this process."""
        self._table = OwnTable(db, failure_table, table, remedy=_REMEDY, create=create, clock=clock)
        self.table = self._table.name
        self._creates = self._table.creates

    def send(self, failures: Sequence[Failure]) -> None:
        """Put an item for each. Raises TableMissingError."""
        if self._creates:
            self._table.make()
            self._creates = False
        for failure in failures:
            self._table.put(_item(failure))

    def read(self, consumer: str) -> Iterator[Failure]:
        """The failures of a consumer, by event id."""
        for item in self._table.items(consumer):
            yield Failure.from_plain(json.loads(item["failure"]["S"]))


def _item(failure: Failure) -> dict[str, Any]:
    text = json.dumps(failure.as_plain())
    if len(text) > _MOST_BYTES:  # JSON is written in ASCII: as many characters as bytes
        record = replace(failure.record, old=None, new=None)
        short = replace(failure, record=record, trace=failure.trace[-_MOST_TEXT:], error=failure.error[:_MOST_TEXT])
        text = json.dumps(short.as_plain())
    return {
        "consumer": {"S": failure.consumer},
        "event_id": {"S": failure.record.event_id},
        "error": {"S": failure.error[:_MOST_TEXT]},
        "attempts": {"N": str(failure.attempts)},
        "failed_at": {"N": repr(failure.failed_at_s)},
        "failure": {"S": text},
    }
