"""Comparison of two designs: the changes, the required backfills, the rollout, and the monthly costs."""

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
from keyplan.diff.backfill import Backfill, all_backfills, estimate_backfill
from keyplan.diff.changes import VERDICTS, DesignChange, Kind, Phase, RolloutStep, TableCopy
from keyplan.diff.matching import match_declarations
from keyplan.diff.patterns import pattern_changes
from keyplan.diff.programs import NameUse, uses_of
from keyplan.diff.tables import table_changes

_PHASES: dict[Phase, str] = {
    "prepare": "change tables",
    "accept": "deploy versions that read both forms",
    "write": "deploy versions that write the new form",
    "backfill": "rewrite stored items, each on condition that it has not changed since it was read",
    "switch": "deploy versions that read the new table",
    "read": "deploy the new version",
    "remove": "clean up",
}
"""The title of each phase of a rollout, in order."""
_SEPARATE_FROM_COPIES: tuple[Kind, ...] = ("entity moved", "consumer changed")
"""The kinds of changes that require separate steps even if the table is copied. The copy includes all other changes."""


@dataclass(frozen=True)
class PriceChange:
    """The monthly cost of a table in the old and the new design. A cost is None if the design does not contain the
    table.
    """

    table: str
    old: float | None
    new: float | None

    @property
    def difference(self) -> float:
        """Return the table's monthly cost in the new design minus its monthly cost in the old design."""
        return (self.new or 0.0) - (self.old or 0.0)


@dataclass(frozen=True)
class Comparison:
    """The comparison of an old and a new design, with the prices for computing costs."""

    old: Design
    new: Design
    book: PriceBook
    uses: tuple[NameUse, ...] = ()
    """The uses of removed or renamed patterns that were found in programs."""

    @cached_property
    def changes(self) -> tuple[DesignChange, ...]:
        """Return all changes between the two designs. Changes that require the most work come first, and changes with
        the same verdict are in the order in which the designs declare their subjects.
        """
        changes = [*table_changes(self.old.tables, self.new.tables), *pattern_changes(self.old, self.new)]
        return tuple(sorted(changes, key=lambda change: VERDICTS.index(change.verdict)))

    def with_uses(self, module: str, programs: Iterable[Path], excluded: Iterable[Path]) -> Comparison:
        """Return a copy of the comparison that also contains the uses of removed or renamed patterns in the given
        programs.

        `module` is the name of the design's module. The files in `excluded` are not searched. Raises
        UnreadableProgramError if a file cannot be searched.
        """
        names = {str(change.facts["pattern"]) for change in self.changes_of("pattern removed", "pattern renamed")}
        return replace(self, uses=uses_of(module, names, programs, excluded))

    def changes_of(self, *kinds: Kind) -> Iterator[DesignChange]:
        """Yield the changes between the two designs that have one of these kinds."""
        return (change for change in self.changes if change.kind in kinds)

    @cached_property
    def old_estimate(self) -> Estimate:
        """Return the old design's monthly cost."""
        return estimate(self.old, self.book)

    @cached_property
    def new_estimate(self) -> Estimate:
        """Return the new design's monthly cost."""
        return estimate(self.new, self.book)

    def backfill(self, change: DesignChange) -> Backfill | None:
        """Estimate the backfill for a single change. Return None if no items are written."""
        return estimate_backfill(change, self.old_estimate, self.new_estimate, self._tables)

    @cached_property
    def backfills(self) -> tuple[Backfill, ...]:
        """Return the backfills for all changes. All changes to an entity are made in one pass."""
        return tuple(all_backfills(self.changes, self.old_estimate, self.new_estimate, self._tables))

    @cached_property
    def _tables(self) -> dict[str, Table]:
        return {table.name: table for table in self.old.tables}

    @cached_property
    def prices(self) -> tuple[PriceChange, ...]:
        """Return the monthly cost of each table in the old and the new design."""
        tables = match_declarations(self.old_estimate.tables, self.new_estimate.tables)
        return (
            *(PriceChange(after.name, before.total, after.total) for before, after in tables.same_name),
            *(PriceChange(pattern.name, None, pattern.total) for pattern in tables.added),
            *(PriceChange(pattern.name, pattern.total, None) for pattern in tables.removed),
        )


@dataclass(frozen=True)
class Stage:
    """A stage of a rollout: the steps of one phase, which are completed before the next stage starts."""

    phase: Phase
    title: str
    steps: tuple[RolloutStep, ...]
    backfills: tuple[Backfill, ...] = ()
    """The backfills that a program runs in this stage, or that DynamoDB runs for an index that is created in this
    stage.
    """


def rollout(comparison: Comparison) -> tuple[Stage, ...]:
    """Return the stages of the rollout in order, or an empty tuple if no steps are required."""
    steps = list(_steps(comparison.changes))
    stages = []
    for phase, title in _PHASES.items():
        phase_steps = tuple(sorted(dict.fromkeys(step for step in steps if step.phase == phase), key=_order))
        if phase_steps:
            stages.append(Stage(phase, title, phase_steps, tuple(_backfills(comparison, phase))))
    return tuple(stages)


def _steps(changes: Iterable[DesignChange]) -> Iterator[RolloutStep]:
    changes = tuple(changes)
    copied_tables = {
        change.table for change in changes if isinstance(change.migration, TableCopy)
    }  # the new table is created as the new design declares it
    steps = [
        step
        for change in changes
        for step in change.steps
        if change.table not in copied_tables
        or isinstance(change.migration, TableCopy)
        or change.kind in _SEPARATE_FROM_COPIES
    ]
    yield from steps
    if any(change.verdict == "code" for change in changes) and not any(step.phase == "read" for step in steps):
        yield RolloutStep("read", "the new version: only programs change")


def _order(step: RolloutStep) -> bool:
    return not step.is_first


def _backfills(comparison: Comparison, phase: Phase) -> Iterator[Backfill]:
    for backfill in comparison.backfills:
        backfill_phase: Phase = (
            "prepare" if backfill.executor == "the service" else "remove" if backfill.is_cleaning else "backfill"
        )
        if backfill_phase == phase:
            yield backfill


def by_table(changes: Iterable[DesignChange]) -> Iterator[tuple[str, list[DesignChange]]]:
    """Yield each table's name with its changes, in the order in which the tables first occur."""
    ordered = list(changes)
    order = {name: number for number, name in enumerate(dict.fromkeys(change.table for change in ordered))}
    for name, group in groupby(
        sorted(ordered, key=lambda change: order[change.table]), key=lambda change: change.table
    ):
        yield name, list(group)
