"""Assembled system: its workers run, its sample can be loaded twice."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from tests.systems.served_engine import ServedEngine, connected
from tests.systems.thinking_trainer.builders import completed
from tests.systems.thinking_trainer.evaluation.submissions import good_answer
from tests.systems.thinking_trainer.evaluation.test_bedrock import MODEL, serving
from tests.systems.thinking_trainer.stage import FERRY, answer_list, with_tables

from keyplan import Inserted
from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan_systems.thinking_trainer import app, design
from keyplan_systems.thinking_trainer.domain import attempts
from keyplan_systems.thinking_trainer.evaluation.rubric_evaluator import MODEL_ID as RUBRIC
from keyplan_systems.thinking_trainer.service import to_stored
from keyplan_systems.web.development import development_key, issue_development_token
from keyplan_systems.web.server import Running
from keyplan_systems.web.system import Resources
from keyplan_systems.web.tokens import TokenRules, TokenVerifier, development_keys

NOON_S = 1_772_366_400.0


def test_the_api_workers_and_sample_work_together(
    engine: Engine | ServedEngine, clock: ManualClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(app.MODEL, raising=False)
    key = development_key(tmp_path / "keys")
    with connected(engine, clock) as db:
        db.create_tables(design.attempts, design.profiles, design.scenarios)
        verifier = TokenVerifier(TokenRules("trainer"), development_keys(key), clock)
        built = app.SYSTEM.build(Resources(db, tmp_path, clock, verifier))
        built.load_sample()
        built.load_sample()
        db.run(design.start_attempt(to_stored(completed(1))))
        following, silence = built.workers
        assert (following.name, following.run_once(), following.run_once()) == ("trainer profiles", 1, 0)
        silent = attempts.start(completed(2).attempt_id, "bob", "late-bus", completed(1).started_at)
        db.run(design.start_attempt(to_stored(silent)))
        clock.advance(2 * 86_400)
        assert (silence.name, silence.run_once(), silence.run_once()) == ("trainer silence", 1, 0)
        token = issue_development_token(key, completed(1).user_id, audience="trainer", clock=clock)
        with Running(built.app) as server:
            caller = httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {token}"}, trust_env=False)
            with caller:
                assert len(caller.get("/scenarios").json()["items"]) == 20
                profile = caller.get(f"/users/{completed(1).user_id}/profile")
                assert profile.json()["attemptCount"] == 1
                assert caller.get("/health").status_code == 200
        built.close()


def test_the_sample_contains_scenarios_and_no_users(
    engine: Engine | ServedEngine, clock: ManualClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(app.MODEL, raising=False)
    verifier = TokenVerifier(TokenRules("trainer"), development_keys(development_key(tmp_path)), clock)
    with connected(engine, clock) as db:
        db.create_tables(design.attempts, design.profiles, design.scenarios)
        built = app.SYSTEM.build(Resources(db, tmp_path, clock, verifier))
        built.load_sample()
        counts = {
            name: engine.call("Scan", {"TableName": name})["Count"] for name in ("Attempts", "Profiles", "Scenarios")
        }
        assert counts == {"Attempts": 0, "Profiles": 0, "Scenarios": 20}
        built.close()


@pytest.mark.parametrize("named", [None, "", MODEL])
def test_the_configured_model_grades_and_the_fixed_rubric_by_default(
    engine: Engine | ServedEngine,
    clock: ManualClock,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    named: str | None,
) -> None:
    """The whole way: settings of the process, a submission over HTTP, the model over HTTP."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "example")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    for name in (app.MODEL, app.REGION):
        monkeypatch.delenv(name, raising=False)
        if named is not None:
            monkeypatch.setenv(name, named and {app.MODEL: MODEL, app.REGION: "eu-central-1"}[name])
    key = development_key(tmp_path / "keys")
    verifier = TokenVerifier(TokenRules("trainer"), development_keys(key), clock)
    token = issue_development_token(key, "ada", audience="trainer", clock=clock)
    with connected(engine, clock) as db, serving((200, good_answer(4))) as model:
        monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", model.url)
        with_tables(db)
        built = app.SYSTEM.build(Resources(db, tmp_path, clock, verifier))
        with (
            Running(built.app) as server,
            httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {token}"}, trust_env=False) as caller,
        ):
            response = caller.post("/attempts", json={"scenarioId": FERRY, "answers": answer_list()}, timeout=240)
        built.close()
    assert response.status_code == 201, response.text
    graded = response.json()["evaluation"]
    assert graded["modelId"] == (MODEL if named else RUBRIC)
    assert (graded["overallScore"] == 100) is bool(named)
    assert model.regions == (["eu-central-1"] if named else [])


def test_a_consumer_without_its_handler_raises_an_error() -> None:
    change = Inserted(new=to_stored(completed(1)), sequence_number="1", event_id="e", at_s=NOON_S)
    with pytest.raises(NotImplementedError, match="no handler is registered"):
        design.follow(change)


def test_a_users_graded_attempts_are_limited_across_replicas_that_grade_concurrently(
    engine: Engine | ServedEngine, clock: ManualClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(app.MODEL, raising=False)
    monkeypatch.setenv(app.GRADING_VARIABLE, "7/3600")
    key = development_key(tmp_path / "keys")
    verifier = TokenVerifier(TokenRules("trainer"), development_keys(key), clock)
    body = {"scenarioId": FERRY, "answers": answer_list()}
    with connected(engine, clock) as connection, connected(engine, clock) as other, ExitStack() as stack:
        with_tables(connection)
        urls = []
        for number, db in enumerate((connection, other)):
            (folder := tmp_path / str(number)).mkdir()
            built = app.SYSTEM.build(Resources(db, folder, clock, verifier))
            stack.callback(built.close)
            urls.append(stack.enter_context(Running(built.app)).url)

        def submit(number: int, subject: str, body: object = body) -> httpx.Response:
            token = issue_development_token(key, subject, audience="trainer", clock=clock)
            headers = {"Authorization": f"Bearer {token}"}
            return httpx.post(f"{urls[number % 2]}/attempts", json=body, headers=headers, timeout=60, trust_env=False)

        assert submit(0, "ada", {"scenarioId": FERRY}).status_code == 400  # nothing was graded: it does not count
        with ThreadPoolExecutor(6) as pool:
            responses = list(pool.map(lambda number: submit(number, "ada"), range(12)))
        assert sorted(response.status_code for response in responses) == [201] * 7 + [429] * 5
        refused = next(response for response in responses if response.status_code == 429)
        assert int(refused.headers["Retry-After"]) == 3_600 - clock.now() % 3_600
        assert "graded attempts" in refused.json()["error"]["message"]
        assert submit(0, "bea").status_code == 201
        clock.advance(int(refused.headers["Retry-After"]))
        assert submit(1, "ada").status_code == 201
