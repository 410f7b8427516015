"""The SQL database with its read transactions and write transactions. Reads are consistent, and writes do not depend on
stale reads.

On SQLite, a write transaction starts with BEGIN IMMEDIATE, so its reads cannot become stale before it commits. On
PostgreSQL, a write transaction is READ COMMITTED and locks the rows on which it depends. A read transaction is
REPEATABLE READ, so that all its statements see the same snapshot.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Final

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.orm import Session, sessionmaker
from sqlalchemy.pool import ConnectionPoolEntry

_SWITCH_PAUSE_S: Final = 0.01
LOCK_WAIT_S: Final = 30
"""Maximum time in seconds to wait for another transaction's lock."""

_WRITES: Final = "forum_writes"


class Database:
    """A SQL database. Instances are thread-safe, because each transaction uses a separate connection."""

    def __init__(self, url: str) -> None:
        """Create the database object without connecting. Raises ValueError if the URL does not refer to SQLite or
        PostgreSQL.
        """
        self.url = checked_url(url)
        self.engine = _engine(self.url)
        readers = self.engine
        if self.engine.dialect.name == "postgresql":
            readers = self.engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        self._readers = sessionmaker(readers, expire_on_commit=False)
        self._writers = sessionmaker(self.engine.execution_options(**{_WRITES: True}), expire_on_commit=False)
        # A thread that waits for SQLite's lock polls it with growing pauses, and others overtake it until its timeout
        # ("database is locked"). So the threads of a process queue here, and only one of them waits for SQLite.
        self._queue = Lock() if self.engine.dialect.name == "sqlite" else None

    @contextmanager
    def read(self) -> Iterator[Session]:
        """Yield a session with a read-only transaction. All statements in it see the same snapshot."""
        with self._readers() as session:
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """Yield a session with a transaction. The transaction is committed at the end of the `with` block, or rolled
        back if the block raises an exception.
        """
        has_turn = self._queue is not None and self._queue.acquire(timeout=LOCK_WAIT_S)
        try:
            with self._writers.begin() as session:
                yield session
        finally:
            if has_turn and self._queue is not None:
                self._queue.release()

    def close(self) -> None:
        """Close all idle connections."""
        self.engine.dispose()


def checked_url(url: str) -> URL:
    """Return the database URL with the driver that the forum uses. Raises ValueError unless the URL refers to
    PostgreSQL or to a SQLite file.
    """
    parsed = make_url(url)
    backend = parsed.get_backend_name()
    if backend == "postgresql":
        return parsed.set(drivername="postgresql+psycopg")
    if backend != "sqlite":
        raise ValueError(f"the forum runs on SQLite and PostgreSQL, not on {backend}")
    if parsed.database in (None, "", ":memory:"):
        raise ValueError(
            "an in-memory SQLite database is separate for every thread: use a file, such as sqlite:///forum.db"
        )
    return parsed


def _engine(url: URL) -> Engine:
    if url.get_backend_name() == "postgresql":
        return create_engine(url, pool_pre_ping=True, connect_args={"options": f"-c lock_timeout={LOCK_WAIT_S}s"})
    engine = create_engine(url, connect_args={"timeout": LOCK_WAIT_S})
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: sqlite3.Connection, entry: ConnectionPoolEntry) -> None:
    """Configure a new SQLite connection: disable the driver's automatic transactions, and set pragmas."""
    del entry
    connection.isolation_level = None
    _switch_to_wal(connection)
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    """Switch a SQLite database to a write-ahead log.

    If another process switches it at the same time, SQLite returns an error immediately instead of waiting. In this
    case, the statement is repeated.
    """
    deadline = time.monotonic() + LOCK_WAIT_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(_SWITCH_PAUSE_S)
        else:
            return


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get(_WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
