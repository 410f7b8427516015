"""The watchers of this process, each of which gets every event of a thread once, in the order of storage.

The events of a thread are numbered 1, 2, 3 without gaps, in the order of storage. A watch knows the last number that it
has sent, and always sends the next number. Events from the stream are buffered by thread and number. If the next number
is not in the buffer (because the stream delivered a later event first, the watch starts in the past, or its client is
slow), the hub reads it from the log. Correctness therefore does not depend on the order or repetition of stream
records. They only announce the newest number and save reads.

All of this runs in one event loop. `Feed` passes changes to it from the stream reader's thread.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from starlette.concurrency import run_in_threadpool

from keyplan.client.errors import RunError
from keyplan.clock import Clock
from keyplan_systems.forum.entities import Event, Notification, Place, StatusCopy
from keyplan_systems.forum.event_log import EventLog
from keyplan_systems.forum.wire import event_action, notification_action, status_action, watchers_action

KEPT_EVENTS: Final = 256
"""Number of buffered events of a watched thread."""
MAX_WAITING: Final = 1_000
"""Maximum number of queued answers and notifications of one connection."""
MAX_PAUSES: Final = 400
"""Number of attempts to read an event that must exist. Afterwards, the connection is closed with "try again"."""
PAUSE_S: Final = 0.025
LOOKED_EVERY_S: Final = 30.0
"""Minimum interval between reads of a thread's log that are caused by heartbeats of any watchers in this process."""

GOING_AWAY, TRY_AGAIN_LATER = 1001, 1013
"""Close codes of RFC 6455 and its registry."""

_log = logging.getLogger(__name__)

