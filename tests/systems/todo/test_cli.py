"""`keyplan lake todo ...` in a terminal: queries, reports, feed, catch-up; and one-sentence errors."""

from __future__ import annotations

import gzip
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.systems.served_engine import served
from tests.systems.todo.lake.queries import rows
from typer.testing import CliRunner

from keyplan.cli.main import app
from keyplan.clock import SystemClock
from keyplan_systems.todo.entities import app as table
from keyplan_systems.todo.lake.lake import Lake
from keyplan_systems.todo.sample import load_sample
from keyplan_systems.todo.service import Service


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield a table with the sample, behind an endpoint."""
    clock = SystemClock()
    with served(tmp_path_factory.mktemp("served")) as endpoint:
        with endpoint.connect(clock=clock) as connection:
            connection.create_tables(table)
            load_sample(Service.from_connection(connection, clock), clock)
        yield endpoint.url


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["lake", *words], env={"COLUMNS": "120"})
    return result.exit_code, result.output


@pytest.fixture
def lake(database: str, tmp_path: Path) -> str:
    folder = str(tmp_path / "lake")
    code, output = run("todo", "feed", "--lake", folder, "--database", database)
    assert code == 0, output
    return folder


def test_a_query_prints_a_table_json_or_csv(lake: str) -> None:
    sql = "SELECT user_id, total FROM gold.user_totals ORDER BY user_id"
    code, output = run("todo", "query", sql, "--lake", lake)
    assert code == 0
    assert [line for line in output.splitlines() if "ada" in line and "5" in line]
    assert orjson.loads(run("todo", "query", sql, "--lake", lake, "--format", "json")[1]) == [
        {"user_id": "ada", "total": 5},
        {"user_id": "grace", "total": 5},
    ]
    assert run("todo", "query", sql, "--lake", lake, "--format", "csv")[1].split() == [
        "user_id,total",
        "ada,5",
        "grace,5",
    ]


def test_parameters_are_passed_to_queries_and_reports(lake: str) -> None:
    sql = "SELECT count(*) AS n FROM silver.tasks WHERE user_id = $who"
    assert orjson.loads(run("todo", "query", sql, "--set", "who=ada", "--lake", lake, "--format", "json")[1]) == [
        {"n": 5}
    ]
    result = run(
        "todo", "report", "search", "--set", "text=RENT", "--set", "limit=1", "--lake", lake, "--format", "json"
    )
    assert [row["title"] for row in orjson.loads(result[1])] == ["Pay the rent"]


@pytest.mark.parametrize("format", ["table", "json", "csv"])
@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT 'infinity'::DATE AS due", "a value in the result cannot be shown"),
        ("SELECT DATE '20000-01-01' AS due", "a value in the result cannot be shown"),
        ("SELECT '2025-01-01 00:00:00.123456789'::TIMESTAMP_NS AS at", "a value in the result cannot be shown"),
        ("SELECT '\udcff'", "not valid UTF-8"),  # Python's form of an argument in another encoding
    ],
)
def test_unreadable_and_invalid_queries_are_reported_in_one_sentence(
    sql: str, message: str, format: str, lake: str
) -> None:
    code, result = run("todo", "query", sql, "--lake", lake, "--format", format)
    assert code == 1
    assert result.startswith("keyplan lake todo query: ")
    assert message in result


def test_a_comparing_report_is_drawn_with_bars(lake: str) -> None:
    code, output = run("todo", "report", "tasks_by_status", "--lake", lake)
    assert code == 0
    bars = {line.split("│")[1].strip(): line.count("█") for line in output.splitlines() if "█" in line}
    assert bars["pending"] > bars["in_progress"] == bars["completed"] > 0


def test_the_reports_are_listed(lake: str) -> None:
    code, output = run("todo", "reports")
    assert code == 0
    assert all(name in output for name in ("completion_rates", "top_users", "tasks_by_category", "kpis", "search"))


def test_feeding_again_adds_nothing_and_compaction_keeps_everything(lake: str, database: str) -> None:
    before = rows(Lake.open(lake), "SELECT * FROM gold.user_totals")
    assert run("todo", "feed", "--lake", lake, "--database", database)[0] == 0
    assert run("todo", "compact", "--lake", lake)[0] == 0
    code, output = run("todo", "refresh", "--lake", lake)
    assert code == 0
    assert "pending_files" in output
    assert rows(Lake.open(lake), "SELECT * FROM gold.user_totals") == before


def test_a_new_lake_catches_up_from_the_table(database: str, tmp_path: Path) -> None:
    folder = str(tmp_path / "caught")
    code, output = run("todo", "catch-up", "--lake", folder, "--database", database)
    assert code == 0, output
    assert rows(Lake.open(folder), "SELECT users, tasks FROM gold.kpis") == [{"users": 2, "tasks": 10}]


def export(folder: Path, items: list[dict[str, Any]], count: int) -> Path:
    """Write an export as the service does."""
    (folder / "data").mkdir(parents=True)
    lines = b"".join(orjson.dumps({"Item": item}) + b"\n" for item in items)
    (folder / "data" / "abc.json.gz").write_bytes(gzip.compress(lines))
    summary = {"exportTime": "2025-11-20T12:00:00.000Z", "itemCount": count, "outputFormat": "DYNAMODB_JSON"}
    (folder / "manifest-summary.json").write_bytes(orjson.dumps(summary))
    return folder


ITEM = {"PK": {"S": "TASK#ada"}, "SK": {"S": "TASK#1"}, "title": {"S": "t"}, "status": {"S": "pending"}}


def test_a_new_lake_catches_up_from_an_export(tmp_path: Path) -> None:
    description, folder = export(tmp_path / "export", [ITEM], 1), str(tmp_path / "lake")
    assert run("todo", "catch-up", "--lake", folder, "--export", str(description))[0] == 0
    assert rows(Lake.open(folder), "SELECT tasks FROM gold.kpis") == [{"tasks": 1}]


def test_an_export_with_missing_items_or_damaged_files_is_rejected(tmp_path: Path) -> None:
    description, folder = export(tmp_path / "export", [ITEM], 2), str(tmp_path / "lake")
    code, message = run("todo", "catch-up", "--lake", folder, "--export", str(description))
    assert (code, "contains 1 items, but its summary lists 2" in message) == (1, True)
    content = (description / "data" / "abc.json.gz").read_bytes()
    for damaged in (b"nonsense", content[:-9], content[:12] + b"\xff" + content[13:], gzip.compress(b"[]\n")):
        (description / "data" / "abc.json.gz").write_bytes(damaged)
        assert "is damaged" in run("todo", "catch-up", "--lake", folder, "--export", str(description))[1]
    assert "cannot be read" in run("todo", "catch-up", "--lake", folder, "--export", str(tmp_path))[1]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["todo", "query", "DROP TABLE x"], 1, "keyplan lake todo query"),
        (["todo", "query"], 1, "missing required argument: the SQL statement"),
        (["todo", "report", "nothing"], 1, "unknown report nothing"),
        (["todo", "report", "top_users", "--set", "limit=many"], 1, "limit must be a number"),
        (["todo", "report", "kpis", "--set", "limit=1"], 1, "has no parameter limit"),
        (["todo", "report", "kpis", "--set", "limit"], 2, "--set expects name=value"),
        (["todo", "feed"], 1, "--database"),
        (["forum", "reports"], 2, "is not a system with a lake"),
        (["no/such", "reports"], 2, "is not a system with a lake"),
    ],
)
def test_errors_are_reported_in_one_sentence(lake: str, words: list[str], code: int, message: str) -> None:
    results, output = run(*words, "--lake", lake)
    assert (results, message in output) == (code, True), output


def test_a_missing_lake_is_not_shown_as_empty(tmp_path: Path) -> None:
    code, output = run("todo", "report", "kpis", "--lake", str(tmp_path / "typo"))
    assert (code, "no lake at" in output) == (1, True)


def test_the_command_line_imports_no_system_before_its_command_runs() -> None:
    script = "import sys, keyplan.cli.main; print([m for m in sys.modules if m.startswith('keyplan_systems')])"
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "['keyplan_systems', 'keyplan_systems.commands']"


def test_missing_libraries_are_reported_with_the_extra_to_install() -> None:
    script = (
        "import sys; sys.modules['pyarrow'] = None; from keyplan.cli.main import app; app(['lake', 'todo', 'reports'])"
    )
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert process.returncode == 2
    assert "pyarrow is not installed; pip install 'keyplan-systems[lake]'" in process.stderr
