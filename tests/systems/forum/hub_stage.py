"""A hub on stage: connections that keep what they are sent, events that the stream has not told of yet."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from tests.systems.forum.live import PATIENCE_S

from keyplan.clock import ManualClock
from keyplan_systems.forum.entities import Event, EventType, Place
from keyplan_systems.forum.event_log import Draft, EventLog
from keyplan_systems.forum.hub import Hub, Pipe

PLACE = Place("42", "7")


class Stage:
    """A hub with connections whose messages are kept."""

    def __init__(self, log: EventLog, clock: ManualClock) -> None:
        self.log, self.clock = log, clock
        self.hub = Hub(log, clock)
        self.heard: dict[str, list[dict[str, Any]]] = {}
        self.pumps: list[asyncio.Task[None]] = []
        self.begun = 0
        """How many messages were begun to be sent."""
        self.gate = asyncio.Event()
        self.gate.set()

    def connect(self, name: str, user_id: str = "13") -> Pipe:
        """A connection that takes what it is sent while the gate is open."""
        heard = self.heard[name] = []

        async def send(message: dict[str, Any]) -> None:
            self.begun += 1
            await self.gate.wait()
            heard.append(message)

        pipe = self.hub.open(name, user_id, send)
        self.pumps.append(asyncio.create_task(self.hub.pump(pipe)))
        return pipe

    def watch(self, pipe: Pipe, after: int = 0, place: Place = PLACE) -> None:
        """Watch a thread from behind a number."""
        self.hub.begin(self.hub.join(pipe, place), after, self.log.last_seq(place))

    def write(self, events: int, place: Place = PLACE) -> list[Event]:
        """Events that are stored, and of which the stream has told nothing yet."""
        first = self.log.last_seq(place) + 1
        return [
            self.log.append(
                Draft(place, f"message-{number}", EventType.MESSAGE, user_id="13", content=f"text {number}")
            ).event
            for number in range(first, first + events)
        ]

    def seqs(self, name: str) -> list[int]:
        """The numbers that a connection was sent."""
        return [message["seq"] for message in self.heard[name] if "seq" in message]

    async def until(self, name: str, count: int) -> None:
        """Until a connection has heard so much, and a little longer, so that what is too much shows."""
        async with asyncio.timeout(PATIENCE_S):
            while len(self.heard[name]) < count:
                await asyncio.sleep(0.001)
        for _ in range(5):
            await asyncio.sleep(0)


def play(log: EventLog, clock: ManualClock, story: Callable[[Stage], Awaitable[None]]) -> None:
    """Play a story in an event loop of its own; every pump is still at work at its end."""

    async def whole() -> None:
        stage = Stage(log, clock)
        try:
            await story(stage)
        finally:
            for pump in stage.pumps:
                pump.cancel()
            results = await asyncio.gather(*stage.pumps, return_exceptions=True)
        assert all(isinstance(one, asyncio.CancelledError) for one in results), results

    asyncio.run(whole())
