"""Measuring at several numbers of items: stages, files that are kept, bounds."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import apsw
import pytest
from bench.measure import Span
from bench.targets.model import Settings, TargetError
from bench.targets.table import open_target
from bench.workload import Operation, Workload

from bench import http, measure, scale


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Settings]:
    """Stages of 100 and 1,000 items, measured as briefly as possible and without wrk."""
    monkeypatch.setattr(scale, "FIRST_STAGE_ITEMS", 100)
    monkeypatch.setattr(scale, "COLD_CALLS", 5)
    monkeypatch.setattr(scale, "DISTINCT", dict.fromkeys(scale.DISTINCT, 5))
    monkeypatch.setattr(shutil, "which", lambda name: None)
    # Collecting the heap of a long test run before each measurement takes minutes.
    monkeypatch.setattr(measure, "gc", SimpleNamespace(collect=int, freeze=int, unfreeze=int))
    workload = Workload(1000)
    with http.RequestFiles(workload) as files:
        yield Settings(workload, Span(0, 0.001), tmp_path, files)


class Loaded:
    """Counts the items that are loaded into each database."""

    def __init__(self) -> None:
        self.items: dict[str, int] = {}

    @contextlib.contextmanager
    def __call__(self, part: str, count: int) -> Iterator[Callable[[int], None]]:
        self.items[part] = count
        yield lambda items: None


def test_each_stage_measures_the_engine_and_bare_sqlite_cold_warm_and_mixed(settings: Settings) -> None:
    measured = scale.measure(settings, 1000, Loaded())
    assert [stage.items for stage in measured.stages] == [100, 1000]
    for stage in measured.stages:
        assert list(stage.targets) == ["engine", "bare"]
        for of_target in stage.targets.values():
            assert list(of_target.warm) == list(of_target.cold) == list(of_target.small)
            assert list(of_target.mixed) == [Operation.GET, Operation.PUT]
            assert of_target.log_mib > 0


def test_existing_databases_are_not_loaded_again(settings: Settings) -> None:
    first, second = Loaded(), Loaded()
    scale.measure(settings, 1000, first)
    assert first.items == {
        "engine, 100 items": 100,
        "bare, 100 items": 100,
        "engine, 1,000 items": 900,
        "bare, 1,000 items": 900,
    }
    again = scale.measure(settings, 1000, second)
    assert second.items == {}
    assert [stage.items for stage in again.stages] == [1000]


def test_bounds_apply_to_the_last_stage_only(settings: Settings) -> None:
    measured = scale.measure(settings, 1000, Loaded())
    bounded = [line.what for line in measured.lines() if line.limit is not None]
    assert bounded == [
        "get, median, 1,000 items",
        "get, median, 1,000 items",
        "query 20, median, 1,000 items",
        "put, median, 1,000 items",
        "growth of a get from 100 items, 1,000 items",
        "put, p99, mixed, 1,000 items",
        "log, mixed, 1,000 items",
    ]


def test_rows_of_bare_sqlite_have_the_keys_of_the_engine(settings: Settings) -> None:
    keys: dict[str, list[bytes]] = {}
    for name, query in (("engine", "SELECT k FROM tree_1 ORDER BY k"), ("bare", "SELECT k FROM item ORDER BY k")):
        with open_target(name, settings) as target:
            target.set_up(lambda items: None)
        connection = apsw.Connection(str(settings.folder / f"{name}.db"))
        keys[name] = [key for (key,) in connection.execute(query)]
        connection.close()
    assert len(keys["engine"]) == 1000
    assert keys["engine"] == keys["bare"]


def test_a_target_without_a_file_is_rejected(settings: Settings) -> None:
    with pytest.raises(TargetError, match="scale measures engine, engine-full, bare"):
        scale.measure(settings, 1000, Loaded(), "engine-memory")
