"""Agents and their secrets: registration, authentication, rotation, the operator's command, the client."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import uuid
from collections import Counter
from functools import partial
from typing import Any

import httpx
import pytest
from tests.systems.ask_a_human.stage import TABLES, TEXT, Stage, at_once, items
from tests.systems.ask_a_human.test_api_agents import refused
from tests.systems.served_engine import ServedEngine

import keyplan
from keyplan.clock import ManualClock, SystemClock
from keyplan.engine.engine import Engine
from keyplan_systems.ask_a_human import entities
from keyplan_systems.ask_a_human.address_limits import AddressLimits
from keyplan_systems.ask_a_human.client import AgentClient, AsyncAgentClient
from keyplan_systems.ask_a_human.client_errors import NotAuthenticatedError, QuestionNotFoundError
from keyplan_systems.ask_a_human.domain.credentials import secret_hash
from keyplan_systems.ask_a_human.domain.requests import QuestionRequest
from keyplan_systems.ask_a_human.service import Service


def register(stage: Stage, address: str = "10.0.0.1", **body: Any) -> httpx.Response:
    return stage.client.post("/agent/register", json=body, headers={"X-Forwarded-For": address})


def headers(agent: str, secret: str) -> dict[str, str]:
    return {"X-Agent-Id": agent, "Authorization": f"Bearer {secret}"}


def stored_agent(engine: Engine | ServedEngine, agent: str) -> dict[str, Any]:
    (stored_item,) = [
        item for item in items(engine, entities.questions) if item["question_id"] == {"S": f"AGENT#{agent}"}
    ]
    return stored_item


def test_answers_are_readable_only_with_the_secret_of_the_asking_agent(stage: Stage) -> None:
    question = stage.create_question(agent="asker")
    stage.answer(question, "ada")
    path = f"/agent/questions/{question}"
    assert len(stage.client.get(path, headers=stage.agent("asker")).json()["responses"]) == 1
    assert refused(stage.client.get(path, headers=stage.agent("other"))) == (404, "QUESTION_NOT_FOUND")
    stolen_name = stage.agent("other") | {"X-Agent-Id": "asker"}
    for case in ({"X-Agent-Id": "asker"}, headers("asker", "guess"), stolen_name):
        response = stage.client.get(path, headers=case)
        assert refused(response) == (401, "UNAUTHORIZED")
        assert response.headers["WWW-Authenticate"].startswith("Bearer ")
        assert refused(stage.client.get("/agent/questions", headers=case)) == (401, "UNAUTHORIZED")
        assert refused(stage.client.post("/agent/secret", headers=case)) == (401, "UNAUTHORIZED")


def test_a_request_under_another_agents_name_does_not_count_against_its_limits(
    stage: Stage, engine: Engine | ServedEngine
) -> None:
    stage.create_question(agent="asker")
    before = [items(engine, table) for table in TABLES]
    for case in ({"X-Agent-Id": "asker"}, stage.agent("other") | {"X-Agent-Id": "asker"}):
        assert refused(stage.client.post("/agent/questions", json=TEXT, headers=case)) == (401, "UNAUTHORIZED")
        assert refused(stage.client.get("/agent/questions", headers=case)) == (401, "UNAUTHORIZED")
    other = stored_agent(engine, "other")
    after = [[item for item in items(engine, table) if item != other] for table in TABLES]
    assert [sorted(map(str, part)) for part in after] == [sorted(map(str, part)) for part in before]
    assert stage.ask(agent="asker").headers["X-RateLimit-Remaining"] == "58"


def test_a_registration_shows_the_secret_once_and_stores_its_hash(stage: Stage, engine: Engine | ServedEngine) -> None:
    response = register(stage, agent_id="bot")
    assert response.status_code == 201
    assert response.json().keys() == {"agent_id", "secret"}
    assert response.json()["agent_id"] == "bot"
    secret = response.json()["secret"]
    stored = stored_agent(engine, "bot")
    assert stored["secret_hash"] == {"S": secret_hash(secret)}
    assert secret not in str(stored)
    question = stage.client.post("/agent/questions", json=TEXT, headers=headers("bot", secret))
    assert question.status_code == 201


def test_a_registration_without_an_id_gets_a_generated_one(stage: Stage) -> None:
    first, second = (register(stage).json() for _ in range(2))
    assert uuid.UUID(first["agent_id"]).version == 4
    assert first["agent_id"] != second["agent_id"]
    assert first["secret"] != second["secret"]
    own = stage.client.get("/agent/questions", headers=headers(first["agent_id"], first["secret"]))
    assert own.json()["questions"] == []


@pytest.mark.parametrize("agent", ["", "a b", "x" * 129, "\u00fc", "line\n"])
def test_agent_ids_outside_the_range_are_rejected(stage: Stage, agent: str) -> None:
    assert refused(register(stage, agent_id=agent)) == (400, "VALIDATION_ERROR")


def test_exactly_one_of_concurrent_registrations_of_one_id_succeeds(stage: Stage) -> None:
    responses = at_once([partial(register, stage, agent_id="bot") for _ in range(8)])
    assert Counter(response.status_code for response in responses) == {201: 1, 409: 7}
    assert {refused(response) for response in responses if response.status_code == 409} == {(409, "AGENT_ID_TAKEN")}
    (body,) = [response.json() for response in responses if response.status_code == 201]
    assert stage.client.get("/agent/questions", headers=headers("bot", body["secret"])).status_code == 200


def test_an_id_used_before_agents_had_secrets_cannot_be_registered(stage: Stage, engine: Engine | ServedEngine) -> None:
    stage.service.questions.ask("older", QuestionRequest.model_validate(TEXT), None)
    assert "secret_hash" not in stored_agent(engine, "older")
    assert refused(register(stage, agent_id="older")) == (409, "AGENT_ID_TAKEN")
    secret = stage.service.agents.issue("older")
    assert secret is not None
    own = stage.client.get("/agent/questions", headers=headers("older", secret)).json()
    assert len(own["questions"]) == 1


def test_an_address_may_register_twenty_agents_per_hour(stage: Stage, clock: ManualClock) -> None:
    for _ in range(20):
        assert register(stage, "10.0.0.1").status_code == 201
    over = register(stage, "10.9.9.9, 10.0.0.1")
    assert refused(over) == (429, "RATE_LIMITED")
    assert over.headers["Retry-After"] == "3600"
    assert over.json()["error"]["message"] == "At most 20 agent registrations in 3600 seconds per address."
    assert register(stage, "10.0.0.2").status_code == 201
    clock.advance(3600)
    assert register(stage, "10.0.0.1").status_code == 201


def rotate(stage: Stage, agent: str, secret: str) -> str:
    response = stage.client.post("/agent/secret", headers=headers(agent, secret))
    assert response.status_code == 200
    assert response.json()["agent_id"] == agent
    return str(response.json()["secret"])


def accepted(stage: Stage, agent: str, secret: str) -> bool:
    status = stage.client.get("/agent/questions", headers=headers(agent, secret)).status_code
    assert status in {200, 401}
    return status == 200


def test_a_rotated_secret_replaces_the_old_one_with_its_first_use(stage: Stage) -> None:
    first = register(stage, agent_id="bot").json()["secret"]
    new_secret = rotate(stage, "bot", first)
    second = rotate(stage, "bot", first)  # the reply with `lost` never came
    assert not accepted(stage, "bot", new_secret)
    assert accepted(stage, "bot", first)
    assert accepted(stage, "bot", second)
    assert not accepted(stage, "bot", first)
    assert accepted(stage, "bot", second)


def test_a_rotated_secret_can_be_used_first_by_concurrent_requests(stage: Stage) -> None:
    first = register(stage, agent_id="bot").json()["secret"]
    second = rotate(stage, "bot", first)
    assert at_once([partial(accepted, stage, "bot", second) for _ in range(8)]) == [True] * 8
    assert not accepted(stage, "bot", first)


def test_the_operator_issues_a_secret_that_replaces_a_lost_one(address: str) -> None:
    with keyplan.connect(address) as connection:
        connection.create_tables(*TABLES)
        agents = Service.from_connection(connection, SystemClock()).agents
        old_secret = agents.register("bot")
        command = [sys.executable, "-m", "keyplan_systems.ask_a_human.agents", "issue"]
        ran = subprocess.run([*command, "bot", "--url", address], capture_output=True, text=True, check=False)
        assert (ran.returncode, ran.stderr) == (0, "")
        assert [agents.authenticate("bot", secret) for secret in (old_secret, ran.stdout.strip())] == [False, True]
        unknown = subprocess.run([*command, "nobody", "--url", address], capture_output=True, text=True, check=False)
    assert (unknown.returncode, unknown.stdout, unknown.stderr) == (1, "", "unknown agent: nobody\n")


def test_the_client_registers_asks_and_rotates(stage: Stage) -> None:
    with AgentClient(stage.url) as client:
        credentials = client.register("bot")
        question = client.submit("Which label is clearer?").question_id
    with AgentClient(stage.url, "bot", credentials.secret) as client:
        rotated = client.rotate_secret()
        assert client.get(question).current_responses == 0
    with AgentClient(stage.url, "bot", credentials.secret) as outdated, pytest.raises(NotAuthenticatedError):
        outdated.get(question)
    with AgentClient(stage.url, "bot", rotated.secret) as client:
        assert client.get(question).question_id == question
    with AgentClient(stage.url) as client:
        client.register()
        with pytest.raises(QuestionNotFoundError):
            client.get(question)


def test_the_asynchronous_client_registers_asks_and_rotates(stage: Stage) -> None:
    async def run() -> None:
        async with AsyncAgentClient(stage.url) as client:
            credentials = await client.register()
            question = (await client.submit("Which label is clearer?")).question_id
            rotated = await client.rotate_secret()
            assert rotated.agent_id == credentials.agent_id
            assert (await client.get(question)).question_id == question

    asyncio.run(run())


@pytest.mark.parametrize("text", ["20", "0/60", "20/0", "x/60"])
def test_a_malformed_limit_of_addresses_is_rejected(text: str) -> None:
    with keyplan.connect(":memory:") as connection, pytest.raises(ValueError, match="KEYPLAN_ASK_A_HUMAN_AGENT_LIMIT"):
        AddressLimits.from_environment(connection, SystemClock(), {"KEYPLAN_ASK_A_HUMAN_AGENT_LIMIT": text})


def test_a_limit_of_addresses_can_be_disabled() -> None:
    with keyplan.connect(":memory:") as connection:
        limits = AddressLimits.from_environment(connection, SystemClock(), {"KEYPLAN_ASK_A_HUMAN_AGENT_LIMIT": "off"})
        for _ in range(30):
            limits.agents.take("10.0.0.1")
