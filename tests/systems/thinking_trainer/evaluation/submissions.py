"""Submissions to grade, and a client in place of a model."""

from __future__ import annotations

import json
from typing import Any

from tests.systems.thinking_trainer.builders import scenario

from keyplan_systems.thinking_trainer.domain.attempts import draft_answers
from keyplan_systems.thinking_trainer.domain.rubric import DIMENSIONS
from keyplan_systems.thinking_trainer.evaluation.evaluator import Submission

THOROUGH = """\
First, what does the harbour master assume about delays? He assumes that the tide is the main cause. By a delay I mean \
a departure more than five minutes late.

The evidence is a record of 12 late days out of 30, which is 12 / 30 = 40 percent, so roughly two days in five. \
According to the harbour, the tide differs each day; however, that assumption only holds if tides were high on the \
same days, because otherwise the tide explains nothing. We could check the data against tide tables. The sample is \
small and the source may be biased.

Alternatively, the delays might be due to the crew, or to crowds on market days. Another explanation is the weather. \
On balance a mix seems more likely than one cause, since about 6 of 12 days were Mondays. Therefore I would not blame \
anybody yet. It is unclear how the times were measured, and I could be wrong: a list of dates would change my mind.
"""

BARE = "Tide bad. Crew always wrong."


def submission(*texts: str) -> Submission:
    """Return the ferry scenario with as many questions as answers."""
    new_scenario = scenario(len(texts))
    values = {question.question_id: text for question, text in zip(new_scenario.questions, texts, strict=True)}
    return Submission(new_scenario, draft_answers(new_scenario, values))


def reply(score: int = 3, **changes: Any) -> dict[str, Any]:
    """Return the reply of a well-behaved model."""
    return {
        "dimensions": [
            {"name": name.value, "score": score, "rationale": ["Says so.", "Shows so."]} for name in DIMENSIONS
        ],
        "feedback": "Well argued.",
        **changes,
    }


def converse_answer(text: str, stop_reason: str = "end_turn") -> dict[str, Any]:
    """Return the answer of Converse around a text."""
    return {
        "output": {"message": {"role": "assistant", "content": [{"text": text}]}},
        "stopReason": stop_reason,
        "usage": {"inputTokens": 10, "outputTokens": 20, "totalTokens": 30},
        "metrics": {"latencyMs": 5},
    }


def good_answer(score: int = 3) -> dict[str, Any]:
    return converse_answer(json.dumps(reply(score)))
