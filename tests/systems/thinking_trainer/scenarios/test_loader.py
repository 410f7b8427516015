"""Seed scenarios, and the refusals of the loader."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.systems.thinking_trainer.builders import scenario

from keyplan_systems.thinking_trainer.domain.attempts import final_answers
from keyplan_systems.thinking_trainer.domain.errors import ScenarioFileInvalid
from keyplan_systems.thinking_trainer.domain.rubric import DIMENSIONS
from keyplan_systems.thinking_trainer.domain.scenarios import Difficulty, Scenario, difficulty_key
from keyplan_systems.thinking_trainer.evaluation.evaluator import Submission
from keyplan_systems.thinking_trainer.evaluation.rubric_evaluator import RubricEvaluator
from keyplan_systems.thinking_trainer.scenarios.loader import load_scenario, scenarios_in, seed_scenarios

SEEDS = seed_scenarios()


def write(folder: Path, name: str = "late-ferry", **changes: Any) -> Path:
    file = folder / f"{name}.json"
    file.write_text(json.dumps(scenario().model_dump(mode="json", by_alias=True) | changes), "utf-8")
    return file


def test_there_are_twenty_active_scenarios_with_distinct_titles() -> None:
    assert len(SEEDS) == 20
    assert all(seed.active for seed in SEEDS)
    assert len({seed.title for seed in SEEDS}) == len({seed.description for seed in SEEDS}) == 20


def test_no_question_is_asked_twice() -> None:
    texts = [question.text for seed in SEEDS for question in seed.questions]
    assert len(set(texts)) == len(texts) == 60


def test_difficulties_are_balanced_and_sorted_easiest_first() -> None:
    counts = Counter(seed.difficulty for seed in SEEDS)
    assert max(counts.values()) - min(counts[difficulty] for difficulty in Difficulty) <= 1
    keys = [difficulty_key(seed.difficulty) for seed in SEEDS]
    assert keys == sorted(keys)


def test_harder_scenarios_ask_for_more_words_and_time() -> None:
    def mean_words(difficulty: Difficulty) -> float:
        totals = [
            sum(question.target_word_count for question in seed.questions)
            for seed in SEEDS
            if seed.difficulty is difficulty
        ]
        return sum(totals) / len(totals)

    def longest(difficulty: Difficulty) -> int:
        return max(seed.estimated_minutes for seed in SEEDS if seed.difficulty is difficulty)

    for easier, harder in zip(list(Difficulty), list(Difficulty)[1:], strict=False):
        assert mean_words(easier) < mean_words(harder)
        assert longest(easier) < longest(harder)


@pytest.mark.parametrize("difficulty", list(Difficulty))
def test_every_dimension_is_practised_at_every_difficulty(difficulty: Difficulty) -> None:
    practised = Counter(
        area
        for seed in SEEDS
        if seed.difficulty is difficulty
        for question in seed.questions
        for area in question.focus_areas
    )
    assert all(practised[name] >= 2 for name in DIMENSIONS)


def test_no_dimension_is_practised_twice_as_often_as_another() -> None:
    practised = Counter(area for seed in SEEDS for question in seed.questions for area in question.focus_areas)
    assert max(practised.values()) < 2 * min(practised[name] for name in DIMENSIONS)


def test_there_are_many_topics_and_none_dominates() -> None:
    topics = Counter(tag for seed in SEEDS for tag in seed.tags)
    assert len(topics) >= 15
    assert max(topics.values()) <= 5


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.scenario_id)
def test_every_scenario_can_be_answered_and_graded(seed: Scenario) -> None:
    answers = final_answers(seed, {question.question_id: f"{question.text} Because." for question in seed.questions})
    assessment = RubricEvaluator().evaluate(Submission(seed, answers))
    scores = {entry.name.value: entry.score for entry in assessment.dimensions}
    assert scores["relevance"] >= 2
    assert scores["evidence"] <= 3


def test_a_scenario_is_loaded_from_its_file(tmp_path: Path) -> None:
    assert load_scenario(write(tmp_path)) == scenario()


def test_a_folder_is_loaded_easiest_first_and_other_files_are_ignored(tmp_path: Path) -> None:
    write(tmp_path, "b", scenarioId="b", difficulty="advanced")
    write(tmp_path, "c", scenarioId="c", difficulty="beginner")
    write(tmp_path, "a", scenarioId="a", difficulty="intermediate")
    (tmp_path / "notes.txt").write_text("not a scenario", "utf-8")
    assert [actual_scenario.scenario_id for actual_scenario in scenarios_in(tmp_path)] == ["c", "a", "b"]


def test_a_file_of_the_older_form_is_upgraded(tmp_path: Path) -> None:
    file = write(tmp_path, tags=["sea", "sea"], createdAt="2025-01-01T00:00:00Z")
    item = json.loads(file.read_text("utf-8"))
    del item["schemaVersion"]
    file.write_text(json.dumps(item), "utf-8")
    assert load_scenario(file).tags == {"sea"}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"{", "late-ferry.json: not JSON in UTF-8"),
        (b'"\xff"', "late-ferry.json: not JSON in UTF-8"),
        (b"[]", "late-ferry.json: a scenario must be a JSON object"),
        (b'{"schemaVersion": "7"}', "late-ferry.json: scenario of version '7'"),
        (b'{"schemaVersion": "1.0"}', "late-ferry.json: scenario is not valid for its version"),
    ],
)
def test_a_file_without_a_scenario_is_rejected_by_name(tmp_path: Path, content: bytes, complaint: str) -> None:
    file = tmp_path / "late-ferry.json"
    file.write_bytes(content)
    with pytest.raises(ScenarioFileInvalid, match=complaint):
        load_scenario(file)


def test_a_file_is_named_after_its_scenario(tmp_path: Path) -> None:
    with pytest.raises(ScenarioFileInvalid, match=r"early-ferry\.json: contains scenario 'late-ferry'"):
        load_scenario(write(tmp_path, "early-ferry"))


def test_all_invalid_files_of_a_folder_are_reported_together(tmp_path: Path) -> None:
    write(tmp_path, "a", scenarioId="a", title="No")
    write(tmp_path, "b", scenarioId="b", questions=[])
    write(tmp_path, "c", scenarioId="c")
    with pytest.raises(ScenarioFileInvalid) as caught:
        scenarios_in(tmp_path)
    assert "a.json" in str(caught.value)
    assert "b.json" in str(caught.value)
    assert "c.json" not in str(caught.value)


def test_an_empty_folder_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(ScenarioFileInvalid, match=r"no \.json file"):
        scenarios_in(tmp_path)
