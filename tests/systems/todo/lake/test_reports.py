"""Named reports and their form in a terminal."""

from __future__ import annotations

import io
import re
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from rich.console import Console
from tests.systems.todo.lake.record_history import History

from keyplan_systems.todo.lake import charts
from keyplan_systems.todo.lake.errors import QueryError
from keyplan_systems.todo.lake.lake import Lake
from keyplan_systems.todo.lake.reports import REPORTS


@pytest.fixture
def filled(lake: Lake) -> Lake:
    history = History()
    records = [history.put_user(name) for name in ("ann", "bob", "cid")]
    tasks: list[tuple[str, dict[str, Any]]] = [
        ("ann", {"status": "completed", "priority": "low", "title": "Buy MILK"}),
        ("ann", {"status": "completed", "priority": "urgent", "description": "milk and 100% bread"}),
        ("ann", {"status": "pending", "category": "home", "updated_at": 5}),
        ("bob", {"status": "completed", "priority": "high", "title": "Read", "category": "work"}),
    ]
    records += [history.put_task(user, str(number), **values) for number, (user, values) in enumerate(tasks)]
    lake.bronze.write(records)
    lake.refresh()
    return lake


def test_completion_rates_are_sorted_best_first(filled: Lake) -> None:
    rows = filled.report("completion_rates").to_pylist()
    assert [(row["user_id"], f"{row['completion_rate']:.3f}") for row in rows] == [("bob", "1.000"), ("ann", "0.667")]


def test_top_users_completed_the_most_tasks(filled: Lake) -> None:
    rows = filled.report("top_users", limit=1).to_pylist()
    assert [(row["user_id"], row["completed"]) for row in rows] == [("ann", 2)]


def test_only_completed_tasks_make_a_top_user(lake: Lake) -> None:
    history = History()
    busy = [history.put_task("busy", str(number)) for number in range(3)]
    lake.bronze.write([*busy, history.put_task("done", "3", status="completed")])
    lake.refresh()
    assert lake.report("top_users")["user_id"].to_pylist() == ["done", "busy"]


def test_users_without_tasks_are_found(filled: Lake) -> None:
    assert filled.report("users_without_tasks")["user_id"].to_pylist() == ["cid"]


def test_tasks_are_counted_by_status_for_all_and_for_one_user(filled: Lake) -> None:
    assert filled.report("tasks_by_status").to_pylist() == [
        {"status": "completed", "tasks": 3},
        {"status": "pending", "tasks": 1},
    ]
    assert filled.report("tasks_by_status", user_id="bob").to_pylist() == [{"status": "completed", "tasks": 1}]


def test_tasks_by_priority_are_sorted_by_urgency_with_none_last(filled: Lake) -> None:
    table = filled.report("tasks_by_priority")
    assert table["priority"].to_pylist() == ["urgent", "high", "low", None]


def test_tasks_by_category_come_from_gold(filled: Lake) -> None:
    assert filled.report("tasks_by_category")["category"].to_pylist() == [None, "home", "work"]


def test_changes_are_counted_by_day(filled: Lake) -> None:
    assert filled.report("changes_by_day").to_pylist() == [
        {"date": "2025-11-20", "changes": 7, "deleted": 0, "expired": 0}
    ]


def test_search_matches_title_and_description_in_any_case(filled: Lake) -> None:
    assert filled.report("search", text="milk")["task_id"].to_pylist() == ["0", "1"]
    assert filled.report("search", text="100% B")["task_id"].to_pylist() == ["1"]
    assert filled.report("search", text="%")["task_id"].to_pylist() == ["1"]
    assert filled.report("search", text="read", user_id="ann").num_rows == 1
    assert filled.report("search", text="read", user_id="bob")["task_id"].to_pylist() == ["3"]


def test_reports_and_parameters_that_do_not_exist_are_named(filled: Lake) -> None:
    with pytest.raises(QueryError, match="unknown report nonsense; available: completion_rates, top_users"):
        filled.report("nonsense")
    with pytest.raises(QueryError, match="report kpis has no parameter limit"):
        filled.report("kpis", limit=3)


def rendered(renderable: Any) -> str:
    console = Console(file=io.StringIO(), width=160, force_terminal=False)
    console.print(renderable)
    text = console.file.getvalue()  # type: ignore[attr-defined]  # the StringIO given above
    assert isinstance(text, str)
    return text


def drawn(lake: Lake, name: str) -> str:
    return rendered(charts.render(lake.report(name), REPORTS[name]))


@pytest.mark.parametrize("name", list(REPORTS))
def test_every_report_can_be_drawn_with_and_without_content(filled: Lake, tmp_path: Any, name: str) -> None:
    for lake in (filled, Lake.open(tmp_path / "empty")):
        assert REPORTS[name].title.split(maxsplit=1)[0] in drawn(lake, name)


def test_bars_are_proportional_to_their_values(filled: Lake) -> None:
    lines = {line.split()[1]: line.count("█") for line in drawn(filled, "tasks_by_status").splitlines() if "█" in line}
    assert lines == {"completed": 40, "pending": 13}


def test_markup_and_control_characters_in_user_texts_are_escaped() -> None:
    table = pa.table({"title": ["[red]x[/red]", "a\x1b[2Jb"], "n": [1, 2]})
    for renderable in (charts.table(table), charts.bars(table, "title", "n")):
        text = rendered(renderable)
        assert "[red]x[/red]" in text
        assert "\x1b" not in text


def test_numbers_are_shown_with_all_their_digits() -> None:
    numbers = [Decimal("12345678901234567890123456789.123456789"), Decimal("1.500000000"), Decimal("100.000000000")]
    text = rendered(charts.table(pa.table({"n": pa.array(numbers, pa.decimal128(38, 9))})))
    assert re.findall(r"[0-9.]+", text) == ["12345678901234567890123456789.123456789", "1.5", "100"]


def test_negative_values_cannot_be_drawn_as_bars() -> None:
    with pytest.raises(ValueError, match="column n has negative values"):
        charts.bars(pa.table({"title": ["x"], "n": [-1]}), "title", "n")