Send = Callable[[dict[str, Any]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Limits:
    """The lifetimes of connections in seconds."""

    idle_s: float = 600.0
    """Maximum idle time."""
    total_s: float = 7_200.0
    sweep_s: float = 1.0
    """Interval between checks."""


@dataclass(eq=False, slots=True)
class Room:
    """The state of a thread with watchers on this process."""

    top: int = 0
    """Greatest known number of a stored event."""
    recent: dict[int, Event] = field(default_factory=dict)
    watches: set[Watch] = field(default_factory=set)
    looked_s: float = -math.inf
    """Time of the last read of the log that a heartbeat caused, in monotonic seconds."""

    def take(self, event: Event) -> None:
        """Buffer an event, and drop the oldest events beyond KEPT_EVENTS."""
        self.top = max(self.top, event.seq)
        self.recent[event.seq] = event
        if len(self.recent) > KEPT_EVENTS:
            del self.recent[min(self.recent)]

    def learn(self, top: int) -> None:
        """Record the number of the thread's newest event, and wake all watches."""
        self.top = max(self.top, top)
        for watch in self.watches:
            watch.pipe.wake.set()


@dataclass(eq=False, slots=True)
class Watch:
    """The position of one connection in one thread."""

    place: Place
    pipe: Pipe
    room: Room
    until_s: float
    """Expiry of the token that allows the watch, in seconds since 1970."""
    last: int | None = None
    """Number of the last event that was sent. None before `Hub.begin`."""
    is_over: bool = False
    presence: bool = False
    """True if changes of the status and of the watchers are reported, too."""

    @property
    def is_behind(self) -> bool:
        """Whether there are unsent events."""
        return not self.is_over and self.last is not None and self.last < self.room.top


@dataclass(frozen=True, slots=True)
class Ending:
    """The reason for closing a connection."""

    code: int
    reason: str


@dataclass(eq=False)
class Pipe:
    """The queue of one connection, which has no other sender."""

    connection_id: str
    user_id: str
    send: Send
    opened_s: float
    touched_s: float
    watches: dict[Place, Watch] = field(default_factory=dict)
    waiting: deque[dict[str, Any]] = field(default_factory=deque)
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    ending: asyncio.Future[Ending] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def say(self, message: dict[str, Any]) -> None:
        """Send a message before any further event. A client that falls too far behind is disconnected."""
        self.waiting.append(message)
        self.wake.set()
        if len(self.waiting) > MAX_WAITING:
            self.end(TRY_AGAIN_LATER, "too much is waiting to be read")

    def end(self, code: int, reason: str) -> None:
        """Close the connection. Only the first reason is reported."""
        if not self.ending.done():
            self.ending.set_result(Ending(code, reason))


class Hub:
    """The hub of all connections on this process and their watches."""

    def __init__(self, log: EventLog, clock: Clock, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._log, self._clock = log, clock
        self._rooms: dict[Place, Room] = {}
        self._pipes: dict[str, Pipe] = {}

    @property
    def connections(self) -> int:
        """The number of connections."""
        return len(self._pipes)

    # Connections.

    def open(self, connection_id: str, user_id: str, send: Send) -> Pipe:
        """Register a connection. The caller must run `pump` for it."""
        now_s = self._clock.monotonic()
        pipe = Pipe(connection_id, user_id, send, now_s, now_s)
        self._pipes[connection_id] = pipe
        return pipe

    def close(self, pipe: Pipe) -> None:
        """Remove a connection and all its watches."""
        self._pipes.pop(pipe.connection_id, None)
        for place in list(pipe.watches):
            self.leave(pipe, place)

    def touch(self, pipe: Pipe) -> None:
        """Record that a message was sent or received."""
        pipe.touched_s = self._clock.monotonic()

    def sweep(self) -> int:
        """Close connections that are idle, too old or use an expired token, and return their number."""
        now_s, at_s, overdue = self._clock.monotonic(), self._clock.now(), 0
        for pipe in self._pipes.values():
            if now_s - pipe.opened_s >= self.limits.total_s:
                pipe.end(GOING_AWAY, "the connection has reached its greatest age: connect again")
            elif now_s - pipe.touched_s >= self.limits.idle_s:
                pipe.end(GOING_AWAY, "nothing was sent for too long: send a heartbeat")
            elif any(watch.until_s <= at_s for watch in pipe.watches.values()):
                pipe.end(GOING_AWAY, "a thread token has expired: ask for the thread again, and connect again")
            else:
                continue
            overdue += 1
        return overdue

    async def keep_sweeping(self) -> None:
        """Sweep connections until cancelled."""
        while True:
            await asyncio.sleep(self.limits.sweep_s)
            self.sweep()

    # Watches.

    def join(self, pipe: Pipe, place: Place, until_s: float = math.inf) -> Watch:
        """Create a watch that collects new events but sends none until `begin`.

        At `until_s`, in seconds since 1970, its connection is closed.
        """
        room = self._rooms.setdefault(place, Room())
        watch = pipe.watches[place] = Watch(place, pipe, room, until_s)
        room.watches.add(watch)
        return watch

    def begin(self, watch: Watch, after: int, top: int, *, presence: bool = False) -> None:
        """Send every event after the number `after`. `top` is the number of the thread's newest event.

        With `presence`, also report changes of the status and of the watchers.
        """
        watch.last, watch.presence = after, presence
        watch.room.learn(top)

    def leave(self, pipe: Pipe, place: Place) -> bool:
        """End the watch of a thread. Return False if it did not exist."""
        watch = pipe.watches.pop(place, None)
        if watch is None:
            return False
        watch.is_over = True
        watch.room.watches.discard(watch)
        if not watch.room.watches:
            del self._rooms[place]
        return True

    async def read_missed(self, pipe: Pipe) -> None:
        """Find events that the stream did not deliver, by reading the newest number of each watched thread.

        Heartbeats of all connections share these reads: a thread is read at most once in LOOKED_EVERY_S.
        """
        now_s = self._clock.monotonic()
        due = {
            place: watch.room
            for place, watch in pipe.watches.items()
            if watch.last is not None and now_s - watch.room.looked_s >= LOOKED_EVERY_S
        }
        if not due:
            return
        for room in due.values():
            room.looked_s = now_s  # set before the reads, so that heartbeats during the reads cause no more reads
        try:
            tops = await run_in_threadpool(lambda: [self._log.last_seq(place) for place in due])
        except BaseException:
            for room in due.values():
                room.looked_s = -math.inf
            raise
        for room, top in zip(due.values(), tops, strict=True):
            room.learn(top)

    # Changes from the stream.

    def events(self, events: Iterable[Event]) -> None:
        """Accept stored events, in any order and possibly repeated."""
        for event in events:
            room = self._rooms.get(event.place)
            if room is not None:
                room.take(event)
                room.learn(event.seq)

    def notifications(self, notifications: Iterable[Notification]) -> None:
        """Accept stored notifications."""
        by_user: dict[str, list[Pipe]] = {}
        for pipe in self._pipes.values():
            by_user.setdefault(pipe.user_id, []).append(pipe)
        for notification in notifications:
            for pipe in by_user.get(notification.user_id, ()):
                pipe.say(notification_action(notification))

    def watchers(self, places: Iterable[Place]) -> None:
        """Report to the watchers of these threads that other watchers have joined or left."""
        for place in places:
            self._announce(place, watchers_action(place))

    def statuses(self, copies: Iterable[StatusCopy]) -> None:
        """Report changed statuses to the watchers of their threads."""
        for copy in copies:
            self._announce(copy.place, status_action(copy))

    def _announce(self, place: Place, message: dict[str, Any]) -> None:
        room = self._rooms.get(place)
        for watch in room.watches if room is not None else ():
            if watch.presence:
                watch.pipe.say(message)

    # Sending.

    async def pump(self, pipe: Pipe) -> None:
        """Send all pending messages until cancelled or the connection fails."""
        while True:
            await pipe.wake.wait()
            pipe.wake.clear()
            await self._send_waiting(pipe)
            for watch in list(pipe.watches.values()):
                await self._catch_up(watch)

    async def _send_waiting(self, pipe: Pipe) -> None:
        while pipe.waiting:
            await self._send(pipe, pipe.waiting.popleft())

    async def _catch_up(self, watch: Watch) -> None:
        pauses = 0
        while watch.is_behind and not watch.pipe.ending.done():
            assert watch.last is not None, "a watch that is behind has begun"
            event = watch.room.recent.get(watch.last + 1)
            events = [event] if event is not None else await self._read(watch.place, watch.last)
            if not events:
                pauses += 1
                if pauses > MAX_PAUSES:
                    watch.pipe.end(TRY_AGAIN_LATER, "the log cannot be read: connect again later")
                    return
                await self._send_waiting(watch.pipe)
                await asyncio.sleep(PAUSE_S)
            for event in events:
                await self._push(watch, event)
                pauses = 0

    async def _read(self, place: Place, seq: int) -> list[Event]:
        """Return the next events in the log, or none if it is unavailable."""
        try:
            return await run_in_threadpool(self._log.since, place, seq)
        except RunError as error:
            _log.warning("cannot read the log; retrying", extra={"reason": str(error)})
            return []

    async def _push(self, watch: Watch, event: Event) -> None:
        await self._send_waiting(watch.pipe)
        if not watch.is_over:
            await self._send(watch.pipe, event_action(event))
            watch.last = event.seq

    async def _send(self, pipe: Pipe, message: dict[str, Any]) -> None:
        await pipe.send(message)
        self.touch(pipe)
