"""Both groups of routes: the error format, lengths of lists, the content of a poll, the zone of a person."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import httpx
import pytest
from starlette.requests import Request
from tests.systems.ask_a_human.stage import CHOICE, Stage, items
from tests.systems.ask_a_human.test_api_agents import refused
from tests.systems.served_engine import ServedEngine

from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan_systems.ask_a_human import entities
from keyplan_systems.ask_a_human.api_dependencies import client_address
from keyplan_systems.ask_a_human.client import AgentClient
from keyplan_systems.ask_a_human.client_errors import ValidationFailedError
from keyplan_systems.ask_a_human.domain.requests import fingerprint_hash


def test_invalid_input_has_one_error_format_from_every_check(stage: Stage) -> None:
    def field_and_constraint(response: httpx.Response) -> tuple[str, str]:
        assert refused(response) == (400, "VALIDATION_ERROR")
        error = response.json()["error"]
        assert error["message"].startswith(error["details"]["field"])
        return error["details"]["field"], error["details"]["constraint"]

    send, headers = stage.client.post, stage.agent("a") | {"Content-Type": "application/json"}
    assert field_and_constraint(stage.ask(prompt="too short")) == ("prompt", "string_too_short")
    assert field_and_constraint(stage.ask(type="multiple_choice", options=["a", "x" * 201])) == (
        "options.1",
        "string_too_long",
    )
    assert field_and_constraint(send("/agent/questions", content=b"{", headers=headers)) == ("body", "json_invalid")
    assert field_and_constraint(send("/agent/questions", json=[1], headers=headers)) == (
        "body",
        "model_attributes_type",
    )
    assert field_and_constraint(stage.client.get("/agent/questions?limit=x", headers=headers)) == (
        "limit",
        "int_parsing",
    )
    assert field_and_constraint(stage.client.get("/agent/questions?cursor=x", headers=headers)) == ("cursor", "cursor")
    assert field_and_constraint(stage.ask(agent="a b")) == ("X-Agent-Id", "format")
    assert field_and_constraint(stage.answer(stage.create_question(), "ada", answer="")) == (
        "answer",
        "string_too_short",
    )
    assert field_and_constraint(stage.get("/leaderboard", period="yearly")) == ("period", "enum")


@pytest.mark.embedded("refused before any table is met")
def test_the_client_raises_validation_errors(stage: Stage) -> None:
    credentials = stage.service.agents.register("agent")
    with AgentClient(stage.url, "agent", credentials) as agent, pytest.raises(ValidationFailedError) as raised:
        agent.submit("too short", type="text")
    assert (raised.value.status, raised.value.details["field"]) == (400, "prompt")


def test_lone_surrogates_are_rejected_everywhere(stage: Stage) -> None:
    question, headers = stage.create_question(), stage.person("ada") | {"Content-Type": "application/json"}
    for case, expected in (
        ({"question_id": "\ud800", "answer": "fine"}, (404, "QUESTION_NOT_FOUND")),
        ({"question_id": question, "answer": "\ud800"}, (400, "VALIDATION_ERROR")),
        ({"question_id": question, "answer": "fine", "\ud800": 1}, (400, "VALIDATION_ERROR")),
    ):
        response = stage.client.post("/human/responses", content=json.dumps(case), headers=headers)
        assert refused(response) == expected
    assert stage.poll(question)["current_responses"] == 0


def test_every_view_of_a_question_has_its_content_and_deadline(stage: Stage, clock: ManualClock) -> None:
    question = stage.create_question(**CHOICE, audience=["product", "ethics"], min_responses=3, timeout_seconds=600)
    stage.answer(question, "ada", selected_option=0)
    clock.advance(1)
    shared = {
        "question_id": question,
        "prompt": CHOICE["prompt"],
        "type": "multiple_choice",
        "created_at": "2026-02-02T12:00:00Z",
        "expires_at": "2026-02-02T12:10:00Z",
    }
    for_agents = shared | {"status": "PARTIAL", "required_responses": 3, "current_responses": 1}
    fields = {"responses": [{"selected_option": 0}], "summary": {"Send": 1, "Submit": 0, "Done": 0}}
    assert stage.poll(question) == for_agents | fields | {"options": CHOICE["options"]}
    own = stage.client.get("/agent/questions", headers=stage.agent()).json()
    assert own["questions"] == [for_agents | {"closed_at": None}]
    for_people = shared | {"options": CHOICE["options"], "audience": ["product", "ethics"], "responses_needed": 2}
    assert stage.get("/questions").json()["questions"] == [for_people]
    looked_at = stage.get(f"/questions/{question}", "ben").json()
    assert looked_at == for_people | {"status": "PARTIAL", "can_answer": True}


def test_a_poll_shows_answers_in_order_of_arrival(stage: Stage, clock: ManualClock) -> None:
    question = stage.create_question(min_responses=50)
    texts = [f"the answer number {number}" for number in range(8)]
    for number, text in enumerate(texts):
        clock.advance(1)
        stage.answer(question, f"person-{number}", answer=text)
    assert [response["answer"] for response in stage.poll(question)["responses"]] == texts


def test_answers_and_count_of_a_poll_agree_even_with_a_concurrent_answer(stage: Stage) -> None:
    question = stage.create_question(min_responses=2)
    stage.answer(question, "ada")
    call, answers = stage.connection._call, [partial(stage.answer, question, "ben")]

    def overtaken(operation: str, request: dict[str, Any]) -> Any:
        if operation == "Query" and request["TableName"] == "aah-responses" and answers:
            assert answers.pop()().status_code == 201
        return call(operation, request)

    stage.connection._call = overtaken
    before, after = stage.poll(question), stage.poll(question)
    assert answers == []
    assert (before["status"], before["current_responses"], len(before["responses"])) == ("PARTIAL", 1, 1)
    assert (after["status"], after["current_responses"], len(after["responses"])) == ("CLOSED", 2, 2)


def test_lists_have_the_documented_default_lengths(stage: Stage) -> None:
    ids = [stage.create_question(min_responses=50) for _ in range(21)]
    headers = stage.agent()
    lists: list[tuple[Any, Callable[[str], Any]]] = [
        (stage.get("/questions"), lambda cursor: stage.get("/questions", cursor=cursor)),
        (
            stage.client.get("/agent/questions", headers=headers),
            lambda cursor: stage.client.get("/agent/questions", params={"cursor": cursor}, headers=headers),
        ),
    ]
    for first, rest in lists:
        assert len(first.json()["questions"]) == 20
        assert len(rest(first.json()["cursor"]).json()["questions"]) == 1
    for limit, status in ((50, 200), (51, 400), (0, 400)):
        assert stage.client.get("/agent/questions", params={"limit": limit}, headers=headers).status_code == status
    for number in range(11):
        assert stage.answer(ids[0], f"person-{number}").status_code == 201
    assert len(stage.get("/leaderboard").json()["entries"]) == 10
    assert len(stage.get("/leaderboard", limit=100).json()["entries"]) == 11


@pytest.mark.parametrize(
    ("expected", "by_proxies"),
    [
        (["203.0.113.9, 10.0.0.1, 10.0.0.2"], ["192.0.2.1", "10.0.0.2", "10.0.0.1", "203.0.113.9", "192.0.2.1"]),
        (["203.0.113.9, 10.0.0.1", "10.0.0.2"], ["192.0.2.1", "10.0.0.2", "10.0.0.1", "203.0.113.9", "192.0.2.1"]),
        (["203.0.113.9", "10.0.0.1"], ["192.0.2.1", "10.0.0.1", "203.0.113.9", "192.0.2.1"]),
        (["  , 10.0.0.1 ,"], ["192.0.2.1", "10.0.0.1", "192.0.2.1"]),
        ([], ["192.0.2.1", "192.0.2.1"]),
        (["2001:db8:1:2:3:4:5:6"], ["192.0.2.1", "2001:db8:1:2::/64"]),
        (["::ffff:203.0.113.9"], ["192.0.2.1", "203.0.113.9"]),
    ],
)
def test_an_address_is_read_from_the_configured_number_of_trusted_proxies(
    expected: list[str], by_proxies: list[str]
) -> None:
    headers = [(b"x-forwarded-for", line.encode()) for line in expected]
    request = Request({"type": "http", "headers": headers, "client": ("192.0.2.1", 50_000)})
    assert [client_address(request, proxies) for proxies in range(len(by_proxies))] == by_proxies


def test_days_and_nights_of_a_person_follow_the_zone_of_each_answer(
    stage: Stage, engine: Engine | ServedEngine
) -> None:
    for zone, day, nights in (("Pacific/Auckland", "2026-02-03", "1"), (None, "2026-02-02", "0")):
        person = f"from {zone}".replace(" ", "-")
        assert stage.answer(stage.create_question(), person, zone=zone, answer="noon in UTC").status_code == 201
        records = items(engine, entities.user_stats)
        (stored,) = [record for record in records if record["fingerprint_hash"]["S"] == fingerprint_hash(person)]
        assert (stored["streak_last_date"]["S"], stored["night_answers"]["N"]) == (day, nights)
        assert list(stored["daily_points"]["M"]) == ["2026-02-02"]


def test_a_streak_is_shown_in_the_zone_of_the_reader(stage: Stage, clock: ManualClock) -> None:
    assert (
        stage.answer(stage.create_question(), "ada", zone="Pacific/Auckland").status_code == 201
    )  # there it is the 3rd
    clock.advance(47.5 * 3600)  # the 4th in UTC, and there the 5th already
    for zone, streak in (("UTC", 1), ("Pacific/Auckland", 0)):
        result = stage.client.get("/human/stats", headers=stage.person("ada") | {"X-Timezone": zone})
        assert result.json()["streak_days"] == streak
