"""Two designs compared: their changes, the backfills that these need, the months that the two cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from pathlib import Path

from keyplan.cost.estimate import Estimate, estimate
from keyplan.cost.prices import PriceBook
from keyplan.design.declaring.design import Design
from keyplan.design.declaring.tables import Table
from keyplan.diff.backfill import Backfill, estimate_backfill, passes
from keyplan.diff.changes import VERDICTS, DesignChange, Kind, Move, Phase, RolloutStep
from keyplan.diff.matching import matched
from keyplan.diff.patterns import pattern_changes
from keyplan.diff.programs import NameUse, uses_of
from keyplan.diff.tables import table_changes


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
    uses: tuple[NameUse, ...] = ()
    """Where programs use patterns of the old design."""

    @cached_property
    def changes(self) -> tuple[DesignChange, ...]:
        """Everything that differs, the most work first, then in the order of the designs."""
        found = [*table_changes(self.old.tables, self.new.tables), *pattern_changes(self.old, self.new)]
        return tuple(sorted(found, key=lambda change: VERDICTS.index(change.verdict)))

    def with_uses(self, module: str, programs: Iterable[Path], without: Iterable[Path]) -> Comparison:
        """The same, knowing where programs use patterns that are dropped. Raises UnreadableProgramError."""
        names = {str(change.facts["pattern"]) for change in self.of("pattern removed", "pattern renamed")}
        return replace(self, uses=uses_of(module, names, programs, without))

    def of(self, *kinds: Kind) -> Iterator[DesignChange]:
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

    def backfill(self, change: DesignChange) -> Backfill | None:
        """What one change by itself costs to be done to stored items."""
        return estimate_backfill(change, self.old_month, self.new_month, self._tables)

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


_PHASES: dict[Phase, str] = {
    "prepare": "change tables",
    "accept": "deploy what reads both forms",
    "write": "deploy what writes the new form",
    "backfill": "write stored items, each on condition that it is as it was read",
    "switch": "deploy what reads the new table",
    "read": "deploy the new version",
    "remove": "clean up",
}
"""In their order."""
_BESIDE_COPIES: tuple[Kind, ...] = ("entity moved", "consumer changed")
"""What has steps of its own where a table is copied; each other change is made by the copy."""


@dataclass(frozen=True)
class Stage:
    """Steps that are taken before the next stage begins."""

    phase: Phase
    title: str
    steps: tuple[RolloutStep, ...]
    backfills: tuple[Backfill, ...] = ()
    """Those that a program does in this stage, or the service for an index that is created in it."""


def rollout(comparison: Comparison) -> tuple[Stage, ...]:
    """The stages of a roll-out; none where nothing has to be done."""
    steps = list(_steps(comparison.changes))
    found = []
    for phase, title in _PHASES.items():
        mine = tuple(sorted(dict.fromkeys(step for step in steps if step.phase == phase), key=_order))
        if mine:
            found.append(Stage(phase, title, mine, tuple(_backfills(comparison, phase))))
    return tuple(found)


def _steps(changes: Iterable[DesignChange]) -> Iterator[RolloutStep]:
    changes = tuple(changes)
    copied = {change.table for change in changes if isinstance(change.work, Move)}  # and made as the new design says
    steps = [
        step
        for change in changes
        for step in change.steps
        if change.table not in copied or isinstance(change.work, Move) or change.kind in _BESIDE_COPIES
    ]
    yield from steps
    if any(change.verdict == "code" for change in changes) and not any(step.phase == "read" for step in steps):
        yield RolloutStep("read", "the new version: only programs change")


def _order(step: RolloutStep) -> bool:
    return not step.is_first


def _backfills(comparison: Comparison, phase: Phase) -> Iterator[Backfill]:
    for one in comparison.backfills:
        when: Phase = "prepare" if one.by == "the service" else "remove" if one.is_cleaning else "backfill"
        if when == phase:
            yield one


def by_table(changes: Iterable[DesignChange]) -> Iterator[tuple[str, list[DesignChange]]]:
    """Changes of each table together, in the order in which the tables appear."""
    told = list(changes)
    order = {name: number for number, name in enumerate(dict.fromkeys(one.table for one in told))}
    for name, several in groupby(sorted(told, key=lambda one: order[one.table]), key=lambda one: one.table):
        yield name, list(several)
