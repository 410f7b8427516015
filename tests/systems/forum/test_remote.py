"""The same forum over HTTP: DynamoDB and its streams behind an endpoint, the websocket behind another."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.systems.forum.live import ANN, AUDIENCE, TUTOR, Live, MovedClock

import keyplan
from keyplan.changes import checkpoint_table
from keyplan.engine.engine import Engine
from keyplan.server.asgi import DynamoDBApplication
from keyplan_systems.forum import app, sample
from keyplan_systems.forum.entities import forum
from keyplan_systems.forum.service import place_of
from keyplan_systems.web.development import development_key
from keyplan_systems.web.serving import Running
from keyplan_systems.web.system import Resources
from keyplan_systems.web.tokens import TokenRules, TokenVerifier, development_keys


def test_messages_reach_watchers_and_followers_over_http(tmp_path: Path) -> None:
    clock = MovedClock()
    verifier = TokenVerifier(TokenRules(AUDIENCE), development_keys(development_key(tmp_path / "keys")), clock)
    with (
        Engine.memory() as engine,
        Running(DynamoDBApplication(engine), lifespan="auto") as endpoint,
        keyplan.connect(endpoint.url, clock=clock) as connection,
    ):
        connection.create_tables(forum)
        connection.create_tables(checkpoint_table())
        built = app.build(Resources(connection, tmp_path, clock, verifier))
        try:
            built.load_sample()
            with Running(built.app) as server:
                service = built.app.state.service  # type: ignore[attr-defined]  # a FastAPI application
                live = Live(engine, connection, clock, service, None, tmp_path, server.url)  # type: ignore[arg-type]  # no hub is looked at

                async def story() -> None:
                    async with live.socket(TUTOR) as tutor:
                        await tutor.watch(live.token(TUTOR), since=0)
                        top = service.log.last_seq(place_of(sample.THREAD))
                        assert [(await tutor.hear())["seq"] for _ in range(top)] == list(range(1, top + 1))
                        said = live.writer(TUTOR).say("over http")
                        assert (await tutor.hear())["seq"] == said["seq"]

                asyncio.run(story())
                while sum(worker.run_once() for worker in built.workers):
                    pass
                told = live.person(ANN).get("/notifications").json()["notifications"]
                assert told[0]["excerpt"] == "over http"
                for client in live.clients:
                    client.close()
        finally:
            built.close()
