"""UpdateTable: a pending change of capacity has the date of its request, a completed one the date of completion."""

from __future__ import annotations

import pytest
from tests.engine.table_making import create, describe, units, update

from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine

NOW = 1_790_000_000.0


@pytest.mark.parametrize(
    ("delay_s", "done_after_s"), [(0.0, 0.001), (10.0, 10.0)], ids=["at once, which is later too", "slowly"]
)
def test_capacity_changes_have_timestamps(delay_s: float, done_after_s: float) -> None:
    clock = ManualClock(NOW)
    with Engine.memory(clock=clock, state_delay_s=delay_s) as engine:
        create(engine, ProvisionedThroughput=units(2, 2))
        clock.advance(100.0)
        capacities = update(engine, ProvisionedThroughput=units(3, 1))["ProvisionedThroughput"]
        assert capacities["LastIncreaseDateTime"] == capacities["LastDecreaseDateTime"] == NOW + 100.0
        clock.advance(delay_s)
        capacity = describe(engine)["ProvisionedThroughput"]
        assert capacity["LastIncreaseDateTime"] == capacity["LastDecreaseDateTime"] == NOW + 100.0 + done_after_s


def test_a_switch_to_on_demand_has_a_timestamp() -> None:
    clock = ManualClock(NOW)
    with Engine.memory(clock=clock, state_delay_s=10.0) as engine:
        create(engine, ProvisionedThroughput=units(2, 2))
        clock.advance(100.0)
        update(engine, BillingMode="PAY_PER_REQUEST")
        clock.advance(10.0)
        table = describe(engine)
        assert table["BillingModeSummary"]["LastUpdateToPayPerRequestDateTime"] == NOW + 110.0
