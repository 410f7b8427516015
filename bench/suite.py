"""Measurement of the same operations on several targets."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import http
from bench.measure import Figure, Span, median
from bench.targets.model import Progress, Settings, Target
from bench.targets.table import UNAVAILABLE_ERRORS, check_names, open_target
from bench.wire import AnswerError
from bench.workload import Operation, Workload

Say = Callable[[str], None]
Loading = Callable[[str, int], contextlib.AbstractContextManager[Progress]]


@dataclass(frozen=True, slots=True)
class Row:
    """One figure of a suite, or the reason why it is missing."""

    target: str
    operation: Operation
    clients: int
    figure: Figure | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """The targets, operations and numbers of clients to measure."""

    targets: Sequence[str]
    operations: Sequence[Operation] = tuple(Operation)
    clients: Sequence[int] = (1, 8)


@dataclass(frozen=True, slots=True)
class Results:
    """All figures of a run, a note about each target, and the reasons for missing targets."""

    rows: list[Row]
    notes: dict[str, str]
    missing: dict[str, str]

    def figure(self, target: str, operation: Operation, clients: int) -> Figure | None:
        row = self._row(target, operation, clients)
        return None if row is None else row.figure

    def operations(self) -> list[Operation]:
        """Return the operations that were requested for at least one target."""
        requested = {row.operation for row in self.rows}
        return [operation for operation in Operation if operation in requested]

    def best(self, targets: Sequence[str], operation: Operation, clients: int) -> str | None:
        """Return the fastest of the named targets, or None if none of them supports the operation."""
        figures = {name: figure for name in targets if (figure := self.figure(name, operation, clients))}
        return max(figures, key=lambda name: figures[name].per_second, default=None)

    def reason(self, target: str, operation: Operation, clients: int) -> str:
        """Return why a target has no figure."""
        row = self._row(target, operation, clients)
        return self.missing.get(target, "not among the targets") if row is None else row.reason

    def _row(self, target: str, operation: Operation, clients: int) -> Row | None:
        key = (target, operation, clients)
        return next((row for row in self.rows if (row.target, row.operation, row.clients) == key), None)


@contextlib.contextmanager
def settings_for(workload: Workload, span: Span) -> Iterator[Settings]:
    """Yield settings with a folder that is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="keyplan-bench-") as name, http.RequestFiles(workload) as files:
        yield Settings(workload, span, Path(name), files)


def run(plan: Plan, settings: Settings, loading: Loading, say: Say) -> Results:
    """Start, load, measure and stop each target. Targets that are not available are recorded and skipped."""
    check_names(plan.targets)
    results = Results([], {}, {})
    for name in plan.targets:
        try:
            with contextlib.ExitStack() as stack:
                target = _start_target(name, stack, settings, loading)
                results.notes[name] = target.note
                results.rows.extend(_measure_rows(target, plan, say))
        except (*UNAVAILABLE_ERRORS, AnswerError) as error:
            _record_missing(results, name, error, say)
    return results


def run_in_turn(plan: Plan, settings: Settings, rounds: int, loading: Loading, say: Say) -> Results:
    """Start and load all targets, measure each figure for several rounds with the targets in turn, and return the
    medians.

    Other load on the machine then affects all targets in the same way. This is intended for servers, because engines in
    this process could disturb each other.
    """
    check_names(plan.targets)
    results = Results([], {}, {})
    with contextlib.ExitStack() as stack:
        targets: list[Target] = []
        for name in plan.targets:
            try:
                targets.append(_start_target(name, stack, settings, loading))
                results.notes[name] = targets[-1].note
            except (*UNAVAILABLE_ERRORS, AnswerError) as error:
                _record_missing(results, name, error, say)
        for operation in plan.operations:
            for clients in plan.clients:
                say(f"{operation}, {clients_text(clients)}")
                results.rows.extend(_medians(targets, operation, clients, rounds))
    return results


def _record_missing(results: Results, name: str, error: Exception, say: Say) -> None:
    results.missing[name] = str(error)
    say(f"{name} is not measured: {error}")


def _start_target(name: str, stack: contextlib.ExitStack, settings: Settings, loading: Loading) -> Target:
    target = stack.enter_context(open_target(name, settings))
    with loading(name, settings.workload.items) as progress:
        target.set_up(progress)
    return target


def _medians(targets: Sequence[Target], operation: Operation, clients: int, rounds: int) -> list[Row]:
    figures: dict[str, list[Figure]] = {target.name: [] for target in targets}
    reasons: dict[str, str] = {}
    for _ in range(rounds):
        for target in targets:
            if target.name not in reasons and not _is_slow(figures[target.name]):
                row = _measure_row(target, operation, clients)
                if row.figure:
                    figures[target.name].append(row.figure)
                else:
                    reasons[target.name] = row.reason
    return [
        Row(name, operation, clients, None, reasons[name])
        if name in reasons
        else Row(name, operation, clients, median(target_figures))
        for name, target_figures in figures.items()
    ]


def _is_slow(target_figures: Sequence[Figure]) -> bool:
    """Return True for a target with slow calls, which is measured only once. Rounds average out load of only a few
    milliseconds.
    """
    return bool(target_figures) and target_figures[-1].p50_us > http.SLOW_CALL_US


def _measure_rows(target: Target, plan: Plan, say: Say) -> Iterator[Row]:
    for operation in plan.operations:
        for clients in plan.clients:
            say(f"{target.name}: {operation}, {clients_text(clients)}")
            row = _measure_row(target, operation, clients)
            yield row
            if row.figure is None:
                break


def _measure_row(target: Target, operation: Operation, clients: int) -> Row:
    try:
        return Row(target.name, operation, clients, target.measure(operation, clients))
    except Exception as error:  # noqa: BLE001 - every exception of a target becomes the result of its row
        return Row(target.name, operation, clients, None, f"{type(error).__name__}: {error}".strip())


def clients_text(count: int) -> str:
    return "1 client" if count == 1 else f"{count} clients"
