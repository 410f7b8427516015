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
    chance = random.Random(1)
    new_history = History()
    records = []
    for number in range(CHANGES):
        new_history.now_s += chance.randrange(0, 1000)
        user, task = f"u{chance.randrange(USERS)}", str(chance.randrange(12))
        if (f"TASK#{user}", f"TASK#{task}") in new_history.items and chance.random() < 0.3:
            records.append(
                new_history.expire_task(user, task) if chance.random() < 0.5 else new_history.delete_task(user, task)
            )
        else:
            status = chance.choice(["pending", "in_progress", "completed", "cancelled"])
            records.append(new_history.put_task(user, task, status=status, title=f"change {number}"))
    return records


def one_round(lake: Lake, records: list[Record], chance: random.Random) -> None:
    """Write a few batches from anywhere, then run some maintenance."""
    for _ in range(4):
        at = chance.randrange(len(records))
        lake.bronze.write(records[at : at + chance.randrange(1, 40)])
    works: list[Any] = [
        lake.refresh,
        lake.rebuild,
        lambda: lake.compact(min_files=2),
        lambda: lake.vacuum(retention_s=0),
    ]
    chance.choice(works)()


def main() -> None:
    """Run until killed."""
    lake, chance = Lake.open(sys.argv[1]), random.Random(int(sys.argv[2]))
    records = history()
    while True:
        one_round(lake, records, chance)
        print("round", flush=True)


if __name__ == "__main__":
    main()
