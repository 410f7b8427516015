"""Attempts, scenarios and histories for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from keyplan_systems.thinking_trainer.domain.attempts import Attempt, final_answers, start, submit
from keyplan_systems.thinking_trainer.domain.profiles import WINDOW, Profile, profile_of, scored_attempt
from keyplan_systems.thinking_trainer.domain.rubric import DIMENSIONS, Assessment, Dimension, DimensionScore
from keyplan_systems.thinking_trainer.domain.scenarios import Difficulty, Question, Scenario

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
USER = "eu-west-1:7f0c"


def scenario(questions: int = 2) -> Scenario:
    return Scenario(
        scenario_id="late-ferry",
        title="The late ferry",
        description="A ferry was late on 12 of 30 days. The harbour master blames the tide, a passenger the crew.",
        difficulty=Difficulty.BEGINNER,
        questions=tuple(question(number) for number in range(1, questions + 1)),
        active=True,
        created_at=NOON,
        estimated_minutes=10,
    )


def question(number: int) -> Question:
    return Question(
        question_id=f"q{number}",
        text=f"What does the harbour master assume about delays ({number})?",
        type="short",
        target_word_count=20,
        focus_areas=(Dimension.ASSUMPTIONS, Dimension.LOGIC),
    )


def attempt_id(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012x}"


def assessment(scores: Mapping[Dimension, int] | int = 2, model_id: str = "a-model") -> Assessment:
    values = dict.fromkeys(DIMENSIONS, scores) if isinstance(scores, int) else scores
    return Assessment(
        dimensions=tuple(
            DimensionScore(name=name, score=values[name], rationale=(f"{name} is worth {values[name]}",))
            for name in DIMENSIONS
        ),
        feedback="Go on like this.",
        model_id=model_id,
    )


def completed(number: int, scores: Mapping[Dimension, int] | int = 2, at: datetime | None = None) -> Attempt:
    """Return a completed attempt, by default one per hour in the order of their numbers."""
    time = at if at is not None else NOON + timedelta(hours=number)
    attempt = start(attempt_id(number), USER, "late-ferry", time - timedelta(minutes=5))
    answers = final_answers(scenario(1), {"q1": "It assumes that the tide is the same each day."})
    return submit(attempt, answers, assessment(scores), time)


def snapshot(attempts: Sequence[Attempt], attempt_count: int) -> Profile:
    """Return the profile of a user's completed attempts, in any order."""
    window = sorted(map(scored_attempt, attempts), key=lambda item: item.scored_key)[-WINDOW:]
    return profile_of(attempts[0].user_id, window, attempt_count)


def history(**series: Sequence[int]) -> list[Attempt]:
    """Return one attempt per element of the series (names with _ for -); unnamed dimensions score 2."""
    length = len(next(iter(series.values())))
    scores_by_dimension = {Dimension(name.replace("_", "-")): scores for name, scores in series.items()}
    return [
        completed(
            index, {name: scores_by_dimension[name][index] if name in scores_by_dimension else 2 for name in DIMENSIONS}
        )
        for index in range(length)
    ]
