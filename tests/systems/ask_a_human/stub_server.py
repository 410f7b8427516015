"""Small Ask-a-Human server for tests of the client: real HTTP, and answers at times of a test clock."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

EPOCH = 1_770_000_000.0


@dataclass
class Time:
    """Time that advances only by sleeping, and records the length of each sleep."""

    passed: float = 0.0
    sleeps: list[float] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        """Advance the time for a thread."""
        self.sleeps.append(seconds)
        self.passed += seconds

    async def sleep_async(self, seconds: float) -> None:
        """Advance the time for a coroutine."""
        self.sleep(seconds)

    def monotonic(self) -> float:
        """Return the elapsed seconds."""
        return self.passed

    def epoch(self) -> float:
        """Return the seconds since the Unix epoch."""
        return EPOCH + self.passed


@dataclass
class Stub:
    """Behaviour of the server: scripted answers first, then its own."""

    time: Time
    scripted: list[Response] = field(default_factory=list)
    lose_answers: int = 0
    answers_at: tuple[float, ...] = ()
    expires_at: float = 3600.0
    made: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    polls: list[float] = field(default_factory=list)
    agents: set[str] = field(default_factory=set)

    async def create(self, request: Request) -> Response:
        """Create a question, once for each agent and key."""
        agent, body = request.headers["X-Agent-Id"], await request.json()
        self.agents.add(agent)
        self.bodies.append(body)
        if self.scripted:
            return self.scripted.pop(0)
        question = self.made.setdefault((agent, body["idempotency_key"]), {"id": f"q-{len(self.made) + 1}", **body})
        if self.lose_answers:
            self.lose_answers -= 1
            return StreamingResponse(iter([b"{"]), 201, {"Content-Length": "100"})  # truncated, therefore unreadable
        return JSONResponse(
            {
                "question_id": question["id"],
                "status": "OPEN",
                "poll_url": f"/agent/questions/{question['id']}",
                "created_at": "2026-02-02T02:40:00.000Z",
                "expires_at": "2026-02-02T03:40:00.000Z",
            },
            201,
        )

    async def poll(self, question_id: str, request: Request) -> Response:
        """Return the question at the current time of the test's clock."""
        self.agents.add(request.headers["X-Agent-Id"])
        self.polls.append(self.time.passed)
        if self.scripted:
            return self.scripted.pop(0)
        count = len([at for at in self.answers_at if at <= self.time.passed])
        closed = 0 < len(self.answers_at) == count
        expired = self.time.passed >= self.expires_at
        return JSONResponse(
            {
                "question_id": question_id,
                "status": "CLOSED" if closed else "EXPIRED" if expired else "PARTIAL" if count else "OPEN",
                "prompt": "Which label is clearer?",
                "type": "multiple_choice",
                "options": ["Send", "Submit"],
                "required_responses": len(self.answers_at) or 5,
                "current_responses": count,
                "created_at": "2026-02-02T02:40:00.000Z",
                "expires_at": "2026-02-02T03:40:00.000Z",
                **({"closed_at": "2026-02-02T03:00:00.000Z"} if closed else {}),
                "responses": [{"selected_option": 1, "confidence": 4}] * count,
                "summary": {"Send": 0, "Submit": count},
                "added_later": "a client ignores what it does not know",
            }
        )


@dataclass
class Stage:
    """Running server whose behaviour each test replaces."""

    stub: Stub

    def app(self) -> FastAPI:
        """Return the application with the two routes of agents."""
        app = FastAPI()

        async def create(request: Request) -> Response:
            return await self.stub.create(request)

        async def poll(question_id: str, request: Request) -> Response:
            return await self.stub.poll(question_id, request)

        app.add_api_route("/agent/questions", create, methods=["POST"], response_model=None)
        app.add_api_route("/agent/questions/{question_id}", poll, methods=["GET"], response_model=None)
        return app


def refusal(status: int, code: str, **headers: str) -> Response:
    """Return an error in the system's format."""
    body = {"error": {"code": code, "message": "no", "details": {"field": "prompt"}}}
    return JSONResponse(body, status, {name.replace("_", "-"): value for name, value in headers.items()})


@contextmanager
def serving(app: FastAPI) -> Iterator[str]:
    """Serve an application on a free port and yield its URL. Earlier requests wait in the socket's queue."""
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, log_level="critical", lifespan="off", ws="none", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()
