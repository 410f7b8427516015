"""Usable and unusable replies of a model."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.systems.thinking_trainer.evaluation.submissions import reply

from keyplan_systems.thinking_trainer.domain.rubric import DIMENSIONS
from keyplan_systems.thinking_trainer.evaluation.reply import ReplyUnusable, assessment_in


@pytest.mark.parametrize(
    "around",
    [
        "{}",
        "Here is my assessment:\n```json\n{}\n```\nGood luck!",
        "I weighed {{everything}} first. {} That is all.",
        '{{"thought": "let me see"}} {}',
        "{}\n{{",
    ],
)
def test_the_object_is_found_inside_any_text(around: str) -> None:
    assessment = assessment_in(around.format(json.dumps(reply(3), indent=2)), "a-model")
    assert tuple(entry.name for entry in assessment.dimensions) == DIMENSIONS
    assert {entry.score for entry in assessment.dimensions} == {3}
    assert assessment.model_id == "a-model"


def test_dimensions_in_any_order_are_sorted_by_the_rubric() -> None:
    backwards = reply()
    backwards["dimensions"].reverse()
    assert tuple(entry.name for entry in assessment_in(json.dumps(backwards), "m").dimensions) == DIMENSIONS


def test_an_overall_score_of_the_model_is_ignored() -> None:
    assert assessment_in(json.dumps(reply(overallScore="ninety")), "m") == assessment_in(json.dumps(reply()), "m")


def test_long_texts_are_truncated_and_the_scores_kept() -> None:
    wordy = reply(feedback="f" * 5_000)
    wordy["dimensions"][0]["rationale"] = ["r" * 900]
    assessment = assessment_in(json.dumps(wordy), "m")
    assert len(assessment.feedback) == 2_000
    assert assessment.dimensions[0].rationale == ("r" * 299 + "…",)


def without_logic(given_reply: dict[str, Any]) -> None:
    given_reply["dimensions"] = [entry for entry in given_reply["dimensions"] if entry["name"] != "logic"]


def logic_twice(given_reply: dict[str, Any]) -> None:
    given_reply["dimensions"].append(given_reply["dimensions"][2])


def ninth(given_reply: dict[str, Any]) -> None:
    given_reply["dimensions"].append({"name": "style", "score": 2, "rationale": ["Nice."]})


def first(**changes: Any) -> Callable[[dict[str, Any]], None]:
    def change(given_reply: dict[str, Any]) -> None:
        given_reply["dimensions"][0] |= changes

    return change


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (without_logic, "missing \\['logic'\\]"),
        (logic_twice, "repeated \\['logic'\\]"),
        (ninth, "dimensions.8.name"),
        (first(score=5), "dimensions.0.score"),
        (first(score=-1), "dimensions.0.score"),
        (first(score=2.5), "dimensions.0.score"),
        (first(score="3"), "dimensions.0.score"),
        (first(score=True), "dimensions.0.score"),
        (first(rationale=[]), "dimensions.0.rationale"),
        (first(rationale=["a"] * 6), "dimensions.0.rationale"),
        (first(rationale="because"), "dimensions.0.rationale"),
        (lambda given_reply: given_reply.pop("feedback"), "feedback"),
        (lambda given_reply: given_reply.update(feedback=" "), "feedback"),
        (lambda given_reply: given_reply.update(dimensions="eight"), "dimensions"),
    ],
)
def test_a_reply_that_violates_the_rubric_is_unusable_with_the_place(
    spoil: Callable[[dict[str, Any]], object], complaint: str
) -> None:
    spoiled = reply()
    spoil(spoiled)
    with pytest.raises(ReplyUnusable, match=complaint):
        assessment_in(json.dumps(spoiled), "m")


@pytest.mark.parametrize(
    "text", ["", "I cannot grade this.", "{", '{"scores": []}', "[1, 2]", json.dumps(reply())[:-2]]
)
def test_a_text_without_the_object_is_unusable(text: str) -> None:
    with pytest.raises(ReplyUnusable, match="no JSON object with 'dimensions'"):
        assessment_in(text, "m")


@pytest.mark.parametrize("text", ["{" * 90_000, '{"a":' * 18_000, "x" * 100_001])
def test_an_adversarial_reply_is_unusable(text: str) -> None:
    with pytest.raises(ReplyUnusable):
        assessment_in(text, "m")


@given(st.text())
def test_any_text_gives_an_assessment_or_is_unusable(text: str) -> None:
    with pytest.raises(ReplyUnusable):
        assessment_in(text, "m")
