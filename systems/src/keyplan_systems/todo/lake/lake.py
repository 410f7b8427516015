"""The data lake of the to-do system, in a folder or on S3.

For example:

    lake = Lake.open("data/lake", clock=SystemClock())
    lake.bronze.write(records)  # as often as the stream delivers records
    lake.refresh()              # update silver and gold
    lake.query("SELECT * FROM gold.kpis")
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from keyplan.clock import Clock, SystemClock
from keyplan_systems.todo.lake.bronze import Bronze
from keyplan_systems.todo.lake.compaction import RETENTION_S, CompactionResult, Housekeeper, VacuumResult
from keyplan_systems.todo.lake.errors import QueryError
from keyplan_systems.todo.lake.refresh import Refresher
from keyplan_systems.todo.lake.reports import REPORTS
from keyplan_systems.todo.lake.snapshot import Snapshot
from keyplan_systems.todo.lake.sql import Reader
from keyplan_systems.todo.lake.storage import Storage, open_storage
from keyplan_systems.todo.lake.versions import Versions

_IDENTITY = "_identity"


class Lake:
    """The lake of one table. It keeps no files open. Threads can share an instance, and several processes can open the
    same lake.
    """

    def __init__(self, storage: Storage, clock: Clock, *, timeout_s: float = 60, memory_limit_mb: int = 1024) -> None:
        self._storage = storage
        self._versions = Versions(storage, clock)
        self._refresher = Refresher(storage, self._versions)
        self._keeper = Housekeeper(storage, self._versions, clock, self._refresher.refresh)
        self._reader = Reader(storage, self._versions, timeout_s=timeout_s, memory_limit_mb=memory_limit_mb)
        self.bronze = Bronze(storage, self._versions)

    @classmethod
    def open(
        cls,
        url: str | Path,
        *,
        clock: Clock | None = None,
        options: Mapping[str, Any] | None = None,
        timeout_s: float = 60,
        memory_limit_mb: int = 1024,
    ) -> Lake:
        """Return the lake at a path, `file://` URL or `s3://bucket/prefix`. If the lake does not exist, the first write
        creates it.

        `options` are passed to s3fs. Queries can run for up to `timeout_s` seconds and use up to `memory_limit_mb` MB.
        Raises LakeError for an invalid URL, or if s3fs is required but not installed.
        """
        storage = open_storage(url, options)
        return cls(storage, clock or SystemClock(), timeout_s=timeout_s, memory_limit_mb=memory_limit_mb)

    def identity(self) -> str:
        """Return the ID of the lake. A copy of a lake has the same ID. If a lake is deleted and created again, it gets
        a new ID.
        """
        self._storage.create(_IDENTITY, uuid.uuid4().hex.encode())
        return self._storage.read(_IDENTITY).decode()

    @property
    def snapshot(self) -> Snapshot:
        """The newest version of the lake. It contains the list of data files and the number of the latest version whose
        events the silver layer includes.
        """
        return self._versions.latest()

    def refresh(self) -> Snapshot:
        """Update the silver layer with all events that were stored before the call, and recompute the gold layer.

        Raises LakeBusyError if other writers prevent the commit.
        """
        return self._refresher.refresh()

    def rebuild(self) -> Snapshot:
        """Rebuild the silver and gold layers from all bronze files and exports. Raises LakeBusyError if other writers
        prevent the commit.
        """
        return self._refresher.rebuild()

    def rebuild_from_items(
        self, items: Iterable[Mapping[str, Any]], as_of: datetime, *, sequence: str = "", stream: str = ""
    ) -> Snapshot:
        """Rebuild the silver layer from a full export. See `Refresher.rebuild_from_items`."""
        return self._refresher.rebuild_from_items(items, as_of, sequence=sequence, stream=stream)

    def compact(self, *, min_files: int = 8) -> CompactionResult:
        """Merge the small files of the bronze layer. See `Housekeeper.compact`."""
        return self._keeper.compact(min_files=min_files)

    def vacuum(self, *, retention_s: float = RETENTION_S) -> VacuumResult:
        """Remove files that are not part of any version in use. See `Housekeeper.vacuum`."""
        return self._keeper.vacuum(retention_s=retention_s)

    def query(self, sql: str, parameters: Mapping[str, Any] | None = None) -> Any:
        """Run one read-only SQL statement and return the result as an Arrow table. See `Reader.query`."""
        return self._reader.query(sql, parameters)

    def report(self, name: str, **parameters: Any) -> Any:
        """Run one of the reports in the module `reports`, and return the result as an Arrow table. Raises QueryError if
        the name or a parameter is unknown.
        """
        if name not in REPORTS:
            raise QueryError(f"unknown report {name}; available: {', '.join(REPORTS)}")
        report = REPORTS[name]
        unknown = parameters.keys() - report.parameters.keys()
        if unknown:
            raise QueryError(f"report {name} has no parameter {', '.join(sorted(unknown))}")
        return self.query(report.sql, {**report.parameters, **parameters})
