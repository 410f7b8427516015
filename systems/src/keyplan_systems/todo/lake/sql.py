"""Read-only SQL access to the lake, for users who are allowed to read all of its data.

A query is a single read-only statement that cannot access settings or files. It can read only the views of one version.
Memory and run time are limited.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable, Mapping
from typing import Any

import duckdb

from keyplan_systems.todo.lake import gold, views
from keyplan_systems.todo.lake.errors import LakeBusyError, QueryError, QueryTimeoutError
from keyplan_systems.todo.lake.storage import Storage
from keyplan_systems.todo.lake.versions import Versions

_ATTEMPTS = 5
_READ_STATEMENTS = frozenset((duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN))


class Reader:
    """Runs SQL statements on the newest version of a lake."""

    def __init__(
        self, storage: Storage, versions: Versions, *, timeout_s: float = 60, memory_limit_mb: int = 1024
    ) -> None:
        self._storage = storage
        self._versions = versions
        self._timeout_s = timeout_s
        self._memory_limit_mb = memory_limit_mb

    def query(self, sql: str, parameters: Mapping[str, Any] | None = None) -> Any:
        """Return the result of one SELECT (or WITH, VALUES, EXPLAIN, DESCRIBE) as an Arrow table.

        Parameters are written as `$name` in SQL. The whole result is based on one version of the lake. If several
        columns have the same name, for example in a join, the second is called `name_2`, the third `name_3`, and so on.
        The views are bronze.events, silver.users, silver.tasks, silver.removed_users, silver.removed_tasks,
        gold.user_totals, gold.category_totals and gold.kpis.

        Raises QueryError if the SQL is rejected or fails, QueryTimeoutError if it runs for too long, and LakeBusyError
        if vacuum repeatedly removes files while the query reads them.
        """
        for _ in range(_ATTEMPTS):
            try:
                return self._run(sql, parameters)
            except FileNotFoundError:  # vacuum removed the version during the read
                continue
        raise LakeBusyError("vacuum removed the files of the lake while they were read: use a longer retention")

    def _run(self, sql: str, parameters: Mapping[str, Any] | None) -> Any:
        snapshot = self._versions.latest()
        connection = views.connect(self._storage, snapshot, gold.SCHEMAS, memory_limit_mb=self._memory_limit_mb)
        timer = threading.Timer(self._timeout_s, connection.interrupt)
        timer.daemon = True
        timer.start()
        try:
            table = connection.sql(_statement(connection, sql), params=dict(parameters or {})).to_arrow_table()
            return table.rename_columns(_unique_names(table.column_names))
        except duckdb.InterruptException:
            raise QueryTimeoutError(f"the query ran longer than {self._timeout_s:g} seconds") from None
        except duckdb.Error as error:
            if views.is_missing_file(error):
                raise FileNotFoundError(f"version {snapshot.version} of the lake was removed") from error
            raise QueryError(str(error)) from error
        finally:
            timer.cancel()
            connection.close()


def _unique_names(names: Iterable[str]) -> list[str]:
    """Return the column names. If a name is repeated, a number is appended to all its occurrences except the first."""
    unique: dict[str, None] = {}
    for name in names:
        numbered = (name if number == 1 else f"{name}_{number}" for number in itertools.count(1))
        unique[next(candidate for candidate in numbered if candidate not in unique)] = None
    return list(unique)


def _statement(connection: duckdb.DuckDBPyConnection, sql: str) -> duckdb.Statement:
    """Parse a string, and return the SQL statement in it. Raises QueryError unless it is a single read-only
    statement.
    """
    if not sql.isascii() and any("\ud800" <= char <= "\udfff" for char in sql):  # DuckDB rejects such text
        raise QueryError("the text is not valid UTF-8")
    statements = connection.extract_statements(sql)
    if len(statements) != 1:
        raise QueryError(f"the text contains {len(statements)} statements; exactly one is allowed")
    if statements[0].type not in _READ_STATEMENTS:
        raise QueryError(f"{statements[0].type.name} is not allowed: the lake can only be read")
    return statements[0]
