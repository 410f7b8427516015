"""Delivers stored events to the watchers of forum threads. The table's stream is read in a separate operating system
thread, and the hub runs in the event loop.

Each process has its own reader, which starts at the end of the stream. Therefore, each process receives all changes and
delivers them to its own connections. The reader determines its start position before the first connection is accepted.
When a watcher joins a thread afterwards, the process reads the number of the thread's newest event, so the watcher
misses no events.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool

from keyplan import Expired, Inserted, Modified, Removed
from keyplan.client.connection import Connection
from keyplan.clock import Clock
from keyplan.streams import FileCheckpoints, Runner
from keyplan.streams.failures import Destination
from keyplan_systems.forum import design
from keyplan_systems.forum.entities import Event, Notification, StatusCopy, Subscription, forum
from keyplan_systems.forum.hub import Hub

WatcherChange = Inserted[Subscription] | Removed[Subscription] | Expired[Subscription]

POLL_S: Final = 0.1
HANDOVER_TIMEOUT_S: Final = 30.0
"""Maximum time in seconds that the reader waits for the event loop to pass a batch of changes to the hub."""


class Feed:
    """Reads the table's stream in this process and passes changes to the hub."""

    def __init__(
        self,
        db: Connection,
        clock: Clock,
        hub: Hub,
        destinations: Mapping[str, Destination],
        *,
        poll_s: float = POLL_S,
        checkpoints: Path | None = None,
    ) -> None:
        """Create the reader. `checkpoints` is an empty folder in which the reader stores its position in the stream.
        The default is a temporary folder.
        """
        self.hub = hub
        self._db, self._clock, self._destinations, self._poll_s = db, clock, destinations, poll_s
        self._checkpoints = checkpoints
        self._loop: asyncio.AbstractEventLoop | None = None
        self._runner: Runner | None = None

    @asynccontextmanager
    async def lifespan(self, _app: FastAPI) -> AsyncIterator[None]:
        """Read the stream and close connections that exceed their limits, while the application runs."""
        self._loop = asyncio.get_running_loop()
        with tempfile.TemporaryDirectory(prefix="forum-feed-") as folder:
            runner = self._runner = self._stream_reader(self._checkpoints or Path(folder))
            await run_in_threadpool(runner.run_once)
            runner.start()
            sweeper = asyncio.create_task(self.hub.keep_sweeping())
            try:
                yield
            finally:
                sweeper.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await sweeper
                await run_in_threadpool(runner.stop, drain=False)
                self._runner = None

    async def check(self) -> object:
        """Raise an exception if the stream is not being read. This method is used as a health check."""
        runner = self._runner
        if runner is None:
            raise RuntimeError("the stream is not being read")
        if runner.error is not None:
            raise runner.error
        return None

    def _stream_reader(self, folder: Path) -> Runner:
        return Runner(
            self._db,
            forum,
            [design.push_events, design.push_notifications, design.push_watchers, design.push_statuses],
            checkpoints=FileCheckpoints(folder / "feed.json"),
            destinations=self._destinations,
            handlers={
                design.push_events: self._events,
                design.push_notifications: self._notifications,
                design.push_watchers: self._watchers,
                design.push_statuses: self._statuses,
            },
            start="latest",
            poll_s=self._poll_s,
            clock=self._clock,
        )

    def _events(self, changes: Sequence[Inserted[Event]]) -> None:
        self._call_in_loop(self.hub.push_events, [change.new for change in changes])

    def _notifications(self, changes: Sequence[Inserted[Notification]]) -> None:
        self._call_in_loop(self.hub.push_notifications, [change.new for change in changes])

    def _watchers(self, changes: Sequence[WatcherChange]) -> None:
        places = {(change.new if isinstance(change, Inserted) else change.old).place for change in changes}
        self._call_in_loop(self.hub.announce_watchers, list(places))

    def _statuses(self, changes: Sequence[Inserted[StatusCopy] | Modified[StatusCopy]]) -> None:
        self._call_in_loop(self.hub.announce_statuses, [change.new for change in changes])

    def _call_in_loop(self, receive: Callable[[Any], None], values: list[Any]) -> None:
        """Call `receive` with the changes in `values` in the event loop, and wait until the call returns. The wait
        prevents the reader from getting far ahead of the event loop.
        """
        assert self._loop is not None, "the reader runs within the lifespan"

        async def deliver() -> None:
            receive(values)

        asyncio.run_coroutine_threadsafe(deliver(), self._loop).result(HANDOVER_TIMEOUT_S)
