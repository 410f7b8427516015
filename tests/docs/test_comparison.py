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


def block(title: str) -> str:
    """Return the first block of code of a section."""
    return re.search(rf"^## {title}\n+```\w+\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[1]  # type: ignore[index]


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], dict[str, Any]]:
    """Return a function that runs a section's first block as a module, and returns the names that it defines."""

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


def test_the_example_has_at_most_28_lines_and_8_imports() -> None:
    assert lines("keyplan") <= 28
    assert imported("keyplan") <= 8


@pytest.mark.parametrize(("row", "count"), [("lines of code", lines), ("names imported from the library", imported)])
def test_the_figures_of_the_page_match_its_blocks(row: str, count: Any) -> None:
    assert f"| {row} | {' | '.join(str(count(title)) for title in TITLES)} |" in PAGE


def test_keyplan_and_pynamodb_store_the_same_items(
    engine: Engine, dynamodb_answered: Any, executed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    executed("PynamoDB")["add"]("ada", "2", "Read", date(2026, 5, 5))
    theirs = engine.call("Scan", {"TableName": "app"})["Items"]
    engine.call("DeleteTable", {"TableName": "app"})

    ours = executed("keyplan")
    with keyplan.connect(engine=engine) as db:
        db.create(ours["Task"](user_id="ada", task_id="1", title="Write", due=date(2026, 5, 4)))
        db.run(ours["finish"]("ada", "1", by="ann"))
        db.create(ours["Task"](user_id="ada", task_id="2", title="Read", due=date(2026, 5, 5)))
    assert engine.call("Scan", {"TableName": "app"})["Items"] == theirs


def test_sqlmodel_stores_the_same_rows(executed: Any) -> None:
    pytest.importorskip("sqlmodel")
    executed("SQLModel")
