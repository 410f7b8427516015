"""SQL over the lake: it reads the views, and can do nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.systems.todo.lake.queries import rows
from tests.systems.todo.lake.record_history import History

from keyplan.clock import ManualClock
from keyplan_systems.todo.lake.errors import LakeBusyError, QueryError, QueryTimeoutError
from keyplan_systems.todo.lake.lake import Lake


@pytest.fixture
def filled(lake: Lake) -> Lake:
    history = History()
    lake.bronze.write([history.put_user("ann"), history.put_task("ann", "1")])
    lake.refresh()
    return lake


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) AS n FROM silver.tasks",
        "WITH one AS (SELECT 1 AS n) SELECT n FROM one",
        "VALUES (1)",
        "FROM gold.kpis SELECT tasks",
    ],
)
def test_read_statements_are_answered(filled: Lake, sql: str) -> None:
    assert list(rows(filled, sql)[0].values()) == [1]


def test_explain_and_describe_are_answered(filled: Lake) -> None:
    assert rows(filled, "EXPLAIN SELECT * FROM bronze.events")
    assert {row["column_name"] for row in rows(filled, "DESCRIBE gold.category_totals")} >= {"category", "total"}


def test_parameters_are_values_and_never_sql(filled: Lake) -> None:
    sql = "SELECT $text AS text, count(*) AS n FROM silver.tasks WHERE title = $text"
    assert rows(filled, sql, text="'; DROP VIEW x --") == [{"text": "'; DROP VIEW x --", "n": 0}]


@pytest.mark.parametrize(
    "sql",
    [
        "DROP VIEW silver.tasks",
        "CREATE TABLE t (a INTEGER)",
        "INSERT INTO silver.tasks VALUES (1)",
        "DELETE FROM silver.tasks",
        "COPY (SELECT 1) TO '/tmp/out.csv'",
        "EXPORT DATABASE '/tmp/out'",
        "ATTACH '/tmp/x.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "RESET memory_limit",
        "PRAGMA database_list",
        "CALL pragma_version()",
        "BEGIN",
        "EXPLAIN ANALYZE COPY (SELECT 1) TO '/tmp/out.csv'",
        "SELECT 1; SELECT 2",
        "",
        "-- nothing",
    ],
)
def test_statements_that_do_more_than_one_read_are_rejected(filled: Lake, sql: str) -> None:
    with pytest.raises(QueryError):
        filled.query(sql)


@pytest.mark.parametrize(
    "source",
    [
        "'/etc/passwd'",
        "read_text('/etc/passwd')",
        "read_blob('/etc/passwd')",
        "read_csv('/etc/passwd')",
        "read_json('http://127.0.0.1:9/x')",
        "glob('/*')",
        "sniff_csv('/etc/passwd')",
        "parquet_metadata('{lake}/x.parquet')",
        "read_parquet('{lake}/*/*/*.parquet')",
        "sqlite_scan('/tmp/x.db', 't')",
        "history",
        "query('COPY (SELECT 1) TO ''/tmp/out.csv''')",
    ],
)
def test_no_file_network_or_python_object_can_be_read(filled: Lake, tmp_path: Path, source: str) -> None:
    history = [1]  # the engine could find this name in its caller's frames, if it were allowed to
    with pytest.raises(QueryError):
        filled.query("SELECT * FROM " + source.format(lake=tmp_path / "lake"))
    assert history == [1]


def test_invalid_sql_is_a_query_error_with_its_reason(filled: Lake) -> None:
    with pytest.raises(QueryError, match="nonsense"):
        filled.query("SELECT nonsense FROM silver.tasks")


def test_a_query_that_runs_too_long_is_stopped(tmp_path: Path) -> None:
    lake = Lake.open(tmp_path / "lake", clock=ManualClock(), timeout_s=0.2)
    with pytest.raises(QueryTimeoutError, match=r"longer than 0\.2 seconds"):
        lake.query("SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range % 7 = b.range % 11")


def test_a_query_that_needs_too_much_memory_fails_without_spilling(tmp_path: Path) -> None:
    lake = Lake.open(tmp_path / "lake", clock=ManualClock(), memory_limit_mb=64)
    with pytest.raises(QueryError, match=r"(?i)memory"):
        lake.query("SELECT list(range) FROM range(100000000)")


@pytest.mark.parametrize("folder", ["bronze", "silver", "gold"])
def test_a_query_on_missing_files_fails_instead_of_returning_a_result(
    filled: Lake, tmp_path: Path, folder: str
) -> None:
    shutil.rmtree(tmp_path / "lake" / folder)
    views = {"bronze": "bronze.events", "silver": "silver.tasks", "gold": "gold.kpis"}
    with pytest.raises(LakeBusyError, match="use a longer retention"):
        filled.query(f"SELECT * FROM {views[folder]}")


def test_columns_with_one_name_are_distinguished(lake: Lake) -> None:
    lake.bronze.write([History().put_user("ann"), History(first=10**21).put_task("ann", "1")])
    lake.refresh()
    joined = lake.query("SELECT * FROM silver.users u JOIN silver.tasks t ON u.user_id = t.user_id")
    assert {"user_id", "user_id_2", "created_at", "created_at_2"} < set(joined.column_names)
    assert len(joined.to_pylist()[0]) == joined.num_columns
    assert lake.query("SELECT 1 AS a, 2 AS a_2, 3 AS a, 4 AS a").to_pylist() == [{"a": 1, "a_2": 2, "a_3": 3, "a_4": 4}]
