"""Compaction and vacuum, while others write and read."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.systems.todo.lake.queries import gold, rows, sequences, silver
from tests.systems.todo.lake.record_history import NOON_S, History

from keyplan.clock import ManualClock
from keyplan_systems.todo.lake import views
from keyplan_systems.todo.lake.gold import SCHEMAS
from keyplan_systems.todo.lake.lake import Lake
from keyplan_systems.todo.lake.storage import Folder


def scattered(lake: Lake, batches: int = 20) -> History:
    """Write many small files of two dates."""
    history = History()
    for number in range(batches):
        history.now_s = NOON_S + 86_400 * (number % 2)
        lake.bronze.write([history.put_task("ann", str(number % 7), title=str(number)), history.put_user(str(number))])
    return history


def data_files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*.parquet")}


def test_compaction_changes_files_and_no_rows(lake: Lake) -> None:
    scattered(lake)
    lake.refresh()
    before = (rows(lake, "SELECT * FROM bronze.events ORDER BY ALL"), silver(lake), gold(lake))
    report = lake.compact()
    assert (report.files_before, report.files_after) == (20, 2)
    assert (rows(lake, "SELECT * FROM bronze.events ORDER BY ALL"), silver(lake), gold(lake)) == before
    assert [file.partition for file in lake.snapshot.files_of("bronze")] == ["2025-11-20", "2025-11-21"]


def test_compaction_does_not_rewrite_few_files(lake: Lake) -> None:
    scattered(lake, 10)
    assert lake.compact().files_before == 0
    assert lake.compact(min_files=5).files_before == 10
    assert lake.compact(min_files=0).files_before == 0


def test_compaction_folds_before_it_merges_so_that_no_event_counts_twice(lake: Lake) -> None:
    history = scattered(lake, 6)
    lake.compact(min_files=2)
    lake.bronze.write([history.put_task("ann", "0")])
    lake.compact(min_files=2)
    lake.refresh()
    once = silver(lake)
    lake.rebuild()
    assert silver(lake) == once
    assert rows(lake, "SELECT sum(events)::INT AS events FROM silver.tasks") == [{"events": 7}]


class Interrupting(Folder):
    """Folder that runs an action just before a version is committed."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.happens: list[Callable[[], Any]] = []

    def create(self, path: str, body: bytes) -> bool:
        """Run the action, then create the file."""
        if self.happens:
            self.happens.pop(0)()
        return super().create(path, body)


@pytest.fixture
def slow(tmp_path: Path, clock: ManualClock) -> tuple[Lake, Interrupting]:
    """Return the same lake as `lake`, for a program that is slow to commit."""
    storage = Interrupting(tmp_path / "lake")
    return Lake(storage, clock), storage


_Steps = dict[str, Callable[[Lake], Any]]
_STEPS: _Steps = {
    "write": lambda lake: lake.bronze.write([History(first=10**20 + 10).put_task("bob", "1")]),
    "refresh": lambda lake: lake.refresh(),
    "rebuild": lambda lake: lake.rebuild(),
    "compact": lambda lake: lake.compact(min_files=2),
    "vacuum": lambda lake: lake.vacuum(retention_s=0),
}


@pytest.mark.parametrize("first", _STEPS)
@pytest.mark.parametrize("second", _STEPS)
def test_any_two_concurrent_jobs_give_the_result_of_running_them_in_sequence(
    lake: Lake, slow: tuple[Lake, Interrupting], first: str, second: str
) -> None:
    scattered(lake, 6)
    late, storage = slow
    written = {"write"} & {first, second}

    def interrupt() -> None:
        _STEPS[second](lake)
        lake.vacuum(retention_s=0)

    storage.happens = [interrupt, interrupt]
    _STEPS[first](late)
    late.refresh()
    assert len(sequences(lake)) == 12 + len(written)
    expected = (silver(lake), gold(lake))
    lake.rebuild()
    assert (silver(lake), gold(lake)) == expected
    assert rows(lake, "SELECT count(*)::INT AS n FROM silver.tasks") == [{"n": 6 + len(written)}]


