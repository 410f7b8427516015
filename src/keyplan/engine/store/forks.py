"""Forks: a child process must not go on with the connections of its parent.

SQLite's locks belong to the process that took them. Once the parent closes its database nobody seems to have it
open, and its log is removed: what a child goes on writing there, and acknowledges, is lost. So in a child every
store that was open counts as closed.

Source: SQLite, "How To Corrupt An SQLite Database File", "Carrying an open database connection across a fork()".
"""

from __future__ import annotations

import os
import weakref
from typing import Any, NoReturn, Protocol

from keyplan.errors import EngineClosedError

WHY = "was opened before this process was forked: open it anew here"


class Store(Protocol):
    """What may be open when the process is forked."""

    def leave_behind(self) -> object:
        """Count as closed; what is to be kept, because it would be closed if it were freed."""


class LeftBehind:
    """Stands where a connection was."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __getattr__(self, name: str) -> NoReturn:
        raise EngineClosedError(f"{self.path} {WHY}")


_open: weakref.WeakSet[Any] = weakref.WeakSet()
_kept: list[object] = []


def watch(store: Store) -> None:
    """Have a store left behind by children."""
    _open.add(store)


def _leave_behind() -> None:
    _kept.extend([store.leave_behind() for store in list(_open)])


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_behind)
