"""SQL statements and the database layout of the store.

    keyplan_document (name, body)             table descriptions and settings, as JSON
    keyplan_sequence (name, value)            counters, such as the number of catalog changes
    tree_N (id, k, size, body)                one sorted tree, such as a table's items or an index's entries
    log_N (sequence, written_at, shard, body) one stream's records, in order of commit

A tree is an ordinary rowid table with a unique index on its key. For rows that contain whole items, this is faster than
a WITHOUT ROWID table, whose interior pages would contain whole bodies. Rows are written with UPSERT, because INSERT OR
REPLACE deletes and inserts the row and therefore modifies every page twice. If the key of a row changes, an UPDATE
changes the row, so that it stays on its page.
"""

from __future__ import annotations

from typing import NamedTuple

APPLICATION_ID = 0x4B504C4E  # "KPLN": identifies the file among SQLite databases
SCHEMA_VERSION = 1

CREATE_SCHEMA = """
CREATE TABLE keyplan_document (name TEXT PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE keyplan_sequence (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
"""

BEGIN = "BEGIN IMMEDIATE"
BEGIN_READ = "BEGIN"
COMMIT = "COMMIT"
ROLLBACK = "ROLLBACK"
SAVEPOINT = "SAVEPOINT call"
RELEASE = "RELEASE call"
ROLLBACK_TO = "ROLLBACK TO call"

GET_DOCUMENT = "SELECT body FROM keyplan_document WHERE name = ?"
LIST_DOCUMENTS = "SELECT name, body FROM keyplan_document WHERE name >= ? AND name < ? ORDER BY name"
PUT_DOCUMENT = (
    "INSERT INTO keyplan_document (name, body) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET body = excluded.body"
)
DELETE_DOCUMENT = "DELETE FROM keyplan_document WHERE name = ?"
NEXT_SEQUENCE = (
    "INSERT INTO keyplan_sequence (name, value) VALUES (?, 1)"
    " ON CONFLICT (name) DO UPDATE SET value = value + 1 RETURNING value"
)
GET_SEQUENCE = "SELECT value FROM keyplan_sequence WHERE name = ?"
INTEGRITY = "PRAGMA integrity_check"


class TreeStatements(NamedTuple):
    """The SQL statements for one tree."""

    number: int
    create: str
    drop: str
    point: str
    upsert: str
    upsert_if_sequence: str
    move: str
    delete: str
    forward: str
    backward: str
    forward_from: str
    backward_from: str
    part_totals: str
    newest: str
    span_totals: str


def tree(number: int) -> TreeStatements:
    """Return the SQL statements for the tree with this number."""
    name = f"tree_{number}"
    columns = f"SELECT k, size, body FROM {name}"
    replaced = "ON CONFLICT (k) DO UPDATE SET size = excluded.size, body = excluded.body"
    return TreeStatements(
        number=number,
        create=(
            f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, k BLOB NOT NULL, size INTEGER NOT NULL, body BLOB NOT NULL);"
            f"CREATE UNIQUE INDEX {name}_k ON {name} (k);"
        ),
        drop=f"DROP TABLE IF EXISTS {name}",
        point=f"SELECT size, body FROM {name} WHERE k = ?",
        upsert=f"INSERT INTO {name} (k, size, body) VALUES (?, ?, ?) {replaced}",
        upsert_if_sequence=(
            f"INSERT INTO {name} (k, size, body) SELECT ?, ?, ?"
            f" WHERE (SELECT value FROM keyplan_sequence WHERE name = ?) = ? {replaced}"
        ),
        move=f"UPDATE OR REPLACE {name} SET k = ?, size = ?, body = ? WHERE k = ?",
        delete=f"DELETE FROM {name} WHERE k = ?",
        forward=f"{columns} WHERE k >= ? AND k < ? ORDER BY k LIMIT ?",
        backward=f"{columns} WHERE k >= ? AND k < ? ORDER BY k DESC LIMIT ?",
        forward_from=f"{columns} WHERE k >= ? ORDER BY k LIMIT ?",
        backward_from=f"{columns} WHERE k >= ? ORDER BY k DESC LIMIT ?",
        part_totals=(
            "SELECT count(*), coalesce(sum(size), 0), max(id)"
            f" FROM (SELECT id, size FROM {name} WHERE id > ? ORDER BY id LIMIT ?)"
        ),
        newest=f"SELECT max(id) FROM {name}",
        span_totals=f"SELECT count(*), coalesce(sum(size), 0) FROM {name} WHERE k >= ? AND k < ?",
    )


class LogStatements(NamedTuple):
    """The SQL statements for one log."""

    number: int
    create: str
    drop: str
    append: str
    read: str
    bounds: str
    last_to_trim: str
    trim: str


def log(number: int) -> LogStatements:
    """Return the SQL statements for the log with this number.

    The log's table uses AUTOINCREMENT, so a sequence number is never used twice, even after a trim.
    """
    name = f"log_{number}"
    return LogStatements(
        number=number,
        create=(
            f"CREATE TABLE {name} (sequence INTEGER PRIMARY KEY AUTOINCREMENT, written_at REAL NOT NULL,"
            " shard INTEGER NOT NULL, body BLOB NOT NULL);"
            f"CREATE INDEX {name}_shard ON {name} (shard, sequence);"
        ),
        drop=f"DROP TABLE IF EXISTS {name}",
        append=f"INSERT INTO {name} (written_at, shard, body) VALUES (?, ?, ?)",
        read=(
            f"SELECT sequence, written_at, body FROM {name} WHERE shard = ? AND sequence >= ? ORDER BY sequence LIMIT ?"
        ),
        bounds=f"SELECT min(sequence), max(sequence) FROM {name} WHERE shard = ?",
        last_to_trim=(
            f"WITH eldest AS (SELECT sequence, written_at FROM {name} WHERE shard = ?1 ORDER BY sequence LIMIT ?3)"
            " SELECT max(sequence) FROM eldest WHERE sequence <"
            f" coalesce((SELECT min(sequence) FROM eldest WHERE written_at >= ?2), {2**63 - 1})"
        ),
        trim=f"DELETE FROM {name} WHERE shard = ? AND sequence <= ?",
    )
