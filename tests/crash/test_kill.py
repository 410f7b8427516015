"""kill -9 in a loop under write load: nothing acknowledged is lost, nothing half done is seen.

KEYPLAN_KILLS sets how many times each durability is killed.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.laws import examples

from keyplan.engine import fsck
from keyplan.engine.engine import Engine

WRITER = Path(__file__).parent / "writer.py"
TABLE = "crash"
KILLS = int(os.environ.get("KEYPLAN_KILLS") or examples(8))
MOST_LINES = 300
RING = 4
"""How many items the writer's transaction puts."""


class Auditor:
    """What the writers acknowledged, over all their lives."""

    def __init__(self) -> None:
        self.versions: dict[str, int] = {}
        self.deleted: set[str] = set()
        self.counted: dict[str, int] = defaultdict(int)
        self.ring = 0
        self.batch = 0
        self.begun = 0
        self.acknowledged = 0

    def hear(self, lines: list[str]) -> None:
        """Take in what one writer said before it was killed."""
        added: dict[str, int] = {}
        for line in lines:
            verb, *rest = line.split()
            self.acknowledged += verb != "ready"
            if verb == "put":
                self.versions[rest[0]] = int(rest[1])
                self.deleted.discard(rest[0])
            elif verb == "del":
                self.versions[rest[0]] = int(rest[1])
                self.deleted.add(rest[0])
            elif verb == "add":
                added[rest[0]] = int(rest[1])
            elif verb in ("ring", "batch"):
                setattr(self, verb, int(rest[0]))
        for name, count in added.items():
            self.counted[name] += count

    def audit(self, engine: Engine) -> None:
        """Compare the database with what was acknowledged.

        Each worker had at most one write on its way when it was killed: that one may be there or not. What is there now
        is what the next life starts from, acknowledged or not.
        """
        items = {item["sk"]["S"]: item for item in read_all(engine)}
        in_doubt: dict[str, list[str]] = defaultdict(list)
        for name in {name for name in items if name.startswith("item")} | self.versions.keys():
            version = self.versions.get(name, 0)
            worker = name.removeprefix("item").partition("-")[0]
            stored_item = items.get(name)
            if stored_item is None:
                if name not in self.deleted:
                    in_doubt[worker].append(f"{name} is gone, {version} was acknowledged")
                continue
            stored = int(stored_item["version"]["N"])
            if stored != version:
                assert stored == version + 1, f"{name}: {version} acknowledged, {stored} stored"
                in_doubt[worker].append(f"{name} is one ahead")
            else:
                assert name not in self.deleted, f"{name} came back after an acknowledged delete"
        counts = {name: int(item["hits"]["N"]) for name, item in items.items() if name.startswith("count")}
        for name in counts.keys() | self.counted.keys():
            count, stored = self.counted.get(name, 0), counts.get(name, 0)
            if stored != count:
                assert stored == count + 1, f"{name}: {count} acknowledged, {stored} stored"
                in_doubt[name.removeprefix("count")].append(f"{name} is one ahead")
        for doubts in in_doubt.values():
            assert len(doubts) <= 1, doubts
        self.audit_together(items)
        audit_stream(engine, items)
        self.versions = {name: int(item["version"]["N"]) for name, item in items.items() if name.startswith("item")}
        self.counted = defaultdict(int, counts)
        self.deleted = set()

    def audit_together(self, items: dict[str, Any]) -> None:
        """Check that the ring has one version, at most one ahead, and that no batch item is ahead of the ring."""
        assert sum(name.startswith("ring") for name in items) in (0, RING), "a torn transaction"
        ring = {int(item["version"]["N"]) for name, item in items.items() if name.startswith("ring")}
        batch = {int(item["version"]["N"]) for name, item in items.items() if name.startswith("batch")}
        assert len(ring) <= 1, f"a torn transaction: {ring}"
        started = max(self.begun, self.ring, self.batch)
        for version in ring or {0}:
            assert self.ring <= version <= started + 1
        for version in batch or {0}:
            assert self.batch <= version <= started
        self.ring, self.batch = max(ring, default=0), min(batch, default=0)
        self.begun = max(ring | batch, default=0)


def read_all(engine: Engine) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    request: dict[str, Any] = {"TableName": TABLE, "ConsistentRead": True}
    while True:
        page = engine.call("Scan", request)
        items += page["Items"]
        if "LastEvaluatedKey" not in page:
            return items
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]


def audit_stream(engine: Engine, items: dict[str, Any]) -> None:
    """Replaying the stream from its start gives exactly the table."""
    arn = engine.call("DescribeTable", {"TableName": TABLE})["Table"]["LatestStreamArn"]
    replayed: dict[str, Any] = {}
    for shard in engine.call("DescribeStream", {"StreamArn": arn})["StreamDescription"]["Shards"]:
        request = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        iterator = engine.call("GetShardIterator", request)["ShardIterator"]
        while iterator:
            response = engine.call("GetRecords", {"ShardIterator": iterator})
            for record in response["Records"]:
                name = record["dynamodb"]["Keys"]["sk"]["S"]
                assert replayed.get(name) == record["dynamodb"].get("OldImage"), f"{name}: a record is missing"
                replayed[name] = record["dynamodb"].get("NewImage")
            iterator = response.get("NextShardIterator") if response["Records"] else None
    assert {name: image for name, image in replayed.items() if image is not None} == items


def run_and_kill(path: Path, durability: str, seed: int, after: int, pause_s: float) -> list[str]:
    """Start a writer, kill it shortly after it has printed this many lines, and return all its lines.

    Neither the exact delay nor the number of further lines before the kill matters.
    The last line is whole: a write of so few bytes goes into a pipe as one, or not at all.
    """
    writer = subprocess.Popen(
        [sys.executable, str(WRITER), str(path), durability, str(seed)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert writer.stdout is not None
    message = [writer.stdout.readline() for _ in range(1 + after)]
    time.sleep(pause_s)
    writer.send_signal(signal.SIGKILL)
    message.append(writer.stdout.read())
    errors = writer.communicate()[1]
    assert not errors, errors.decode()
    lines = b"".join(message).decode().splitlines()
    assert lines[0] == "ready"
    return lines


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("durability", ["normal", "full"])
def test_a_killed_writer_loses_no_acknowledged_write(tmp_path: Path, durability: str) -> None:
    path = tmp_path / "data.db"
    auditor = Auditor()
    chance = random.Random(7)
    for kill in range(KILLS):
        after, pause_s = chance.randrange(MOST_LINES), chance.uniform(0.0, 0.005)
        auditor.hear(run_and_kill(path, durability, kill, after, pause_s))
        with Engine.open(path) as engine:
            assert fsck.check(engine) == []
            auditor.audit(engine)
    report = {"kills": KILLS, "durability": durability, "acknowledged": auditor.acknowledged}
    sys.stderr.write(orjson.dumps(report).decode() + "\n")
