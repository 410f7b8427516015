"""The sweep: removes the items whose time to live is over, as the service does in the background.

Small write transactions, so that writers never wait long behind a sweep; in each the item is looked at
again, since it may have been given more time meanwhile. Deletions go through indexes and stream like any
other, marked there as the service's own, and cost no capacity. Moments more than five years past are
left alone: the service takes them for mistakes.

Source: developer guide, "Using time to live (TTL) in DynamoDB".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from keyplan import limits
from keyplan.engine import expiry, writes
from keyplan.engine.catalog import CatalogChanged, Expiry, Table
from keyplan.store.failures import Failure, is_missing_tree
from keyplan.store.rows import Transaction

if TYPE_CHECKING:
    from keyplan.engine.engine import Engine

BATCH_ITEMS = 100


def sweep(engine: Engine, stopped: Callable[[], bool] = lambda: False) -> int:
    """Remove every item that expired more than the engine's delay ago; how many were removed.

    `stopped` is asked between transactions; once true the rest is left for the next sweep.
    """
    engine.catalog.reload(engine.store.view())
    return sum(_sweep_table(engine, table, stopped) for table in engine.catalog.known() if table.expiry is not None)


def _sweep_table(engine: Engine, table: Table, stopped: Callable[[], bool]) -> int:
    assert table.expiry is not None
    low, high = _due(engine.clock.now(), engine.ttl_delay_s)
    removed = 0
    while not stopped():
        try:
            due = [key for key, _, _ in engine.store.view().rows(table.expiry.tree, low, high, limit=BATCH_ITEMS)]
            if not due:
                break
            done = engine.write(table, _removal(engine, table, table.expiry, due))
        except CatalogChanged:
            break  # the table was changed or dropped: the next sweep meets it as it is
        except Failure as error:
            if not is_missing_tree(error):
                raise
            break
        removed += done
        if not done:
            break  # all of them were given more time meanwhile
    return removed


def _due(now: float, delay_s: float) -> tuple[bytes, bytes]:
    oldest = max(0, math.ceil(now - limits.TTL_PAST_S))
    return expiry.moments(oldest, max(oldest, math.ceil(now - delay_s)))


def _removal(engine: Engine, table: Table, kept: Expiry, due: list[bytes]) -> Callable[[Transaction], int]:
    def work(transaction: Transaction) -> int:
        removed = 0
        for expiry_key in due:
            at, key = expiry.key_moment(expiry_key)
            old = writes.load(transaction, table, key)
            if old is not None and expiry.moment(kept, old.item) == at:
                writes.apply(engine, transaction, table, key, old=old, new=None, by_service=True)
                removed += 1
        return removed

    return work
