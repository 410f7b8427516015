"""Devices and their tokens, and the limits of one network address."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.systems.ask_a_human.stage import Stage, at_once, items, staged
from tests.systems.ask_a_human.test_api_agents import refused
from tests.systems.served_engine import ServedEngine, connected

import keyplan
from keyplan.clock import ManualClock, SystemClock
from keyplan.engine.engine import Engine
from keyplan_systems.ask_a_human import entities
from keyplan_systems.ask_a_human.address_limits import PER_QUESTION_VARIABLE, AddressLimits
from keyplan_systems.ask_a_human.domain.requests import fingerprint_hash


def register(stage: Stage, fingerprint: str, address: str = "10.0.0.1") -> httpx.Response:
    headers = {"X-Fingerprint": fingerprint, "X-Forwarded-For": address}
    return stage.client.post("/human/devices", headers=headers)


def device(stage: Stage, fingerprint: str, address: str = "10.0.0.1") -> dict[str, str]:
    """Return the headers of a new device that sends requests from an address."""
    token = register(stage, fingerprint).json()["token"]
    return {"X-Fingerprint": fingerprint, "X-Forwarded-For": address, "Authorization": f"Bearer {token}"}


def answer(stage: Stage, question: str, headers: dict[str, str], text: str = "fine") -> httpx.Response:
    return stage.client.post("/human/responses", json={"question_id": question, "answer": text}, headers=headers)


# Tokens.


def test_a_device_token_is_shown_once_and_stored_as_its_hash(stage: Stage, engine: Engine | ServedEngine) -> None:
    response = register(stage, "ada")
    assert (response.status_code, response.json().keys()) == (201, {"token"})
    (stored,) = [item for item in items(engine, entities.subscriptions) if "fingerprint" in item]
    assert response.json()["token"] not in str(stored)
    assert stored["fingerprint"] == {"S": fingerprint_hash("ada")}
    assert refused(stage.client.post("/human/devices")) == (400, "VALIDATION_ERROR")


def test_a_fingerprint_alone_does_not_authenticate(stage: Stage) -> None:
    question = stage.create_question()
    assert stage.answer(question, "ada").status_code == 201
    other = device(stage, "ben") | {"X-Fingerprint": "ada"}
    for headers in ({"X-Fingerprint": "ada"}, {"X-Fingerprint": "ada", "Authorization": "Bearer guess"}, other):
        for refusal in (
            answer(stage, question, headers),
            stage.client.get("/human/stats", headers=headers),
            stage.client.get("/human/leaderboard", headers=headers),
            stage.client.get(f"/human/questions/{question}", headers=headers),
            stage.client.post("/human/push/subscribe", json={"fcm_token": "t"}, headers=headers),
        ):
            assert refused(refusal) == (401, "UNAUTHORIZED")
            assert refusal.headers["WWW-Authenticate"].startswith("Bearer ")
    assert stage.poll(question)["current_responses"] == 1
    assert stage.client.get("/human/leaderboard").status_code == 200


def test_another_device_with_the_same_fingerprint_has_a_separate_record(stage: Stage) -> None:
    first, second = stage.create_question(), stage.create_question()
    ada, twin = device(stage, "ada"), device(stage, "ada")
    assert answer(stage, first, ada).status_code == 201
    assert stage.client.get("/human/stats", headers=twin).json()["total_answers"] == 0
    assert refused(answer(stage, first, twin, "another text")) == (409, "ALREADY_ANSWERED")
    assert stage.client.get(f"/human/questions/{first}", headers=twin).json()["can_answer"] is False
    assert answer(stage, second, twin).json()["total_points"] == 15
    assert stage.client.get("/human/stats", headers=ada).json()["total_answers"] == 1


def test_a_device_claims_its_fingerprint_with_its_first_request_even_if_a_reply_was_lost(
    stage: Stage, engine: Engine | ServedEngine
) -> None:
    assert register(stage, "ada").status_code == 201  # its reply never came
    headers = device(stage, "ada")
    responses = at_once([partial(stage.client.get, "/human/stats", headers=headers) for _ in range(8)])
    assert {response.status_code for response in responses} == {200}
    people = [item["person"]["S"] for item in items(engine, entities.subscriptions) if "person" in item]
    assert people == [fingerprint_hash("ada")]


def test_one_of_two_concurrent_new_devices_gets_the_fingerprints_record(
    stage: Stage, engine: Engine | ServedEngine
) -> None:
    devices = [device(stage, "ada") for _ in range(2)]
    responses = at_once([partial(stage.client.get, "/human/stats", headers=headers) for headers in devices * 4])
    assert {response.status_code for response in responses} == {200}
    people = [item["person"]["S"] for item in items(engine, entities.subscriptions) if "person" in item]
    assert len(people) == len(set(people)) == 2
    assert fingerprint_hash("ada") in people


def test_a_push_subscription_is_changed_and_ended_only_by_its_device(stage: Stage) -> None:
    owner, other, twin = device(stage, "ada"), device(stage, "ben"), device(stage, "ada")
    body = stage.client.post("/human/push/subscribe", json={"fcm_token": "t"}, headers=owner).json()
    path = f"/human/push/subscribe/{body['subscription_id']}"
    put = partial(stage.client.put, path, json={"min_interval_minutes": 5})
    assert refused(put()) == (401, "UNAUTHORIZED")
    assert refused(stage.client.delete(path)) == (401, "UNAUTHORIZED")
    for headers in (other, twin):
        assert refused(put(headers=headers)) == (404, "SUBSCRIPTION_NOT_FOUND")
        assert refused(stage.client.delete(path, headers=headers)) == (404, "SUBSCRIPTION_NOT_FOUND")
    assert put(headers=owner).json()["min_interval_minutes"] == 5
    del owner["X-Fingerprint"]  # the browser was updated and has another fingerprint
    assert stage.client.delete(path, headers=owner).status_code == 204


def test_a_browser_that_registers_again_keeps_its_subscription(stage: Stage) -> None:
    before, after = device(stage, "ada"), device(stage, "ada")
    subscribe = partial(stage.client.post, "/human/push/subscribe", json={"fcm_token": "t"})
    body = subscribe(headers=before).json()
    assert subscribe(headers=after).json()["subscription_id"] == body["subscription_id"]
    path = f"/human/push/subscribe/{body['subscription_id']}"
    assert refused(stage.client.delete(path, headers=before)) == (404, "SUBSCRIPTION_NOT_FOUND")
    assert stage.client.delete(path, headers=after).status_code == 204


# Addresses.


def test_one_address_cannot_close_a_question_with_invented_fingerprints(
    stage: Stage, engine: Engine | ServedEngine
) -> None:
    question = stage.create_question(min_responses=50)
    invented = [device(stage, f"invented-{number}") for number in range(50)]
    responses = [answer(stage, question, headers) for headers in invented]
    assert Counter(response.status_code for response in responses) == {201: 3, 403: 47}
    assert {refused(response) for response in responses[3:]} == {(403, "ADDRESS_QUOTA_EXCEEDED")}
    assert responses[3].json()["error"]["details"] == {"max": 3}
    assert stage.poll(question)["current_responses"] == 3
    assert len([item for item in items(engine, entities.user_stats) if "badges" in item]) == 3
    assert answer(stage, question, invented[10] | {"X-Forwarded-For": "10.0.0.2"}).status_code == 201
    assert answer(stage, stage.create_question(), invented[11]).status_code == 201


def test_answers_per_address_and_question_are_counted_exactly_under_concurrency(stage: Stage) -> None:
    question = stage.create_question(min_responses=50)
    devices = [device(stage, f"invented-{number}") for number in range(12)]
    responses = at_once([partial(answer, stage, question, headers) for headers in devices])
    assert Counter(response.status_code for response in responses) == {201: 3, 403: 9}
    assert stage.poll(question)["current_responses"] == 3


def test_a_rejected_answer_does_not_count_for_its_address(stage: Stage) -> None:
    question = stage.create_question(min_responses=50)
    for number in range(4):
        assert answer(stage, question, device(stage, f"person-{number}"), "").status_code == 400
    responses = [answer(stage, question, device(stage, f"other-{number}")) for number in range(3)]
    assert [response.status_code for response in responses] == [201] * 3


def test_addresses_of_one_ipv6_network_count_as_one(stage: Stage) -> None:
    question = stage.create_question(min_responses=50)
    responses = [
        answer(stage, question, device(stage, f"person-{number}", f"2001:db8::{number:x}")) for number in range(4)
    ]
    assert [response.status_code for response in responses] == [201, 201, 201, 403]


def test_an_address_may_register_sixty_devices_per_hour(stage: Stage, clock: ManualClock) -> None:
    for number in range(60):
        assert register(stage, f"person-{number}").status_code == 201
    over = register(stage, "one-more")
    assert refused(over) == (429, "RATE_LIMITED")
    assert over.headers["Retry-After"] == "3600"
    assert register(stage, "one-more", "10.0.0.2").status_code == 201
    clock.advance(3600)
    assert register(stage, "one-more").status_code == 201


@pytest.fixture
def strict(engine: Engine | ServedEngine, clock: ManualClock, tmp_path: Path) -> Any:
    """Serve the system with the smallest limits."""
    limits = {"KEYPLAN_ASK_A_HUMAN_ANSWER_LIMIT": "2/60", PER_QUESTION_VARIABLE: "1"}
    with connected(engine, clock) as connection, staged(connection, clock, tmp_path, settings=limits) as stage:
        yield stage


def test_the_limits_of_addresses_are_configurable(strict: Stage, clock: ManualClock) -> None:
    ids = [strict.create_question() for _ in range(3)]
    people = [device(strict, f"person-{number}") for number in range(4)]
    assert answer(strict, ids[0], people[0]).status_code == 201
    assert refused(answer(strict, ids[0], people[1])) == (403, "ADDRESS_QUOTA_EXCEEDED")
    over = answer(strict, ids[1], people[2])
    assert refused(over) == (429, "RATE_LIMITED")
    assert over.json()["error"]["message"] == "At most 2 answers in 60 seconds per address."
    clock.advance(60)
    assert answer(strict, ids[1], people[2]).status_code == 201


@pytest.mark.parametrize("text", ["0", "-1", "x", "3/60"])
def test_a_malformed_number_of_answers_per_address_is_rejected(text: str) -> None:
    with keyplan.connect(":memory:") as connection, pytest.raises(ValueError, match=PER_QUESTION_VARIABLE):
        AddressLimits.from_environment(connection, SystemClock(), {PER_QUESTION_VARIABLE: text})


def test_answers_per_address_can_be_unlimited() -> None:
    with keyplan.connect(":memory:") as connection:
        limits = AddressLimits.from_environment(connection, SystemClock(), {PER_QUESTION_VARIABLE: "off"})
        assert limits.answers_per_question is None
