"""Blocking and asynchronous clients for agents, which submit questions and wait for answers.

    with AgentClient("https://ask.example") as client:
        credentials = client.register("my-agent")  # once: store credentials.secret, it is shown only once

    with AgentClient("https://ask.example", "my-agent", credentials.secret) as client:
        asked = client.submit("Which label is clearer?", type="multiple_choice", options=["Send", "Submit"])
        question = client.wait_for_answers(asked.question_id, timeout_s=900, min_answers=3)

Every submission has an idempotency key, so that a retry after a lost response finds the existing question. The client
generates the key unless you pass one. Pass your own key if a submission must also be safe across restarts of the agent.
A key is valid for 24 hours.
"""

from __future__ import annotations

import asyncio
import random
import time
import urllib.parse
import uuid
from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType
from typing import Literal, Self, TypedDict, Unpack

import httpx

from keyplan_systems.ask_a_human.client_flow import (
    ClientSettings,
    CurrentTime,
    Flow,
    HttpRequest,
    HttpResponse,
    Polling,
    PollResult,
    RequestFailure,
    Result,
    Retries,
    WaitRequest,
)
from keyplan_systems.ask_a_human.client_flow import request as request_flow
from keyplan_systems.ask_a_human.client_flow import wait as wait_flow
from keyplan_systems.ask_a_human.domain.requests import Audience, QuestionType
from keyplan_systems.ask_a_human.wire import AgentCredentials, AgentQuestion, CreatedQuestion

TIMEOUT_S = 30.0


class SubmitOptions(TypedDict, total=False):
    """The optional fields of a question. The server uses its defaults for omitted fields."""

    type: QuestionType | Literal["text", "multiple_choice"]
    options: Sequence[str]
    audience: Sequence[Audience | str]
    min_responses: int
    timeout_seconds: int
    idempotency_key: str


class _Flows:
    """Logic that both clients share. Each method returns a generator (a flow; see `client_flow`) that requests I/O from
    the client.
    """

    def __init__(self, agent_id: str | None, secret: str | None, settings: ClientSettings) -> None:
        self._headers = {} if agent_id is None else {"X-Agent-Id": agent_id}
        if secret is not None:
            self._headers["Authorization"] = f"Bearer {secret}"
        self._settings = settings

    def register(self, agent_id: str | None) -> Flow[AgentCredentials]:
        body = {} if agent_id is None else {"agent_id": agent_id}
        return (yield from self._credentials(HttpRequest("POST", "/agent/register", {}, body)))

    def rotate_secret(self) -> Flow[AgentCredentials]:
        return (yield from self._credentials(HttpRequest("POST", "/agent/secret", self._headers)))

    def _credentials(self, request: HttpRequest) -> Flow[AgentCredentials]:
        """Send a request that returns new credentials, and use these credentials for later requests."""
        credentials = yield from request_flow(request, AgentCredentials, self._settings)
        self._headers = {"X-Agent-Id": credentials.agent_id, "Authorization": f"Bearer {credentials.secret}"}
        return credentials

    def submit(self, prompt: str, fields: SubmitOptions) -> Flow[CreatedQuestion]:
        if unknown := fields.keys() - SubmitOptions.__annotations__.keys():
            raise TypeError(f"unknown question fields: {', '.join(sorted(unknown))}")
        key = str(uuid.UUID(int=self._settings.rng.getrandbits(128), version=4))
        body: dict[str, object] = {"type": "text", "idempotency_key": key, **fields, "prompt": prompt}
        request = HttpRequest("POST", "/agent/questions", self._headers, body)
        return request_flow(request, CreatedQuestion, self._settings)

    def get(self, question_id: str) -> Flow[AgentQuestion]:
        return request_flow(self._poll(question_id), AgentQuestion, self._settings)

    def wait(self, question_id: str, timeout_s: float, min_answers: int | None) -> Flow[AgentQuestion]:
        return wait_flow(self._poll(question_id), min_answers, timeout_s, self._settings)

    def _poll(self, question_id: str) -> HttpRequest:
        return HttpRequest("GET", f"/agent/questions/{urllib.parse.quote(question_id, safe='')}", self._headers)


def _new_rng() -> random.Random:
    """Return a random number generator with a new random seed, so that agents that start at the same time generate
    different idempotency keys.
    """
    return random.Random(uuid.uuid4().int)  # noqa: S311 - no secrets


async def _ignore(_question: AgentQuestion) -> None:
    """Do nothing. This is the default for the parameter `on_poll`."""


