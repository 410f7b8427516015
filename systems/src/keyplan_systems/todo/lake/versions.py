"""Versions of the lake. They allow many writers, compactors and readers to share files without locks.

Every change to the lake is a new file `_versions/<number>.json` that lists all data files of that version. Data files
are written first, under unique names, and never changed. A version is committed by *creating* its file, which succeeds
for exactly one of several writers. The others read the committed version and apply their changes again on top of it. A
killed writer therefore leaves at most unused data files. A reader uses the newest version until it has finished, and
sees the work of each writer completely or not at all. The files of an old version are kept until vacuum finds that the
version is not in use any more.

One case needs special handling. A writer that was suspended during the removal of old version files could create one of
them again and mistake this for a commit. This is detected by checking the version on which its commit is based. Vacuum
removes versions in ascending order, so if that version is missing while later ones exist, the commit is invalid and the
change is applied again. Applying a change again is harmless, because every change first checks whether its work is
already done. An empty lake has version 0, so that the first commit is based on a version, too.
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
"""Maximum number of attempts to commit. An attempt fails only if another writer has committed, so this many failures
indicate an error.
"""

Change = Callable[[Snapshot], Snapshot | None]
"""Function that is called with the newest version and returns the next version, or None if no change is needed."""


def name_of(version: int) -> str:
    """Return the path of a version's file, relative to the root of the lake."""
    return f"{FOLDER}/{version:020d}.json"


class Versions:
    """The versions of one lake. Several threads and processes can read and commit versions concurrently."""

    def __init__(self, storage: Storage, clock: Clock) -> None:
        self._storage = storage
        self._clock = clock
        self._last = Snapshot()

    def latest(self) -> Snapshot:
        """Return the newest version, or an empty version 0 if no version was committed."""
        for _ in range(_ATTEMPTS):
            names = self._storage.list_paths(FOLDER)
            if not names:
                return Snapshot()
            try:
                return self._read(names[-1])
            except FileNotFoundError:  # vacuum removed it, so a newer version exists
                continue
        raise LakeBusyError("the newest version of the lake was repeatedly removed before it was read")

    def all(self) -> list[Snapshot]:
        """Return all versions whose files still exist, oldest first."""
        snapshots = []
        for name in self._storage.list_paths(FOLDER):
            try:
                snapshots.append(self._read(name))
            except FileNotFoundError:  # another vacuum removed it, so it is no longer in use
                continue
        return snapshots

    def commit(self, change: Change) -> Snapshot:
        """Apply a change to the newest version, and return the resulting version.

        If `change` returns None, nothing is committed, and the newest version is returned.

        Raises LakeBusyError if other writers keep committing first, or FileNotFoundError if the newest version refers
        to a missing file.
        """
        for _ in range(_ATTEMPTS):
            base = self.latest()
            try:
                changed = change(base)
            except FileNotFoundError:
                if self.latest().version == base.version:
                    raise
                continue  # vacuum removed files that only older versions use
            if changed is None:
                return base
            if base.version == 0 and self._storage.create(name_of(0), dump(base)):
                continue  # the next read shows whether the lake is still empty
            number = base.version + 1
            changed = replace(changed, version=number, committed_at=self._clock.now())
            if self._storage.create(name_of(number), dump(changed)) and self._is_successor(base, number):
                self._last = changed
                return changed
        raise LakeBusyError(f"other writers committed first in {_ATTEMPTS} attempts; nothing was changed")

    def _is_successor(self, base: Snapshot, number: int) -> bool:
        """Return True if the version `number` is a valid successor of `base`. The module's documentation describes the
        check.
        """
        names = self._storage.list_paths(FOLDER)
        return name_of(base.version) in names or names[-1] == name_of(number)

    def _read(self, name: str) -> Snapshot:
        last = self._last  # read once, because another thread may replace it
        if last.version and name == name_of(last.version):
            return last
        snapshot = load(self._storage.read(name), name)
        self._last = max(self._last, snapshot, key=lambda candidate: candidate.version)
        return snapshot
