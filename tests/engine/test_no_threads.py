"""Without available threads: work stays pending, and is done once a thread can start."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.engine.table_making import add_index, create, describe, put, scan
from tests.engine.transfer.making import Workshop, item
from tests.engine.transfer.test_jobs import Shop

from keyplan.engine.engine import Engine
from keyplan.engine.tables import backfill

EXPIRING = {"Enabled": True, "AttributeName": "until"}


@contextmanager
def no_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def start(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start)
        yield


def expire(engine: Engine) -> dict[str, Any]:
    request = {"TableName": "notes", "TimeToLiveSpecification": EXPIRING}
    expiry: dict[str, Any] = engine.call("UpdateTimeToLive", request)["TimeToLiveSpecification"]
    return expiry


def test_an_index_is_filled_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backfill, "CHUNK_ROWS", 3)
    monkeypatch.setattr(backfill, "CHUNKS_AT_ONCE", 1)
    with Engine.memory() as engine:
        create(engine)
        for number in range(20):
            put(engine, f"{number:02}", tagKey={"S": "x"})
        with no_threads(monkeypatch):
            add_index(engine, "tag")
            assert describe(engine)["GlobalSecondaryIndexes"][0]["Backfilling"]
        describe(engine)
        engine.backfiller.wait()
        assert len(scan(engine, "tag")) == 20


@pytest.mark.parametrize("look", ["DescribeTable", "DescribeTimeToLive"])
def test_expired_items_are_removed_later(monkeypatch: pytest.MonkeyPatch, look: str) -> None:
    with Engine.memory(ttl_sweep_s=0.01) as engine:
        create(engine)
        put(engine, "old", until={"N": str(int(time.time()) - 60)})
        with no_threads(monkeypatch):
            assert expire(engine) == EXPIRING
            engine.call(look, {"TableName": "notes"})
        assert not engine.background.running
        engine.call(look, {"TableName": "notes"})
        assert engine.background.running
        deadline = time.monotonic() + 30
        while engine.call("Scan", {"TableName": "notes"})["Items"]:
            assert time.monotonic() < deadline
            time.sleep(0.01)


def test_a_database_can_be_opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "data.db"
    with Engine.open(path) as engine:
        create(engine)
        expire(engine)
    with no_threads(monkeypatch):
        engine = Engine.open(path)
        put(engine, "new")
    with engine:
        describe(engine)
        assert engine.background.running


def test_an_export_is_written_later(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shop = Workshop(tmp_path)
    shop.create()
    shop.put(item("a"))
    with shop.engine:
        with no_threads(monkeypatch):
            job = shop.begin_export()
            assert shop.described(job["ExportArn"])["ExportStatus"] == "IN_PROGRESS"
        shop.described(job["ExportArn"])
        shop.engine.jobs.wait()
        assert shop.described(job["ExportArn"])["ExportStatus"] == "COMPLETED"


def test_an_import_is_read_later(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    shop.write("in/1", '{"Item": {"id": {"S": "a"}}}')
    with no_threads(monkeypatch):
        job = shop.begin_import("in/")
        shop.engine.close()
        shop = Shop(tmp_path)
    with shop.engine:
        shop.engine.call("ListImports", {})
        shop.engine.jobs.wait()
        assert shop.imported(job["ImportArn"])["ImportStatus"] == "COMPLETED"
        assert shop.scan("copy") == [item("a")]
