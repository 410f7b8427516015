"""kill -9 while backups and restores run under writes: unfinished ones are completed, with one consistent state.

KEYPLAN_KILLS sets how many times.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from tests.engine import tables_of
from tests.laws import examples
from tests.races.rings import check_trees, rings, turn

from keyplan.engine import fsck
from keyplan.engine.backups import backups, copies
from keyplan.engine.engine import Engine
from keyplan.engine.tables import backfill

KILLS = int(os.environ.get("KEYPLAN_KILLS") or examples(8))
MOST_ANSWERS = 12


def shrink_chunks(patch: Callable[[object, str, int], None] = setattr) -> None:
    patch(copies, "CHUNK_ROWS", 3)
    patch(backfill, "CHUNKS_AT_ONCE", 1)


def live(path: str, seed: int, pipe: Connection) -> None:
    """Write, copy, and report acknowledged operations until the process is killed."""
    shrink_chunks()
    with Engine.open(path) as engine:
        threading.Thread(target=write, args=(engine,), daemon=True).start()
        pipe.send("ready")
        number = 0
        while True:
            number += 1
            response = engine.call("CreateBackup", {"TableName": "things", "BackupName": "now"})
            pipe.send(("backup", response["BackupDetails"]["BackupArn"]))
            target = f"restored-{seed}-{number}"
            latest = {"SourceTableName": "things", "UseLatestRestorableTime": True}
            engine.call("RestoreTableToPointInTime", {**latest, "TargetTableName": target})
            pipe.send(("table", target))


def write(engine: Engine) -> None:
    number = int(time.time() * 1000)
    while True:
        number += 1
        turn(engine, 0, number)


def run_and_kill(path: Path, seed: int, chance: random.Random) -> set[tuple[str, str]]:
    """Return the operations that one process acknowledged before it was killed."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=live, args=(str(path), seed, theirs))
    process.start()
    theirs.close()
    acknowledged: set[tuple[str, str]] = set()
    assert ours.recv() == "ready"
    for _ in range(chance.randrange(MOST_ANSWERS)):
        acknowledged.add(ours.recv())
    time.sleep(chance.uniform(0.0, 0.02))
    process.kill()
    process.join()
    try:
        while True:
            acknowledged.add(ours.recv())
    except EOFError:
        return acknowledged


def audit(engine: Engine, acknowledged: set[tuple[str, str]]) -> None:
    """All that was acknowledged is there and whole, and so is what was begun."""
    engine.backfiller.wait()
    assert fsck.check(engine) == []
    check_trees(engine)
    arns = {document["arn"] for document in backups.all_backups(engine.store.view())}
    tables = set(engine.call("ListTables", {})["TableNames"]) - {"things"}
    assert acknowledged <= {("backup", arn) for arn in arns} | {("table", name) for name in tables}
    for arn in arns:
        engine.call("RestoreTableFromBackup", {"BackupArn": arn, "TargetTableName": "again"})
        engine.backfiller.wait()
        assert [len(versions) for versions in rings(engine, "again").values()] == [1]
        engine.call("DeleteTable", {"TableName": "again"})
        engine.call("DeleteBackup", {"BackupArn": arn})
    for table in tables:
        assert [len(versions) for versions in rings(engine, table).values()] == [1]
        engine.call("DeleteTable", {"TableName": table})
    check_trees(engine)


@pytest.mark.timeout(1800)
def test_copies_started_by_a_killed_process_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shrink_chunks(monkeypatch.setattr)
    path = tmp_path / "data.db"
    with Engine.open(path) as engine:
        tables_of.create(engine)
        specification = {"PointInTimeRecoveryEnabled": True}
        engine.call(
            "UpdateContinuousBackups", {"TableName": "things", "PointInTimeRecoverySpecification": specification}
        )
        for number in range(60):
            turn(engine, 0, number)
    chance = random.Random(7)
    for kill in range(KILLS):
        acknowledged = run_and_kill(path, kill, chance)
        with Engine.open(path) as engine:
            audit(engine, acknowledged)
