"""Profiles: statistics of each dimension over a user's last ten completed attempts.

The source documents are incomplete or contradict each other on some points, which are resolved as follows:

* The window consists of the ten newest completed attempts, by `timestamp` and then by attempt ID. `recentScores` starts
  with the oldest score.
* The moving average is the mean of the window. The deviation is its population standard deviation.
* The trend is the least-squares slope per attempt. Above +0.05 it is improving, below -0.05 declining, and otherwise
  stable. With fewer than three scores, it is stable.
* The gap is the moving average minus the user's own mean over all eight dimensions. A dimension is weak if its gap is
  negative or its average is below 2.0. A profile contains the three lowest weak dimensions, lowest first. Ties are
  broken by the rubric's order.
* The improvement is the mean of the newer half of the window minus the mean of the older half, if it is positive and
  the window has at least four scores. A profile contains the three largest. With an odd number of scores, the middle
  score belongs to neither half.
* `overallAverage` is the mean of the overall scores in the window.
* Figures are rounded once, at the end, to two decimals. Exact halves are rounded to even. All comparisons use the exact
  figures.
* The key of a snapshot is derived from the newest attempt in the window. The same attempts always give the same
  snapshot under the same key, in whatever order and however often they arrive.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import Field

from .attempts import Attempt, AttemptId, UserId
from .recommendations import recommended
from .records import SCHEMA_VERSION, Figure, Instant, Record, iso
from .rubric import DIMENSIONS, MAX_SCORE, Dimension
from .statistics import deviation, mean, rounded, slope

WINDOW = 10
MAX_WEAKNESSES = 3
MAX_IMPROVEMENTS = 3
MIN_SCORES_FOR_TREND = 3
MIN_SCORES_FOR_IMPROVEMENT = 4
WEAK_BELOW = Fraction(2)
TREND_THRESHOLD = Fraction(1, 20)


class Trend(StrEnum):
    """The direction in which the scores of a dimension change."""

    IMPROVING = "improving"
    DECLINING = "declining"
    STABLE = "stable"


class DimensionStatistics(Record):
    """The statistics of one dimension over a user's newest attempts. `recent_scores` is sorted oldest first."""

    name: Dimension
    moving_average: Figure
    standard_deviation: Figure
    trend: Trend
    recent_scores: tuple[int, ...] = Field(min_length=1, max_length=WINDOW)


class Weakness(Record):
    """A weak dimension. `gap` is the average of the dimension minus the user's mean over all dimensions."""

    dimension: Dimension
    score: Figure
    gap: Figure


class Improvement(Record):
    """A dimension whose mean rose from `from` in the older half of the window to `to` in the newer half."""

    dimension: Dimension
    improvement: Figure
    before: Figure = Field(validation_alias="from", serialization_alias="from")
    after: Figure = Field(validation_alias="to", serialization_alias="to")


class Profile(Record):
    """A snapshot of a user's statistics.

    `source_attempt_id` is the ID of the newest attempt in the statistics, and `timestamp` is its submission time.
    """

    user_id: UserId
    timestamp: Instant
    source_attempt_id: str = Field(min_length=1, max_length=64)
    attempt_count: int = Field(ge=1)
    dimensions: tuple[DimensionStatistics, ...] = Field(min_length=len(DIMENSIONS), max_length=len(DIMENSIONS))
    weaknesses: tuple[Weakness, ...] = Field(max_length=MAX_WEAKNESSES)
    improvements: tuple[Improvement, ...] = Field(max_length=MAX_IMPROVEMENTS)
    recommendations: tuple[str, ...]
    overall_average: Figure
    schema_version: Literal["1.0"] = SCHEMA_VERSION

    @property
    def snapshot_key(self) -> str:
        """The string `timestamp#attemptId` of the newest attempt, which is the sort key of the snapshot."""
        return f"{iso(self.timestamp)}#{self.source_attempt_id}"


class ScoredAttempt(Record):
    """The data of a completed attempt that is needed for a profile. It has about 150 bytes, while a whole attempt can
    have up to 300,000 bytes.
    """

    attempt_id: AttemptId
    timestamp: Instant
    overall_score: int = Field(ge=0, le=100)
    scores: tuple[Annotated[int, Field(ge=0, le=MAX_SCORE)], ...] = Field(
        min_length=len(DIMENSIONS), max_length=len(DIMENSIONS)
    )
    """One score per dimension, in the rubric's order."""

    @property
    def scored_key(self) -> str:
        """The string `timestamp#attemptId`, which equals the attempt's `scored_key`."""
        return f"{iso(self.timestamp)}#{self.attempt_id}"


