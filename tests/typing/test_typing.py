"""Types are part of the interface: what users write is clean, and mistakes are found, by two checkers."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent


def mypy_lines(path: Path, cache: Path) -> set[int]:
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", str(cache), str(path)]
    environment = {**os.environ, "MYPYPATH": str(HERE)}
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)
    assert not told.stderr, told.stderr
    found = re.findall(rf"^{re.escape(str(path.relative_to(ROOT)))}:(\d+): error", told.stdout, re.MULTILINE)
    assert told.returncode == 0 or found, told.stdout
    return {int(line) for line in found}


def pyright_lines(path: Path, tmp_path: Path) -> set[int]:
    settings = {"typeCheckingMode": "strict", "include": [str(path)], "extraPaths": [str(HERE)]}
    config = tmp_path / "pyrightconfig.json"
    config.write_text(json.dumps(settings))
    command = [sys.executable, "-m", "basedpyright", "-p", str(config), "--outputjson", "--pythonpath", sys.executable]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found = json.loads(told.stdout)["generalDiagnostics"]
    return {one["range"]["start"]["line"] + 1 for one in found if one["severity"] == "error"}


def marked(path: Path) -> set[int]:
    return {number for number, line in enumerate(path.read_text().splitlines(), 1) if line.endswith("# wrong")}


@pytest.mark.parametrize("name", ["right.py", "wrong.py"])
def test_mypy_finds_the_mistakes_and_nothing_else(name: str, tmp_path: Path) -> None:
    assert mypy_lines(HERE / name, tmp_path) == marked(HERE / name)


@pytest.mark.parametrize("name", ["right.py", "wrong.py"])
def test_pyright_finds_the_mistakes_and_nothing_else(name: str, tmp_path: Path) -> None:
    assert pyright_lines(HERE / name, tmp_path) == marked(HERE / name)
