"""Types are part of the interface: what users write is clean, and mistakes are found, by two checkers."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent


USES = """
from typing import assert_type
from keyplan import Page, transaction

@transaction()
def finish_two(user_id: str, one: str, other: str, by: str):
    return [finish(user_id, one, by), finish(user_id, other, by)]

with connect(":memory:") as db:
    assert_type(db.get(Task, user_id="ada", task_id="1"), Task | None)
    assert_type(db.run(tasks_due("ada", before=date(2026, 6, 1))), Page[Task])
    assert_type(db.run(finish("ada", "1", by="ann")), Task)
    db.run(finish_two("ada", "1", "2", "ann"))
    tasks_due("ada", before="2026-06-01")  # wrong
    finish("ada", "1")  # wrong
"""
"""Calls of the documentation's example."""


ROUTES = """
from collections.abc import Callable
from typing import TypeVar
from keyplan import Entity, Table, everything

C = TypeVar("C", bound=Callable[..., object])
app = Table("app", pk="id")

@app.entity()
class Thing(Entity):
    id: str

class Router:
    def get(self, path: str) -> Callable[[C], C]:
        return lambda function: function

router = Router()

@router.get("/things")
def things(limit: int):  # wrong
    return limit

def helper(limit: int):  # wrong
    return limit

@app.query(Thing)
def of(id):  # wrong
    return everything()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two more files, and with the caches of mypy.

    One contains the example of the documentation, without return annotations in bodies, and calls of it.
    """
    folder = tmp_path_factory.mktemp("typing")
    page = (ROOT / "docs" / "examples" / "comparison.md").read_text()
    (folder / "documented.py").write_text(page.partition("```python\n")[2].partition("```")[0] + USES)
    (folder / "routes.py").write_text(ROUTES)
    return folder


def mypy_lines(paths: Iterable[Path], folder: Path, plugins: str = "") -> dict[str, set[int]]:
    """Return the lines with errors by file. One process checks all files, and so reads the toolkit once."""
    cache = folder / (plugins or "plain")
    cache.mkdir()
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", str(cache)]
    if plugins:
        settings = cache / "mypy.ini"
        settings.write_text(f"[mypy]\nplugins = {plugins}\n")
        command += ["--config-file", str(settings)]
    environment = {**os.environ, "MYPYPATH": os.pathsep.join(map(str, (HERE, ROOT / "src")))}
    result = subprocess.run(
        [*command, "--show-absolute-path", *map(str, paths)],
        cwd=ROOT, capture_output=True, text=True, check=False, env=environment,
    )  # fmt: skip
    assert not result.stderr, result.stderr
    lines = {
        path.name: set(map(int, re.findall(rf"^{re.escape(str(path))}:(\d+): error", result.stdout, re.MULTILINE)))
        for path in paths
    }
    assert result.returncode == 0 or any(lines.values()), result.stdout
    return lines


@pytest.fixture(scope="module")
def mypy(folder: Path) -> dict[str, set[int]]:
    return mypy_lines([HERE / "right.py", HERE / "wrong.py", folder / "documented.py"], folder)


@pytest.fixture(scope="module")
def mypy_with_plugin(folder: Path) -> dict[str, set[int]]:
    return mypy_lines([folder / "documented.py", folder / "routes.py"], folder, plugins="keyplan.mypy")


@pytest.fixture(scope="module")
def pyright(folder: Path) -> dict[str, set[int]]:
    """Return the lines with errors by file, from one process."""
    paths = [HERE / "right.py", HERE / "wrong.py", folder / "documented.py"]
    settings = {"typeCheckingMode": "strict", "include": list(map(str, paths)), "extraPaths": [str(HERE)]}
    config = folder / "pyrightconfig.json"
    config.write_text(json.dumps(settings))
    command = [sys.executable, "-m", "basedpyright", "-p", str(config), "--outputjson", "--pythonpath", sys.executable]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    report = json.loads(result.stdout)
    assert report["summary"]["filesAnalyzed"] == len(paths)
    lines: dict[str, set[int]] = {path.name: set() for path in paths}
    for diagnostic in report["generalDiagnostics"]:
        if diagnostic["severity"] == "error":
            lines[Path(diagnostic["file"]).name].add(diagnostic["range"]["start"]["line"] + 1)
    return lines


def marked(path: Path) -> set[int]:
    return {number for number, line in enumerate(path.read_text().splitlines(), 1) if line.endswith("# wrong")}


@pytest.mark.parametrize("name", ["right.py", "wrong.py"])
def test_mypy_reports_exactly_the_marked_errors(name: str, mypy: dict[str, set[int]]) -> None:
    assert mypy[name] == marked(HERE / name)


@pytest.mark.parametrize("name", ["right.py", "wrong.py"])
def test_pyright_reports_exactly_the_marked_errors(name: str, pyright: dict[str, set[int]]) -> None:
    assert pyright[name] == marked(HERE / name)


def test_the_documented_example_is_typed_for_pyright_without_return_annotations(
    folder: Path, pyright: dict[str, set[int]]
) -> None:
    assert pyright["documented.py"] == marked(folder / "documented.py")


def test_the_documented_example_is_typed_for_mypy_with_the_plugin(
    folder: Path, mypy: dict[str, set[int]], mypy_with_plugin: dict[str, set[int]]
) -> None:
    expected = marked(folder / "documented.py")
    assert mypy_with_plugin["documented.py"] == expected
    assert len(mypy["documented.py"]) > len(expected)


def test_the_plugin_leaves_other_functions_to_mypy(folder: Path, mypy_with_plugin: dict[str, set[int]]) -> None:
    assert mypy_with_plugin["routes.py"] == marked(folder / "routes.py")
