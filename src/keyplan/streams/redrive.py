"""Failed records handed to their consumer again, once it has been mended."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from keyplan.client.connection import Connection
from keyplan.design.tables import Table
from keyplan.streams.consumers import BoundConsumer, RecordSorter, bind, sorter_of, with_handlers
from keyplan.streams.failures import Failure


def redrive(
    table: Table,
    failures: Iterable[Failure],
    *,
    db: Connection | None = None,
    handlers: Mapping[Callable[..., Any] | str, Callable[[Any], Any]] | None = None,
) -> list[Failure]:
    """Hand records to the consumers that failed on them, one after the other; those that fail again.

    Each of these says why it failed now, and that it was tried once more.
    The items may have changed since: what comes is the change as it was. `db` is needed where its tables have
    other names than they are declared with, `handlers` where the runner had them. Raises ConsumerSetupError for
    a consumer that is no longer declared.
    """
    name = table.name if db is None else db.table_name(table)
    bound: dict[str, tuple[BoundConsumer, RecordSorter]] = {}
    again = []
    for failure in failures:
        if failure.consumer not in bound:
            found = bind(table, name, [failure.consumer.removeprefix(f"{name}/")])
            (consumer,) = with_handlers(table, found, handlers or {})
            bound[failure.consumer] = consumer, sorter_of(table, [consumer])
        consumer, sorter = bound[failure.consumer]
        try:
            changes = list(consumer.changes(sorter.sort(failure.record)))
            if changes:
                consumer.hand_over(changes)
        except Exception as error:  # noqa: BLE001 - it stays a failure, for whatever reason
            again.append(failure.again(error))
    return again
