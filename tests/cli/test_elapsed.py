"""A long step is reported while it runs, and not at all if it is short."""

from __future__ import annotations

import re
from pathlib import Path
from queue import SimpleQueue

import pytest
from tests.cli.running import run

from keyplan.cli.elapsed import report_progress
from keyplan.engine.engine import Engine


def test_a_long_step_is_reported_with_its_place_and_time() -> None:
    lines: SimpleQueue[str] = SimpleQueue()
    with report_progress("keyplan snapshot: copying", lambda: "3 of 9 bytes", print_line=lines.put, first_s=0):
        line = lines.get(timeout=60)
    assert re.fullmatch(r"keyplan snapshot: copying, 3 of 9 bytes, \d+ s", line)


def test_a_short_step_is_not_reported() -> None:
    lines: list[str] = []
    with report_progress("keyplan snapshot: copying", print_line=lines.append, first_s=3600):
        pass
    assert not lines


def test_a_failure_ends_the_reports() -> None:
    with pytest.raises(ValueError, match="full"), report_progress("copying", first_s=3600):
        raise ValueError("full")


def test_a_snapshot_is_made_while_it_is_reported(tmp_path: Path) -> None:
    with Engine.open(tmp_path / "data.db"):
        pass
    result = run("snapshot", str(tmp_path / "data.db"), str(tmp_path / "copy.db"))
    assert result.exit_code == 0, result.output
    assert (tmp_path / "copy.db").is_file()
