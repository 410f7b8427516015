"""Benchmark: change events per second that one core writes to Parquet.

python -m tests.systems.todo.lake.throughput [folder]
"""

from __future__ import annotations

import sys
import tempfile
import time

from tests.systems.todo.lake.record_history import History

from keyplan_systems.todo.lake.lake import Lake

EVENTS = 100_000


def main(folder: str) -> None:
    """Print events per second for small and large batches, with the cost of maintenance."""
    history = History()
    records = [
        history.put_task(f"user-{number % 997}", f"{number % 20_000}", title="Buy milk", description="x" * 200)
        for number in range(EVENTS)
    ]
    for size in (100, 1000, 10_000):
        lake = Lake.open(f"{folder}/{size}")
        start, tidying = time.perf_counter(), 0.0
        for at in range(0, EVENTS, size):
            lake.bronze.write(records[at : at + size])
            if at // size % 100 == 99:
                before = time.perf_counter()
                lake.compact()
                lake.vacuum(retention_s=0)
                tidying += time.perf_counter() - before
        wrote = time.perf_counter() - start - tidying
        before = time.perf_counter()
        lake.refresh()
        refreshed = time.perf_counter() - before
        print(
            f"batches of {size:>6}: {EVENTS / wrote:>8.0f} events/s into bronze; "
            f"refresh, compaction and vacuum on the way {tidying:.1f} s, last refresh {refreshed:.1f} s"
        )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        main(sys.argv[1] if len(sys.argv) > 1 else made)
