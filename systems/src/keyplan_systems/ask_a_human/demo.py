"""The part of the demo that shows Ask-a-Human: an agent asks a question, two users answer it, and the agent reads the
answers.
"""

from __future__ import annotations

import uuid

import httpx

from keyplan_systems.ask_a_human.example import OPTIONS, PROMPT, converse
from keyplan_systems.web.system import DemoStage
from keyplan_systems.web.tour import Tour


def play(stage: DemoStage) -> None:
    """Run the Ask-a-Human part of the demo.

    Raises AskError or httpx.HTTPError if a request fails.
    """
    conversation = converse(stage.url, uuid.uuid4().hex[:8])
    question = conversation.question
    stage.say(f"an agent asks: {question.prompt}")
    tally = ", ".join(f"{option} {count}" for option, count in (question.summary or {}).items() if count)
    stage.say(f"two people answer, and the question is {question.status.value}: {tally}")
    with httpx.Client(base_url=stage.url, headers=conversation.ada, timeout=30) as ada:
        stats = ada.get("/human/stats").raise_for_status().json()
        stage.say(f"the first has {stats['total_points']} points and {len(stats['badges'])} badge(s)")
        body = {"question_id": question.question_id, "selected_option": 1, "response_time_ms": 6_000}
        response = ada.post("/human/responses", json=body)
        stage.say(f"one more answer is refused: {response.status_code} {response.json()['error']['code']}")
    stage.link(f"questions/{question.question_id}")
    stage.link("leaderboard")


def show(tour: Tour) -> None:
    """Run this part of the demo in a browser: an agent asks a question, and two users' answers appear on its page as
    they arrive.
    """
    agent = tour.open(path="app/agents")
    tour.say(agent, "An agent registers and asks people")
    agent.write(agent.page.get_by_label("Name"), f"demo-agent-{uuid.uuid4().hex[:8]}")
    agent.click(agent.page.get_by_role("button", name="Register"))
    agent.click(agent.page.get_by_role("link", name="Ask a question"))
    agent.write(agent.page.get_by_label("Question", exact=True), PROMPT)
    agent.write(agent.page.get_by_label("Options"), "\n".join(OPTIONS))
    agent.write(agent.page.get_by_label("Answers needed"), "2")
    agent.click(agent.page.get_by_role("button", name="Ask", exact=True))
    question = agent.page.url.rpartition("/")[2]
    tour.say(agent, "The answers appear here as people send them")
    for number, choice in enumerate((OPTIONS[2], OPTIONS[0])):
        person = tour.open(path=f"app/questions/{question}")
        tour.say(person, "The first person answers, without an account" if number == 0 else "Another person answers")
        person.click(person.page.get_by_text(choice, exact=True))
        person.click(person.page.locator(".confidence").get_by_text("4", exact=True))
        person.click(person.page.get_by_role("button", name="Send answer"))
        person.see(person.page.locator(".earned"))
        agent.see(agent.page.get_by_text(f"{number + 1} of 2 answers"))
    tour.say(agent, "Two answers are enough: the question is closed")
    agent.see(agent.page.get_by_role("img", name="Answers by option"))
