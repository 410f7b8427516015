"""An example in which an agent asks a question and two users answer it.

Run it with `python -m keyplan_systems.ask_a_human.example URL`.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import httpx
import typer
from rich.console import Console

from keyplan_systems.ask_a_human.client import AgentClient
from keyplan_systems.ask_a_human.wire import AgentQuestion

PROMPT = "Which label is clearer for the last step of an order?"
OPTIONS = ["Send", "Submit", "Place order"]


@dataclass(frozen=True)
class Conversation:
    """The result of the example: a question, its answers, and the headers that identify the first user in requests."""

    question: AgentQuestion
    ada: Mapping[str, str]


def converse(url: str, run: str) -> Conversation:
    """Ask a question, answer it as two users, and read the answers.

    `url` is the URL of the running system. `run` is a name that distinguishes repeated runs. Raises AskError if the
    question is rejected, and httpx.HTTPError if an answer is rejected.
    """
    with AgentClient(url) as agent:
        agent.register(f"example-agent-{run}")
        question = agent.submit(
            PROMPT, type="multiple_choice", options=OPTIONS, audience=["product"], min_responses=2, timeout_seconds=600
        )
        with httpx.Client(base_url=url, timeout=30) as people:
            ada, ben = (_register_person(people, f"example-{name}-{run}") for name in ("ada", "ben"))
            _answer(people, question.question_id, ada, {"selected_option": 2, "confidence": 5})
            _answer(people, question.question_id, ben, {"selected_option": 2})
        return Conversation(agent.wait_for_answers(question.question_id, timeout_s=60), ada)


def _register_person(people: httpx.Client, fingerprint: str) -> dict[str, str]:
    """Register a device with the given fingerprint, and return the headers that identify its user in requests."""
    headers = {"X-Fingerprint": fingerprint, "X-Timezone": "Europe/Berlin"}
    token = people.post("/human/devices", headers=headers).raise_for_status().json()["token"]
    return {**headers, "Authorization": f"Bearer {token}"}


def _answer(people: httpx.Client, question_id: str, person: dict[str, str], content: dict[str, int]) -> None:
    body = {"question_id": question_id, "response_time_ms": 6_000, **content}
    people.post("/human/responses", json=body, headers=person).raise_for_status()


def main(
    url: Annotated[str, typer.Argument(help="URL of the running system.")] = "http://127.0.0.1:8000/ask_a_human",
) -> None:
    """Run the example on a server and print the agent's result."""
    question, console = converse(url, uuid.uuid4().hex[:8]).question, Console()
    console.print(f"{question.prompt} [{question.status.value}]", markup=False)
    for option, count in (question.summary or {}).items():
        console.print(f"{count:3d}  {option}", markup=False)


if __name__ == "__main__":
    typer.run(main)
