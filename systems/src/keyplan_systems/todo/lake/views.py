"""SQL views of the lake in an in-memory engine that can access only one version.

The engine does not open any files. It receives the files of a local folder as Arrow datasets, and the files of an S3
bucket as in-memory Arrow tables. Its access to files, networks, extensions and settings is disabled before it runs any
SQL supplied by a caller.
"""

# ruff: noqa: S608 - SQL composed only of text in this file

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import duckdb
import pyarrow as pa

from keyplan_systems.todo.lake import bronze, parquet, silver
from keyplan_systems.todo.lake.snapshot import DataFile, Snapshot
from keyplan_systems.todo.lake.storage import Storage

_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "temp_directory": "",
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "python_enable_replacements": False,
    "threads": 2,
}
_LOCKDOWN_STATEMENTS = ("SET enable_external_access = false", "SET lock_configuration = true")

_REMOVAL = "state AS removal, changed_at AS removed_at, source AS removal_source"
_INTERNAL = (
    "state, source, changed_at, fact_state, fact_source, fact_us, "
    "era, stream, sequence, image_era, image_stream, image_sequence"
)
_VIEWS = {
    "bronze.events": "SELECT * FROM files_bronze",
    "silver.users": f"SELECT * EXCLUDE ({_INTERNAL}), changed_at, sequence FROM files_users WHERE state = 'current'",
    "silver.tasks": f"SELECT * EXCLUDE ({_INTERNAL}), changed_at, sequence FROM files_tasks WHERE state = 'current'",
    "silver.removed_users": f"SELECT * EXCLUDE ({_INTERNAL}), {_REMOVAL} FROM files_users WHERE state <> 'current'",
    "silver.removed_tasks": f"SELECT * EXCLUDE ({_INTERNAL}), {_REMOVAL} FROM files_tasks WHERE state <> 'current'",
}
"""SQL of the views, by name.

The views of removed users and tasks contain their last known values. `removal` is `deleted` or `expired`.
`removal_source` is `export` if the removal is inferred because a full export does not contain the item.
"""


def connect(
    storage: Storage, snapshot: Snapshot, gold: dict[str, Any], *, memory_limit_mb: int = 1024
) -> duckdb.DuckDBPyConnection:
    """Return a connection to an in-memory engine with the views of a version. `gold` contains the schemas of the gold
    tables by name.

    Connections share an engine and its memory limit, because creating an engine takes 30 ms. A connection cannot access
    the files of another connection.
    """
    connection = _engine(tuple(gold.items()), memory_limit_mb).cursor()
    try:
        _register(connection, storage, snapshot)
        for name, schema in gold.items():
            files = snapshot.files_of(name)
            table = parquet.read(storage, files[0]) if files else schema.empty_table()
            connection.register(f"files_{name}", table)
    except BaseException:
        connection.close()
        raise
    return connection


@lru_cache(maxsize=8)
def _engine(gold: tuple[tuple[str, Any], ...], memory_limit_mb: int) -> duckdb.DuckDBPyConnection:
    """Return an in-memory DuckDB database in which the views are defined. The files that the views read
    are registered on each connection to it.
    """
    engine = duckdb.connect(":memory:", config={**_CONFIG, "memory_limit": f"{memory_limit_mb}MB"})
    engine.execute("SET GLOBAL TimeZone = 'UTC'")
    _register(engine, None, Snapshot())
    for name, schema in gold:
        engine.register(f"files_{name}", schema.empty_table())
    _define(engine, {**_VIEWS, **{f"gold.{name}": f"SELECT * FROM files_{name}" for name, _ in gold}})
    for statement in _LOCKDOWN_STATEMENTS:
        engine.execute(statement)
    return engine


def is_missing_file(error: duckdb.Error) -> bool:
    """Return True if the error message shows that a query failed because vacuum removed a file that the query was
    reading.
    """
    text = str(error)
    return "FileNotFoundError" in text or "No such file" in text


def _register(connection: duckdb.DuckDBPyConnection, storage: Storage | None, snapshot: Snapshot) -> None:
    schemas = {"bronze": bronze.SCHEMA, **silver.SCHEMAS}
    for kind, schema in schemas.items():
        partition = "date" if kind == "bronze" else None
        connection.register(f"files_{kind}", _rows(storage, snapshot.files_of(kind), schema, partition))


def _rows(storage: Storage | None, files: Sequence[DataFile], schema: Any, partition: str | None) -> Any:
    if storage is None or not files:
        return (schema if partition is None else schema.append(pa.field(partition, pa.string()))).empty_table()
    if storage.is_native:
        return parquet.dataset(storage, files, schema, partition)
    # Otherwise, the engine's threads would wait for Python to read a file, while Python waits for the engine.
    return parquet.rows(storage, files, schema, partition)


def _define(connection: duckdb.DuckDBPyConnection, views: dict[str, str]) -> None:
    for schema in _schemas(views):
        connection.execute(f"CREATE SCHEMA {schema}")
    for name, select in views.items():
        connection.execute(f"CREATE VIEW {name} AS {select}")


def _schemas(names: Iterable[str]) -> list[str]:
    return sorted({name.partition(".")[0] for name in names})
