"""How often a target is measured, whatever it answers."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import pytest
from bench.measure import Figure, Span
from bench.targets.model import Settings
from bench.wire import AnswerError
from bench.workload import Operation, Workload

from bench import suite

from .making import figure

PLAN = suite.Plan(("quick", "slow", "refusing"), (Operation.GET,), (8,))


@dataclass
class Given:
    """A target that gives one figure after the other; one of 0 calls a second is a refusal."""

    name: str
    per_second: Sequence[float]
    note: str = "given"
    taken: int = field(default=0)

    def set_up(self, progress: Callable[[int], None]) -> None:
        progress(1)

    def measure(self, operation: Operation, clients: int) -> Figure:
        per_second = self.per_second[self.taken]
        self.taken += 1
        if not per_second:
            raise AnswerError("refused")
        return figure(per_second)


@contextlib.contextmanager
def no_bar(name: str, items: int) -> Iterator[Callable[[int], None]]:
    yield lambda count: None


def test_rounds_report_the_median_but_slow_and_failing_targets_run_once(monkeypatch: pytest.MonkeyPatch) -> None:
    targets = {
        "quick": Given("quick", [300.0, 100.0, 200.0]),
        "slow": Given("slow", [1.5]),
        "refusing": Given("refusing", [0.0]),
    }

    @contextlib.contextmanager
    def opened(name: str, settings: Settings) -> Iterator[Given]:
        yield targets[name]

    monkeypatch.setattr(suite, "open_target", opened)
    monkeypatch.setattr(suite, "check_names", lambda names: None)
    with suite.settings_for(Workload(), Span()) as settings:
        results = suite.run_in_turn(PLAN, settings, 3, no_bar, lambda text: None)
    result = {name: results.figure(name, Operation.GET, 8) for name in PLAN.targets}
    assert result == {"quick": figure(200.0), "slow": figure(1.5), "refusing": None}
    assert [target.taken for target in targets.values()] == [3, 1, 1]
    assert results.reason("refusing", Operation.GET, 8) == "AnswerError: refused"
    assert results.best(PLAN.targets, Operation.GET, 8) == "quick"
