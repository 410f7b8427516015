"""Items of version 0.9, as they were stored."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from tests.systems.thinking_trainer.builders import attempt_id, scenario

from keyplan.design.fields.stored import encode_value
from keyplan_systems.thinking_trainer.domain.rubric import DIMENSIONS


def raw(item: dict[str, Any]) -> dict[str, Any]:
    """Return an item as the low-level client sends it."""
    return {name: encode_value(value) for name, value in item.items()}


def old_scenario(**changes: Any) -> dict[str, Any]:
    item = scenario().model_dump(mode="json", by_alias=True) | {"tags": ["tides", "boats", "tides"]}
    del item["schemaVersion"]
    return item | {"createdAt": "2025-01-01T00:00:00Z"} | changes


def old_attempt(**changes: Any) -> dict[str, Any]:
    return {
        "attemptId": attempt_id(5),
        "userId": "us-east-1:0000",
        "scenarioId": "scenario-001",
        "timestamp": "2025-12-22T10:30:00.000Z",
        "durationSeconds": Decimal(1800),
        "status": "completed",
        "answers": [
            {
                "questionId": "q1",
                "questionText": "What does the argument take for granted?",
                "answer": "That two things which move together cause each other.",
                "wordCount": Decimal(45),
            }
        ],
        "evaluation": {
            "overallScore": Decimal(78),
            "dimensions": [{"name": name.value, "score": Decimal(3), "rationale": ["Fair."]} for name in DIMENSIONS],
            "feedback": "Solid work.",
            "modelId": "some-model",
            "evaluatedAt": "2025-12-22T10:35:00Z",
        },
        **changes,
    }


def old_profile(**changes: Any) -> dict[str, Any]:
    return {
        "userId": "us-east-1:0000",
        "timestamp": "2025-12-22T10:35:00Z",
        "attemptCount": Decimal(15),
        "overallAverage": Decimal("76.5"),
        "dimensions": [
            {
                "name": name.value,
                "movingAverage": Decimal("2.8"),
                "standardDeviation": Decimal("0.6"),
                "trend": "improving",
                "recentScores": [Decimal(score) for score in (2, 3, 3, 3, 2)],
            }
            for name in DIMENSIONS
        ],
        "weaknesses": [],
        "improvements": [{"dimension": "logic", "improvement": Decimal("0.8")}],
        "recommendations": ["Read more."],
        **changes,
    }
