"""The lake's versions: how many writers, compactors and readers work on the same files without a lock.

Every change of the lake is one new file `_versions/<number>.json` that names all data files of that
version. Data files are written first, under names of their own, and never changed; a version is
committed by *creating* its file, which exactly one of several writers manages. The others look at
what was committed meanwhile and do their change again on top of it.

So a killed writer leaves at most data files that no version names, and a reader, who takes the
newest version and keeps to it, sees the work of each writer whole or not at all. Files that an old
version names stay until vacuum finds that version out of use.

One case needs care. A writer that slept through the removal of old version files may create one
of them anew, and would take that for a commit. It is told by the version it built on: vacuum removes
in rising order, so if that one is gone while later ones exist, the commit does not count and the
change is done again. Doing a change again is harmless, because every change looks first whether
its work is done. So that the first commit builds on a version too, an empty lake gets a number 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from keyplan.clock import Clock
from keyplan_systems.todo.lake.errors import LakeBusyError
from keyplan_systems.todo.lake.snapshot import Snapshot, dump, load
from keyplan_systems.todo.lake.storage import Storage

FOLDER = "_versions"
_ATTEMPTS = 1000
"""Each lost attempt means that another writer committed, so this many say that something is wrong."""

Change = Callable[[Snapshot], Snapshot | None]
"""From the newest version to the next one; None: there is nothing to do."""


def name_of(version: int) -> str:
    """The path of a version's file."""
    return f"{FOLDER}/{version:020d}.json"


class Versions:
    """The versions of one lake. Safe for use by threads and processes at once."""

    def __init__(self, storage: Storage, clock: Clock) -> None:
        self._storage = storage
        self._clock = clock
        self._last = Snapshot()

    def latest(self) -> Snapshot:
        """The newest version; an empty one, number 0, of a lake without any."""
        for _ in range(_ATTEMPTS):
            names = self._storage.names(FOLDER)
            if not names:
                return Snapshot()
            try:
                return self._read(names[-1])
            except FileNotFoundError:  # vacuum removed it: there is a newer one
                continue
        raise LakeBusyError("the newest version of the lake kept disappearing before it was read")

    def all(self) -> list[Snapshot]:
        """All versions whose files are still there, oldest first."""
        found = []
        for name in self._storage.names(FOLDER):
            try:
                found.append(self._read(name))
            except FileNotFoundError:  # removed by another vacuum: out of use
                continue
        return found

    def commit(self, change: Change) -> Snapshot:
        """Make a change on top of the newest version; what is then newest.

        Raises LakeBusyError; FileNotFoundError if the newest version names a file that is not there.
        """
        for _ in range(_ATTEMPTS):
            base = self.latest()
            try:
                changed = change(base)
            except FileNotFoundError:
                if self.latest().version == base.version:
                    raise
                continue  # vacuum removed what only older versions name, or what was written for one
            if changed is None:
                return base
            if base.version == 0 and self._storage.create(name_of(0), dump(base)):
                continue  # the next look tells whether the lake is still empty
            number = base.version + 1
            changed = replace(changed, version=number, committed_at=self._clock.now())
            if self._storage.create(name_of(number), dump(changed)) and self._counts(base, number):
                self._last = changed
                return changed
        raise LakeBusyError(f"other writers were faster {_ATTEMPTS} times; nothing was changed")

    def _counts(self, base: Snapshot, number: int) -> bool:
        """Whether a version just created is a real successor, see the module's text."""
        names = self._storage.names(FOLDER)
        return name_of(base.version) in names or names[-1] == name_of(number)

    def _read(self, name: str) -> Snapshot:
        last = self._last  # once: another thread may put a later one in its place
        if last.version and name == name_of(last.version):
            return last
        snapshot = load(self._storage.read(name), name)
        self._last = max(self._last, snapshot, key=lambda one: one.version)
        return snapshot
