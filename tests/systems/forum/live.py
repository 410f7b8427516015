"""Whole forum on a real socket: REST callers, and websocket clients that record their messages."""

from __future__ import annotations

import asyncio
import itertools
import json
import shutil
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from starlette.applications import Starlette
from tests.systems.served_engine import ServedEngine, connected
from websockets.asyncio.client import ClientConnection
from websockets.asyncio.client import connect as websocket_connect

from keyplan.client.connection import Connection
from keyplan.clock import SystemClock
from keyplan.engine.engine import Engine
from keyplan.streams import JsonLinesFolder, Runner, checkpoint_table
from keyplan_systems.forum import design, sample
from keyplan_systems.forum.api import application
from keyplan_systems.forum.domain import ThreadKey
from keyplan_systems.forum.entities import Place, forum
from keyplan_systems.forum.feed import Feed
from keyplan_systems.forum.hub import Hub, Limits
from keyplan_systems.forum.relational.session import Database
from keyplan_systems.forum.service import Service
from keyplan_systems.forum.sockets import Sockets
from keyplan_systems.forum.tokens import ThreadRights
from keyplan_systems.web.development import development_key, issue_development_token
from keyplan_systems.web.server import Running
from keyplan_systems.web.tokens import TokenRules, TokenVerifier, development_keys

AUDIENCE = "keyplan"
ANN, BEN, TEACHER, TUTOR = sample.ANN, sample.BEN, sample.TEACHER, sample.TUTOR
PATIENCE_S = 120
"""Timeout of a client, generous for busy machines."""
_numbers = itertools.count()


class MovedClock(SystemClock):
    """Time of the machine, plus an offset of the test."""

    def __init__(self) -> None:
        super().__init__()
        self.added_s = 0.0

    def now(self) -> float:
        return super().now() + self.added_s

    def monotonic(self) -> float:
        return super().monotonic() + self.added_s

    def advance(self, seconds: float) -> None:
        self.added_s += seconds


@dataclass
class Live:
    """Process of the forum as its clients see it, with its address."""

    connection: Connection
    clock: MovedClock
    service: Service
    folder: Path
    url: str = ""
    clients: list[httpx.Client] = field(default_factory=list)

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Send a request to the tables directly."""
        return self.connection.transport.call(operation, request)

    def identity(self, user_id: str, *roles: str) -> str:
        """Return the user's identity token."""
        key = development_key(self.folder / "keys")
        return issue_development_token(key, user_id, audience=AUDIENCE, roles=roles, clock=self.clock, lifetime_s=10**7)

    def client(self, token: str) -> httpx.Client:
        """Return a client with this token."""
        headers = {"Authorization": f"Bearer {token}"}
        client = httpx.Client(base_url=self.url, headers=headers, timeout=60, trust_env=False)
        self.clients.append(client)
        return client

    def person(self, user_id: str, *roles: str) -> httpx.Client:
        """Return a client with an identity token."""
        return self.client(self.identity(user_id, *roles))

    def token(self, user_id: str, item: str = sample.LOOPS, participant: str = ANN) -> str:
        """Return a thread token from the API."""
        response = self.person(user_id).get(f"/items/{item}/participant/{participant}/thread")
        assert response.status_code == 200, response.text
        return str(response.json()["token"])

    def writer(self, user_id: str = ANN, item: str = sample.LOOPS, participant: str = ANN) -> Writer:
        """Return a writer in a thread, with a token from the API."""
        return Writer(self.client(self.token(user_id, item, participant)), f"/thread/{item}/{participant}")

    def rights(self, user_id: str, place: Place) -> str:
        """Return a thread token signed without SQL: for threads that exist only in the log."""
        key = ThreadKey(place.item_id, place.participant_id)
        return self.service.issuer.issue(ThreadRights(key, user_id, is_mine=False, can_watch=True, can_write=True))

    def notifier(self) -> Runner:
        """Return the runner that turns messages into notifications."""
        return Runner(
            self.connection,
            forum,
            [design.notify_followers],
            destinations={"unnotified": JsonLinesFolder(self.folder / "failures")},
            handlers={design.notify_followers: self.service.notify},
            clock=self.clock,
        )

    @asynccontextmanager
    async def socket(self, user_id: str) -> AsyncIterator[Socket]:
        """Open a websocket of a user."""
        async with self.socket_at(f"?token={self.identity(user_id)}") as socket:
            yield socket

    @asynccontextmanager
    async def socket_at(self, query: str) -> AsyncIterator[Socket]:
        """Open a websocket by its query string."""
        address = f"{self.url.replace('http', 'ws')}/ws{query}"
        async with websocket_connect(address, proxy=None, open_timeout=None) as connection:
            yield Socket(connection)


