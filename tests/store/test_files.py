"""Files that are not what they should be."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from keyplan.errors import DatabaseCorruptError, DatabaseReadOnlyError, DatabaseVersionError
from keyplan.store import statements
from keyplan.store.sqlite import SqliteStore


def test_a_newer_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "data.db"
    SqliteStore(str(path)).close()
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {statements.SCHEMA_VERSION + 1}")
    connection.close()
    with pytest.raises(DatabaseVersionError, match="newer keyplan"):
        SqliteStore(str(path))


def test_a_file_of_another_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE theirs (a)")
    connection.close()
    with pytest.raises(DatabaseCorruptError, match="not keyplan's"):
        SqliteStore(str(path))
    text = tmp_path / "notes.txt"
    text.write_text("this is no database, but it is long enough to look at" * 30)
    with pytest.raises(DatabaseCorruptError, match="not a keyplan database"):
        SqliteStore(str(text))


def test_a_missing_folder_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(DatabaseReadOnlyError, match="is the folder there"):
        SqliteStore(str(tmp_path / "nowhere" / "data.db"))
