"""Consumers killed in the middle of their work, again and again: nothing is lost, and effects happen once."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.laws import examples
from tests.streams.consumer import SHARDS, make, runner_of
from tests.streams.shop import Shop

from keyplan import connect
from keyplan.engine.engine import Engine

KILLS = int(os.environ.get("KEYPLAN_KILLS") or max(2, examples(4)))
MOST_ORDERS = 25
ROOT = Path(__file__).parents[2]


def start(path: Path, name: str, checkpoints: str) -> subprocess.Popen[bytes]:
    """Start a consumer."""
    command = [sys.executable, "-m", "tests.streams.consumer", str(path), name, checkpoints]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    if process.stdout.readline() != b"ready\n":
        process.kill()
        raise AssertionError(process.communicate()[1].decode())
    return process


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill it; until then it must have run without complaint."""
    process.send_signal(signal.SIGKILL)
    errors = process.communicate()[1]
    assert not errors, errors.decode()


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("checkpoints", "consumers"), [("table", 1), ("file", 1), ("table", 2)])
def test_killed_consumers_lose_nothing_and_count_each_order_once(
    tmp_path: Path, checkpoints: str, consumers: int
) -> None:
    path, chance = tmp_path / "data.db", random.Random(3)
    location = "table" if checkpoints == "table" else str(tmp_path / "checkpoints.json")
    with Engine.open(path, stream_shards=SHARDS) as engine, connect(engine=engine) as db:
        shop = Shop()
        make(shop, db)
        db.create_tables(shop.table)
        placed = 0
        for _ in range(KILLS):
            running = [start(path, f"worker{number}", location) for number in range(consumers)]
            for _ in range(chance.randrange(1, MOST_ORDERS)):
                for customer in range(5):
                    shop.orders(db, 1, customer=f"c{customer}", first=placed)
                placed += 1
            time.sleep(chance.uniform(0.0, 0.02))  # so that the kill may come anywhere in the consumers' work
            for process in running:
                kill(process)
        for number in range(consumers):
            with runner_of(db, shop, f"worker{number}", location) as runner:
                runner.run_once()
        for customer in range(5):
            key = {"PK": {"S": f"CUSTOMER#c{customer}"}, "SK": {"S": "PROFILE"}}
            item = engine.call("GetItem", {"TableName": "shop", "Key": key, "ConsistentRead": True})["Item"]
            assert item["orders"] == {"N": str(placed)}
