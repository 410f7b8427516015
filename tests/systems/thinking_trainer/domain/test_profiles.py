"""Profiles: window, averages, trends, weaknesses, improvements, and the key of a snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.systems.thinking_trainer.builders import NOON, USER, attempt_id, completed, history, snapshot

from keyplan_systems.thinking_trainer.domain.attempts import Attempt
from keyplan_systems.thinking_trainer.domain.profiles import (
    Profile,
    Trend,
    improvements,
    trend,
    weaknesses,
)
from keyplan_systems.thinking_trainer.domain.recommendations import RECOMMENDATIONS
from keyplan_systems.thinking_trainer.domain.rubric import DIMENSIONS, Dimension

SCORES = st.fixed_dictionaries({name: st.integers(0, 4) for name in DIMENSIONS})
HISTORIES = st.lists(SCORES, min_size=1, max_size=14).map(
    lambda rows: [completed(place, scores) for place, scores in enumerate(rows)]
)


def table(**series: Sequence[int]) -> dict[Dimension, Sequence[int]]:
    """Return scores per dimension; unnamed ones are all 2."""
    length = len(next(iter(series.values())))
    named = {Dimension(name.replace("_", "-")): scores for name, scores in series.items()}
    return {name: named.get(name, [2] * length) for name in DIMENSIONS}


@given(HISTORIES)
def test_every_figure_agrees_with_numpy(given_attempts: list[Attempt]) -> None:
    profile = snapshot(given_attempts, len(given_attempts))
    rows = [attempt.evaluation.scores for attempt in given_attempts[-10:] if attempt.evaluation is not None]
    for statistics in profile.dimensions:
        scores = [row[statistics.name] for row in rows]
        assert list(statistics.recent_scores) == scores
        assert abs(float(statistics.moving_average) - np.mean(scores)) <= 0.005 + 1e-9
        assert abs(float(statistics.standard_deviation) - np.std(scores)) <= 0.005 + 1e-9
        if len(scores) >= 3:
            steepness = np.polyfit(range(len(scores)), scores, 1)[0]
            # No window of ten whole scores has a slope between 0.05 and 0.0500001.
            expected = Trend.IMPROVING if steepness > 0.05 + 1e-7 else Trend.STABLE
            assert statistics.trend is (Trend.DECLINING if steepness < -0.05 - 1e-7 else expected)
        else:
            assert statistics.trend is Trend.STABLE
    overall = [attempt.evaluation.overall_score for attempt in given_attempts[-10:] if attempt.evaluation is not None]
    assert abs(float(profile.overall_average) - np.mean(overall)) <= 0.005 + 1e-9


@given(HISTORIES)
def test_weaknesses_improvements_and_exercises_follow_their_rules(given_attempts: list[Attempt]) -> None:
    profile = snapshot(given_attempts, len(given_attempts))
    averages = {entry.name: entry.moving_average for entry in profile.dimensions}
    assert len(profile.weaknesses) <= 3
    assert [weakness.score for weakness in profile.weaknesses] == sorted(weak.score for weak in profile.weaknesses)
    for weakness in profile.weaknesses:
        assert weakness.score == averages[weakness.dimension]
        assert weakness.gap < 0 or weakness.score < 2
    named = {weakness.dimension for weakness in profile.weaknesses}
    worst_named = max((averages[name] for name in named), default=Decimal(-1))
    if len(named) == 3:
        assert all(averages[name] >= worst_named for name in DIMENSIONS if name not in named)
    else:
        assert all(averages[name] >= 2 for name in DIMENSIONS if name not in named)
    assert len(profile.improvements) <= 3
    rises = [entry.improvement for entry in profile.improvements]
    assert rises == sorted(rises, reverse=True)
    assert all(rise > 0 for rise in rises)
    assert profile.recommendations == tuple(RECOMMENDATIONS[weakness.dimension] for weakness in profile.weaknesses)


@given(HISTORIES)
def test_a_profile_survives_a_round_trip_through_storage_and_json(given_attempts: list[Attempt]) -> None:
    profile = snapshot(given_attempts, 50)
    assert Profile.model_validate(profile.model_dump(by_alias=True)) == profile
    assert Profile.model_validate_json(profile.model_dump_json(by_alias=True)) == profile


def test_the_window_has_the_ten_newest_attempts_oldest_first() -> None:
    profile = snapshot(history(logic=[0, 0, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1]), 12)
    assert profile.dimensions[2].recent_scores == (4, 1, 2, 3, 4, 1, 2, 3, 4, 1)
    assert profile.dimensions[2].moving_average == Decimal("2.50")
    assert profile.attempt_count == 12


def test_the_snapshot_is_keyed_by_its_newest_attempt() -> None:
    profile = snapshot(history(logic=[1, 2, 3]), 3)
    assert profile.snapshot_key == f"2026-03-01T14:00:00.000Z#{attempt_id(2)}"
    assert profile.user_id == USER


def test_attempts_of_one_millisecond_are_ordered_by_id() -> None:
    tied = [completed(number, at=NOON) for number in (3, 1, 2)]
    assert snapshot(tied, 3).source_attempt_id == attempt_id(3)


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([], Trend.STABLE),
        ([4], Trend.STABLE),
        ([0, 4], Trend.STABLE),  # two scores have no significance, however far apart
        ([4, 0], Trend.STABLE),
        ([0, 0, 1], Trend.IMPROVING),
        ([1, 0, 0], Trend.DECLINING),
        ([2, 3, 3, 3, 2], Trend.STABLE),
        ([3, 3, 4, 3, 3, 3, 3, 3, 4, 3], Trend.STABLE),
        ([3, 3, 3, 3, 4, 3, 4, 4, 4, 3], Trend.IMPROVING),
        ([2, 2, 1, 2, 2, 1, 2, 2, 1, 2], Trend.STABLE),  # -0.018 is not below -0.05
        ([2, 2, 2, 2, 2, 2, 2, 2, 2, 3], Trend.IMPROVING),  # 4.5 / 82.5 is 0.0545
        ([2, 2, 2, 2, 2, 2, 2, 2, 3, 2], Trend.STABLE),  # 3.5 / 82.5 is 0.0424
        ([3, 2, 2, 2, 2, 2, 2, 2, 2, 2], Trend.DECLINING),
        ([2, 2, 2, 2, 2, 2, 2, 3, 2], Trend.STABLE),  # exactly 0.05 is not above it
        ([2, 2, 2, 2, 2, 2, 2, 1, 2], Trend.STABLE),  # nor exactly -0.05 below
        ([2, 2, 2, 2, 2, 2, 2, 2, 3], Trend.IMPROVING),  # 4 / 60 is 0.067
    ],
)
def test_trends_at_the_edges(scores: list[int], expected: Trend) -> None:
    assert trend(scores) is expected


def test_the_gap_is_the_distance_from_the_users_own_mean() -> None:
    weak = weaknesses(table(logic=[0], evidence=[1], clarity=[4]))
    # The mean over all eight is (0 + 1 + 4 + 5 * 2) / 8 = 1.875.
    assert [(entry.dimension.value, str(entry.score), str(entry.gap)) for entry in weak] == [
        ("logic", "0.00", "-1.88"),  # -1.875, to the even one
        ("evidence", "1.00", "-0.88"),
    ]


def test_equal_weaknesses_are_limited_to_three_in_the_order_of_the_rubric() -> None:
    weak = weaknesses({name: [1] for name in DIMENSIONS})
    assert [entry.dimension for entry in weak] == list(DIMENSIONS[:3])
    assert {str(entry.gap) for entry in weak} == {"0.00"}


def test_a_score_below_two_is_weak_even_above_the_users_own_mean() -> None:
    weak = weaknesses({name: [0] if name is Dimension.LOGIC else [1] for name in DIMENSIONS})
    assert [(entry.dimension, str(entry.gap)) for entry in weak] == [
        (Dimension.LOGIC, "-0.88"),
        (Dimension.CLARITY, "0.12"),
        (Dimension.RELEVANCE, "0.12"),
    ]


@pytest.mark.parametrize("score", [2, 3, 4])
def test_equal_scores_in_all_dimensions_give_no_weakness(score: int) -> None:
    assert weaknesses({name: [score] for name in DIMENSIONS}) == ()


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([0, 4, 4], []),  # three scores are too few
        ([0, 0, 4, 4], [("4.00", "0.00", "4.00")]),
        ([1, 2, 0, 2, 3], [("1.00", "1.50", "2.50")]),  # the middle one belongs to neither half
        ([4, 4, 0, 0], []),
        ([2, 2, 2, 2], []),
        ([2, 2, 2, 2, 2, 2, 2, 2, 2, 3], [("0.20", "2.00", "2.20")]),
        ([0, 0, 1, 4, 1, 1, 1], [("0.67", "0.33", "1.00")]),
    ],
)
def test_improvement_is_newer_half_minus_older_half(scores: list[int], expected: list[tuple[str, str, str]]) -> None:
    actual_improvements = improvements(table(logic=scores))
    assert [(str(entry.improvement), str(entry.before), str(entry.after)) for entry in actual_improvements] == expected


def test_the_three_largest_improvements_are_kept_and_ties_follow_the_order_of_the_rubric() -> None:
    actual_improvements = improvements(
        table(clarity=[1, 1, 2, 2], logic=[0, 0, 4, 4], evidence=[0, 0, 1, 1], relevance=[3, 3, 4, 4])
    )
    assert [entry.dimension.value for entry in actual_improvements] == ["logic", "clarity", "relevance"]


def test_an_improvement_is_serialized_as_from_and_to() -> None:
    document = improvements(table(logic=[0, 0, 4, 4]))[0].model_dump(mode="json", by_alias=True)
    assert document == {"dimension": "logic", "improvement": 4.0, "from": 0.0, "to": 4.0}


def test_each_dimension_has_the_exercise_that_the_rubric_names() -> None:
    named = {
        Dimension.CLARITY: "define each key term",
        Dimension.RELEVANCE: "Answer the question that was asked",
        Dimension.LOGIC: "argument map",
        Dimension.EVIDENCE: "look one source up and cite it",
        Dimension.ASSUMPTIONS: "'this only holds if ...'",
        Dimension.ALTERNATIVES: "devil's advocate",
        Dimension.QUANTITATIVE: "Fermi estimate",
        Dimension.HUMILITY: "check later how often it was right",
    }
    assert set(RECOMMENDATIONS) == set(named) == set(DIMENSIONS)
    assert [name for name in DIMENSIONS if named[name] not in RECOMMENDATIONS[name]] == []


def test_a_later_attempt_advances_the_key() -> None:
    first = snapshot([completed(1)], 1)
    later = snapshot([completed(1), completed(2, at=NOON + timedelta(days=400))], 2)
    assert later.snapshot_key > first.snapshot_key
