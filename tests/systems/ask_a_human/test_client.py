"""The agent client over real HTTP, for threads and for event loops: the same tests drive both."""

from __future__ import annotations

import asyncio
import random
import socket
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import formatdate
from typing import Any

import pytest
from fastapi.responses import HTMLResponse, Response
from hypothesis import given
from hypothesis import strategies as st
from tests.systems.ask_a_human.stub_server import EPOCH, Stage, Stub, Time, refusal, serving

from keyplan_systems.ask_a_human import client
from keyplan_systems.ask_a_human import client_errors as errors
from keyplan_systems.ask_a_human.client import AgentClient, AsyncAgentClient
from keyplan_systems.ask_a_human.client_flow import Polling, Retries
from keyplan_systems.ask_a_human.domain.questions import Status
from keyplan_systems.ask_a_human.domain.requests import QuestionType
from keyplan_systems.ask_a_human.wire import AgentQuestion, CreatedQuestion

PROMPT = "Which label is clearer?"
STEADY = Polling(jitter=0.0)


class Door:
    """Common interface of the two clients; each call opens and closes its own client."""

    def __init__(self, url: str, time: Time, *, threads: bool) -> None:
        self._url, self._time, self._threads = url, time, threads

    def submit(self, prompt: str = PROMPT, **fields: Any) -> CreatedQuestion:
        question = self._call("submit", prompt, **fields)
        assert isinstance(question, CreatedQuestion)
        return question

    def get(self, question_id: str) -> AgentQuestion:
        question = self._call("get", question_id)
        assert isinstance(question, AgentQuestion)
        return question

    def wait(self, **limits: Any) -> AgentQuestion:
        question = self._call("wait_for_answers", "q-1", **limits)
        assert isinstance(question, AgentQuestion)
        return question

    def _call(self, method: str, *arguments: Any, **named: Any) -> object:
        time = self._time
        habits: dict[str, Any] = {"polling": STEADY, "rng": random.Random(5)}
        if self._threads:
            with AgentClient(
                self._url, "agent-7", sleep=time.sleep, monotonic=time.monotonic, epoch=time.epoch, **habits
            ) as client:
                return getattr(client, method)(*arguments, **named)

        async def run() -> object:
            async with AsyncAgentClient(
                self._url, "agent-7", sleep=time.sleep_async, monotonic=time.monotonic, epoch=time.epoch, **habits
            ) as client:
                return await getattr(client, method)(*arguments, **named)

        return asyncio.run(run())


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[str, Stage]]:
    stage = Stage(Stub(Time()))
    with serving(stage.app()) as url:
        yield url, stage


@pytest.fixture
def stub(server: tuple[str, Stage], monkeypatch: pytest.MonkeyPatch) -> Stub:
    """Return the server's behaviour; clients wait for it however busy the machine is."""
    monkeypatch.setattr(client, "TIMEOUT_S", 240.0)
    server[1].stub = Stub(Time())
    return server[1].stub


@pytest.fixture(params=["threads", "event loop"])
def door(request: pytest.FixtureRequest, server: tuple[str, Stage], stub: Stub) -> Door:
    return Door(server[0], stub.time, threads=request.param == "threads")


def test_a_submit_sends_the_requested_fields_and_parses_the_created_question(door: Door, stub: Stub) -> None:
    question = door.submit(
        type=QuestionType.MULTIPLE_CHOICE,
        options=("Send", "Submit"),
        audience=["product"],
        min_responses=3,
        timeout_seconds=600,
        idempotency_key="mine",
    )
    assert stub.agents == {"agent-7"}
    assert stub.bodies == [
        {
            "prompt": PROMPT,
            "type": "multiple_choice",
            "options": ["Send", "Submit"],
            "audience": ["product"],
            "min_responses": 3,
            "timeout_seconds": 600,
            "idempotency_key": "mine",
        }
    ]
    assert (question.question_id, question.status, question.poll_url) == ("q-1", Status.OPEN, "/agent/questions/q-1")
    assert question.expires_at == datetime(2026, 2, 2, 3, 40, tzinfo=UTC)


def test_omitted_fields_are_left_to_the_server_except_the_key(door: Door, stub: Stub) -> None:
    door.submit()
    assert stub.bodies[0].keys() == {"prompt", "type", "idempotency_key"}
    assert len(stub.bodies[0]["idempotency_key"]) == 36


def test_a_retry_after_a_lost_response_creates_no_second_question(door: Door, stub: Stub) -> None:
    stub.lose_answers = 2
    assert door.submit().question_id == "q-1"
    assert len(stub.bodies) == 3
    assert len({body["idempotency_key"] for body in stub.bodies}) == 1
    assert len(stub.made) == 1


