"""Older items are upgraded to the current form when they are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pytest
from tests.systems.thinking_trainer.builders import attempt_id, completed, history, scenario, snapshot
from tests.systems.thinking_trainer.old_items import old_attempt, old_profile, old_scenario

from keyplan_systems.thinking_trainer.domain.attempts import Attempt, Status
from keyplan_systems.thinking_trainer.domain.errors import ItemUnreadable
from keyplan_systems.thinking_trainer.domain.profiles import Profile, Trend
from keyplan_systems.thinking_trainer.domain.records import SCHEMA_VERSION, iso
from keyplan_systems.thinking_trainer.domain.scenarios import Scenario
from keyplan_systems.thinking_trainer.domain.versions import (
    STEPS,
    UNVERSIONED,
    Kind,
    Step,
    read,
    upgrade,
)

Item = Mapping[str, Any]
read_attempt = partial(read, Attempt, Kind.ATTEMPT)
read_profile = partial(read, Profile, Kind.PROFILE)
read_scenario = partial(read, Scenario, Kind.SCENARIO)


def test_tags_of_an_old_scenario_become_a_set_and_its_time_is_normalized() -> None:
    read = read_scenario(old_scenario())
    assert read.tags == {"tides", "boats"}
    assert iso(read.created_at) == "2025-01-01T00:00:00.000Z"
    assert read.schema_version == "1.0"


@pytest.mark.parametrize("tags", [[], None, frozenset()])
def test_an_old_scenario_without_tags_loses_the_attribute(tags: object) -> None:
    assert "tags" not in upgrade(Kind.SCENARIO, old_scenario(tags=tags))
    assert read_scenario(old_scenario(tags=tags)).tags == frozenset()


def test_an_old_attempt_gets_real_counts_and_a_consistent_score() -> None:
    read = read_attempt(old_attempt())
    assert read.answers[0].word_count == 9
    assert read.evaluation is not None
    assert read.evaluation.overall_score == 75
    assert iso(read.evaluation.evaluated_at) == "2025-12-22T10:35:00.000Z"
    assert iso(read.started_at) == "2025-12-22T10:00:00.000Z"
    assert read.scored_key == f"2025-12-22T10:30:00.000Z#{attempt_id(5)}"


@pytest.mark.parametrize("status", [Status.IN_PROGRESS, Status.ABANDONED])
def test_an_old_incomplete_attempt_keeps_its_timestamp_as_the_last_touch(status: Status) -> None:
    read = read_attempt(old_attempt(status=status.value, timestamp="2025-12-22T10:30:00Z"))
    assert read.status is status
    assert (read.timestamp, read.evaluation, read.duration_seconds) == (None, None, None)
    assert iso(read.touched_at) == iso(read.started_at) == "2025-12-22T10:30:00.000Z"


def test_an_old_profile_is_computed_again_from_the_scores_it_shows() -> None:
    read = read_profile(old_profile())
    assert {str(entry.moving_average) for entry in read.dimensions} == {"2.60"}
    assert {str(entry.standard_deviation) for entry in read.dimensions} == {"0.49"}
    assert {entry.trend for entry in read.dimensions} == {Trend.STABLE}
    assert read.improvements == ()
    assert read.weaknesses == ()
    assert str(read.overall_average) == "76.50"
    assert read.snapshot_key == "2025-12-22T10:35:00.000Z#unrecorded"


def test_items_of_the_current_version_are_unchanged() -> None:
    attempt, profile = completed(1), snapshot(history(logic=[1, 2, 3]), 3)
    stored = attempt.model_dump(by_alias=True)
    assert upgrade(Kind.ATTEMPT, stored) == stored
    assert read_attempt(stored) == attempt
    assert read_profile(profile.model_dump(by_alias=True)) == profile
    assert read_scenario(scenario().model_dump(mode="json", by_alias=True)) == scenario()


@pytest.mark.parametrize(
    ("kind", "item"),
    [(Kind.SCENARIO, old_scenario()), (Kind.ATTEMPT, old_attempt()), (Kind.PROFILE, old_profile())],
)
def test_an_upgrade_does_not_modify_its_input_and_is_idempotent(kind: Kind, item: dict[str, Any]) -> None:
    before = repr(item)
    once = upgrade(kind, item)
    assert repr(item) == before
    assert upgrade(kind, once) == once


@pytest.mark.parametrize("kind", list(Kind))
def test_the_steps_of_each_kind_form_one_chain_to_the_current_version(kind: Kind) -> None:
    chain = STEPS[kind]
    versions = [*(step.before for step in chain), SCHEMA_VERSION]
    assert [step.after for step in chain] == versions[1:]
    assert versions[0] == UNVERSIONED


def test_steps_are_applied_in_order_from_the_items_version() -> None:
    def add(name: str) -> Callable[[Item], Item]:
        return lambda item: {**item, "seen": (*item.get("seen", ()), name)}

    chain = {Kind.SCENARIO: (Step("0.9", "1.0", add("a")), Step("1.0", "1.1", add("b")), Step("1.1", "2.0", add("c")))}
    assert upgrade(Kind.SCENARIO, {}, chain) == {"seen": ("a", "b", "c"), "schemaVersion": "2.0"}
    assert upgrade(Kind.SCENARIO, {"schemaVersion": "1.1"}, chain)["seen"] == ("c",)


@pytest.mark.parametrize("version", ["1.1", "0.1", "", 1])
def test_an_unknown_version_is_rejected(version: object) -> None:
    with pytest.raises(ItemUnreadable, match=r"attempt of version .* cannot be upgraded"):
        read_attempt(old_attempt(schemaVersion=version))


@pytest.mark.parametrize(
    ("read", "item", "complaint"),
    [
        (read_attempt, {}, "attempt of version '0.9' has no 'timestamp'"),
        (read_attempt, old_attempt(timestamp="soon"), "attempt of version '0.9' cannot be read"),
        (read_attempt, old_attempt(answers=7), "attempt of version '0.9' cannot be read"),
        (read_profile, old_profile(dimensions=[]), "profile of version '0.9' has no"),
        (read_profile, old_profile(overallAverage="much"), "profile of version '0.9' cannot be read"),
        (read_scenario, old_scenario(title="No"), "scenario is not valid for its version"),
        (read_scenario, old_scenario(createdAt=None), "scenario of version '0.9' cannot be read"),
    ],
)
def test_an_invalid_item_is_rejected_with_the_reason(
    read: Callable[[Item], object], item: Item, complaint: str
) -> None:
    with pytest.raises(ItemUnreadable, match=complaint):
        read(item)


def test_an_old_evaluation_of_two_dimensions_is_rejected_with_the_missing_ones() -> None:
    evaluation = old_attempt()["evaluation"] | {"dimensions": old_attempt()["evaluation"]["dimensions"][:2]}
    with pytest.raises(ItemUnreadable, match="humility-uncertainty"):
        read_attempt(old_attempt(evaluation=evaluation))
