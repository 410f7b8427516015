"""The order in which changes are rolled out, so that nothing that runs meets what it cannot read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from keyplan.diff.changes import Change, Kind, Move, Phase, Step
from keyplan.diff.comparison import Comparison
from keyplan.diff.reckoning import Backfill

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
    steps: tuple[Step, ...]
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


def _steps(changes: Iterable[Change]) -> Iterator[Step]:
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
        yield Step("read", "the new version: only programs change")


def _order(step: Step) -> bool:
    return not step.is_first


def _backfills(comparison: Comparison, phase: Phase) -> Iterator[Backfill]:
    for one in comparison.backfills:
        when: Phase = "prepare" if one.by == "the service" else "remove" if one.is_cleaning else "backfill"
        if when == phase:
            yield one


def by_table(changes: Iterable[Change]) -> Iterator[tuple[str, list[Change]]]:
    """Changes of each table together, in the order in which the tables appear."""
    told = list(changes)
    order = {name: number for number, name in enumerate(dict.fromkeys(one.table for one in told))}
    for name, several in groupby(sorted(told, key=lambda one: order[one.table]), key=lambda one: one.table):
        yield name, list(several)
