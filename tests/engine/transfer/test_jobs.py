"""Exports and imports across restarts and between engines, and how they are found, listed and repeated."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.engine.transfer.making import BUCKET, NOW, Workshop, item, json_lines

from keyplan.clock import ManualClock, SystemClock
from keyplan.engine.engine import Engine
from keyplan.engine.transfer import export_files, exports, imports, jobs
from keyplan.engine.transfer.errors import StoppedError
from keyplan.engine.transfer.worker import LEASE_S


class Shop(Workshop):
    """A workshop whose database is a file."""

    def __init__(self, folder: Path, clock: Any = None) -> None:
        (folder / BUCKET).mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.clock = ManualClock(NOW) if clock is None else clock
        self.engine = Engine.open(folder / "data.db", clock=self.clock, buckets=folder)


def interrupted(shop: Shop, monkeypatch: pytest.MonkeyPatch, after: int) -> Callable[[], bool]:
    """Stop the engine's jobs at this beat, as `close` does; return a function that reports whether it happened."""
    beats = 0
    heartbeat = jobs.JobClaim.heartbeat

    def counted(claim: jobs.JobClaim) -> None:
        nonlocal beats
        beats += 1
        if beats == after:
            shop.engine.jobs._stop.set()
        heartbeat(claim)

    monkeypatch.setattr(jobs.JobClaim, "heartbeat", counted)
    return lambda: beats >= after


@pytest.mark.parametrize("after", range(1, 12))
def test_an_import_continues_after_a_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    monkeypatch.setattr(imports, "BATCH_ITEMS", 3)
    shop = Shop(tmp_path)
    for file in range(3):
        lines = [json.dumps({"Item": item(f"{file}{number}", n={"N": "1"})}) for number in range(7)]
        lines.insert(3, '{"Item": {"n": {"N": "1"}}}')
        shop.write(f"in/{file}", "\n".join(lines))
    reached = interrupted(shop, monkeypatch, after)
    job = shop.begin_import("in/")
    shop.engine.jobs.wait()
    assert reached() == (shop.imported(job["ImportArn"])["ImportStatus"] == "IN_PROGRESS")
    shop.engine.close()
    monkeypatch.undo()
    again = Shop(tmp_path)
    again.engine.jobs.wait()
    ended = again.imported(job["ImportArn"])
    assert [ended[name] for name in ("ProcessedItemCount", "ImportedItemCount", "ErrorCount")] == [24, 21, 3]
    assert ended["ProcessedSizeBytes"] == sum(len(again.read(f"in/{file}")) for file in range(3))
    assert ended["FailureCode"] == "ItemValidationError"
    assert len(again.scan("copy")) == 21
    again.engine.close()


@pytest.mark.parametrize("after", [1, 2, 3, 4])
def test_an_export_is_written_again_after_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    shop = Shop(tmp_path)
    shop.create()
    shop.put(*(item(str(number)) for number in range(20)))
    reached = interrupted(shop, monkeypatch, after)
    job = shop.begin_export(S3Prefix="out")
    shop.engine.jobs.wait()
    assert reached()
    assert shop.described(job["ExportArn"])["ExportStatus"] == "IN_PROGRESS"
    shop.clock.advance(1)
    shop.put(item("0", n={"N": "1"}), item("later"))
    shop.engine.close()
    monkeypatch.undo()
    again = Shop(tmp_path)
    again.clock.advance(2)
    again.engine.jobs.wait()
    ended = again.described(job["ExportArn"])
    assert (ended["ExportStatus"], ended["ItemCount"]) == ("COMPLETED", 20)
    assert sorted(line["Item"]["id"]["S"] for line in again.lines(ended)) == sorted(str(n) for n in range(20))
    assert len([key for key in again.objects() if "/data/" in key]) == 4
    again.engine.close()


def crashed(shop: Workshop, kind: str, arn: str) -> None:
    """Leave a job as a killed process leaves it."""
    document = jobs.find(shop.engine.store.view(), kind, arn)
    assert document is not None
    orphaned = {**document, "runner": "a process that is gone", "beat_s": shop.clock.now()}
    shop.engine.store.write(lambda transaction: jobs.save(transaction, orphaned))


