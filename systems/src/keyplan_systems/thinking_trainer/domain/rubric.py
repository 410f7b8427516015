"""The rubric: eight dimensions with weights, and evaluations whose overall score is computed from the dimensions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from fractions import Fraction
from typing import Annotated, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from .records import Instant, Record

MAX_SCORE = 4
MAX_RATIONALES = 5
MAX_RATIONALE_CHARACTERS = 300
MAX_FEEDBACK_CHARACTERS = 2_000


class Dimension(StrEnum):
    """The eight dimensions of the grading rubric, in display order."""

    CLARITY = "clarity"
    RELEVANCE = "relevance"
    LOGIC = "logic"
    EVIDENCE = "evidence"
    ASSUMPTIONS = "assumptions"
    ALTERNATIVES = "alternatives"
    QUANTITATIVE = "quantitative-reasoning"
    HUMILITY = "humility-uncertainty"


DIMENSIONS: tuple[Dimension, ...] = tuple(Dimension)

WEIGHT_TENTHS: Mapping[Dimension, int] = {
    Dimension.CLARITY: 12,
    Dimension.RELEVANCE: 10,
    Dimension.LOGIC: 15,
    Dimension.EVIDENCE: 13,
    Dimension.ASSUMPTIONS: 12,
    Dimension.ALTERNATIVES: 12,
    Dimension.QUANTITATIVE: 8,
    Dimension.HUMILITY: 10,
}
"""Weights of the dimensions in tenths, so that sums are exact. For example, 15 is a weight of 1.5. The sum of all
weights is 9.2.
"""

_ORDER = {dimension: index for index, dimension in enumerate(DIMENSIONS)}

Rationale = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_RATIONALE_CHARACTERS)]
Feedback = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_FEEDBACK_CHARACTERS)]
ModelId = Annotated[str, StringConstraints(min_length=1, max_length=2_048)]


class DimensionScore(Record):
    """The score of one dimension: 0 (absent) to 4 (excellent), with one to five reasons."""

    name: Dimension
    score: int = Field(ge=0, le=MAX_SCORE)
    rationale: tuple[Rationale, ...] = Field(min_length=1, max_length=MAX_RATIONALES)


def _check_dimensions(scores: tuple[DimensionScore, ...]) -> tuple[DimensionScore, ...]:
    """Return the scores in the rubric's order. Raises ValueError unless each dimension occurs exactly once."""
    names = [score.name for score in scores]
    missing = [name.value for name in DIMENSIONS if name not in names]
    repeated = sorted({name.value for name in names if names.count(name) > 1})
    if missing or repeated:
        raise ValueError(
            f"each of the eight dimensions must occur exactly once: missing {missing}, repeated {repeated}"
        )
    return tuple(sorted(scores, key=lambda score: _ORDER[score.name]))


AllDimensions = Annotated[tuple[DimensionScore, ...], AfterValidator(_check_dimensions)]
"""Scores of all eight dimensions. They are sorted in the rubric's order, regardless of the order of the input."""


def overall_score(scores: Iterable[DimensionScore]) -> int:
    """Return the weighted mean of the eight scores as an integer from 0 to 100. Exact halves are rounded to even."""
    weighted = sum(WEIGHT_TENTHS[score.name] * score.score for score in scores)
    return round(Fraction(weighted * 100, sum(WEIGHT_TENTHS.values()) * MAX_SCORE))


class Assessment(Record):
    """The result of an evaluator. It does not contain the overall score, which is always computed from the
    dimensions.
    """

    dimensions: AllDimensions
    feedback: Feedback
    model_id: ModelId


class Evaluation(Record):
    """A stored evaluation. An evaluation is invalid if its overall score does not match the scores of its
    dimensions.
    """

    overall_score: int
    dimensions: AllDimensions
    feedback: Feedback
    model_id: ModelId
    evaluated_at: Instant

    @model_validator(mode="after")
    def _check_overall_score(self) -> Self:
        expected = overall_score(self.dimensions)
        if self.overall_score != expected:
            raise ValueError(f"overallScore is {self.overall_score}, but the dimensions give {expected}")
        return self

    @property
    def scores(self) -> Mapping[Dimension, int]:
        """The score of each dimension."""
        return {entry.name: entry.score for entry in self.dimensions}


def evaluation_of(assessment: Assessment, evaluated_at: datetime) -> Evaluation:
    """Return the evaluation for an assessment, with its computed overall score."""
    return Evaluation(
        overall_score=overall_score(assessment.dimensions),
        dimensions=assessment.dimensions,
        feedback=assessment.feedback,
        model_id=assessment.model_id,
        evaluated_at=evaluated_at,
    )
