"""Commands whose output fails: a full disk is reported, a closed pipe is not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.running import NOTES, design

RUN = [sys.executable, "-m", "keyplan"]
FULL = Path("/dev/full")
"""A device whose writes fail as those to a full disk do."""


def arguments(folder: Path, command: str) -> list[str]:
    """Return a command line; DESIGN is replaced with the path of a design."""
    return [design(folder, NOTES) if word == "DESIGN" else word for word in command.split()]


@pytest.mark.skipif(not FULL.exists(), reason="this system has no full device")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("command", ["--version", "check DESIGN", "price DESIGN", "rule"])
def test_a_full_disk_is_reported_on_one_line(tmp_path: Path, command: str, unbuffered: str) -> None:
    line, variables = [*RUN, *arguments(tmp_path, command)], {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with FULL.open("w") as full:
        process = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=variables)
    assert process.stderr == "keyplan: output cannot be written: No space left on device\n"
    assert process.returncode == 1


@pytest.mark.parametrize("command", ["check DESIGN", "price DESIGN", "rule"])
def test_a_closed_pipe_is_not_reported(tmp_path: Path, command: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    line = [*RUN, *arguments(tmp_path, command)]
    process = subprocess.run(line, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (process.returncode, process.stderr) == (1, "")


def test_a_command_with_closed_standard_output_succeeds(tmp_path: Path) -> None:
    line = [*RUN, *arguments(tmp_path, "check DESIGN")]
    process = subprocess.run(["sh", "-c", '"$@" >&-', "sh", *line], stderr=subprocess.PIPE, text=True, check=False)
    assert (process.returncode, process.stderr) == (0, "")
