"""A database by its URL: consistent reads, and writes that hold the lock from their first statement.

On SQLite a write transaction starts with BEGIN IMMEDIATE, so nothing it reads can change before it commits. On
PostgreSQL a write is READ COMMITTED and locks the rows it decides on; a read is REPEATABLE READ, one moment for all
its statements.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.orm import Session, sessionmaker
from sqlalchemy.pool import ConnectionPoolEntry

LOCK_WAIT_S: Final = 30
"""How long a transaction waits for another's lock before it fails, in seconds."""

_WRITES: Final = "forum_writes"


class Database:
    """Transactions on one database. Safe to share between threads; every transaction has its own connection."""

    def __init__(self, url: str) -> None:
        """Open lazily. Raises `ValueError` for anything but a SQLite file or PostgreSQL."""
        self.url = checked_url(url)
        self.engine = _engine(self.url)
        readers = self.engine
        if self.engine.dialect.name == "postgresql":
            readers = self.engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        self._readers = sessionmaker(readers, expire_on_commit=False)
        self._writers = sessionmaker(self.engine.execution_options(**{_WRITES: True}), expire_on_commit=False)

    @contextmanager
    def read(self) -> Iterator[Session]:
        """A transaction that sees one moment and changes nothing."""
        with self._readers() as session:
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """A transaction that commits at its end, or leaves nothing behind when it raises."""
        with self._writers.begin() as session:
            yield session

    def close(self) -> None:
        """Close all idle connections."""
        self.engine.dispose()


def checked_url(url: str) -> URL:
    """The URL with its driver. Raises `ValueError` for a database the forum does not run on."""
    parsed = make_url(url)
    backend = parsed.get_backend_name()
    if backend == "postgresql":
        return parsed.set(drivername="postgresql+psycopg")
    if backend != "sqlite":
        raise ValueError(f"the forum runs on SQLite and PostgreSQL, not on {backend}")
    if parsed.database in (None, "", ":memory:"):
        raise ValueError("a SQLite database in memory is another one in every thread: give a file, sqlite:///forum.db")
    return parsed


def _engine(url: URL) -> Engine:
    if url.get_backend_name() == "postgresql":
        return create_engine(url, pool_pre_ping=True, connect_args={"options": f"-c lock_timeout={LOCK_WAIT_S}s"})
    engine = create_engine(url, connect_args={"timeout": LOCK_WAIT_S})
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: sqlite3.Connection, entry: ConnectionPoolEntry) -> None:
    """Take BEGIN and COMMIT out of the driver's hands, and turn on what SQLite leaves off."""
    del entry
    connection.isolation_level = None
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get(_WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
