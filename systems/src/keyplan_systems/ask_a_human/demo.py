"""Ask-a-Human's part of the demo: an agent asks, two people answer, the agent reads the answers."""

from __future__ import annotations

import uuid

import httpx

from keyplan_systems.ask_a_human.example import converse
from keyplan_systems.web.system import DemoStage


def play(stage: DemoStage) -> None:
    """Play the part. Raises AskError or httpx.HTTPError if the system refuses."""
    conversation = converse(stage.url, uuid.uuid4().hex[:8])
    question = conversation.question
    stage.say(f"an agent asks: {question.prompt}")
    tally = ", ".join(f"{option} {count}" for option, count in (question.summary or {}).items() if count)
    stage.say(f"two people answer, and the question is {question.status.value}: {tally}")
    with httpx.Client(base_url=stage.url, headers=conversation.ada, timeout=30) as ada:
        stats = ada.get("/human/stats").raise_for_status().json()
        stage.say(f"the first has {stats['total_points']} points and {len(stats['badges'])} badge(s)")
        body = {"question_id": question.question_id, "selected_option": 1, "response_time_ms": 6_000}
        repeated = ada.post("/human/responses", json=body)
        stage.say(f"one more answer is refused: {repeated.status_code} {repeated.json()['error']['code']}")