def test_two_submits_create_two_questions(door: Door, stub: Stub) -> None:
    assert door.submit(idempotency_key="a").question_id != door.submit(idempotency_key="b").question_id
    assert len(stub.made) == 2


def test_an_unknown_field_raises_type_error(door: Door, stub: Stub) -> None:
    with pytest.raises(TypeError, match="unknown question fields: min_response"):
        door.submit(min_response=3)
    assert stub.bodies == []


def test_a_failing_server_is_retried_with_growing_pauses(door: Door, stub: Stub) -> None:
    stub.scripted = [refusal(503, "SERVER_ERROR"), refusal(500, "SERVER_ERROR"), HTMLResponse("<h1>502</h1>", 502)]
    assert door.submit().question_id == "q-1"
    assert all(least <= pause <= least * 1.1 for least, pause in zip((1, 2, 4), stub.time.sleeps, strict=True))


def test_a_permanently_failing_server_raises_after_five_attempts(door: Door, stub: Stub) -> None:
    stub.scripted = [refusal(503, "SERVER_ERROR") for _ in range(9)]
    with pytest.raises(errors.ServerFailedError) as raised:
        door.submit()
    assert len(stub.bodies) == 5
    assert (raised.value.status, raised.value.code) == (503, "SERVER_ERROR")


@pytest.mark.parametrize(
    ("header", "least"),
    [
        ("7", 7.0),
        (formatdate(EPOCH + 40, usegmt=True), 40.0),
        (formatdate(EPOCH - 40, usegmt=True), 1.0),
        ("?", 1.0),
        ("\u00b2", 1.0),
        ("Mon, 1 Jan 99999999999 00:00:00 GMT", 1.0),
    ],
)
def test_a_retry_after_header_is_respected(header: str, least: float, door: Door, stub: Stub) -> None:
    stub.scripted = [refusal(429, "RATE_LIMITED", Retry_After=header)]
    assert door.submit().question_id == "q-1"
    assert len(stub.time.sleeps) == 1
    assert least <= stub.time.sleeps[0] <= least * 1.1


def test_a_retry_time_that_is_too_long_is_raised_immediately(door: Door, stub: Stub) -> None:
    stub.scripted = [refusal(429, "RATE_LIMITED", Retry_After="1800")]
    with pytest.raises(errors.RateLimitedError) as raised:
        door.submit()
    assert raised.value.retry_after_s == 1800
    assert stub.time.sleeps == []


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, "VALIDATION_ERROR", errors.ValidationFailedError),
        (401, "UNAUTHORIZED", errors.NotAuthenticatedError),
        (403, "AGENT_QUOTA_EXCEEDED", errors.AgentQuotaError),
        (404, "QUESTION_NOT_FOUND", errors.QuestionNotFoundError),
        (409, "AGENT_ID_TAKEN", errors.AgentIdTakenError),
        (422, "IDEMPOTENCY_KEY_REUSED", errors.KeyReusedError),
        (418, "SOMETHING_NEW", errors.ApiError),
        (501, "SOMETHING_NEW", errors.ServerFailedError),
    ],
)
def test_each_rejection_has_its_own_error_and_is_not_retried(
    status: int, code: str, kind: type[errors.ApiError], door: Door, stub: Stub
) -> None:
    stub.scripted = [refusal(status, code)]
    with pytest.raises(errors.ApiError) as raised:
        door.submit()
    assert type(raised.value) is kind
    assert (raised.value.code, raised.value.status, raised.value.message) == (code, status, "no")
    assert raised.value.details == {"field": "prompt"}
    assert len(stub.bodies) == 1
    assert stub.time.sleeps == []


@pytest.mark.parametrize("response", [HTMLResponse("<h1>hello</h1>"), HTMLResponse("<h1>hello</h1>", 404)])
def test_an_unexpected_response_raises_an_error_with_its_text(response: Response, door: Door, stub: Stub) -> None:
    stub.scripted = [response]
    with pytest.raises(errors.UnexpectedAnswerError, match="hello"):
        door.get("q-1")


@pytest.mark.parametrize("threads", [True, False])
def test_an_unreachable_server_raises_after_the_retries(threads: bool) -> None:
    time = Time()
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))  # a port that nothing listens on, and that no other process can bind
        door = Door(f"http://127.0.0.1:{listener.getsockname()[1]}", time, threads=threads)
        with pytest.raises(errors.UnreachableError, match="POST /agent/questions"):
            door.submit()
    assert all(least <= pause <= least * 1.1 for least, pause in zip((1, 2, 4, 8), time.sleeps, strict=True))


