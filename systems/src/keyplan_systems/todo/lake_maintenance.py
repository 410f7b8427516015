"""Maintenance of the lake: updates of silver and gold, merges of small files, and removal of unused files."""

from __future__ import annotations

from keyplan_systems.todo.lake.lake import Lake

FILES_BEFORE_COMPACTION = 64


class LakeMaintenance:
    """Periodic maintenance of the lake."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake

    def run_once(self) -> int:
        """Update the lake, and compact it if it has many files. Return 0, so that the worker pauses afterwards."""
        if not self._lake.snapshot.pending():
            return 0
        done = self._lake.refresh()
        if len(done.of("bronze")) >= FILES_BEFORE_COMPACTION:
            self._lake.compact()
            self._lake.vacuum()
        return 0
