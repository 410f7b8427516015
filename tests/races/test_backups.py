"""Backups and restores during concurrent writes by threads and processes: each has the state of one point in time."""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Callable
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest
from tests.engine import tables_of
from tests.races.rings import check_trees, rings, turn

from keyplan.engine import fsck
from keyplan.engine.backups import backups, copies
from keyplan.engine.engine import Engine
from keyplan.engine.tables import backfill

ROUNDS = 6


def write(path: str, writer: int, stop: Event) -> None:
    """Write in a process until it receives the stop event."""
    with Engine.open(path) as engine:
        work(engine, writer, stop.is_set)


def work(engine: Engine, writer: int, stopped: Callable[[], bool]) -> None:
    number = 1
    while not stopped():
        turn(engine, writer, number)
        number += 1
        time.sleep(0.001)


def ready(engine: Engine, arn: str) -> None:
    states = "CREATING"
    while states == "CREATING":
        described = engine.call("DescribeBackup", {"BackupArn": arn})["BackupDescription"]
        states = described["BackupDetails"]["BackupStatus"]


def active(engine: Engine, table: str) -> None:
    while engine.call("DescribeTable", {"TableName": table})["Table"]["TableStatus"] == "CREATING":
        time.sleep(0.001)


def copy_all_the_time(engine: Engine) -> None:
    """Take backups, restore them and the current time, and check each."""
    for number in range(ROUNDS):
        arns = [
            engine.call("CreateBackup", {"TableName": "things", "BackupName": "now"})["BackupDetails"]["BackupArn"]
            for _ in range(2)
        ]
        past = {"SourceTableName": "things", "RestoreDateTime": time.time() - 0.02}
        engine.call("RestoreTableToPointInTime", {**past, "TargetTableName": f"past-{number}"})
        latest = {"SourceTableName": "things", "UseLatestRestorableTime": True}
        engine.call("RestoreTableToPointInTime", {**latest, "TargetTableName": f"latest-{number}"})
        for index, arn in enumerate(arns):
            ready(engine, arn)
            engine.call("RestoreTableFromBackup", {"BackupArn": arn, "TargetTableName": f"backup-{number}-{index}"})
        for table in (f"past-{number}", f"latest-{number}", f"backup-{number}-0", f"backup-{number}-1"):
            active(engine, table)
            for versions in rings(engine, table).values():
                assert len(versions) == 1, f"{table} has a part of a transaction: {versions}"
            engine.call("DeleteTable", {"TableName": table})
        for arn in arns:
            engine.call("DeleteBackup", {"BackupArn": arn})


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "CHUNK_ROWS", 7)
    monkeypatch.setattr(backfill, "CHUNKS_AT_ONCE", 1)


def prepare(engine: Engine) -> None:
    tables_of.create(engine)
    specification = {"PointInTimeRecoveryEnabled": True}
    engine.call("UpdateContinuousBackups", {"TableName": "things", "PointInTimeRecoverySpecification": specification})
    for writer in range(2):
        turn(engine, writer, 0)
    time.sleep(0.05)


def check_nothing_is_left(engine: Engine) -> None:
    assert fsck.check(engine) == []
    view = engine.store.view()
    assert backups.all_backups(view) == [] == copies.pending_owners(view)
    check_trees(engine)


@pytest.mark.parametrize("durability", ["memory", "normal", "full"])
def test_copies_are_consistent_while_threads_write(tmp_path: Path, durability: str) -> None:
    path = tmp_path / "data.db"
    with Engine.memory() if durability == "memory" else Engine.open(path, durability=durability) as engine:  # type: ignore[arg-type]
        prepare(engine)
        stop = threading.Event()
        writers = [threading.Thread(target=work, args=(engine, writer, stop.is_set)) for writer in range(2)]
        for thread in writers:
            thread.start()
        try:
            copy_all_the_time(engine)
        finally:
            stop.set()
            for thread in writers:
                thread.join()
        check_nothing_is_left(engine)


def test_copies_are_consistent_while_processes_write(tmp_path: Path) -> None:
    path = tmp_path / "data.db"
    context = multiprocessing.get_context("spawn")
    with Engine.open(path) as engine:
        prepare(engine)
        stop = context.Event()
        writers = [context.Process(target=write, args=(str(path), writer, stop)) for writer in range(2)]
        for process in writers:
            process.start()
        try:
            copy_all_the_time(engine)
        finally:
            stop.set()
            for process in writers:
                process.join()
        assert [process.exitcode for process in writers] == [0, 0]
        check_nothing_is_left(engine)
