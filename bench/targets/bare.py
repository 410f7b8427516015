"""Bare SQLite with apsw, which is the lower bound for the engine: the same rows and the same layout."""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Literal

import apsw
import orjson

from bench.targets.model import InProcess, Settings
from bench.wire import AnswerError
from bench.workload import Call, Request, item_bytes

Checkpoints = Literal["in line", "in background"]

# The settings of the engine, so that the targets differ only in the work above SQLite.
CACHE_KIB = 64 * 1024
MAPPED_BYTES = 1 << 40
MAX_MAPPED_BYTES = 2 * 1024 * 1024 * 1024  # a file of this length when it is opened is not mapped
HASH_SALT = b"Outliers"
CHECKPOINT_PAGES = 4000
RESTART_PAGES = 4 * CHECKPOINT_PAGES
BUSY_MS = 10_000

CREATE = (
    "CREATE TABLE IF NOT EXISTS {name}"
    " (id INTEGER PRIMARY KEY, k BLOB NOT NULL, size INTEGER NOT NULL, body BLOB NOT NULL);"
    "CREATE UNIQUE INDEX IF NOT EXISTS {name}_k ON {name} (k)"
)
UPSERT = (
    "INSERT INTO {name} (k, size, body) VALUES (?, ?, ?)"
    " ON CONFLICT (k) DO UPDATE SET size = excluded.size, body = excluded.body"
)
MOVE = "UPDATE OR REPLACE {name} SET k = ?, size = ?, body = ? WHERE k = ?"
UPSERT_ITEM = UPSERT.format(name="item")
POINT = "SELECT body FROM item WHERE k = ?"
RANGE = "SELECT body FROM item WHERE k >= ? AND k < ? ORDER BY k LIMIT ?"

Row = tuple[bytes, int, bytes]
NOTHING: Request = {}


class Bare:
    """One table of rows in a file. Each thread reads through its own connection, and writes are serialized."""

    def __init__(self, path: Path, *, checkpoints: Checkpoints = "in background", synchronous: str = "NORMAL") -> None:
        self._path = path
        self._synchronous = synchronous
        self._in_line = checkpoints == "in line"
        self._local = threading.local()
        self._open: list[apsw.Connection] = []
        self.write_lock = threading.Lock()
        self._writer = self.connect()
        self._writer.pragma("journal_mode", "wal")
        self._checkpointer = None if self._in_line else _Checkpointer(self.connect())
        if self._checkpointer:
            self._writer.set_wal_hook(self._checkpointer.on_commit)
        self.cursor = self._writer.cursor()
        self.cursor.execute(CREATE.format(name="item"))

    def connect(self) -> apsw.Connection:
        connection = apsw.Connection(str(self._path))
        connection.set_busy_timeout(BUSY_MS)
        connection.pragma("synchronous", self._synchronous)
        connection.pragma("cache_size", -CACHE_KIB)
        large = self._path.exists() and self._path.stat().st_size >= MAX_MAPPED_BYTES
        connection.pragma("mmap_size", 0 if large else MAPPED_BYTES)
        if not self._in_line:
            connection.wal_autocheckpoint(0)
        self._open.append(connection)
        return connection

    def close(self) -> None:
        if self._checkpointer:
            self._checkpointer.stop()
        for connection in self._open:
            connection.close()

    def put(self, row: Row) -> Request:
        """Insert or update a row and commit, in one statement."""
        with self.write_lock:
            self.cursor.execute(UPSERT_ITEM, row)
        return NOTHING

    def put_many(self, rows: list[Row]) -> Request:
        """Insert or update rows in one commit."""
        with self.write_lock:
            self.cursor.execute("BEGIN IMMEDIATE")
            self.cursor.executemany(UPSERT_ITEM, rows)
            self.cursor.execute("COMMIT")
        return NOTHING

    def get(self, key: bytes) -> Any:
        """Read and decode one row."""
        return orjson.loads(self._reader().execute(POINT, (key,)).get)

    def query(self, low: bytes, high: bytes, limit: int) -> list[Any]:
        """Read and decode a range of rows."""
        decode = orjson.loads
        return [decode(body) for (body,) in self._reader().execute(RANGE, (low, high, limit))]

    def _reader(self) -> apsw.Cursor:
        cursor: apsw.Cursor | None = getattr(self._local, "cursor", None)
        if cursor is None:
            cursor = self._local.cursor = self.connect().cursor()
        return cursor