def scored_attempt(attempt: Attempt) -> ScoredAttempt:
    """Return the scores of a completed attempt. Raises ValueError for any other attempt."""
    if attempt.timestamp is None or attempt.evaluation is None:
        raise ValueError(f"attempt {attempt.attempt_id} is {attempt.status.value} and has no scores")
    return ScoredAttempt(
        attempt_id=attempt.attempt_id,
        timestamp=attempt.timestamp,
        overall_score=attempt.evaluation.overall_score,
        scores=tuple(attempt.evaluation.scores[name] for name in DIMENSIONS),
    )


def profile_of(user_id: str, window: Sequence[ScoredAttempt], attempt_count: int) -> Profile:
    """Return a user's profile, computed from `window`, which contains up to ten of the user's newest attempts, oldest
    first.

    `attempt_count` is the total number of attempts that the user has completed, including older ones.
    """
    scores = {name: [attempt.scores[index] for attempt in window] for index, name in enumerate(DIMENSIONS)}
    weakest = weaknesses(scores)
    return Profile(
        user_id=user_id,
        timestamp=window[-1].timestamp,
        source_attempt_id=window[-1].attempt_id,
        attempt_count=attempt_count,
        dimensions=tuple(statistics(name, scores[name]) for name in DIMENSIONS),
        weaknesses=weakest,
        improvements=improvements(scores),
        recommendations=recommended(weakness.dimension for weakness in weakest),
        overall_average=rounded(mean([attempt.overall_score for attempt in window])),
    )


def statistics(name: Dimension, scores: Sequence[int]) -> DimensionStatistics:
    """Return the average, the deviation and the trend of one dimension. `scores` contains the scores in the newest
    attempts, oldest first.
    """
    return DimensionStatistics(
        name=name,
        moving_average=rounded(mean(scores)),
        standard_deviation=deviation(scores),
        trend=trend(scores),
        recent_scores=tuple(scores),
    )


def trend(scores: Sequence[int]) -> Trend:
    """Return the trend of the scores, which must be sorted oldest first. With fewer than three scores, the trend is
    stable.
    """
    if len(scores) < MIN_SCORES_FOR_TREND:
        return Trend.STABLE
    steepness = slope(scores)
    if steepness > TREND_THRESHOLD:
        return Trend.IMPROVING
    return Trend.DECLINING if steepness < -TREND_THRESHOLD else Trend.STABLE


def weaknesses(scores: Mapping[Dimension, Sequence[int]]) -> tuple[Weakness, ...]:
    """Return up to three weak dimensions with the lowest averages, lowest first. Ties are in the rubric's order."""
    averages = {name: mean(scores[name]) for name in DIMENSIONS}
    own_mean = sum(averages.values(), Fraction(0)) / len(DIMENSIONS)
    weak_dimensions = [name for name in DIMENSIONS if averages[name] < own_mean or averages[name] < WEAK_BELOW]
    lowest = sorted(weak_dimensions, key=lambda name: averages[name])[:MAX_WEAKNESSES]
    return tuple(
        Weakness(dimension=name, score=rounded(averages[name]), gap=rounded(averages[name] - own_mean))
        for name in lowest
    )


def improvements(scores: Mapping[Dimension, Sequence[int]]) -> tuple[Improvement, ...]:
    """Return up to three dimensions with the largest improvements, largest first. Ties are in the rubric's order."""
    halves = {name: _halves(scores[name]) for name in DIMENSIONS if len(scores[name]) >= MIN_SCORES_FOR_IMPROVEMENT}
    improved = [name for name, (before, after) in halves.items() if after > before]
    largest = sorted(improved, key=lambda name: halves[name][0] - halves[name][1])[:MAX_IMPROVEMENTS]
    return tuple(_improvement(name, *halves[name]) for name in largest)


def _improvement(name: Dimension, before: Fraction, after: Fraction) -> Improvement:
    return Improvement(
        dimension=name, improvement=rounded(after - before), before=rounded(before), after=rounded(after)
    )


def _halves(scores: Sequence[int]) -> tuple[Fraction, Fraction]:
    """Return the means of the older half and the newer half of the scores. If the number of scores is odd, the middle
    score belongs to neither half.
    """
    half = len(scores) // 2
    return mean(scores[:half]), mean(scores[-half:])