@dataclass
class Writer:
    """User with permission to write into a thread."""

    client: httpx.Client
    path: str

    def post(self, text: str, message_id: str | None = None) -> httpx.Response:
        """Send a message; a new one unless an ID is given."""
        body = {"text": text, "uuid": message_id or str(uuid.uuid4())}
        return self.client.post(f"{self.path}/messages", json=body)

    def write(self, text: str) -> dict[str, Any]:
        """Send a message and return it as stored."""
        response = self.post(text)
        assert response.status_code == 201, response.text
        result: dict[str, Any] = response.json()
        return result

    def get(self, name: str, **query: Any) -> dict[str, Any]:
        """Send a GET request."""
        response = self.client.get(f"{self.path}/{name}", params=query)
        assert response.status_code == 200, response.text
        body: dict[str, Any] = response.json()
        return body


@dataclass
class Socket:
    """Websocket of a client."""

    connection: ClientConnection

    async def notify(self, action: str, **fields: Any) -> None:
        await self.connection.send(json.dumps({"action": action, **fields}))

    async def receive(self) -> dict[str, Any]:
        """Return the next message; fail after a timeout."""
        async with asyncio.timeout(PATIENCE_S):
            message: dict[str, Any] = json.loads(await self.connection.recv())
        return message

    async def ask(self, action: str, **fields: Any) -> dict[str, Any]:
        await self.notify(action, **fields)
        return await self.receive()

    async def watch(self, token: str, **fields: Any) -> dict[str, Any]:
        """Subscribe and check the success."""
        response = await self.ask("forum.subscribe", token=token, **fields)
        assert response["action"] == "forum.subscribed", response
        return response

    async def check_no_message(self) -> None:
        """Check that no message is pending: the answer to a heartbeat is the next message."""
        assert await self.ask("heartbeat") == {"action": "heartbeat"}

    async def wait_closed(self) -> tuple[int, str]:
        """Return the code and the reason with which the server closes."""
        async with asyncio.timeout(PATIENCE_S):
            await self.connection.wait_closed()
        return self.connection.close_code or 0, self.connection.close_reason or ""


@contextmanager
def running(
    engine: Engine | ServedEngine,
    database: Database,
    clock: MovedClock,
    folder: Path,
    *,
    key: Ed25519PrivateKey,
    limits: Limits | None = None,
) -> Iterator[Live]:
    """Run one process of the forum on these databases."""
    with connected(engine, clock) as connection:
        connection.create_tables(forum, checkpoint_table())
        service = Service.from_connections(connection, database, clock, key)
        service.connections.renew_registration()
        hub = Hub(service.log, clock, limits or Limits(sweep_s=0.02))
        failures = JsonLinesFolder(folder / "failures")
        poll_s = (
            0.05 if isinstance(engine, ServedEngine) else 0.01
        )  # a read from an endpoint takes a thousand times longer
        feed = Feed(connection, clock, hub, {"unpushed": failures}, poll_s=poll_s)
        verifier = TokenVerifier(TokenRules(AUDIENCE), development_keys(development_key(folder / "keys")), clock)
        sockets = Sockets(service, hub, clock).router()
        app: Starlette = application(
            service, verifier, clock, {"pushes": feed.check}, sockets=sockets, lifespan=feed.lifespan
        )
        live = Live(connection, clock, service, folder)
        with Running(app) as server:
            live.url = server.url
            try:
                yield live
            finally:
                for client in live.clients:
                    client.close()


@contextmanager
def staged(engine: Engine | ServedEngine, template: Path, folder: Path, limits: Limits | None = None) -> Iterator[Live]:
    """Run the forum with the sample school, on its own SQLite file."""
    file = folder / f"forum-{next(_numbers)}.db"
    shutil.copy(template, file)
    database, clock = Database(f"sqlite:///{file}"), MovedClock()
    try:
        with running(engine, database, clock, folder, key=Ed25519PrivateKey.generate(), limits=limits) as live:
            sample.load_sample(live.service)
            yield live
    finally:
        database.close()