class _Checkpointer:
    """A thread that transfers the write-ahead log to the database file whenever the log has grown."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._wake = threading.Event()
        self._pages = 0
        self._checkpoint_at = CHECKPOINT_PAGES
        self._stopping = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def on_commit(self, _connection: apsw.Connection, _schema: str, pages: int) -> int:
        if pages < self._pages:  # the log has restarted
            self._checkpoint_at = CHECKPOINT_PAGES
        self._pages = pages
        if pages >= self._checkpoint_at:
            self._wake.set()
        return apsw.SQLITE_OK

    def stop(self) -> None:
        self._stopping = True
        self._wake.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            if self._stopping:
                return
            pages = self._pages
            self._checkpoint_at = pages + CHECKPOINT_PAGES
            restart = pages >= RESTART_PAGES
            mode = apsw.SQLITE_CHECKPOINT_RESTART if restart else apsw.SQLITE_CHECKPOINT_PASSIVE
            with contextlib.suppress(apsw.BusyError):  # The next commit wakes this thread again.
                self._connection.wal_checkpoint(mode=mode)


def key_bytes(key: Request) -> bytes:
    """Return a key in the engine's layout: hash of the partition key, its length, the partition key, the sort key.

    Because of the hash, partitions are at random positions of the index, regardless of the order in which they are
    loaded.
    """
    sort: str = key["sk"]["S"]
    return partition_prefix(key["pk"]["S"]) + sort.encode()


def partition_prefix(partition: str) -> bytes:
    """Return the bytes with which every key of a partition starts."""
    part = partition.encode()
    digest = hashlib.md5(HASH_SALT + part, usedforsecurity=False).digest()
    return digest[:4] + len(part).to_bytes(2, "big") + part


def row_of(item: Request) -> Row:
    return key_bytes(item), item_bytes(item), orjson.dumps(item)


@contextlib.contextmanager
def bare_target(name: str, settings: Settings) -> Iterator[InProcess]:
    """Open bare SQLite as a target, which supports only operations without conditions."""
    checkpoints: Checkpoints = "in line" if name.endswith("-inline") else "in background"
    bare = Bare(settings.folder / f"{name}.db", checkpoints=checkpoints)
    try:
        note = f"apsw {apsw.apsw_version()}, SQLite {apsw.sqlite_lib_version()}, checkpoints {checkpoints}"
        yield InProcess(name, note, settings, partial(prepare, bare))
    finally:
        bare.close()


def prepare(bare: Bare, call: Call) -> Callable[[], Request]:
    """Return a function that runs the equivalent of a call on bare SQLite. Its rows are encoded in advance."""
    request = call.request
    match call.name:
        case "CreateTable":
            return lambda: NOTHING
        case "PutItem" if "ConditionExpression" not in request:
            row = row_of(request["Item"])
            return partial(bare.put, row)
        case "BatchWriteItem":
            ((_, puts),) = request["RequestItems"].items()
            rows = [row_of(put["PutRequest"]["Item"]) for put in puts]
            return partial(bare.put_many, rows)
        case "GetItem":
            key = key_bytes(request["Key"])
            return lambda: {"Item": bare.get(key)}
        case "Query":
            partition: str = request["ExpressionAttributeValues"][":pk"]["S"]
            low, limit = partition_prefix(partition), request["Limit"]
            high = low + b"\xff"
            return lambda: {"Items": bare.query(low, high, limit)}
        case name:
            raise AnswerError(f"{name}: bare SQLite is measured without conditions, filters and transactions")
