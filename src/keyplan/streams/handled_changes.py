"""Marker items that prevent the effects of a change from being written twice when the change is delivered again.

A handler writes the marker item and the effects in one transaction. If the marker item already exists, the effects have
already been written, and the transaction writes nothing.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Protocol

from pydantic import create_model

from keyplan.client.errors import AlreadyExistsError, TransactionFailedError
from keyplan.design.conditions.builders import ItemWrite, item
from keyplan.design.declaring.consumers import ItemChange
from keyplan.design.declaring.patterns import TransactionCall, WriteCall
from keyplan.design.declaring.tables import Table
from keyplan.design.entities import Entity
from keyplan.design.errors import DesignError, calling_place
from keyplan.design.fields.annotations import Attribute
from keyplan.design.keys.entity_keys import key

DEFAULT_NAME = "keyplan-seen"
_Mark = Annotated[str, Attribute(kind="id")]
_RETENTION = timedelta(days=7)


class TransactionRunner(Protocol):
    """The interface of a connection that can run transactions."""

    def transact(self, *calls: WriteCall[Any] | TransactionCall[Any], token: str | None = None) -> None:
        """Apply all writes in a single transaction. `token` is the idempotency token."""


class HandledChanges:
    """Marker items, each of which records that one consumer has written the effects of a change.

    The items are in a separate table or in a table of the design.
    """

    def __init__(self, table: Table | None = None, *, retention: timedelta = _RETENTION) -> None:
        """Declare the entity of the marker items.

        `table` is a table with a TTL attribute, by default the separate table keyplan-seen. `retention` is the time
        after which a marker expires. It must be longer than the period in which a change can be delivered again. A
        stream retains its records for 24 hours. Create this object in the design module, so that `create_tables`
        includes its table.
        """
        self.retention = retention
        self.table = table if table is not None else Table(DEFAULT_NAME, pk="pk", ttl="expires_at")
        if self.table.schema.ttl is None:
            raise DesignError(
                f"table {self.table.name} has no TTL attribute, so marks would never expire",
                place=calling_place(),
                other=self.table.schema.place,
                fix='declare the table with ttl="expires_at", or leave out table=',
            )
        self._mark, self._create = _declare(self.table)

    def mark(self, consumer: str, change: ItemChange[Any]) -> WriteCall[Any]:
        """Return a write that creates the marker item of a change. Pass it to the same transaction as the effects of
        the change.

        `consumer` is the name of the consumer, because each consumer needs a separate marker for the same change. If
        the marker exists, the transaction fails, and the reason for this write is an AlreadyExistsError.
        """
        mark = f"{consumer}/{change.event_id}"
        # Computed from the time of the change, so that a repetition is the same write.
        expires_at = datetime.fromtimestamp(change.at_s, UTC) + self.retention
        call: WriteCall[Any] = self._create(self._mark(mark=mark, mark_expires_at=expires_at))
        return call

    def apply(
        self,
        db: TransactionRunner,
        consumer: str,
        change: ItemChange[Any],
        *effects: WriteCall[Any] | TransactionCall[Any],
    ) -> bool:
        """Write the effects of a change and its marker item, unless the marker exists. Return True if this call wrote
        the effects.
        """
        marker = self.mark(consumer, change)
        try:
            db.transact(marker, *effects)
        except TransactionFailedError as error:
            if isinstance(error.reasons[0], AlreadyExistsError):
                return False
            raise
        return True


def _declare(table: Table) -> tuple[Any, Any]:
    """Declare the entity of the marker items in a table. Return the entity and the pattern that creates a marker."""
    ttl = table.schema.ttl
    assert ttl is not None, "looked at before"
    # A function creates them, because the TTL attribute has the name that the table declares.
    mark: type[Entity] = create_model(
        "SeenMark",
        __base__=Entity,
        mark=(_Mark, ...),
        mark_expires_at=(Annotated[datetime, Attribute(ttl)], ...),
    )
    sort = None if table.schema.sort is None else "SEEN"
    mark = table.entity(key=key("SEEN#{mark}", sort))(mark)

    @table.create(mark)
    def mark_seen(new: Entity) -> ItemWrite:
        """Create a marker item, which records that a change was applied."""
        return item(new)

    return mark, mark_seen