def test_a_reader_keeps_its_version_while_the_lake_is_compacted(lake: Lake, tmp_path: Path, clock: ManualClock) -> None:
    history = scattered(lake)
    lake.refresh()
    reader = views.connect(Folder(tmp_path / "lake"), lake.snapshot, SCHEMAS)
    try:
        count = "SELECT count(*), count(DISTINCT sequence) FROM bronze.events"
        assert reader.execute(count).fetchone() == (40, 40)
        lake.bronze.write([history.put_user("later")])
        lake.compact(min_files=2)
        clock.advance(3599)
        lake.vacuum()
        assert reader.execute(count).fetchone() == (40, 40)
        assert rows(lake, count)[0] == {"count_star()": 41, 'count(DISTINCT "sequence")': 41}
    finally:
        reader.close()


def test_vacuum_removes_files_that_no_used_version_names(lake: Lake, tmp_path: Path, clock: ManualClock) -> None:
    scattered(lake)
    lake.compact()
    assert lake.vacuum().files == 0
    clock.advance(3601)
    lake.bronze.write([History(first=10**21).put_user("new")])
    assert lake.vacuum().files >= 20
    assert data_files(tmp_path / "lake") == {file.path for file in lake.snapshot.files}
    assert len(sequences(lake)) == 41


class Counting(Folder):
    """Folder that counts how often each file is read."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.read_files: Counter[str] = Counter()

    def read(self, path: str) -> bytes:
        """Count the read and return the content."""
        self.read_files[path] += 1
        return super().read(path)


def test_vacuum_reads_no_version_twice(lake: Lake, tmp_path: Path, clock: ManualClock) -> None:
    scattered(lake)
    storage = Counting(tmp_path / "lake")
    keeper = Lake(storage, clock)
    keeper.refresh()
    storage.read_files.clear()
    keeper.vacuum()
    assert len(storage.read_files) >= 20
    assert set(storage.read_files.values()) == {1}


def test_vacuum_removes_files_that_a_killed_writer_never_committed(lake: Lake, tmp_path: Path) -> None:
    scattered(lake, 2)
    folder = tmp_path / "lake"
    named = {file.path for file in lake.snapshot.files}
    orphan = folder / "bronze" / "date=2025-11-20" / "1-abc-g0.parquet"
    orphan.write_bytes(b"half")
    unfinished = folder / "_tmp" / "x"
    unfinished.write_bytes(b"half")
    os.utime(unfinished, (0, 0))
    foreign = folder / "bronze" / "date=2025-11-20" / "copy.parquet"
    foreign.write_bytes(b"not the lake's")
    report = lake.vacuum()
    assert (report.files, report.unfinished) == (1, 1)
    assert foreign.exists()
    foreign.unlink()
    assert data_files(folder) == named
    assert list((folder / "_tmp").iterdir()) == []


def test_vacuum_keeps_files_that_are_being_written(lake: Lake, tmp_path: Path) -> None:
    lake.bronze.write([History().put_user("ann")])
    unfinished = tmp_path / "lake" / "_tmp" / "x"
    unfinished.write_bytes(b"half")
    assert lake.vacuum().unfinished == 0
    assert unfinished.exists()


def test_a_writer_whose_file_was_vacuumed_before_it_committed_writes_it_again(
    lake: Lake, slow: tuple[Lake, Interrupting]
) -> None:
    late, storage = slow
    removed = []
    storage.happens = [lambda: removed.append(lake.vacuum(retention_s=0).files)]
    late.bronze.write([History().put_user("ann")])
    assert removed == [1]
    assert len(sequences(lake)) == 1
    assert lake.vacuum(retention_s=0).files == 0
    assert len(sequences(lake)) == 1
