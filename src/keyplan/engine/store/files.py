"""The database file: functions to open, verify, initialize and copy it."""

from __future__ import annotations

import ctypes
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from keyplan.engine.store import statements
from keyplan.engine.store.failures import storage_error
from keyplan.errors import DatabaseCorruptError, DatabaseVersionError

BUSY_MS = 30_000
CACHED_STATEMENTS = 512
_X_SYNC = 5  # the position of xSync in sqlite3_io_methods, counted in pointers
CACHE_KIB = 64 * 1024
"""The maximum size of a connection's page cache in KiB."""


def connect(path: str) -> apsw.Connection:
    """Return a connection to a database file or to a new in-memory database. Raises StorageError if the file cannot be
    opened.
    """
    try:
        connection = apsw.Connection(path, statementcachesize=CACHED_STATEMENTS)
    except apsw.Error as error:
        raise storage_error(error, path) from error
    connection.set_busy_timeout(BUSY_MS)
    try:
        connection.pragma("cache_size", -CACHE_KIB)
        connection.pragma("synchronous", "NORMAL")
        connection.pragma("temp_store", "MEMORY")  # savepoints store little data for a short time
        connection.wal_autocheckpoint(0)
    except apsw.Error as error:
        connection.close()
        raise storage_error(error, path) from error
    return connection


def initialize(connection: apsw.Connection, path: str) -> None:
    """Verify that the file is a keyplan database of a supported version. If the file is empty, initialize it.

    Raises DatabaseVersionError if a newer version of keyplan wrote the file, and DatabaseCorruptError if the file is
    another kind of SQLite database. SQLite errors are not converted.
    """
    if _is_keyplan_file(connection, path) and connection.pragma("journal_mode") == "wal":
        return
    # A keyplan file that is not in WAL mode is a copy made by SQLite's VACUUM. An in-memory database ignores this
    # pragma.
    connection.pragma("journal_mode", "wal")
    connection.execute(statements.BEGIN)
    try:
        if not _is_keyplan_file(connection, path):  # another process may have initialized it first
            connection.execute(statements.CREATE_SCHEMA)
            connection.pragma("application_id", statements.APPLICATION_ID)
            connection.pragma("user_version", statements.SCHEMA_VERSION)
        connection.execute(statements.COMMIT)
    except BaseException:
        if connection.in_transaction:
            connection.execute(statements.ROLLBACK)
        raise


def _is_keyplan_file(connection: apsw.Connection, path: str) -> bool:
    application, version = connection.pragma("application_id"), connection.pragma("user_version")
    if application == statements.APPLICATION_ID:
        if version > statements.SCHEMA_VERSION:
            raise DatabaseVersionError(
                f"{path} has file format {version}; this keyplan supports up to {statements.SCHEMA_VERSION}:"
                " open it with a newer version of keyplan"
            )
        return True
    if application or connection.pragma("schema_version"):
        raise DatabaseCorruptError(f"{path} is an SQLite database, but not a keyplan database")
    return False


def sync_file(connection: apsw.Connection) -> None:
    """Sync the database file to disk through the file descriptor of SQLite's connection. Errors are ignored.

    A separate file descriptor cannot be used, because closing it would release all of SQLite's locks on the file in
    this process.
    """
    file = ctypes.c_void_p()
    if not connection.file_control("main", apsw.SQLITE_FCNTL_FILE_POINTER, ctypes.addressof(file)) or not file.value:
        return
    methods = ctypes.cast(file.value, ctypes.POINTER(ctypes.POINTER(ctypes.c_void_p)))[0]  # sqlite3_io_methods
    sync = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int)(methods[_X_SYNC] or 0)
    sync(file.value, apsw.SQLITE_SYNC_NORMAL)


def copy(source: apsw.Connection, target: apsw.Connection) -> None:
    """Copy all pages of `source` to `target` in one step under a single read lock, so that concurrent writes cannot
    make the copy inconsistent.
    """
    with target.backup("main", source, "main") as backup:
        backup.step()


def check_free(path: str) -> None:
    """Raise FileExistsError if the file exists."""
    if Path(path).exists():
        raise FileExistsError(f"{path} already exists")


@contextmanager
def new_file(path: str) -> Iterator[apsw.Connection]:
    """Yield a connection to an empty database. When the block ends without an error, the database is moved
    to `path`.
    """
    unfinished = Path(f"{path}-{uuid.uuid4().hex[:8]}-unfinished")  # a unique name
    connection = apsw.Connection(str(unfinished))
    try:
        yield connection
        connection.pragma("journal_mode", "wal")
        connection.close()
        check_free(path)  # another process may have created the file since
        for suffix in ("-wal", "-shm"):  # left over from a deleted database; SQLite would use them
            Path(f"{path}{suffix}").unlink(missing_ok=True)
        unfinished.replace(path)
    except BaseException:
        connection.close()
        unfinished.unlink(missing_ok=True)
        raise
