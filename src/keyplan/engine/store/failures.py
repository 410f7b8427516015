"""Converts SQLite errors to keyplan's storage errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from keyplan.errors import (
    DatabaseCorruptError,
    DatabaseFullError,
    DatabaseLockedError,
    DatabaseReadOnlyError,
    EngineClosedError,
    StorageError,
)

Failure = apsw.Error
"""The base class of all SQLite exceptions."""

_KINDS: tuple[tuple[type[apsw.Error], type[StorageError], str], ...] = (
    (apsw.BusyError, DatabaseLockedError, "is locked by another process"),
    (apsw.LockedError, DatabaseLockedError, "is locked by another connection"),
    (apsw.FullError, DatabaseFullError, "could not grow: the disk is full"),
    (apsw.ReadOnlyError, DatabaseReadOnlyError, "cannot be written"),
    (apsw.CantOpenError, DatabaseReadOnlyError, "cannot be opened: check that the folder exists and is writable"),
    (apsw.PermissionsError, DatabaseReadOnlyError, "cannot be opened: permission denied"),
    (apsw.AuthError, DatabaseReadOnlyError, "cannot be opened: permission denied"),
    (apsw.CorruptError, DatabaseCorruptError, "is damaged"),
    (apsw.NotADBError, DatabaseCorruptError, "is not a keyplan database"),
)


def storage_error(error: apsw.Error, path: str) -> StorageError:
    """Return the StorageError that corresponds to an SQLite error. Its message contains `path`."""
    for failure_type, error_type, description in _KINDS:
        if isinstance(error, failure_type):
            return error_type(f"{path} {description} ({error})")
    return StorageError(f"{path}: {type(error).__name__}: {error}")


def is_missing_tree(error: apsw.Error) -> bool:
    """Return True if the error means that the tree does not exist because another process has dropped it.

    Usually, this error is an SQLError. It is a SchemaChangeError if tables were created or dropped while SQLite looked
    up the tree again.
    """
    return isinstance(error, (apsw.SQLError, apsw.SchemaChangeError)) and "no such table" in str(error)


@contextmanager
def convert_errors(path: str) -> Iterator[None]:
    """Convert SQLite errors that are raised in the block to storage errors whose messages contain the path
    of the file.
    """
    try:
        yield
    except (apsw.ConnectionClosedError, apsw.CursorClosedError):
        raise EngineClosedError(f"{path} is closed") from None
    except apsw.Error as error:
        raise storage_error(error, path) from error