def test_a_question_is_read_with_its_answers_and_tally(door: Door, stub: Stub) -> None:
    stub.answers_at = (0.0, 10.0)
    item = door.get("q-1")
    assert (item.status, item.current_responses, item.required_responses) == (Status.PARTIAL, 1, 2)
    assert (item.responses[0].selected_option, item.responses[0].confidence) == (1, 4)
    assert item.summary == {"Send": 0, "Submit": 1}
    assert not item.finished


def test_waiting_polls_after_30_seconds_growing_by_half_to_five_minutes(door: Door, stub: Stub) -> None:
    stub.answers_at = (1.0, 1500.0)
    question = door.wait(timeout_s=3600)
    assert (question.status, question.current_responses, question.finished) == (Status.CLOSED, 2, True)
    assert stub.time.sleeps == [30, 45, 67.5, 101.25, 151.875, 227.8125, 300, 300, 300]


def test_waiting_ends_with_the_requested_number_of_answers(door: Door, stub: Stub) -> None:
    stub.answers_at = (20.0, 70.0, 90.0, 5000.0)
    question = door.wait(timeout_s=3600, min_answers=2)
    assert (question.status, question.current_responses) == (Status.PARTIAL, 2)
    assert stub.polls == [0, 30, 75]


def test_waiting_ends_when_the_question_expires(door: Door, stub: Stub) -> None:
    stub.expires_at = 100.0
    question = door.wait(timeout_s=3600)
    assert (question.status, question.finished) == (Status.EXPIRED, True)
    assert stub.polls == [0, 30, 75, 142.5]


def test_waiting_polls_a_last_time_at_the_deadline_and_returns_the_current_answers(door: Door, stub: Stub) -> None:
    stub.answers_at = (10.0, 99.0, 5000.0)
    question = door.wait(timeout_s=100)
    assert (question.status, question.current_responses, question.finished) == (Status.PARTIAL, 2, False)
    assert stub.polls == [0, 30, 75, 100]


def test_waiting_for_zero_seconds_polls_once(door: Door, stub: Stub) -> None:
    assert door.wait(timeout_s=0).status is Status.OPEN
    assert stub.polls == [0]


def test_waiting_continues_after_temporary_errors(door: Door, stub: Stub) -> None:
    stub.answers_at = (40.0,)
    stub.scripted = [refusal(503, "SERVER_ERROR"), refusal(429, "RATE_LIMITED", Retry_After="20")]
    assert door.wait(timeout_s=600).status is Status.CLOSED


def test_a_retry_time_does_not_exceed_the_wait(door: Door, stub: Stub) -> None:
    stub.answers_at = (10.0, 5000.0)
    stub.scripted = [refusal(429, "RATE_LIMITED", Retry_After="95")]
    assert door.wait(timeout_s=100).current_responses == 1
    assert stub.polls[1] == pytest.approx(97.5, abs=2.5)
    assert stub.polls[-1] == 100
    stub.scripted = [refusal(429, "RATE_LIMITED", Retry_After="110")]
    with pytest.raises(errors.RateLimitedError) as raised:
        door.wait(timeout_s=100)
    assert raised.value.retry_after_s == 110
    assert stub.time.passed == 100


def test_a_temporary_error_at_the_deadline_is_retried(door: Door, stub: Stub) -> None:
    stub.scripted = [refusal(503, "SERVER_ERROR", Retry_After="1")]
    assert door.wait(timeout_s=0).status is Status.OPEN
    assert stub.time.passed < 2


def test_a_missing_question_ends_the_wait_with_its_error(door: Door, stub: Stub) -> None:
    stub.scripted = [refusal(404, "QUESTION_NOT_FOUND")]
    with pytest.raises(errors.QuestionNotFoundError):
        door.wait(timeout_s=600)


@given(st.integers(0, 10_000), st.integers())
def test_pauses_between_polls_vary_by_ten_percent(number: int, seed: int) -> None:
    steady = STEADY.pause(number, random.Random(0))
    assert steady == min(300.0, 30.0 * 1.5 ** min(number, 64))
    assert 0.9 * steady <= Polling().pause(number, random.Random(seed)) <= 1.1 * steady


def test_keys_of_different_clients_differ(server: tuple[str, Stage], stub: Stub) -> None:
    for _ in range(3):
        with AgentClient(server[0], "agent") as client:
            client.submit(PROMPT)
            client.submit(PROMPT)
    assert len({body["idempotency_key"] for body in stub.bodies}) == 6


def test_zero_attempts_raise_value_error() -> None:
    client = AgentClient("http://unused.example", "agent", retries=Retries(attempts=0))
    with client, pytest.raises(ValueError, match="at least 1, not 0"):
        client.get("q-1")
