"""Random operations against the model, in memory and on a file; and that the machine notices mistakes.

KEYPLAN_EXAMPLES sets how many runs are made, with another seed each time; by default few and always the same.
"""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test
from tests.simulation.machine import FileMachine, Machine

from keyplan.dynamodb.values import units
from keyplan.engine.items import writes
from keyplan.engine.streams import records

EXAMPLES = int(os.environ.get("KEYPLAN_EXAMPLES", "0"))

BOUNDED = settings(
    max_examples=EXAMPLES or 40,
    stateful_step_count=30,
    derandomize=not EXAMPLES,
    database=None,
    deadline=None,
    phases=[Phase.generate, Phase.shrink] if EXAMPLES else [Phase.generate],  # shrinking may take minutes
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)
UNSHRUNK = settings(BOUNDED, max_examples=200, phases=[Phase.generate])


@pytest.mark.parametrize("machine", [Machine, FileMachine])
def test_the_engine_agrees_with_the_model(machine: type[RuleBasedStateMachine]) -> None:
    run_state_machine_as_test(machine, settings=BOUNDED)


def _keeps_an_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make deletes leave index entries behind."""
    true_change = writes._change_entry

    def change(*arguments: Any, **named: Any) -> None:
        if named["new"] is not None:
            true_change(*arguments, **named)

    monkeypatch.setattr(writes, "_change_entry", change)


def _forgets_a_record(monkeypatch: pytest.MonkeyPatch) -> None:
    true_record = records.record

    def record(*arguments: Any, **named: Any) -> None:
        if named["new"] is not None or named["by_service"]:
            true_record(*arguments, **named)

    monkeypatch.setattr(records, "record", record)


def _miscounts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(units, "write_units", lambda size: float(max(1, size // 1024)))


@pytest.mark.parametrize("plant", [_keeps_an_entry, _forgets_a_record, _miscounts])
def test_an_injected_bug_is_detected(plant: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        run_state_machine_as_test(Machine, settings=UNSHRUNK)
