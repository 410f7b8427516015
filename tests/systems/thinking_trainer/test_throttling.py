"""Provisioned scenarios: throttling of table and index separately, and how the service copes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

import pytest
from tests.systems.served_engine import connected
from tests.systems.thinking_trainer.stage import staged, stored_scenario

import keyplan
from keyplan.client.errors import ThrottledError
from keyplan.clock import ManualClock
from keyplan.dynamodb.values.attribute import item_bytes
from keyplan.engine.engine import Engine
from keyplan.engine.faults.settings import Faults
from keyplan.errors import ProvisionedThroughputExceededError
from keyplan_systems.thinking_trainer import design
from keyplan_systems.thinking_trainer.evaluation.rubric_evaluator import RubricEvaluator
from keyplan_systems.thinking_trainer.scenarios.loader import seed_scenarios
from keyplan_systems.thinking_trainer.service import MAX_THROTTLE_PAUSES, THROTTLE_PAUSE_S, Service

NOON_S = 1_772_366_400.0
pytestmark = pytest.mark.embedded("capacity that runs out on purpose")


class PassingClock(ManualClock):
    """Clock whose time advances by each wait."""

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Return immediately, and advance the time."""
        self.advance(seconds)
        return event.is_set()


@dataclass
class World:
    """Engine that throttles, its clock, and clients: without retries, or with many."""

    engine: Engine
    clock: ManualClock

    def service(self, attempts: int = 10) -> Service:
        """Return the service on a connection with this number of attempts per request."""
        return Service(connected(self.engine, self.clock, attempts), self.clock, RubricEvaluator())

    def seed_over_a_day(self) -> None:
        """Load all scenarios within one write unit per second, and then accumulate the full burst capacity."""
        for scenario in seed_scenarios():
            self.clock.advance(10)
            assert self.service(attempts=1).add_scenarios([scenario]) == 1
        self.clock.advance(3600)


@pytest.fixture
def world() -> Iterator[World]:
    clock = PassingClock(NOON_S)
    with Engine.memory(clock=clock, faults=Faults(throttle=True), ttl_sweep_s=None) as engine:
        with keyplan.connect(engine=engine, clock=clock) as connection:
            connection.create_tables(design.attempts, design.profiles, design.scenarios)
        yield World(engine, clock)


def exhaust(engine: Engine) -> None:
    """Read the index of active scenarios until it is throttled."""
    while True:
        try:
            engine.call("Scan", {"TableName": "Scenarios", "IndexName": "ActiveScenarios"})
        except ProvisionedThroughputExceededError:
            return


def add_at_once(world: World, count: int) -> None:
    """Add scenarios, each with one request."""
    once = world.service(attempts=1)
    for number in range(count):
        once.db.run(design.add_scenario(stored_scenario(f"s{number}")))


def reason(caught: pytest.ExceptionInfo[Any]) -> dict[str, str]:
    """Return the exceeded limit that the service reports."""
    error = caught.value if isinstance(caught.value, ProvisionedThroughputExceededError) else caught.value.__cause__
    assert isinstance(error, ProvisionedThroughputExceededError)
    (result,) = error.members["ThrottlingReasons"]
    return dict(result)


def test_seeding_at_one_write_unit_per_second_throttles_the_table(world: World) -> None:
    with pytest.raises(ThrottledError) as caught:
        add_at_once(world, len(seed_scenarios()))
    assert reason(caught)["reason"] == "TableWriteProvisionedThroughputExceeded"
    assert reason(caught)["resource"].endswith("table/Scenarios")


def test_the_service_loads_all_twenty_in_the_time_that_the_capacity_requires(world: World) -> None:
    service = world.service()
    began = world.clock.now()
    assert service.add_scenarios(seed_scenarios()) == 20
    taken_s = world.clock.now() - began
    items = world.engine.call("Scan", {"TableName": "Scenarios"})["Items"]
    units = sum(ceil(item_bytes(item) / 1024) for item in items)
    assert units > 30
    assert units - 1 <= taken_s <= units + 20 * THROTTLE_PAUSE_S  # one unit is available at the start
    assert len(service.active_scenarios(None)) == 20
    assert service.add_scenarios(seed_scenarios()) == 0


