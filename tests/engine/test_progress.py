"""Progress of long jobs in the log: after two seconds, then every ten."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from tests.engine import tables_of
from tests.engine.table_making import add_index, create
from tests.engine.table_making import put as put_note

from keyplan.clock import ManualClock
from keyplan.engine import fsck, progress
from keyplan.engine.engine import Engine
from keyplan.engine.items import sweep
from keyplan.engine.progress import Progress, percent
from keyplan.engine.tables import backfill

NOW = int(tables_of.NOW)


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Any:
    caplog.set_level("INFO", progress.LOGGER)
    return lambda: [record.getMessage() for record in caplog.records if record.name == progress.LOGGER]


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Report every place."""
    monkeypatch.setattr(progress, "FIRST_S", 0.0)
    monkeypatch.setattr(progress, "EVERY_S", 0.0)


def test_a_job_is_reported_after_two_seconds_and_then_every_ten(lines: Any) -> None:
    clock = ManualClock()
    job = Progress(clock, "filling")
    for second in range(1, 15):
        clock.advance(1.0)
        job.report(lambda second=second: f"{second} rows")  # type: ignore[misc]
    job.finish()
    assert lines() == ["filling: 2 rows", "filling: 12 rows", "filling: done after 14 s"]


def test_a_short_job_is_not_reported(lines: Any) -> None:
    clock = ManualClock()
    job = Progress(clock, "filling")
    clock.advance(1.9)
    job.report(lambda: "1 row")
    job.finish()
    assert lines() == []


@pytest.mark.parametrize(
    ("key", "text"), [(b"", "0 %"), (b"\x40\x00\x00\x00a", "25 %"), (b"\xff\xff\xff\xffz", "100 %")]
)
def test_the_hash_of_a_key_gives_the_progress_of_a_job(key: bytes, text: str) -> None:
    assert percent(key) == text


@pytest.mark.usefixtures("at_once")
def test_a_backfill_is_reported(lines: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backfill, "CHUNK_ROWS", 3)
    monkeypatch.setattr(backfill, "CHUNKS_AT_ONCE", 1)
    with Engine.memory() as engine:
        create(engine)
        for number in range(20):
            put_note(engine, str(number), tagKey={"S": "a"})
        add_index(engine, "tag")
        engine.backfiller.wait()
    assert len(lines()) > 1
    assert all(line.startswith("filling index tag of notes: ") for line in lines())
    shares = [int(line.split()[-2]) for line in lines() if line.endswith("%")]
    assert shares == sorted(shares)
    assert shares[-1] > shares[0]


@pytest.mark.usefixtures("at_once")
def test_a_sweep_is_reported(lines: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "BATCH_ITEMS", 2)
    with Engine.memory(clock=tables_of.clock()) as engine:
        tables_of.create(engine)
        specification = {"Enabled": True, "AttributeName": "until"}
        engine.call("UpdateTimeToLive", {"TableName": "things", "TimeToLiveSpecification": specification})
        for name in "abc":
            tables_of.put(engine, name, until={"N": str(NOW - 10)})
        engine.sweep()
    job = "removing expired items of things"
    assert lines() == [f"{job}: 2 items", f"{job}: 3 items", f"{job}: done after 0 s"]


@pytest.mark.usefixtures("at_once")
def test_an_fsck_is_reported(lines: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(fsck, "PROGRESS_ROWS", 2)
    monkeypatch.setattr("keyplan.engine.store.sqlite.INTEGRITY_STEPS", 1)
    with Engine.open(tmp_path / "data.db") as engine:
        tables_of.create(engine)
        for name in "abc":
            tables_of.put(engine, name)
        assert fsck.check(engine) == []
        assert engine.call("DescribeTable", {"TableName": "things"})["Table"]["ItemCount"] == 3
    assert lines()[0].startswith("checking the pages of the file: ")
    assert "checking table things: counting entries" in lines()


def test_the_progress_of_long_jobs_is_shown_while_a_block_runs() -> None:
    lines: list[str] = []
    logger = logging.getLogger(progress.LOGGER)
    logger.info("before")
    with progress.reporting_to(lines.append):
        logger.info("%s: %s", "checking table things", "25 %")
    logger.info("after")
    assert lines == ["checking table things: 25 %"]
