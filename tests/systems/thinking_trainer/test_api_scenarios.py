"""Scenarios over HTTP: the active ones, easiest first, and their activation."""

from __future__ import annotations

import pytest
from tests.systems.thinking_trainer.stage import FERRY, Caller, Stage

from keyplan_systems.thinking_trainer.domain.scenarios import Difficulty
from keyplan_systems.thinking_trainer.scenarios.loader import seed_scenarios


def ids(caller: Caller, **query: str) -> list[str]:
    response = caller.get("/scenarios", **query)
    assert response.status_code == 200, response.text
    return [scenario["scenarioId"] for scenario in response.json()["items"]]


def test_all_active_scenarios_are_listed_easiest_first(stage: Stage, ada: Caller) -> None:
    assert stage.service.add_scenarios(seed_scenarios()) == 20
    difficulties = [scenario["difficulty"] for scenario in ada.get("/scenarios").json()["items"]]
    assert difficulties == ["beginner"] * 8 + ["intermediate"] * 7 + ["advanced"] * 6


@pytest.mark.parametrize("difficulty", list(Difficulty))
def test_a_difficulty_filter_returns_exactly_its_scenarios(stage: Stage, ada: Caller, difficulty: Difficulty) -> None:
    stage.service.add_scenarios(seed_scenarios())
    expected = {scenario.scenario_id for scenario in seed_scenarios() if scenario.difficulty is difficulty}
    if difficulty is Difficulty.BEGINNER:
        expected.add(FERRY)
    assert set(ids(ada, difficulty=difficulty.value)) == expected


def test_an_unknown_difficulty_returns_400(ada: Caller) -> None:
    response = ada.get("/scenarios", difficulty="impossible")
    assert response.status_code == 400
    assert "difficulty" in response.text


def test_a_scenario_is_shown_with_its_questions_and_sorted_tags(stage: Stage, ada: Caller) -> None:
    stage.service.add_scenarios(seed_scenarios())
    seed = seed_scenarios()[0]
    scenario = ada.get(f"/scenarios/{seed.scenario_id}").json()
    assert scenario["tags"] == sorted(seed.tags)
    assert [question["questionId"] for question in scenario["questions"]] == [
        question.question_id for question in seed.questions
    ]
    assert scenario["schemaVersion"] == "1.0"


def test_a_scenario_without_tags_is_stored_without_the_attribute(stage: Stage, ada: Caller) -> None:
    (item,) = stage.connection.transport.call("Scan", {"TableName": "Scenarios"})["Items"]
    assert "tags" not in item
    assert item["activeKey"] == {"S": "ACTIVE"}
    assert item["active"] == {"BOOL": True}
    assert ada.get(f"/scenarios/{FERRY}").json()["tags"] == []


@pytest.mark.parametrize("name", ["nowhere", "N", "x" * 65, "x" * 3000])
def test_a_missing_scenario_returns_404(ada: Caller, name: str) -> None:
    assert ada.get(f"/scenarios/{name}").status_code == 404


def test_only_administrators_activate_or_deactivate_scenarios(stage: Stage, ada: Caller) -> None:
    root = stage.person("root", "administrators")
    assert ada.put(f"/scenarios/{FERRY}/offer", {"active": False}).status_code == 403
    assert root.put(f"/scenarios/{FERRY}/offer", {"active": False}).json()["active"] is False
    assert ids(ada) == ids(ada, difficulty="beginner") == []
    (item,) = stage.connection.transport.call("Scan", {"TableName": "Scenarios"})["Items"]
    assert "activeKey" not in item
    assert root.put(f"/scenarios/{FERRY}/offer", {"active": True}).json()["active"] is True
    assert ids(ada) == ids(ada, difficulty="beginner") == [FERRY]
    assert root.put("/scenarios/nowhere/offer", {"active": True}).status_code == 404
    for wrong in ("perhaps", "yes", 1, None):
        assert root.put(f"/scenarios/{FERRY}/offer", {"active": wrong}).status_code == 400, wrong
