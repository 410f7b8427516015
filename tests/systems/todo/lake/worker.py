"""Consumer to be killed: writes a history's events in overlapping batches and maintains the lake, repeatedly.

    python worker.py <folder> <seed>

Prints a line for each round that it finished.
"""

from __future__ import annotations

import random
import sys
from typing import Any

from tests.systems.todo.lake.record_history import History, Record

from keyplan_systems.todo.lake.lake import Lake

USERS, CHANGES = 5, 300


def history() -> list[Record]:
    """Return the same changes each time."""
    generator = random.Random(1)
    new_history = History()
    records = []
    for number in range(CHANGES):
        new_history.now_s += generator.randrange(0, 1000)
        user, task = f"u{generator.randrange(USERS)}", str(generator.randrange(12))
        if (f"TASK#{user}", f"TASK#{task}") in new_history.items and generator.random() < 0.3:
            records.append(
                new_history.expire_task(user, task) if generator.random() < 0.5 else new_history.delete_task(user, task)
            )
        else:
            status = generator.choice(["pending", "in_progress", "completed", "cancelled"])
            records.append(new_history.put_task(user, task, status=status, title=f"change {number}"))
    return records


def run_round(lake: Lake, records: list[Record], generator: random.Random) -> None:
    """Write a few batches from anywhere, then run some maintenance."""
    for _ in range(4):
        start = generator.randrange(len(records))
        lake.bronze.write(records[start : start + generator.randrange(1, 40)])
    operations: list[Any] = [
        lake.refresh,
        lake.rebuild,
        lambda: lake.compact(min_files=2),
        lambda: lake.vacuum(retention_s=0),
    ]
    generator.choice(operations)()


def main() -> None:
    """Run until killed."""
    lake, generator = Lake.open(sys.argv[1]), random.Random(int(sys.argv[2]))
    records = history()
    while True:
        run_round(lake, records, generator)
        print("round", flush=True)


if __name__ == "__main__":
    main()
