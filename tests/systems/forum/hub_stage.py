"""Hub with recording connections, and events that the stream has not delivered yet."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from tests.systems.forum.live import PATIENCE_S

from keyplan.clock import ManualClock
from keyplan_systems.forum.entities import Event, EventType, Place
from keyplan_systems.forum.event_log import Draft, EventLog
from keyplan_systems.forum.hub import ClientConnection, Hub

PLACE = Place("42", "7")


class Stage:
    """Hub with connections whose messages are recorded."""

    def __init__(self, log: EventLog, clock: ManualClock) -> None:
        self.log, self.clock = log, clock
        self.hub = Hub(log, clock)
        self.received: dict[str, list[dict[str, Any]]] = {}
        self.senders: list[asyncio.Task[None]] = []
        self.started_sends = 0
        """Number of started sends."""
        self.gate = asyncio.Event()
        self.gate.set()

    def connect(self, name: str, user_id: str = "13") -> ClientConnection:
        """Return a connection that accepts messages while the gate is open."""
        messages = self.received[name] = []

        async def send(message: dict[str, Any]) -> None:
            self.started_sends += 1
            await self.gate.wait()
            messages.append(message)

        connection = self.hub.open(name, user_id, send)
        self.senders.append(asyncio.create_task(self.hub.keep_sending(connection)))
        return connection

    def watch(self, connection: ClientConnection, after: int = 0, place: Place = PLACE) -> None:
        """Watch a thread from after a number."""
        self.hub.begin(self.hub.join(connection, place), after, self.log.last_seq(place))

    def write(self, events: int, place: Place = PLACE) -> list[Event]:
        """Return stored events that the stream has not delivered yet."""
        first = self.log.last_seq(place) + 1
        return [
            self.log.append(
                Draft(place, f"message-{number}", EventType.MESSAGE, user_id="13", content=f"text {number}")
            ).event
            for number in range(first, first + events)
        ]

    def seqs(self, name: str) -> list[int]:
        """Return the numbers that were sent to a connection."""
        return [message["seq"] for message in self.received[name] if "seq" in message]

    async def wait_for_messages(self, name: str, count: int) -> None:
        """Wait until a connection has received this number of events, and a little longer, to detect more."""
        async with asyncio.timeout(PATIENCE_S):
            while len(self.received[name]) < count:
                await asyncio.sleep(0.001)
        for _ in range(5):
            await asyncio.sleep(0)


def run_scenario(log: EventLog, clock: ManualClock, scenario: Callable[[Stage], Awaitable[None]]) -> None:
    """Run a scenario in its own event loop; check that every pump is still running at its end."""

    async def run() -> None:
        stage = Stage(log, clock)
        try:
            await scenario(stage)
        finally:
            for sender in stage.senders:
                sender.cancel()
            results = await asyncio.gather(*stage.senders, return_exceptions=True)
        assert all(isinstance(result, asyncio.CancelledError) for result in results), results

    asyncio.run(run())
