"""Two designs compared: their changes, the backfills that these need, the months that the two cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from keyplan.cost.estimate import Estimate, estimate
from keyplan.cost.prices import PriceBook
from keyplan.design.design import Design
from keyplan.design.tables import Table
from keyplan.diff.changes import VERDICTS, Change, Kind
from keyplan.diff.matching import matched
from keyplan.diff.patterns import pattern_changes
from keyplan.diff.reckoning import Backfill, passes, reckon
from keyplan.diff.tables import table_changes
from keyplan.diff.uses import Use, uses_of


@dataclass(frozen=True)
class PriceChange:
    """What a table costs a month in both designs; None where it is not in one."""

    table: str
    old: float | None
    new: float | None

    @property
    def difference(self) -> float:
        """New less old."""
        return (self.new or 0.0) - (self.old or 0.0)


@dataclass(frozen=True)
class Comparison:
    """Two designs, and the prices by which they are reckoned."""

    old: Design
    new: Design
    book: PriceBook
    uses: tuple[Use, ...] = ()
    """Where programs use patterns of the old design."""

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """Everything that differs, the most work first, then in the order of the designs."""
        found = [*table_changes(self.old.tables, self.new.tables), *pattern_changes(self.old, self.new)]
        return tuple(sorted(found, key=lambda change: VERDICTS.index(change.verdict)))

    def with_uses(self, module: str, programs: Iterable[Path], without: Iterable[Path]) -> Comparison:
        """The same, knowing where programs use patterns that are dropped. Raises UnreadableProgramError."""
        names = {str(change.facts["pattern"]) for change in self.of("pattern removed", "pattern renamed")}
        return replace(self, uses=uses_of(module, names, programs, without))

    def of(self, *kinds: Kind) -> Iterator[Change]:
        """The changes of some kinds."""
        return (change for change in self.changes if change.kind in kinds)

    @cached_property
    def old_month(self) -> Estimate:
        """What the old design costs a month."""
        return estimate(self.old, self.book)

    @cached_property
    def new_month(self) -> Estimate:
        """What the new design costs a month."""
        return estimate(self.new, self.book)

    def backfill(self, change: Change) -> Backfill | None:
        """What one change by itself costs to be done to stored items."""
        return reckon(change, self.old_month, self.new_month, self._tables)

    @cached_property
    def backfills(self) -> tuple[Backfill, ...]:
        """Every pass over stored items; changes of one entity are done in one."""
        return tuple(passes(self.changes, self.old_month, self.new_month, self._tables))

    @cached_property
    def _tables(self) -> dict[str, Table]:
        return {table.name: table for table in self.old.tables}

    @cached_property
    def prices(self) -> tuple[PriceChange, ...]:
        """By table, where either design has it."""
        found = matched(self.old_month.tables, self.new_month.tables)
        return (
            *(PriceChange(after.name, before.total, after.total) for before, after in found.kept),
            *(PriceChange(one.name, None, one.total) for one in found.added),
            *(PriceChange(one.name, one.total, None) for one in found.removed),
        )
