"""The five systems' designs verified: every pattern runs, holds, and costs what is predicted."""

from __future__ import annotations

import pytest

from keyplan.design.declaring.design import Design
from keyplan.verify import verify

ITEMS = {"todo": 1_000, "ask_a_human": 250, "venue_booking": 250, "forum": 250, "thinking_trainer": 250}
"""Few, so that it is quick; of to-dos enough for several users, because claims are about a user's."""


@pytest.mark.parametrize("system", ITEMS)
def test_every_pattern_of_a_system_runs_and_is_verified(system: str) -> None:
    design = Design.load(f"keyplan_systems.{system}.design")
    report = verify(design, items=ITEMS[system])
    assert list(report.problems) == []
    assert not report.failed
    assert len(report.patterns) == len(list(design.patterns))
    for pattern in report.patterns:
        assert pattern.calls > 0, pattern.name
        assert pattern.predicted == pattern.measured, pattern.name
        if pattern.operation not in {"Query", "Scan"}:
            assert pattern.evaluated > 0, pattern.name
