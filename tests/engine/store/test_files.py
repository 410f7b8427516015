"""Invalid database files."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from keyplan.engine.store import statements
from keyplan.engine.store.sqlite import SqliteStore
from keyplan.errors import DatabaseCorruptError, DatabaseReadOnlyError, DatabaseVersionError


def test_a_newer_file_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "data.db"
    SqliteStore(str(path)).close()
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {statements.SCHEMA_VERSION + 1}")
    connection.close()
    with pytest.raises(DatabaseVersionError, match="newer version of keyplan"):
        SqliteStore(str(path))


def test_a_file_of_another_program_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE theirs (a)")
    connection.close()
    with pytest.raises(DatabaseCorruptError, match="not a keyplan database"):
        SqliteStore(str(path))
    text = tmp_path / "notes.txt"
    text.write_text("this is not a database, but it is long enough to check" * 30)
    with pytest.raises(DatabaseCorruptError, match="not a keyplan database"):
        SqliteStore(str(text))


def test_a_missing_folder_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(DatabaseReadOnlyError, match="check that the folder exists"):
        SqliteStore(str(tmp_path / "nowhere" / "data.db"))


def test_a_copy_made_by_sqlites_vacuum_is_a_valid_database(tmp_path: Path) -> None:
    SqliteStore(str(tmp_path / "data.db")).close()
    connection = sqlite3.connect(tmp_path / "data.db")
    connection.execute("VACUUM INTO ?", (str(tmp_path / "copy.db"),))
    connection.close()
    store = SqliteStore(str(tmp_path / "copy.db"), durability="full")
    store.write(lambda transaction: transaction.put_document("a", b"1"))  # synced in a log, which must exist
    assert store.view().document("a") == b"1"
    store.close()


def test_an_orphaned_log_is_not_used_for_a_new_copy(tmp_path: Path) -> None:
    deleted = SqliteStore(str(tmp_path / "copy.db"))

    def put(number: int) -> None:
        deleted.write(lambda transaction: transaction.put_document(f"gone {number}", bytes(5000)))

    for number in range(50):
        put(number)
    log = (tmp_path / "copy.db-wal").read_bytes()
    deleted.close()
    (tmp_path / "copy.db").unlink()
    (tmp_path / "copy.db-wal").write_bytes(log)
    store = SqliteStore(str(tmp_path / "data.db"))
    store.write(lambda transaction: transaction.put_document("mine", b"1"))
    store.copy_to(str(tmp_path / "copy.db"))
    store.close()
    copied = SqliteStore(str(tmp_path / "copy.db"))
    assert copied.integrity() == []
    assert copied.view().documents("") == [("mine", b"1")]
    copied.close()
