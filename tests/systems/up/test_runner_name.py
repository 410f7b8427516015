"""Process name of a folder, shared by consecutive processes: the leases of a killed one continue immediately."""

from __future__ import annotations

import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from keyplan import Engine
from keyplan_systems.up.launch import Settings, prepare
from keyplan_systems.up.runner_name import runner_name

READERS = {"todo-app-data", "forum", "aah-user-stats", "Attempts", "venue-booking"}
"""Tables whose streams are read."""
HOLD = """
import sys
from pathlib import Path
from keyplan_systems.up.runner_name import runner_name
with runner_name(Path(sys.argv[1])) as name:
    print(name, flush=True)
    sys.stdin.read()
"""


def test_the_name_belongs_to_one_living_process_and_then_to_the_next(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        name = other.stdout.readline().strip()
        with runner_name(tmp_path) as meanwhile:
            assert meanwhile is None
        other.kill()
    for _ in range(2):
        with runner_name(tmp_path) as then, runner_name(tmp_path) as second:
            assert (then, second) == (name, None)


def test_a_copy_of_a_folder_has_a_different_name(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    with runner_name(first) as name:
        shutil.copytree(first, second)
        with runner_name(second) as copied:
            assert name
            assert copied
            assert name != copied


def test_every_reader_of_a_stream_uses_the_name(tmp_path: Path) -> None:
    with ExitStack() as stack:
        for worker in prepare(Settings(tmp_path), stack, lambda _line: None).workers.workers:
            worker.run_once()
        with Engine.open(tmp_path / "keyplan.db") as engine:
            checkpoint_items = engine.call("Scan", {"TableName": "keyplan-checkpoints", "ConsistentRead": True})[
                "Items"
            ]
    names = {item["owner"]["S"] for item in checkpoint_items if "owner" in item}
    assert {item["consumer"]["S"].partition("/")[0] for item in checkpoint_items if "owner" in item} == READERS
    with runner_name(tmp_path) as next_one:
        assert names == {next_one}
