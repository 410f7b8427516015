"""Limits of a user's connections and of actions on them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import pytest
from tests.systems.forum import live as stage
from tests.systems.forum.live import ANN, PATIENCE_S, TUTOR, Live, staged
from tests.systems.served_engine import ServedEngine
from websockets.exceptions import InvalidStatus

from keyplan.engine.engine import Engine
from keyplan_systems.forum import sockets
from keyplan_systems.forum.sockets import Sockets
from keyplan_systems.web.rate_limits import REQUESTS_VARIABLE, Limit

MOST = 3
ACTIONS = Limit("actions", 5, 10**6)
"""Limit that does not refill during a test."""


@pytest.fixture
def limited(
    real_time_engine: Engine | ServedEngine, sqlite_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Live]:
    """Yield the forum with low limits."""
    monkeypatch.setattr(stage, "Sockets", partial(Sockets, max_per_user=MOST, actions=ACTIONS))
    monkeypatch.setattr(sockets, "FLOOD_PAUSE_S", 0.01)
    with staged(real_time_engine, sqlite_template, tmp_path) as live:
        yield live


def test_a_user_has_a_limited_number_of_connections_that_does_not_affect_others(limited: Live) -> None:
    async def story() -> None:
        async with AsyncExitStack() as stack:
            open_sockets = [await stack.enter_async_context(limited.socket(ANN)) for _ in range(MOST)]
            with pytest.raises(InvalidStatus) as refused:
                await stack.enter_async_context(limited.socket(ANN))
            assert refused.value.response.status_code == 429
            assert refused.value.response.headers["Retry-After"] == "30"
            await stack.enter_async_context(limited.socket(TUTOR))
            await open_sockets[0].connection.close()
            async with asyncio.timeout(PATIENCE_S):
                while True:
                    try:
                        await stack.enter_async_context(limited.socket(ANN))
                    except InvalidStatus:
                        await asyncio.sleep(0.01)  # the server notices the end with a delay
                    else:
                        break

    asyncio.run(story())


def test_connections_opened_concurrently_cannot_exceed_the_limit(limited: Live) -> None:
    async def story() -> None:
        async with AsyncExitStack() as stack:
            opened = [stack.enter_async_context(limited.socket(ANN)) for _ in range(4 * MOST)]
            results = await asyncio.gather(*opened, return_exceptions=True)
            refused = [result for result in results if isinstance(result, InvalidStatus)]
            assert len(refused) == 3 * MOST
            assert {error.response.status_code for error in refused} == {429}

    asyncio.run(story())


def test_actions_above_the_limit_are_rejected_on_all_connections_of_a_user(limited: Live) -> None:
    async def story() -> None:
        async with limited.socket(ANN) as another, limited.socket(ANN) as other, limited.socket(TUTOR) as tutor:
            for socket in (another, other, another, other, another):
                await socket.check_no_message()
            for socket in (another, other):
                response = await socket.ask("heartbeat")
                assert (response["action"], response["status"]) == ("error", 429)
                assert response["retry_after"] > 0
            await tutor.check_no_message()

    asyncio.run(story())


def test_requests_with_a_thread_token_count_for_their_user(
    real_time_engine: Engine | ServedEngine, sqlite_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(REQUESTS_VARIABLE, "4/1000000")
    with staged(real_time_engine, sqlite_template, tmp_path) as live:
        writer, tutor = live.writer(ANN), live.writer(TUTOR)
        assert [writer.post("hello").status_code for _ in range(5)] == [201, 201, 201, 429, 429]
        assert "Retry-After" in writer.post("hello").headers
        assert tutor.post("hello").status_code == 201
