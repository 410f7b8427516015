"""The sweep, which deletes expired items in the background, as DynamoDB does.

The sweep uses small write transactions. After each transaction, it pauses for as long as the transaction took, so that
writers wait only briefly. Items are read before a transaction, so that their pages are in memory and the transaction
does not wait for the disk. The transaction reads each item again, because its expiry time may have changed. An
unreadable item is kept, and the sweep raises an error after all other items have been processed. When the sweep deletes
an item, it also updates indexes and the stream, as any other deletion does, but no capacity is consumed. The stream
record shows that the service deleted the item. Items that expired more than five years ago are kept, as in DynamoDB,
because such times are probably mistakes.

Source: developer guide, "Using time to live (TTL) in DynamoDB".
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from keyplan import limits
from keyplan.dynamodb.values.encoding import DecodeError
from keyplan.engine.background import Pace
from keyplan.engine.items import expiry, versions, writes
from keyplan.engine.progress import Progress
from keyplan.engine.store.failures import Failure, is_missing_tree
from keyplan.engine.store.rows import Transaction
from keyplan.engine.tables.catalog import CatalogChanged, Expiry, Table

if TYPE_CHECKING:
    from keyplan.engine.database import Database

BATCH_ITEMS = 100
"""Maximum number of items to delete in one transaction. Fewer items are deleted if writers would otherwise wait too
long.
"""


def sweep(database: Database, stopped: Callable[[], bool] = lambda: False) -> int:
    """Delete all items that expired at least `ttl_delay_s` seconds ago, and return the number of deleted items.

    `stopped` is called before each transaction. If it returns True, the remaining items are left for the next sweep.
    Raises DecodeError for an unreadable item, after all other items have been processed.
    """
    database.catalog.reload(database.store.view())
    decode_errors: list[DecodeError] = []
    expiring = [table for table in database.catalog.tables() if table.expiry is not None and table.gone_at is None]
    removed = sum(_sweep_table(database, table, stopped, decode_errors) for table in expiring)
    if decode_errors:
        raise decode_errors[0]
    return removed


def _sweep_table(
    database: Database, table: Table, stopped: Callable[[], bool], decode_errors: list[DecodeError]
) -> int:
    assert table.expiry is not None
    low, high = _due_range(database.clock.now(), database.settings.ttl_delay_s)
    removed = 0
    clock, never = database.clock, threading.Event()
    pace = Pace(clock, BATCH_ITEMS)
    progress = Progress(clock, f"removing expired items of {table.name}")
    while not stopped():
        database.store.wait_for_checkpoint()
        try:
            due_keys = _next_due_keys(database, table, table.expiry, (low, high), pace.rows)
            if not due_keys:
                break
            started_s = clock.monotonic()
            removed += database.write(table, _deletion(database, table, due_keys, decode_errors, pace))
        except CatalogChanged:
            break  # the table was changed or dropped, and the next sweep reads its new state
        except Failure as error:
            if not is_missing_tree(error):
                raise
            break
        progress.report(partial("{:,} items".format, removed))
        clock.wait(never, clock.monotonic() - started_s)
        low = due_keys[-1] + b"\x00"  # also skips items with a changed expiry, and unreadable items
    progress.finish()
    return removed


def _next_due_keys(
    database: Database, table: Table, expiry_setting: Expiry, span: tuple[bytes, bytes], limit: int
) -> list[bytes]:
    """Return the keys of the next due expiry entries. Also read the corresponding items, to load the database pages
    with the items into memory.
    """
    with database.store.snapshot() as view:
        due_keys = [key for key, _, _ in view.rows(expiry_setting.tree, *span, limit=limit)]
        for expiry_key in due_keys:
            view.point(table.tree, expiry.split_expiry_key(expiry_key)[1])
    return due_keys


def _due_range(now: float, delay_s: float) -> tuple[bytes, bytes]:
    oldest = max(0, math.ceil(now - limits.TTL_PAST_S))
    return expiry.span(oldest, max(oldest, math.ceil(now - delay_s)))


def _deletion(
    database: Database, table: Table, due_keys: list[bytes], decode_errors: list[DecodeError], pace: Pace
) -> Callable[[Transaction], int]:
    expiry_setting = table.expiry
    assert expiry_setting is not None

    def measure_and_remove(transaction: Transaction) -> int:
        with pace.measure():
            return remove(transaction)

    def remove(transaction: Transaction) -> int:
        removed = 0
        for expiry_key in due_keys:
            expiry_time, key = expiry.split_expiry_key(expiry_key)
            try:
                old = versions.load(transaction, table, key)
            except DecodeError as error:
                decode_errors.append(error)
                continue
            if old is not None and expiry.expires_at(expiry_setting, old.item) == expiry_time:
                writes.apply(database, transaction, table, key, old=old, new=None, by_service=True)
                removed += 1
        return removed

    return measure_and_remove
