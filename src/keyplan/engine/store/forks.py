"""Protection against forks: a child process must not use the connections of its parent.

SQLite's locks belong to the process that acquired them. When the parent closes its database, SQLite considers the file
unused and removes the log. Later writes by a child would be acknowledged and then lost. Therefore, every store that was
open at the time of a fork is treated as closed in the child.

Source: SQLite, "How To Corrupt An SQLite Database File", "Carrying an open database connection across a fork()".
"""

from __future__ import annotations

import os
import weakref
from typing import Any, NoReturn, Protocol

from keyplan.errors import EngineClosedError

FORK_MESSAGE = "was opened before this process was forked: open it again in this process"


class Store(Protocol):
    """A store that may be open when the process is forked."""

    def close_in_child(self) -> object:
        """Mark the store as closed in a child process.

        Return the store's connections, which must not be freed, because freeing a connection closes it.
        """


class ForkedConnection:
    """A replacement for a connection in a child process. Any use of the replacement raises EngineClosedError."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __getattr__(self, name: str) -> NoReturn:
        raise EngineClosedError(f"{self.path} {FORK_MESSAGE}")


_open: weakref.WeakSet[Any] = weakref.WeakSet()
_retained: list[object] = []


def watch(store: Store) -> None:
    """Register a store to be marked as closed in child processes."""
    _open.add(store)


def _close_in_child() -> None:
    _retained.extend([store.close_in_child() for store in list(_open)])


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)