class AgentClient:
    """Blocking client for agents. The parameters `sleep`, `monotonic`, `epoch` and `rng` replace the clock and the
    random number generator in tests.
    """

    def __init__(
        self,
        base_url: str,
        agent_id: str | None = None,
        secret: str | None = None,
        *,
        retries: Retries = Retries(),  # noqa: B008 - frozen
        polling: Polling = Polling(),  # noqa: B008 - frozen
        rng: random.Random | None = None,
        sleep: Callable[[float], None] = time.sleep,
        monotonic: Callable[[], float] = time.monotonic,
        epoch: Callable[[], float] = time.time,
    ) -> None:
        self._flows = _Flows(agent_id, secret, ClientSettings(retries, polling, rng or _new_rng()))
        self._http = httpx.Client(base_url=base_url, timeout=TIMEOUT_S)
        self._sleep, self._monotonic, self._epoch = sleep, monotonic, epoch

    def register(self, agent_id: str | None = None) -> AgentCredentials:
        """Register an agent and use its credentials for later requests. The server generates an ID if none is given.

        Raises AgentIdTakenError if the ID is already registered. This also happens if the response to the first attempt
        was lost and the client retried. In that case, choose another ID.
        """
        return self._run(self._flows.register(agent_id))

    def rotate_secret(self) -> AgentCredentials:
        """Request a new secret for the agent and use it for later requests.

        The server accepts the old secret until the new secret is first used.
        """
        return self._run(self._flows.rotate_secret())

    def submit(self, prompt: str, **fields: Unpack[SubmitOptions]) -> CreatedQuestion:
        """Submit a question. `fields` contains the question's optional fields. Raises AskError if the server rejects
        the question or cannot be reached.
        """
        return self._run(self._flows.submit(prompt, fields))

    def get(self, question_id: str) -> AgentQuestion:
        """Return the current state of a question. Raises QuestionNotFoundError if it does not exist."""
        return self._run(self._flows.get(question_id))

    def wait_for_answers(
        self,
        question_id: str,
        *,
        timeout_s: float,
        min_answers: int | None = None,
        on_poll: Callable[[AgentQuestion], None] = lambda _question: None,
    ) -> AgentQuestion:
        """Wait until a question is closed or expired, it has at least `min_answers` answers, or `timeout_s` seconds
        have passed. Return the question.

        If `min_answers` is None, the number of answers does not end the wait. To find out why the wait ended, check
        `finished` and `current_responses` of the returned question. `on_poll` is called with the question after each
        poll. The last poll is sent at the end of the timeout. Raises AskError if a request fails permanently, or if the
        server requests a pause longer than the remaining time.
        """
        return self._run(self._flows.wait(question_id, timeout_s, min_answers), on_poll)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self, flow: Flow[Result], on_poll: Callable[[AgentQuestion], None] = lambda _question: None) -> Result:
        step = next(flow)
        try:
            while True:
                match step:
                    case PollResult():
                        on_poll(step.question)
                        step = flow.send(None)
                    case WaitRequest():
                        step = flow.send(self._wait(step))
                    case HttpRequest():
                        step = flow.send(self._send(step))
        except StopIteration as stop:
            result: Result = stop.value
            return result

    def _wait(self, request: WaitRequest) -> CurrentTime:
        if request.seconds > 0:
            self._sleep(request.seconds)
        return CurrentTime(self._monotonic(), self._epoch())

    def _send(self, request: HttpRequest) -> HttpResponse | RequestFailure:
        try:
            response = self._http.request(
                request.method, request.path, headers=dict(request.headers), json=request.json
            )
        except httpx.RequestError as error:
            return RequestFailure(f"{request.method} {request.path}: {error!r}")
        return HttpResponse(response.status_code, response.headers, response.content)


class AsyncAgentClient:
    """Asynchronous client for agents, with the methods of `AgentClient` as coroutines."""

    def __init__(
        self,
        base_url: str,
        agent_id: str | None = None,
        secret: str | None = None,
        *,
        retries: Retries = Retries(),  # noqa: B008 - frozen
        polling: Polling = Polling(),  # noqa: B008 - frozen
        rng: random.Random | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        monotonic: Callable[[], float] = time.monotonic,
        epoch: Callable[[], float] = time.time,
    ) -> None:
        self._flows = _Flows(agent_id, secret, ClientSettings(retries, polling, rng or _new_rng()))
        self._http = httpx.AsyncClient(base_url=base_url, timeout=TIMEOUT_S)
        self._sleep, self._monotonic, self._epoch = sleep, monotonic, epoch

    async def register(self, agent_id: str | None = None) -> AgentCredentials:
        """Register an agent. See `AgentClient.register`."""
        return await self._run(self._flows.register(agent_id))

    async def rotate_secret(self) -> AgentCredentials:
        """Request a new secret for the agent. See `AgentClient.rotate_secret`."""
        return await self._run(self._flows.rotate_secret())

    async def submit(self, prompt: str, **fields: Unpack[SubmitOptions]) -> CreatedQuestion:
        """Submit a question. `fields` contains the question's optional fields. Raises AskError if the server rejects
        the question or cannot be reached.
        """
        return await self._run(self._flows.submit(prompt, fields))

    async def get(self, question_id: str) -> AgentQuestion:
        """Return the current state of a question. Raises QuestionNotFoundError if it does not exist."""
        return await self._run(self._flows.get(question_id))

    async def wait_for_answers(
        self,
        question_id: str,
        *,
        timeout_s: float,
        min_answers: int | None = None,
        on_poll: Callable[[AgentQuestion], Awaitable[None]] = _ignore,
    ) -> AgentQuestion:
        """Wait for answers to a question. See `AgentClient.wait_for_answers`."""
        return await self._run(self._flows.wait(question_id, timeout_s, min_answers), on_poll)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _run(self, flow: Flow[Result], on_poll: Callable[[AgentQuestion], Awaitable[None]] = _ignore) -> Result:
        step = next(flow)
        try:
            while True:
                match step:
                    case PollResult():
                        await on_poll(step.question)
                        step = flow.send(None)
                    case WaitRequest():
                        step = flow.send(await self._wait(step))
                    case HttpRequest():
                        step = flow.send(await self._send(step))
        except StopIteration as stop:
            result: Result = stop.value
            return result

    async def _wait(self, request: WaitRequest) -> CurrentTime:
        if request.seconds > 0:
            await self._sleep(request.seconds)
        return CurrentTime(self._monotonic(), self._epoch())

    async def _send(self, request: HttpRequest) -> HttpResponse | RequestFailure:
        try:
            response = await self._http.request(
                request.method, request.path, headers=dict(request.headers), json=request.json
            )
        except httpx.RequestError as error:
            return RequestFailure(f"{request.method} {request.path}: {error!r}")
        return HttpResponse(response.status_code, response.headers, response.content)
