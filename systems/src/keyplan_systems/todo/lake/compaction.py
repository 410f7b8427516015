"""Maintenance that merges small bronze files and removes files that are not part of any version in use.

Compaction changes files but never rows: a version refers either to the small files or to the large file.

Vacuum must not remove a file that a slow writer is about to commit. Therefore it first increments the lake's
generation, which is part of every new file name. From then on, no future version can refer to a file of an older
generation unless the current version refers to it. All other files of older generations can be removed if no version in
use refers to them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import pyarrow as pa

from keyplan.clock import Clock
from keyplan_systems.todo.lake import bronze, parquet, versions
from keyplan_systems.todo.lake.snapshot import DataFile, Snapshot
from keyplan_systems.todo.lake.storage import Storage
from keyplan_systems.todo.lake.versions import Versions

RETENTION_S = 3600.0
"""Number of seconds for which a version can still be read after the next version was committed."""

_UNFINISHED_S = 86_400.0
"""Age in seconds at which an unfinished file is removed. A file of this age is assumed to be left over from a killed
writer.
"""

_FULL_BYTES = 32 * 1024 * 1024
_FULL_ROWS = 500_000
"""Number of rows at which a file is considered large and is not merged with others. Merged files grow to about this
size.
"""


@dataclass(frozen=True, slots=True)
class CompactionResult:
    """The result of compaction: the number of merged bronze files, the number of files that replace them, and the
    resulting version of the lake.
    """

    files_before: int
    files_after: int
    version: int


@dataclass(frozen=True, slots=True)
class VacuumResult:
    """The result of vacuum: the numbers of removed versions, data files and unfinished files."""

    versions: int
    files: int
    unfinished: int


class Housekeeper:
    """Compacts and vacuums a lake. Other instances can read and write the lake at the same time."""

    def __init__(self, storage: Storage, versions: Versions, clock: Clock, refresh: Callable[[], Snapshot]) -> None:
        self._storage = storage
        self._versions = versions
        self._clock = clock
        self._refresh = refresh

    def compact(self, *, min_files: int = 8) -> CompactionResult:
        """Merge the small files of the bronze layer for each date with at least `min_files` small files.

        Only events that the silver layer contains are merged, so the silver and gold layers are refreshed first. Raises
        LakeBusyError if other writers prevent the commit.
        """
        version = self._refresh()
        before = after = 0
        for group in _groups(version, min_files):
            before += len(group)
            version, new_files = self._merge(group)
            after += new_files
        return CompactionResult(before, after, version.version)

    def vacuum(self, *, retention_s: float = RETENTION_S) -> VacuumResult:
        """Remove versions that were replaced more than `retention_s` seconds ago, and files that no remaining version
        uses.

        If a query reads a version for longer than `retention_s`, the read fails and is repeated with the newest
        version.
        """
        newest = self._versions.commit(lambda base: replace(base, generation=base.generation + 1))
        now = self._clock.now()
        snapshots = self._versions.all()
        old = [
            snapshot
            for snapshot, successor in itertools.pairwise(snapshots)
            if successor.committed_at <= now - retention_s
        ]
        for snapshot in old:  # must be in ascending order, see `versions`
            self._storage.remove(versions.name_of(snapshot.version))
        removed = {old_snapshot.version for old_snapshot in old}
        # Later versions refer to no more files of earlier generations than `newest` does.
        remaining = [newest, *(snapshot for snapshot in snapshots if snapshot.version not in removed)]
        used_paths = {file.path for snapshot in remaining for file in snapshot.files}
        garbage = [path for path in self._paths(newest.generation) if path not in used_paths]
        for path in garbage:
            self._storage.remove(path)
        return VacuumResult(len(old), len(garbage), self._storage.sweep(now - max(retention_s, _UNFINISHED_S)))

    def _paths(self, generation: int) -> Iterable[str]:
        """Yield the paths of data files whose generation is lower than `generation`. Other files in the folders are
        ignored.
        """
        for folder in parquet.DATA_FOLDERS:
            for path in self._storage.list_paths(folder):
                file_generation = parquet.generation_of(path) if path.endswith(".parquet") else None
                if file_generation is not None and file_generation < generation:
                    yield path

    def _merge(self, group: list[DataFile]) -> tuple[Snapshot, int]:
        """Replace small files with one large file. Return the resulting version and the number of new files, which is
        1, or 0 if another process has already replaced the files.
        """
        table: pa.Table | None = None
        new_files = 0

        def change(base: Snapshot) -> Snapshot | None:
            nonlocal table, new_files
            new_files = 0
            folded = {file.path for file in base.files_of("bronze") if file.added <= base.folded}
            if not folded.issuperset(file.path for file in group):
                return None
            if table is None:
                table = parquet.dataset(self._storage, group, bronze.SCHEMA).to_table().sort_by(bronze.ORDER)
            new_files = 1
            file = bronze.put(self._storage, base, table, group[0].partition)
            return base.with_files([replace(file, added=max(source.added for source in group))], group)

        return self._versions.commit(change), new_files


def _groups(snapshot: Snapshot, min_files: int) -> Iterable[list[DataFile]]:
    """Yield groups of small files to merge. Each group is replaced with one file.

    The files of a group have the same date and are sorted by position.
    """
    by_date: dict[str, list[DataFile]] = {}
    for file in sorted(snapshot.files_of("bronze"), key=lambda file: file.first):
        if file.added <= snapshot.folded and file.size_bytes < _FULL_BYTES and file.rows < _FULL_ROWS:
            by_date.setdefault(file.partition, []).append(file)
    for files in by_date.values():
        if len(files) >= max(min_files, 2):
            yield from _full_groups(files)


def _full_groups(files: list[DataFile]) -> Iterable[list[DataFile]]:
    group: list[DataFile] = []
    for file in files:
        group.append(file)
        if (
            sum(member.size_bytes for member in group) >= _FULL_BYTES
            or sum(member.rows for member in group) >= _FULL_ROWS
        ):
            yield group
            group = []
    if len(group) > 1:
        yield group
