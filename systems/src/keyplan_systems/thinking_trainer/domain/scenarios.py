"""Scenarios and their questions, the limits on both, and the key by which scenarios sort from easiest to hardest."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, field_serializer, model_validator

from .records import SCHEMA_VERSION, Instant, Record
from .rubric import Dimension

MAX_QUESTIONS = 10
MAX_FOCUS_AREAS = 3


class Difficulty(StrEnum):
    """The difficulty of a scenario, easiest first."""

    BEGINNER = "beginner"
    INTERMEDIATE = "intermediate"
    ADVANCED = "advanced"


_SORT_CODES: Mapping[Difficulty, int] = {
    Difficulty.BEGINNER: 1,
    Difficulty.INTERMEDIATE: 2,
    Difficulty.ADVANCED: 3,
}

MAX_ID_CHARACTERS = 64
Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=MAX_ID_CHARACTERS)]
Tag = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=32)]


class Question(Record):
    """A question, with the expected length of the answer and the dimensions that the question trains."""

    question_id: Slug
    text: str = Field(min_length=10, max_length=1_000)
    type: Literal["short", "long"]
    target_word_count: int = Field(ge=10, le=1_000)
    focus_areas: tuple[Dimension, ...] = Field(min_length=1, max_length=MAX_FOCUS_AREAS)

    @model_validator(mode="after")
    def _check_focus_areas(self) -> Self:
        if len(set(self.focus_areas)) != len(self.focus_areas):
            raise ValueError(f"question {self.question_id} names a focus area twice")
        return self


class Scenario(Record):
    """A description of a situation, with one to ten questions. The attribute `tags` is not stored if it is empty."""

    scenario_id: Slug
    title: str = Field(min_length=5, max_length=200)
    description: str = Field(min_length=50, max_length=5_000)
    difficulty: Difficulty
    tags: frozenset[Tag] = frozenset()
    questions: tuple[Question, ...] = Field(min_length=1, max_length=MAX_QUESTIONS)
    active: bool
    created_at: Instant
    estimated_minutes: int = Field(ge=1, le=240)
    schema_version: Literal["1.0"] = SCHEMA_VERSION

    @model_validator(mode="after")
    def _check_question_ids(self) -> Self:
        ids = [question.question_id for question in self.questions]
        if len(set(ids)) != len(ids):
            raise ValueError(f"scenario {self.scenario_id} uses a question id twice")
        return self

    @field_serializer("tags", when_used="json")
    def _sorted_tags(self, tags: frozenset[str]) -> list[str]:
        return sorted(tags)


def difficulty_key(difficulty: Difficulty) -> str:
    """Return the sort key of a difficulty, such as `1#beginner`. Without the digit, `advanced` would sort first."""
    return f"{_SORT_CODES[difficulty]}#{difficulty.value}"
