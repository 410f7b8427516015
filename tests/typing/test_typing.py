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


@pytest.fixture(scope="module")
def caches(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for mypy's caches, so that it checks the toolkit once, and once more with the plugin."""
    return tmp_path_factory.mktemp("mypy")


def mypy_lines(path: Path, caches: Path, plugins: str = "") -> set[int]:
    cache = caches / (plugins or "plain")
    cache.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", str(cache), str(path)]
    if plugins:
        settings = cache / "mypy.ini"
        settings.write_text(f"[mypy]\nplugins = {plugins}\n")
        command += ["--config-file", str(settings)]
    environment = {**os.environ, "MYPYPATH": os.pathsep.join(map(str, (HERE, ROOT / "src")))}
    result = subprocess.run(
        [*command, "--show-absolute-path"], cwd=ROOT, capture_output=True, text=True, check=False, env=environment
    )
    assert not result.stderr, result.stderr
    matches = re.findall(rf"^{re.escape(str(path))}:(\d+): error", result.stdout, re.MULTILINE)
    assert result.returncode == 0 or matches, result.stdout
    return {int(line) for line in matches}


def pyright_lines(path: Path, tmp_path: Path) -> set[int]:
    settings = {"typeCheckingMode": "strict", "include": [str(path)], "extraPaths": [str(HERE)]}
    config = tmp_path / "pyrightconfig.json"
    config.write_text(json.dumps(settings))
    command = [sys.executable, "-m", "basedpyright", "-p", str(config), "--outputjson", "--pythonpath", sys.executable]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    general_diagnostics = json.loads(result.stdout)["generalDiagnostics"]
    return {
        diagnostic["range"]["start"]["line"] + 1
        for diagnostic in general_diagnostics
        if diagnostic["severity"] == "error"
    }


def marked(path: Path) -> set[int]:
    return {number for number, line in enumerate(path.read_text().splitlines(), 1) if line.endswith("# wrong")}


@pytest.mark.parametrize("name", ["right.py", "wrong.py"])
def test_mypy_reports_exactly_the_marked_errors(name: str, caches: Path) -> None:
    assert mypy_lines(HERE / name, caches) == marked(HERE / name)


@pytest.mark.parametrize("name", ["right.py", "wrong.py"])
def test_pyright_reports_exactly_the_marked_errors(name: str, tmp_path: Path) -> None:
    assert pyright_lines(HERE / name, tmp_path) == marked(HERE / name)


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


@pytest.fixture
def documented(tmp_path: Path) -> Path:
    """Write the example of the documentation, without return annotations in bodies, and calls of it."""
    page = (ROOT / "docs" / "examples" / "comparison.md").read_text()
    path = tmp_path / "documented.py"
    path.write_text(page.partition("```python\n")[2].partition("```")[0] + USES)
    return path


def test_the_documented_example_is_typed_for_pyright_without_return_annotations(
    documented: Path, tmp_path: Path
) -> None:
    assert pyright_lines(documented, tmp_path) == marked(documented)


def test_the_documented_example_is_typed_for_mypy_with_the_plugin(documented: Path, caches: Path) -> None:
    assert mypy_lines(documented, caches, plugins="keyplan.mypy") == marked(documented)
    assert len(mypy_lines(documented, caches)) > len(marked(documented))


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


def test_the_plugin_leaves_other_functions_to_mypy(tmp_path: Path, caches: Path) -> None:
    path = tmp_path / "routes.py"
    path.write_text(ROUTES)
    assert mypy_lines(path, caches, plugins="keyplan.mypy") == marked(path)