def test_retries_are_limited(world: World) -> None:
    world.clock.__class__ = ManualClock  # the clock does not advance, so capacity never refills
    with pytest.raises(ThrottledError):
        world.service(attempts=2).add_scenarios(seed_scenarios())
    assert MAX_THROTTLE_PAUSES * THROTTLE_PAUSE_S == 60


def test_an_index_with_little_capacity_rejects_writes_that_its_table_would_accept(world: World) -> None:
    world.engine.call(
        "UpdateTable",
        {
            "TableName": "Scenarios",
            "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 50},
            "GlobalSecondaryIndexUpdates": [
                {
                    "Update": {
                        "IndexName": "ActiveScenarios",
                        "ProvisionedThroughput": {"ReadCapacityUnits": 10, "WriteCapacityUnits": 1},
                    }
                }
            ],
        },
    )
    world.clock.advance(1)
    with pytest.raises(ThrottledError) as caught:
        add_at_once(world, 20)
    assert reason(caught)["reason"] == "IndexWriteProvisionedThroughputExceeded"
    assert reason(caught)["resource"].endswith("table/Scenarios/index/ActiveScenarios")
    added = world.service().add_scenarios([stored_scenario(f"s{number}") for number in range(20)])
    assert added > 10
    inactive = stored_scenario("quiet", active=False)
    assert world.service(attempts=1).db.run(design.add_scenario(inactive)).active is False  # it is in no index


def test_listing_exhausts_only_the_index_and_the_service_waits_for_it(world: World) -> None:
    world.seed_over_a_day()
    once = world.service(attempts=1)
    lists: list[int] = []
    with pytest.raises(ThrottledError) as caught:
        lists.extend(len(once.active_scenarios(None)) for _ in range(2000))
    assert set(lists) == {20}
    assert reason(caught)["reason"] == "IndexReadProvisionedThroughputExceeded"
    assert 10 * 300 / 5 <= len(lists) <= 10 * 300 / 3  # five minutes of ten units, at three or four a list
    assert once.scenario(seed_scenarios()[0].scenario_id).active  # the table has its own capacity
    began = world.clock.now()
    patient = world.service(attempts=40)
    assert [len(patient.active_scenarios(None)) for _ in range(10)] == [20] * 10
    assert world.clock.now() - began > 2


def test_five_units_without_burst_are_not_enough_for_one_list_of_large_scenarios(world: World) -> None:
    for number in range(20):
        world.clock.advance(10)
        large = stored_scenario(f"s{number}", description="A long story. " * 270)
        assert world.service().add_scenarios([large]) == 1
    query = {
        "TableName": "Scenarios", "IndexName": "ActiveScenarios", "KeyConditionExpression": "activeKey = :a",
        "ExpressionAttributeValues": {":a": {"S": "ACTIVE"}}, "ReturnConsumedCapacity": "INDEXES",
    }  # fmt: skip
    used = world.engine.call("Query", query)["ConsumedCapacity"]
    assert used["GlobalSecondaryIndexes"]["ActiveScenarios"]["CapacityUnits"] == 10.5
    assert used["Table"]["CapacityUnits"] == 0


def test_a_throttle_that_outlasts_all_retries_returns_503_and_passes(tmp_path: Path) -> None:
    clock = ManualClock(NOON_S)
    with (
        Engine.memory(clock=clock, faults=Faults(throttle=True), ttl_sweep_s=None) as engine,
        connected(engine, clock, attempts=3) as connection,
    ):
        connection.create_tables(design.scenarios)
        clock.advance(60)
        with staged(connection, clock, tmp_path) as stage:
            ada = stage.person("ada")
            clock.advance(300)
            assert ada.get("/scenarios").status_code == 200
            exhaust(engine)
            result = ada.get("/scenarios")
            assert (result.status_code, result.headers["retry-after"]) == (503, "1")
            clock.advance(2)
            assert ada.get("/scenarios").status_code == 200
