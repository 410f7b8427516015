"""Maintenance of the data lake: updating the silver and gold layers, merging small files, and removing unused files."""

from __future__ import annotations

from keyplan_systems.todo.lake.lake import Lake

FILES_BEFORE_COMPACTION = 64


class LakeMaintenance:
    """Periodic maintenance of the data lake. A worker calls `run_once` repeatedly."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake

    def run_once(self) -> int:
        """Update the lake if it has new events, and compact it if it has many files. Return 0, so that the worker
        pauses afterwards.
        """
        if not self._lake.snapshot.pending():
            return 0
        snapshot = self._lake.refresh()
        if len(snapshot.files_of("bronze")) >= FILES_BEFORE_COMPACTION:
            self._lake.compact()
            self._lake.vacuum()
        return 0
