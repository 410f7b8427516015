"""Several processes on one lake, and processes killed at any point."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar

import pytest
from tests.laws import examples
from tests.systems.todo.lake import worker
from tests.systems.todo.lake.queries import gold, rows, sequences, silver

from keyplan_systems.todo.lake.errors import LakeBusyError
from keyplan_systems.todo.lake.lake import Lake

T = TypeVar("T")
ROOT = Path(__file__).parents[4]


@contextmanager
def working(folder: Path, seed: int) -> Iterator[subprocess.Popen[str]]:
    """Run a consumer that writes until it is killed."""
    command = [sys.executable, "-m", "tests.systems.todo.lake.worker", str(folder), str(seed)]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"}
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def await_round(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == "round\n", "the worker failed"


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Return the expected final lake."""
    lake = Lake.open(tmp_path_factory.mktemp("straight") / "lake")
    lake.bronze.write(worker.history())
    lake.refresh()
    return lake


def consistent(lake: Lake) -> None:
    """Check that no version contains an event twice, and that silver and gold belong to one version."""
    sql = """
        SELECT count(*) - count(DISTINCT (sequence, pk)) AS twice,
            (SELECT count(*) FROM silver.tasks) - (SELECT coalesce(any_value(tasks), 0) FROM gold.kpis) AS apart
        FROM bronze.events
    """
    assert rows(lake, sql) == [{"twice": 0, "apart": 0}]


def patiently(read: Callable[[], T]) -> T:
    """Return the result of a read, retried if its files were removed: vacuum retains nothing here."""
    while True:
        try:
            return read()
        except LakeBusyError:
            continue


def caught_up(lake: Lake, straight: Lake) -> None:
    """Check that after the last replay the lake equals the undisturbed one."""
    lake.bronze.write(worker.history())
    lake.refresh()
    assert sequences(lake) == sequences(straight)
    assert silver(lake) == silver(straight)
    assert gold(lake) == gold(straight)
    lake.rebuild()
    assert silver(lake) == silver(straight)


def test_consumers_killed_at_any_time_leave_a_lake_that_catches_up(tmp_path: Path, straight: Lake) -> None:
    lake = Lake.open(tmp_path / "lake")
    chance = random.Random(5)
    for seed in range(examples(6)):
        with working(tmp_path / "lake", seed) as process:
            await_round(process)
            time.sleep(chance.uniform(0, 0.4))  # so that the kill happens at any step, not only at the end of a round
            process.kill()
        consistent(lake)
    caught_up(lake, straight)


def test_two_concurrent_consumers_and_a_reader_stay_consistent(tmp_path: Path, straight: Lake) -> None:
    lake = Lake.open(tmp_path / "lake")
    with ExitStack() as stack:
        processes = [stack.enter_context(working(tmp_path / "lake", seed)) for seed in (11, 12)]
        for process in processes:
            await_round(process)
        latest = 0
        for _ in range(10):
            patiently(lambda: consistent(lake))
            now = len(patiently(lambda: sequences(lake)))
            assert now >= latest
            latest = now
        assert all(process.poll() is None for process in processes)
    caught_up(lake, straight)
