"""Keeping the lake tidy: silver and gold brought up to date, small files merged, what nobody uses removed."""

from __future__ import annotations

from keyplan_systems.todo.lake.lake import Lake

FILES_BEFORE_COMPACTION = 64


class Keeping:
    """What is done to the lake from time to time."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake

    def run_once(self) -> int:
        """Bring the lake up to date; always 0, since it is to be done at intervals and not as often as it can be."""
        if not self._lake.snapshot.pending():
            return 0
        done = self._lake.refresh()
        if len(done.of("bronze")) >= FILES_BEFORE_COMPACTION:
            self._lake.compact()
            self._lake.vacuum()
        return 0
