"""SQLite's failures told as keyplan's storage errors."""

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
"""Whatever SQLite raises."""

_KINDS: tuple[tuple[type[apsw.Error], type[StorageError], str], ...] = (
    (apsw.BusyError, DatabaseLockedError, "is locked by another process"),
    (apsw.LockedError, DatabaseLockedError, "is locked by another connection"),
    (apsw.FullError, DatabaseFullError, "could not grow: the disk is full"),
    (apsw.ReadOnlyError, DatabaseReadOnlyError, "cannot be written"),
    (apsw.CantOpenError, DatabaseReadOnlyError, "cannot be opened: is the folder there and writable?"),
    (apsw.PermissionsError, DatabaseReadOnlyError, "cannot be opened: permission denied"),
    (apsw.AuthError, DatabaseReadOnlyError, "cannot be opened: permission denied"),
    (apsw.CorruptError, DatabaseCorruptError, "is damaged"),
    (apsw.NotADBError, DatabaseCorruptError, "is not a keyplan database"),
)


def storage_error(error: apsw.Error, path: str) -> StorageError:
    """The storage error that tells what SQLite's error means for the file."""
    for kind, told, what in _KINDS:
        if isinstance(error, kind):
            return told(f"{path} {what} ({error})")
    return StorageError(f"{path}: {type(error).__name__}: {error}")


def is_missing_tree(error: apsw.Error) -> bool:
    """Whether the failure only says that another process dropped the tree meanwhile.

    It is a SchemaChangeError where tables were made or dropped again while SQLite looked for the tree once more.
    """
    return isinstance(error, (apsw.SQLError, apsw.SchemaChangeError)) and "no such table" in str(error)


@contextmanager
def failures(path: str) -> Iterator[None]:
    """Raise what SQLite's failures mean for the file."""
    try:
        yield
    except (apsw.ConnectionClosedError, apsw.CursorClosedError):
        raise EngineClosedError(f"{path} is closed") from None
    except apsw.Error as error:
        raise storage_error(error, path) from error
