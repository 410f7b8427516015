"""The rubric: eight dimensions, their weights, and the overall score."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.systems.thinking_trainer.builders import NOON, assessment

from keyplan_systems.thinking_trainer.domain.rubric import (
    DIMENSIONS,
    WEIGHT_TENTHS,
    Assessment,
    Dimension,
    DimensionScore,
    Evaluation,
    evaluation_of,
    overall_score,
)

SCORES = st.fixed_dictionaries({name: st.integers(0, 4) for name in DIMENSIONS})


def scores_of(*values: int) -> dict[Dimension, int]:
    return dict(zip(DIMENSIONS, values, strict=True))


def test_the_dimensions_are_in_the_order_of_the_rubric() -> None:
    assert [name.value for name in DIMENSIONS] == [
        "clarity", "relevance", "logic", "evidence", "assumptions", "alternatives",
        "quantitative-reasoning", "humility-uncertainty",
    ]  # fmt: skip


def test_the_weights_sum_to_nine_and_two_tenths() -> None:
    assert sum(WEIGHT_TENTHS.values()) == 92


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((4,) * 8, 100),
        ((0,) * 8, 0),
        ((2,) * 8, 50),
        ((3,) * 8, 75),
        ((0, 0, 4, 0, 0, 0, 0, 0), 16),  # 1.5 * 4 / 9.2 * 25 = 16.30
        ((0, 0, 0, 0, 0, 0, 4, 0), 9),  # 0.8 * 4 / 9.2 * 25 = 8.70
        ((4, 4, 3, 3, 3, 3, 3, 4), 84),  # 30.8 / 9.2 * 25 = 83.70
        ((0, 3, 0, 0, 0, 0, 2, 0), 12),  # 4.6 / 9.2 * 25 = 12.5: the even one
        ((0, 4, 0, 1, 0, 0, 4, 0), 23),  # 8.5 / 9.2 * 25 = 23.10
        ((4, 3, 0, 0, 1, 0, 2, 3), 37),  # 13.6 / 9.2 * 25 = 36.96
        ((4, 3, 2, 0, 0, 0, 0, 3), 38),  # 13.8 / 9.2 * 25 = 37.5: the even one
    ],
)
def test_the_overall_score_is_the_weighted_mean_of_all(values: tuple[int, ...], expected: int) -> None:
    assert overall_score(assessment(scores_of(*values)).dimensions) == expected


@given(SCORES)
def test_the_overall_score_equals_the_formula_in_plain_numbers(scores: dict[Dimension, int]) -> None:
    plain = (
        1.2 * scores[Dimension.CLARITY]
        + 1.0 * scores[Dimension.RELEVANCE]
        + 1.5 * scores[Dimension.LOGIC]
        + 1.3 * scores[Dimension.EVIDENCE]
        + 1.2 * scores[Dimension.ASSUMPTIONS]
        + 1.2 * scores[Dimension.ALTERNATIVES]
        + 0.8 * scores[Dimension.QUANTITATIVE]
        + 1.0 * scores[Dimension.HUMILITY]
    )
    assert abs(overall_score(assessment(scores).dimensions) - plain / 9.2 * 25) <= 0.5 + 1e-9


@given(SCORES, st.sampled_from(DIMENSIONS))
def test_a_higher_dimension_never_lowers_the_overall_score(scores: dict[Dimension, int], name: Dimension) -> None:
    raised = scores | {name: min(4, scores[name] + 1)}
    assert overall_score(assessment(raised).dimensions) >= overall_score(assessment(scores).dimensions)


@given(SCORES, st.permutations(DIMENSIONS))
def test_dimensions_are_sorted_from_any_order(scores: dict[Dimension, int], order: list[Dimension]) -> None:
    entries = {entry.name: entry for entry in assessment(scores).dimensions}
    shuffled = Assessment(dimensions=tuple(entries[name] for name in order), feedback="Fine.", model_id="m")
    assert tuple(entry.name for entry in shuffled.dimensions) == DIMENSIONS


def test_seven_dimensions_are_rejected_and_the_missing_one_is_named() -> None:
    with pytest.raises(ValidationError, match=r"missing \['clarity'\]"):
        Assessment(dimensions=assessment().dimensions[1:], feedback="Fine.", model_id="m")


def test_a_repeated_dimension_is_rejected_and_named() -> None:
    entries = assessment().dimensions
    with pytest.raises(ValidationError, match=r"repeated \['logic'\]"):
        Assessment(dimensions=(*entries, entries[2]), feedback="Fine.", model_id="m")


@pytest.mark.parametrize("score", [-1, 5, 2.5, "good"])
def test_a_score_is_a_whole_number_from_0_to_4(score: object) -> None:
    with pytest.raises(ValidationError, match="score"):
        DimensionScore.model_validate({"name": "logic", "score": score, "rationale": ["Why."]})


@pytest.mark.parametrize("rationale", [[], ["a"] * 6, ["  "], ["a" * 301]])
def test_a_score_has_one_to_five_nonempty_reasons(rationale: list[str]) -> None:
    with pytest.raises(ValidationError, match="rationale"):
        DimensionScore.model_validate({"name": "logic", "score": 3, "rationale": rationale})


def test_an_evaluation_with_an_inconsistent_score_is_rejected() -> None:
    result = assessment(3)
    with pytest.raises(ValidationError, match="overallScore is 82, but the dimensions give 75"):
        Evaluation(
            overall_score=82,
            dimensions=result.dimensions,
            feedback=result.feedback,
            model_id=result.model_id,
            evaluated_at=NOON,
        )


def test_an_evaluation_survives_a_camel_case_round_trip() -> None:
    evaluation = evaluation_of(assessment(3), NOON)
    outside = evaluation.model_dump(mode="json", by_alias=True)
    assert outside["overallScore"] == 75
    assert outside["evaluatedAt"] == "2026-03-01T12:00:00.000Z"
    assert Evaluation.model_validate(outside) == evaluation
