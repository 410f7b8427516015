"""A command that acts as an agent and asks realistic questions: `python -m keyplan_systems.ask_a_human.seed URL`.

Each question has an idempotency key, so repeating the command within a day does not create further questions.
"""

from __future__ import annotations

import uuid
from typing import Annotated, Any, Final

import typer

from keyplan_systems.ask_a_human.client import AgentClient
from keyplan_systems.ask_a_human.client_errors import AskError

QUESTIONS: Final[tuple[dict[str, Any], ...]] = (
    {
        "prompt": "Which label is clearer for the last step of an order?",
        "type": "multiple_choice",
        "options": ["Send", "Submit", "Place order"],
        "audience": ["product"],
        "min_responses": 2,
    },
    {"prompt": "What would you want an assistant never to decide by itself?", "type": "text", "audience": ["ethics"]},
    {"prompt": "Name an error message that really helped you.", "type": "text", "audience": ["technical"]},
    {
        "prompt": 'A customer writes: "I was charged twice, this is the third time I ask." Which first sentence of a'
        " reply would calm you down?",
        "type": "multiple_choice",
        "options": [
            "I am sorry that you have to ask a third time. I have your two charges in front of me.",
            "Thank you for contacting us about your billing inquiry.",
            "Please send a screenshot of both charges so that we can look into it.",
        ],
        "audience": ["product", "general"],
        "min_responses": 5,
    },
    {
        "prompt": "Our backup job fails about once a month and succeeds on the second try. Would you want a message at"
        " night when the first try fails?",
        "type": "multiple_choice",
        "options": ["Yes, always", "Only if the second try fails too", "No, a line in the morning's report is enough"],
        "audience": ["technical"],
        "min_responses": 5,
    },
    {
        "prompt": "A city wants to name its new tram. In one or two sentences: what name would you suggest, and why?",
        "type": "text",
        "audience": ["creative"],
        "min_responses": 8,
    },
    {
        "prompt": "Should a navigation app lead cars through a quiet street if that saves every driver two minutes?",
        "type": "multiple_choice",
        "options": ["Yes", "Only if the people who live there agree", "No"],
        "audience": ["ethics", "general"],
        "min_responses": 6,
    },
    {
        "prompt": 'Which release note would make you update today?\n\nA: "Improves stability."\nB: "Fixes a crash when'
        ' you open a file larger than 2 GB."\nC: "Lots of love for large files."',
        "type": "multiple_choice",
        "options": ["A", "B", "C"],
        "audience": ["product", "technical"],
        "min_responses": 4,
    },
    {
        "prompt": "You ask a shop's assistant whether a coat is waterproof. It does not know. What should it say?",
        "type": "text",
        "audience": ["product"],
        "min_responses": 5,
    },
    {
        "prompt": "Which opening line of a story about a lighthouse keeper makes you read on?",
        "type": "multiple_choice",
        "options": [
            "The light had been out for three nights before anybody noticed the keeper was still there.",
            "Lighthouses are lonely places, and this one was no exception.",
            "On Tuesdays the sea returned what it had taken on Mondays.",
        ],
        "audience": ["creative"],
        "min_responses": 6,
    },
    {
        "prompt": "An agent may read your calendar to find a time for a meeting. Which details should it be allowed to"
        " show the other side?",
        "type": "multiple_choice",
        "options": ["Free times only", "Free times and the city I am in", "Titles of my other meetings", "Everything"],
        "audience": ["ethics"],
        "min_responses": 10,
    },
    {
        "prompt": "What is the smallest thing that a website did that made you trust it?",
        "type": "text",
        "audience": ["general"],
        "min_responses": 5,
    },
    {
        "prompt": "I am writing a checklist for people who cook for a guest with a nut allergy for the first time. What"
        " do such lists usually forget?",
        "type": "text",
        "audience": ["general"],
        "min_responses": 4,
    },
    {
        "prompt": "A function retries a payment after a timeout. Which name says best that it cannot charge twice?",
        "type": "multiple_choice",
        "options": ["charge_once", "retry_charge", "charge_with_key", "safe_charge"],
        "audience": ["technical"],
        "min_responses": 3,
    },
    {
        "prompt": "How would you explain to a ten-year-old why the weather forecast is sometimes wrong?",
        "type": "text",
        "audience": ["creative", "general"],
        "min_responses": 5,
    },
    {
        "prompt": "Would you rather wait ten seconds for a good answer, or get a rough one at once and a better one"
        " later?",
        "type": "multiple_choice",
        "options": ["Wait for the good one", "Rough at once, better later", "It depends on the question"],
        "audience": ["product"],
        "min_responses": 7,
    },
)


def ask_all(client: AgentClient, key: str, *, timeout_seconds: int = 86_400) -> list[str]:
    """Ask all questions and return their IDs. `timeout_seconds` is the time until the deadline of each question.
    Repeated calls with the same `key` do not create further questions.

    Raises AskError if a question is rejected.
    """
    return [
        client.submit(**question, timeout_seconds=timeout_seconds, idempotency_key=f"{key}/{number}").question_id
        for number, question in enumerate(QUESTIONS)
    ]


def main(
    url: Annotated[str, typer.Argument(help="URL of the running system.")] = "http://127.0.0.1:8000/ask_a_human",
    agent: Annotated[
        str | None, typer.Option(help="ID of an existing agent. If omitted, a new agent is registered.")
    ] = None,
    secret: Annotated[
        str | None, typer.Option(envvar="ASK_A_HUMAN_SECRET", help="Secret of the existing agent.")
    ] = None,
) -> None:
    """Ask realistic questions, which users can answer on the web pages."""
    try:
        with AgentClient(url, agent, secret) as client:
            if agent is None:
                credentials = client.register(f"seeder-{uuid.uuid4().hex[:8]}")
                typer.echo(f"agent {credentials.agent_id}, secret {credentials.secret}")
            typer.echo(f"{len(ask_all(client, 'seed'))} questions asked: {url}/app/")
    except AskError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from error


if __name__ == "__main__":
    typer.run(main)
