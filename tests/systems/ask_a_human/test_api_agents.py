"""The agents' routes over real HTTP: fields, ranges, headers, codes, keys, quotas, polls."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from tests.systems.ask_a_human.stage import CHOICE, Stage, items
from tests.systems.served_engine import ServedEngine

from keyplan.client.errors import UnavailableError
from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan_systems.ask_a_human import entities

NOON_S = 1_770_033_600


def refused(response: httpx.Response) -> tuple[int, str]:
    """Return status and code of a refusal in the common format."""
    body = response.json()
    assert set(body) == {"error"}
    assert set(body["error"]) <= {"code", "message", "details", "request_id"}
    assert body["error"]["message"]
    return response.status_code, body["error"]["code"]


def test_a_question_is_created_with_the_documented_defaults_and_response(
    stage: Stage, engine: Engine | ServedEngine
) -> None:
    response = stage.ask()
    assert response.status_code == 201
    body = response.json()
    assert uuid.UUID(body["question_id"]).version == 4
    assert body["status"] == "OPEN"
    assert body["poll_url"] == f"/agent/questions/{body['question_id']}"
    assert body["expires_at"] == "2026-02-02T13:00:00Z"
    (stored,) = [item for item in items(engine, entities.questions) if "prompt" in item]
    assert stored["required_responses"] == {"N": "5"}
    assert stored["current_responses"] == {"N": "0"}
    assert stored["audience"] == {"L": [{"S": "general"}]}
    assert stored["created_at"] == {"S": "2026-02-02T12:00:00.000Z"}
    assert stored["expires_at"] == {"N": str(NOON_S + 3600)}
    assert stored["ttl"] == {"N": str(NOON_S + 3600 + 86_400)}
    assert not {"options", "idempotency_key", "closed_at"} & set(stored)


@pytest.mark.embedded("refused before any table is met")
@pytest.mark.parametrize(
    "body",
    [
        {"prompt": "too short"},
        {"prompt": "x" * 2001},
        {"type": "essay"},
        {"type": "multiple_choice"},
        {"options": ["a", "b"]},
        {"type": "multiple_choice", "options": ["one"]},
        {"type": "multiple_choice", "options": [str(number) for number in range(11)]},
        {"type": "multiple_choice", "options": ["x" * 201, "b"]},
        {"audience": ["everybody"]},
        {"min_responses": 0},
        {"min_responses": 51},
        {"timeout_seconds": 59},
        {"timeout_seconds": 86_401},
        {"unknown": 1},
    ],
)
def test_questions_outside_the_ranges_are_rejected_and_nothing_is_created(
    stage: Stage, engine: Engine | ServedEngine, body: dict[str, Any]
) -> None:
    stage.agent()
    before = items(engine, entities.questions)
    assert refused(stage.ask(**body)) == (400, "VALIDATION_ERROR")
    assert items(engine, entities.questions) == before


def test_invalid_json_and_missing_or_invalid_identities_are_rejected(stage: Stage) -> None:
    send = stage.client.post
    assert refused(send("/agent/questions", content=b"{", headers=stage.agent("a"))) == (400, "VALIDATION_ERROR")
    assert refused(send("/agent/questions", json=CHOICE)) == (400, "VALIDATION_ERROR")
    assert refused(stage.ask(agent="a b")) == (400, "VALIDATION_ERROR")
    assert refused(stage.client.get("/agent/questions/x")) == (400, "VALIDATION_ERROR")
    assert refused(stage.client.get("/nowhere")) == (404, "NOT_FOUND")


def test_a_key_returns_its_question_for_24_hours_and_creates_nothing(stage: Stage, clock: ManualClock) -> None:
    first = stage.ask(key="k", min_responses=1)
    in_body = stage.ask(idempotency_key="k", min_responses=1)
    assert in_body.status_code == first.status_code == 201
    assert in_body.json() == first.json()
    assert "Idempotency-Replayed" not in first.headers
    assert in_body.headers["Idempotency-Replayed"] == "true"
    assert refused(stage.ask(key="k", min_responses=2)) == (422, "IDEMPOTENCY_KEY_REUSED")
    assert refused(stage.ask(key="k", idempotency_key="other")) == (400, "VALIDATION_ERROR")
    assert stage.ask(agent="another", key="k", min_responses=2).json()["question_id"] != first.json()["question_id"]
    stage.answer(first.json()["question_id"], "ada")
    assert stage.ask(key="k", min_responses=1).json()["status"] == "CLOSED"
    clock.advance(86_399.998)
    assert stage.ask(key="k", min_responses=1).json()["question_id"] == first.json()["question_id"]
    clock.advance(0.002)
    response = stage.ask(key="k", min_responses=2)
    assert response.status_code == 201
    assert response.json()["question_id"] != first.json()["question_id"]
    clock.advance(0.5)  # the key's record may then stay for half a second longer than the key is good
    half = stage.ask(key="half").json()["question_id"]
    clock.advance(86_400)
    over = stage.ask(key="half")
    assert (over.status_code, over.json()["question_id"] == half) == (201, False)


def test_a_poll_shows_answers_without_persons_and_the_tally_of_a_choice(stage: Stage) -> None:
    question = stage.create_question(**CHOICE, min_responses=3)
    opened = stage.poll(question)
    assert (opened["status"], opened["responses"], opened["summary"]) == (
        "OPEN",
        [],
        {"Send": 0, "Submit": 0, "Done": 0},
    )
    stage.answer(question, "ada", selected_option=1, confidence=4)
    stage.answer(question, "ben", selected_option=1)
    partial = stage.poll(question)
    assert partial["status"] == "PARTIAL"
    assert "closed_at" not in partial
    stage.answer(question, "cleo", selected_option=0)
    closed = stage.poll(question)
    assert (closed["status"], closed["required_responses"], closed["current_responses"]) == ("CLOSED", 3, 3)
    assert closed["closed_at"] == "2026-02-02T12:00:00Z"
    assert closed["summary"] == {"Send": 1, "Submit": 2, "Done": 0}
    assert sorted(map(str, closed["responses"])) == sorted(
        map(str, [{"selected_option": 1, "confidence": 4}, {"selected_option": 1}, {"selected_option": 0}])
    )
    assert "summary" not in stage.poll(stage.create_question())


def test_unknown_questions_are_not_found_in_any_id_format(stage: Stage) -> None:
    for question in (str(uuid.uuid4()), "q_1", "AGENT%23agent", "ERRAND%23PUSH%23x", str(uuid.uuid4()).upper()):
        response = stage.client.get(f"/agent/questions/{question}", headers=stage.agent())
        assert refused(response) == (404, "QUESTION_NOT_FOUND")


def test_answers_of_maximum_length_are_all_read_over_several_pages(stage: Stage) -> None:
    question = stage.create_question(min_responses=50)
    for number in range(50):
        body = {"question_id": question, "answer": chr(0x1F600 + number) * 5000}
        response = stage.client.post(
            "/human/responses",
            json=body,
            headers=stage.person(f"person-{number}") | {"X-Forwarded-For": f"host-{number}"},
        )
        assert response.status_code == 201
    assert len(stage.poll(question)["responses"]) == 50


def test_an_agent_lists_its_own_questions_newest_first_page_by_page(stage: Stage, clock: ManualClock) -> None:
    ids = []
    for _ in range(5):
        clock.advance(1)
        ids.append(stage.create_question())
    stage.create_question(agent="another")
    question_ids, cursor = [], None
    while True:
        query = {"limit": 2} | ({"cursor": cursor} if cursor else {})
        page = stage.client.get("/agent/questions", params=query, headers=stage.agent()).json()
        question_ids += [question["question_id"] for question in page["questions"]]
        cursor = page["cursor"]
        if cursor is None:
            break
    assert question_ids == ids[::-1]
    bad = stage.client.get("/agent/questions", params={"cursor": "x"}, headers=stage.agent())
    assert refused(bad) == (400, "VALIDATION_ERROR")


def test_sixty_questions_per_hour_are_allowed_and_headers_show_the_remaining_ones(
    stage: Stage, clock: ManualClock
) -> None:
    for number in range(60):
        response = stage.ask(key=f"k{number}")
        assert response.status_code == 201
        assert response.headers["X-RateLimit-Limit"] == "60"
        assert response.headers["X-RateLimit-Remaining"] == str(59 - number)
        assert response.headers["X-RateLimit-Reset"] == str(NOON_S + 3600)
    clock.advance(60)
    over = stage.ask(key="k60")
    assert refused(over) == (429, "RATE_LIMITED")
    assert over.headers["Retry-After"] == str(3600 - 60)
    assert (over.headers["X-RateLimit-Limit"], over.headers["X-RateLimit-Remaining"]) == ("60", "0")
    assert stage.ask(key="k0").status_code == 201  # a repeated request creates nothing and is not counted
    assert stage.ask(agent="another").status_code == 201
    clock.advance(3540)
    assert stage.ask().status_code == 201


def test_six_hundred_polls_per_hour_are_allowed_including_lists(stage: Stage, engine: Engine | ServedEngine) -> None:
    question, other = stage.create_question(agent="a"), stage.create_question(agent="b")
    assert stage.client.get(f"/agent/questions/{question}", headers=stage.agent("a")).headers[
        "X-RateLimit-Remaining"
    ] == str(599)
    (counter,) = [item for item in items(engine, entities.responses) if "polls#agent#a#" in item["question_id"]["S"]]
    engine.call("PutItem", {"TableName": "aah-responses", "Item": {**counter, "requests": {"N": "599"}}})
    last = stage.client.get("/agent/questions", headers=stage.agent("a"))
    assert (last.status_code, last.headers["X-RateLimit-Remaining"]) == (200, "0")
    over = stage.client.get(f"/agent/questions/{question}", headers=stage.agent("a"))
    assert refused(over) == (429, "RATE_LIMITED")
    assert stage.poll(other)["status"] == "OPEN"


def test_a_hundred_open_questions_are_allowed_and_answers_and_sweeps_free_places(
    stage: Stage, clock: ManualClock
) -> None:
    ids = [stage.create_question(timeout_seconds=86_400, min_responses=1) for _ in range(50)]
    clock.advance(3600)
    ids += [stage.create_question(timeout_seconds=3600, min_responses=1) for _ in range(50)]
    assert refused(stage.ask()) == (403, "AGENT_QUOTA_EXCEEDED")
    assert stage.answer(ids[0], "ada").status_code == 201
    assert stage.ask().status_code == 201
    assert refused(stage.ask()) == (403, "AGENT_QUOTA_EXCEEDED")
    clock.advance(3600)
    assert refused(stage.ask()) == (403, "AGENT_QUOTA_EXCEEDED")
    assert stage.sweep() == 51  # fifty, and the question created for ada
    assert stage.ask().status_code == 201


def test_the_openapi_document_shows_every_route_with_examples(stage: Stage) -> None:
    result = stage.client.get("/openapi.json").json()
    assert {(path, method) for path, methods in result["paths"].items() for method in methods} >= {
        ("/agent/register", "post"),
        ("/agent/secret", "post"),
        ("/agent/questions", "post"),
        ("/agent/questions", "get"),
        ("/agent/questions/{question_id}", "get"),
        ("/human/devices", "post"),
        ("/human/questions", "get"),
        ("/human/questions/{question_id}", "get"),
        ("/human/responses", "post"),
        ("/human/push/subscribe", "post"),
        ("/human/push/subscribe/{subscription_id}", "put"),
        ("/human/push/subscribe/{subscription_id}", "delete"),
        ("/human/stats", "get"),
        ("/human/leaderboard", "get"),
    }
    answer = result["paths"]["/human/responses"]["post"]["requestBody"]["content"]["application/json"]
    assert stage.answer(**{"person": "ada", **answer["example"]}).status_code == 404
    media_type = result["paths"]["/agent/questions"]["post"]["requestBody"]["content"]["application/json"]
    assert stage.ask(
        **media_type["schema"]["examples"][0] if "examples" in media_type["schema"] else media_type["examples"][0]
    )


def test_failures_are_returned_without_internal_details_and_with_a_retry_time(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(error: Exception) -> Callable[..., None]:
        def run(*_: object, **__: object) -> None:
            raise error

        return run

    stage.agent()
    with monkeypatch.context() as patch:
        patch.setattr(stage.connection, "run", failing(UnavailableError("no route to 10.0.0.7")))
        away = stage.ask()
    assert refused(away) == (503, "SERVER_ERROR")
    assert away.headers["Retry-After"] == "1"
    with monkeypatch.context() as patch:
        patch.setattr(stage.connection, "run", failing(RuntimeError("secret")))
        broken = stage.ask()
    assert refused(broken) == (500, "SERVER_ERROR")
    assert "secret" not in broken.text
    assert "10.0.0.7" not in away.text
    assert stage.ask().status_code == 201
