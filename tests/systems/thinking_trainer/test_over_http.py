"""The same over HTTP to the database: API, consumer and sweeper with boto3 in place of the engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from botocore.config import Config
from tests.systems.thinking_trainer.stage import ANSWERS, FERRY, Stage, given, staged

import keyplan
from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan.server.thread import ThreadedServer


@pytest.fixture
def stage(clock: ManualClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "any")
    with Engine.memory(clock=clock, stream_shards=2, ttl_sweep_s=None) as engine, ThreadedServer(engine) as server:
        config = Config(retries={"total_max_attempts": 1}, proxies={})
        client = boto3.client("dynamodb", region_name="us-east-1", endpoint_url=server.url, config=config)
        connection = keyplan.connect(client=client, clock=clock, cursor_key=b"tests")
        with connection, staged(connection, clock, tmp_path / "keys") as stage:
            yield stage


def test_a_whole_session_is_the_same_over_http(stage: Stage, clock: ManualClock) -> None:
    ada = stage.person("ada")
    draft = ada.begun()
    assert ada.put(f"/attempts/{draft}/answers", {"answers": given({"q1": ANSWERS["q1"]})}).status_code == 200
    clock.advance(5)
    assert ada.post(f"/attempts/{draft}/submit", {"answers": given({"q2": ANSWERS["q2"]})}).status_code == 200
    assert ada.post(f"/attempts/{draft}/submit", {"answers": given()}).status_code == 409
    for _ in range(3):
        clock.advance(5)
        ada.submitted()
    assert stage.follow() == 4
    first = ada.get("/attempts", limit=3).json()
    rest = ada.get("/attempts", limit=3, nextToken=first["nextToken"]).json()
    assert len(first["items"]) + len(rest["items"]) == 4
    assert [one["attemptCount"] for one in ada.get("/users/ada/profiles").json()["items"]] == [4, 3, 2, 1]
    assert [one["scenarioId"] for one in ada.get("/scenarios").json()["items"]] == [FERRY]
    silent = ada.begun()
    clock.advance(86_400)
    assert stage.service.abandon_silent() == 1
    assert ada.get(f"/attempts/{silent}").json()["status"] == "abandoned"
