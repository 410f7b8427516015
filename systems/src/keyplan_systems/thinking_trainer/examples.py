"""Example items: one attempt in each status and one scenario, in the current form and in the form of version 0.9.

They are templates for generated attempts and scenarios. Independently generated values would be invalid, because some
rules span several fields: word counts must match the answers, overall scores must match the scores of the dimensions,
and only a completed attempt has an evaluation.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from pydantic import JsonValue

from keyplan_systems.thinking_trainer.domain.attempts import Attempt, abandon, draft_answers, start, submit
from keyplan_systems.thinking_trainer.domain.records import Record
from keyplan_systems.thinking_trainer.domain.rubric import DIMENSIONS, Assessment, DimensionScore
from keyplan_systems.thinking_trainer.domain.scenarios import Difficulty, Question, Scenario

_STARTED_AT, _MINUTES = datetime(2026, 1, 31, 9, 5, tzinfo=UTC), 20
_SENTENCE = "If calm days were late too, I would change my mind; the sample is small, and fog is not the only cause. "

_SCENARIO = Scenario(
    scenario_id="late-ferries",
    title="Late ferries",
    description="Ferries were late on 9 of 12 foggy days. The harbour wants a new radar, and asks for your advice.",
    difficulty=Difficulty.BEGINNER,
    tags=frozenset({"transport", "statistics"}),
    questions=tuple(
        Question(
            question_id=f"q{number}",
            text=text,
            type="long",
            target_word_count=150,
            focus_areas=DIMENSIONS[number : number + 2],
        )
        for number, text in enumerate(("What would you ask first?", "What speaks against it?", "What do you advise?"))
    ),
    active=True,
    created_at=_STARTED_AT,
    estimated_minutes=_MINUTES,
)
_ASSESSMENT = Assessment(
    dimensions=tuple(
        DimensionScore(name=name, score=number % 5, rationale=("Names what would change the conclusion.",))
        for number, name in enumerate(DIMENSIONS)
    ),
    feedback="You asked about calm days. Say next time how many would be enough.",
    model_id="rubric-1",
)
_STARTED = start("0d1f6f64-3c5b-4c0e-9d5a-6f2a8f1f7b10", "user-1", _SCENARIO.scenario_id, _STARTED_AT)
_ANSWERS = draft_answers(_SCENARIO, {question.question_id: _SENTENCE * 20 for question in _SCENARIO.questions})


def _stored_form(record: Record) -> dict[str, Any]:
    return record.model_dump(mode="json", by_alias=True)


def _version_0_9(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of an item in the form of version 0.9, in which an attempt has only one timestamp."""
    newer_fields = {"schemaVersion", "startedAt", "touchedAt"}
    return {name: value for name, value in item.items() if name not in newer_fields}


_COMPLETED: Final[Attempt] = submit(_STARTED, _ANSWERS, _ASSESSMENT, _STARTED_AT + timedelta(minutes=_MINUTES))

ATTEMPTS: Final[list[JsonValue]] = [
    _stored_form(_COMPLETED),
    _version_0_9(_stored_form(_COMPLETED)),
    _stored_form(_STARTED),
    _stored_form(abandon(_STARTED, _STARTED_AT + timedelta(days=1))),
]
SCENARIOS: Final[list[JsonValue]] = [_stored_form(_SCENARIO), _version_0_9(_stored_form(_SCENARIO))]
