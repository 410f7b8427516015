"""A program that consumes orders until it is killed: it counts each order once, in its customer's profile.

Run as `python consumer.py FILE NAME CHECKPOINTS`. Says `ready` once it runs.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

from tests.streams.shop import Shop

from keyplan import Inserted, connect
from keyplan.engine.engine import Engine
from keyplan.streams import FileCheckpoints, HandledChanges, Runner, TableCheckpoints

SHARDS = 2


def make(shop: Shop, db: Any) -> None:
    """Declare the consumer, which counts an order once however often it is delivered."""
    marks = HandledChanges()

    @shop.table.on_change(shop.Order)
    def count(change: Inserted[Any]) -> None:
        marks.apply(db, "count", change, shop.count_order(change.new.customer))


def runner_of(db: Any, shop: Shop, name: str, checkpoints: str) -> Runner:
    """Return a runner with its previous name, and leases that outlast the slowest machine."""
    store = TableCheckpoints(db) if checkpoints == "table" else FileCheckpoints(checkpoints)
    return Runner(
        db, shop.table, runner=name, checkpoints=store, checkpoint_every=3, lease_s=3600.0, poll_s=0.001, refresh_s=0.02
    )


def main() -> None:
    """Run until killed."""
    path, name, checkpoints = sys.argv[1:]
    with Engine.open(path, stream_shards=SHARDS) as engine, connect(engine=engine) as db:
        shop = Shop()
        make(shop, db)
        runner = runner_of(db, shop, name, checkpoints)
        os.write(1, b"ready\n")
        runner.run(threading.Event())


if __name__ == "__main__":
    main()
