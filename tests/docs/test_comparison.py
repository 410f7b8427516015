"""The page that compares libraries: every block runs, and its figures are counted."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import keyplan
from keyplan import Engine

PAGE = (Path(__file__).parents[2] / "docs" / "examples" / "comparison.md").read_text()
DUE, BEFORE = date(2026, 5, 4), date(2026, 6, 1)


def block(title: str) -> str:
    """Return the first block of code of a section."""
    return re.search(rf"^## {title}\n+```\w+\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[1]  # type: ignore[index]


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], dict[str, Any]]:
    """A function that runs a section's first block as a module, and returns what it defines."""

    def execute(title: str) -> dict[str, Any]:
        module = ModuleType(f"comparison_{title}")
        monkeypatch.setitem(sys.modules, module.__name__, module)  # annotations are resolved there
        exec(compile(block(title), f"{title} block", "exec"), module.__dict__)
        return module.__dict__

    return execute


def lines(title: str) -> int:
    return sum(bool(line.strip()) for line in block(title).splitlines())


def imported(title: str) -> int:
    """Return the number of names that are imported from other places than the standard library."""
    tree = ast.parse(block(title))
    imports = (node for node in tree.body if isinstance(node, ast.ImportFrom))
    return sum(len(node.names) for node in imports if node.module not in {"datetime", "typing"})


TITLES = ["keyplan", "PynamoDB", "SQLModel"]


def test_the_example_takes_at_most_28_lines_and_8_imports() -> None:
    assert lines("keyplan") <= 28
    assert imported("keyplan") <= 8


@pytest.mark.parametrize(("row", "count"), [("lines of code", lines), ("names imported from the library", imported)])
def test_the_figures_of_the_page_are_those_of_its_blocks(row: str, count: Any) -> None:
    assert f"| {row} | {' | '.join(str(count(title)) for title in TITLES)} |" in PAGE


@pytest.fixture
def stored(engine: Engine) -> Any:
    """A function that returns the stored items."""
    return lambda: engine.call("Scan", {"TableName": "app"})["Items"]


def test_keyplan_and_pynamodb_store_the_same_items(
    engine: Engine, dynamodb_answered: Any, stored: Any, executed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    ours, theirs = executed("keyplan"), executed("PynamoDB")
    db = keyplan.connect(engine=engine)
    db.run(ours["add"](ours["Task"](user_id="ada", task_id="1", title="Write", due=DUE)))
    (first,) = stored()
    db.run(ours["finish"]("ada", "1", "ann"))
    (finished,) = stored()
    engine.call("DeleteTable", {"TableName": "app"})

    theirs["Task"].create_table()
    theirs["add"]("ada", "1", "Write", DUE)
    assert stored() == [first]
    assert [task.task_id for task in theirs["tasks_due"]("ada", BEFORE)] == ["1"]
    assert theirs["finish"]("ada", "1", "ann").tags == ["ann"]
    assert stored() == [finished]
    assert theirs["tasks_due"]("ada", BEFORE) == []
    assert theirs["get"]("ada", "1").status == "done"
    assert theirs["get"]("ada", "2") is None


def test_sqlmodel_answers_the_same(executed: Any) -> None:
    sqlmodel = pytest.importorskip("sqlmodel")
    theirs = executed("SQLModel")
    database = sqlmodel.create_engine("sqlite://")
    sqlmodel.SQLModel.metadata.create_all(database)
    with sqlmodel.Session(database) as session:
        theirs["add"](session, theirs["Task"](user_id="ada", task_id="1", title="Write", due=DUE))
        assert [task.task_id for task in theirs["tasks_due"](session, "ada", BEFORE)] == ["1"]
        assert theirs["finish"](session, "ada", "1", "ann").tags == ["ann"]
        assert theirs["tasks_due"](session, "ada", BEFORE) == []
        assert theirs["get"](session, "ada", "1").status == "done"
