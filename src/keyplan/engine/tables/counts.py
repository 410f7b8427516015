"""Item counts and sizes of tables and indexes: live while that is cheap, a little old when it is not.

The store counts a tree by reading all of it. The figures of a large tree are therefore kept until twenty
times as long has passed as they took to compute: describing a table never takes more than a twentieth of
the time, and the figures of small tables are always exact. A write transaction describes a large table with figures
of any age, because writers wait while it counts. The service updates its own figures about every six hours.
"""

from __future__ import annotations

from typing import NamedTuple

from keyplan.clock import Clock
from keyplan.engine.store.rows import Tree, View

_FEW_ROWS = 10_000
_PATIENCE = 20


class _Count(NamedTuple):
    made_at: float
    took_s: float
    rows: int
    size_bytes: int


class TreeCounts:
    """Row counts and sizes of trees, by tree number."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept: dict[int, _Count] = {}

    def of(self, view: View, tree: Tree, *, any_age: bool = False) -> tuple[int, int]:
        """Number of rows and their sizes' sum, in bytes; `any_age`: kept figures are used however old they are."""
        begun = self._clock.monotonic()
        kept = self._kept.get(tree.number)
        if kept is not None and (any_age or begun - kept.made_at < _PATIENCE * kept.took_s):
            return kept.rows, kept.size_bytes
        rows, size_bytes = view.totals(tree)
        made_at = self._clock.monotonic()
        if rows > _FEW_ROWS:
            self._kept[tree.number] = _Count(made_at, made_at - begun, rows, size_bytes)
        else:
            self.forget(tree)
        return rows, size_bytes

    def forget(self, tree: Tree) -> None:
        """Drop what is kept of a tree that is gone."""
        self._kept.pop(tree.number, None)