def test_a_job_of_a_killed_process_is_taken_over_after_a_silence(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.write("a", json_lines(item("1")))
    monkeypatch.setattr(shop.engine.database, "wake_jobs", lambda: None)
    job = shop.begin_import()
    crashed(shop, jobs.IMPORT, job["ImportArn"])
    monkeypatch.undo()
    shop.clock.advance(LEASE_S - 1)
    for _ in range(2):
        assert shop.imported(job["ImportArn"])["ImportStatus"] == "IN_PROGRESS"
        shop.engine.jobs.wait()
    shop.clock.advance(1)
    shop.imported(job["ImportArn"])
    shop.engine.jobs.wait()
    assert shop.imported(job["ImportArn"])["ImportStatus"] == "COMPLETED"


@pytest.mark.slow  # starts processes
def test_processes_with_equal_ids_are_distinguished() -> None:
    program = (
        "import os; os.getpid = lambda: 1\n"
        "from keyplan.engine.engine import Engine\n"
        "print(Engine.memory().jobs._runner)"
    )
    names = {subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout for _ in range(2)}
    assert len(names) == 2


def test_a_job_taken_over_by_another_engine_is_not_changed(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imports, "BATCH_ITEMS", 1)
    shop.write("a", json_lines(item("1"), item("2")))
    write = imports._write

    def losing(*args: Any) -> None:
        write(*args)
        transaction = args[0]
        document = jobs.find(
            transaction, jobs.IMPORT, jobs.all_jobs(transaction, jobs.IMPORT)[0]["description"]["ImportArn"]
        )
        assert document is not None
        monkeypatch.setattr(jobs.JobClaim, "save", lambda claim, t, d: jobs.save(t, {**d, "runner": "another"}))

    monkeypatch.setattr(imports, "_write", losing)
    job = shop.begin_import()
    shop.engine.jobs.wait()
    monkeypatch.undo()
    document = jobs.find(shop.engine.store.view(), jobs.IMPORT, job["ImportArn"])
    assert document is not None
    assert (document["runner"], document["progress"]["imported"]) == ("another", 1)
    assert shop.status() == "CREATING"


def test_closing_an_engine_does_not_change_a_job_taken_over_by_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Shop(tmp_path)
    shop.write("a", json_lines(item("1")))
    escaped: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", escaped.append)

    def taken_over(engine: Engine, document: jobs.Document, _claim: jobs.JobClaim) -> None:
        crashed(shop, jobs.IMPORT, jobs.arn_of(document))
        engine.jobs._stop.set()
        raise StoppedError

    monkeypatch.setattr(imports, "run", taken_over)
    job = shop.begin_import()
    shop.engine.jobs.wait()
    document = jobs.find(shop.engine.store.view(), jobs.IMPORT, job["ImportArn"])
    assert document is not None
    assert document["runner"] == "a process that is gone"
    shop.engine.close()
    assert not escaped


def test_a_heartbeat_is_written_regularly(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.create()
    shop.put(*(item(str(number)) for number in range(5)))
    beats: list[float] = []
    item_line = export_files.item_line

    def slow(body: bytes) -> bytes:
        shop.clock.advance(jobs.BEAT_S)
        beats.append(jobs.all_jobs(shop.engine.store.view(), jobs.EXPORT)[0]["beat_s"])
        return item_line(body)

    monkeypatch.setattr(export_files, "item_line", slow)
    monkeypatch.setattr(export_files, "_BUFFER_BYTES", 1)
    monkeypatch.setattr(exports, "CHUNK_ROWS", 1)
    assert shop.export()["ExportStatus"] == "COMPLETED"
    assert beats[-1] > NOW


def test_without_buckets_after_a_restart_a_job_fails_when_described(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shop.engine.database, "wake_jobs", lambda: None)
    job = shop.begin_import()
    with shop.engine.copy() as engine:
        assert engine.call("ListImports", {})["ImportSummaryList"][0]["ImportStatus"] == "IN_PROGRESS"
        engine.jobs.wait()
        ended = engine.call("DescribeImport", {"ImportArn": job["ImportArn"]})["ImportTableDescription"]
        assert (ended["ImportStatus"], ended["FailureCode"]) == ("FAILED", "InternalServerError")
        assert engine.call("ListTables", {})["TableNames"] == []


def test_a_thread_works_on_its_own_with_a_real_clock(tmp_path: Path) -> None:
    shop = Shop(tmp_path, SystemClock())
    shop.write("a", json_lines(item("1")))
    job = shop.begin_import()
    shop.engine.jobs.wait()
    assert shop.imported(job["ImportArn"])["ImportStatus"] == "COMPLETED"
    assert not shop.engine.jobs._pending()
    shop.engine.close()
