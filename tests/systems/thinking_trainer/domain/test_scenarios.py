"""Limits of scenarios, and the key that sorts them easiest first."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError
from tests.systems.thinking_trainer.builders import scenario

from keyplan_systems.thinking_trainer.domain.scenarios import Difficulty, Scenario, difficulty_key


def changed(**changes: Any) -> dict[str, Any]:
    return scenario().model_dump(mode="json", by_alias=True) | changes


def with_question(**changes: Any) -> dict[str, Any]:
    document = scenario(1).model_dump(mode="json", by_alias=True)
    document["questions"][0] |= changes
    return document


def test_difficulty_keys_sort_easiest_first() -> None:
    keys = [difficulty_key(difficulty) for difficulty in Difficulty]
    assert keys == ["1#beginner", "2#intermediate", "3#advanced"]
    assert sorted(keys) == keys
    assert sorted(difficulty.value for difficulty in Difficulty) != [difficulty.value for difficulty in Difficulty]


@pytest.mark.parametrize(
    ("document", "field"),
    [
        (changed(title="Tide"), "title"),
        (changed(description="d" * 49), "description"),
        (changed(questions=[]), "questions"),
        (changed(difficulty="expert"), "difficulty"),
        (changed(estimatedMinutes=0), "estimatedMinutes"),
        (changed(tags=["Two Words"]), "tags"),
        (changed(scenarioId="Late Ferry"), "scenarioId"),
        (changed(colour="red"), "colour"),
        (with_question(text="Too short"), "text"),
        (with_question(type="essay"), "type"),
        (with_question(focusAreas=[]), "focusAreas"),
        (with_question(focusAreas=["clarity", "logic", "evidence", "relevance"]), "focusAreas"),
        (with_question(focusAreas=["logic", "logic"]), "focus area twice"),
        (with_question(focusAreas=["wisdom"]), "focusAreas"),
    ],
)
def test_a_scenario_outside_its_limits_is_rejected_with_the_field(document: dict[str, Any], field: str) -> None:
    with pytest.raises(ValidationError, match=field):
        Scenario.model_validate(document)


@pytest.mark.parametrize(
    "document",
    [
        changed(title="Tides", description="d" * 50),
        changed(questions=[changed()["questions"][0] | {"questionId": f"q{number}"} for number in range(10)]),
        with_question(text="Why so? No"),
        with_question(type="long", focusAreas=["clarity", "logic", "evidence"]),
        with_question(focusAreas=["clarity"]),
    ],
)
def test_a_scenario_at_its_limits_is_accepted(document: dict[str, Any]) -> None:
    assert Scenario.model_validate(document).model_dump(mode="json", by_alias=True) == document


def test_eleven_questions_and_duplicate_ids_are_rejected() -> None:
    questions = changed()["questions"]
    eleven = [questions[0] | {"questionId": f"q{number}"} for number in range(11)]
    with pytest.raises(ValidationError, match="at most 10"):
        Scenario.model_validate(changed(questions=eleven))
    with pytest.raises(ValidationError, match="question id twice"):
        Scenario.model_validate(changed(questions=[questions[0], questions[0]]))


def test_tags_are_a_set_inside_and_a_sorted_list_in_json() -> None:
    tagged = Scenario.model_validate(changed(tags=["tides", "boats", "tides"]))
    assert tagged.tags == {"tides", "boats"}
    assert tagged.model_dump(mode="json")["tags"] == ["boats", "tides"]
    assert isinstance(tagged.model_dump()["tags"], frozenset)
