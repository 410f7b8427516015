"""The hub, which sends the events of threads to the watchers that are connected to this process. Each watcher receives
every event once, in the order of storage.

The events of a thread are numbered 1, 2, 3, ... without gaps, in the order of storage. For each watching connection,
the hub stores the number of the last event that was sent, and always sends the next one. Events from the stream are
buffered by thread and number. The next event can be missing from the buffer because the stream delivered a later event
first, the connection starts at a past event, or the client is slow. In this case, the hub reads the event from the
event log. Therefore, the result does not depend on the order in which stream records arrive or on duplicate records.
The records only report the newest number and save reads of the event log.

All code in this module runs in one event loop. `Feed` passes changes to it from the thread that reads the stream.
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
"""Maximum number of buffered events per watched thread."""
MAX_WAITING: Final = 1_000
"""Maximum number of queued messages per connection, not counting events."""
MAX_PAUSES: Final = 400
"""Maximum number of attempts to read an event that must exist. If they all fail, the client is asked to connect again
later.
"""
PAUSE_S: Final = 0.025
LOOKED_EVERY_S: Final = 30.0
"""Minimum time in seconds between two reads of a thread's newest event number by this process. The reads are triggered
by heartbeats.
"""

GOING_AWAY, TRY_AGAIN_LATER = 1001, 1013
"""Close codes of RFC 6455 and its registry."""

_log = logging.getLogger(__name__)

Send = Callable[[dict[str, Any]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits on idle time and lifetime of connections, in seconds."""

    idle_s: float = 600.0
    """Time without messages, in seconds, after which a connection is closed."""
    total_s: float = 7_200.0
    sweep_s: float = 1.0
    """Interval in seconds at which all connections are checked against the limits."""


@dataclass(eq=False, slots=True)
class Room:
    """The state of a thread that at least one connection of this process watches."""

    top: int = 0
    """Highest event number in the thread that this process knows."""
    recent: dict[int, Event] = field(default_factory=dict)
    watches: set[Watch] = field(default_factory=set)
    looked_s: float = -math.inf
    """Time in seconds on the monotonic clock at which a heartbeat last caused a read of the newest event number."""

    def take(self, event: Event) -> None:
        """Add an event to the thread's buffer. If the buffer is full, remove the event with the lowest number."""
        self.top = max(self.top, event.seq)
        self.recent[event.seq] = event
        if len(self.recent) > KEPT_EVENTS:
            del self.recent[min(self.recent)]

    def learn(self, top: int) -> None:
        """Record that the thread has events up to number `top`, and wake the connections that watch the thread."""
        self.top = max(self.top, top)
        for watch in self.watches:
            watch.pipe.wake.set()


@dataclass(eq=False, slots=True)
class Watch:
    """The state of a connection's subscription to a thread."""

    place: Place
    pipe: Pipe
    room: Room
    until_s: float
    """Time in epoch seconds at which the thread token of the subscription expires."""
    last: int | None = None
    """Number of the last event that was sent to the connection. None before `Hub.begin` is called."""
    is_over: bool = False
    presence: bool = False
    """Whether the connection also receives status changes, and messages when other watchers join or leave."""

    @property
    def is_behind(self) -> bool:
        """Whether the thread has events that were not sent to the connection yet."""
        return not self.is_over and self.last is not None and self.last < self.room.top


@dataclass(frozen=True, slots=True)
class Ending:
    """The close code and the reason for closing a connection."""

    code: int
    reason: str


@dataclass(eq=False)
class Pipe:
    """The state of a connection: its subscriptions and its queue of messages to send."""

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
        """Queue a message, which is sent before any further events. If too many messages are queued, close the
        connection.
        """
        self.waiting.append(message)
        self.wake.set()
        if len(self.waiting) > MAX_WAITING:
            self.end(TRY_AGAIN_LATER, "too much is waiting to be read")

    def end(self, code: int, reason: str) -> None:
        """Close the connection with a code and a reason. Only the first call has an effect."""
        if not self.ending.done():
            self.ending.set_result(Ending(code, reason))


class Hub:
    """Sends events and other messages to all WebSocket connections of this process."""

    def __init__(self, log: EventLog, clock: Clock, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._log, self._clock = log, clock
        self._rooms: dict[Place, Room] = {}
        self._pipes: dict[str, Pipe] = {}

    @property
    def connections(self) -> int:
        """The number of open connections."""
        return len(self._pipes)

    # Connections.

    def open(self, connection_id: str, user_id: str, send: Send) -> Pipe:
        """Register a connection and return its state. The caller must then run `pump` for it."""
        now_s = self._clock.monotonic()
        pipe = Pipe(connection_id, user_id, send, now_s, now_s)
        self._pipes[connection_id] = pipe
        return pipe

    def close(self, pipe: Pipe) -> None:
        """Remove a connection and all its subscriptions."""
        self._pipes.pop(pipe.connection_id, None)
        for place in list(pipe.watches):
            self.leave(pipe, place)

    def touch(self, pipe: Pipe) -> None:
        """Record that a message was sent or received on a connection, so that it does not count as idle."""
        pipe.touched_s = self._clock.monotonic()

    def sweep(self) -> int:
        """Close all connections that are idle, have exceeded their maximum lifetime, or use an expired thread token.
        Return the number of closed connections.
        """
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
        """Call `sweep` periodically until the task is cancelled."""
        while True:
            await asyncio.sleep(self.limits.sweep_s)
            self.sweep()

    # Watches.

    def join(self, pipe: Pipe, place: Place, until_s: float = math.inf) -> Watch:
        """Add a subscription of a connection to a thread, and return it. New events of the thread are buffered. They
        are sent after `begin` is called.

        The connection is closed at `until_s`, a time in epoch seconds.
        """
        room = self._rooms.setdefault(place, Room())
        watch = pipe.watches[place] = Watch(place, pipe, room, until_s)
        room.watches.add(watch)
        return watch

    def begin(self, watch: Watch, after: int, top: int, *, presence: bool = False) -> None:
        """Start sending the events after number `after` to the connection to which the subscription belongs. `top` is
        the number of the thread's newest event.

        If `presence` is True, the connection also receives status changes, and messages when other watchers join or
        leave.
        """
        watch.last, watch.presence = after, presence
        watch.room.learn(top)

    def leave(self, pipe: Pipe, place: Place) -> bool:
        """Remove a connection's subscription to a thread. Return False if it did not exist."""
        watch = pipe.watches.pop(place, None)
        if watch is None:
            return False
        watch.is_over = True
        watch.room.watches.discard(watch)
        if not watch.room.watches:
            del self._rooms[place]
        return True

    async def read_missed(self, pipe: Pipe) -> None:
        """Read the newest event number of each thread that the connection watches. This finds events that the stream
        did not deliver.

        All connections share the results, so each thread is read at most once every LOOKED_EVERY_S seconds.
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
        """Buffer events from the stream for the watchers of their threads. The events can arrive in any order and more
        than once.
        """
        for event in events:
            room = self._rooms.get(event.place)
            if room is not None:
                room.take(event)
                room.learn(event.seq)

    def notifications(self, notifications: Iterable[Notification]) -> None:
        """Queue notifications from the stream for the connections of their users."""
        by_user: dict[str, list[Pipe]] = {}
        for pipe in self._pipes.values():
            by_user.setdefault(pipe.user_id, []).append(pipe)
        for notification in notifications:
            for pipe in by_user.get(notification.user_id, ()):
                pipe.say(notification_action(notification))

    def watchers(self, places: Iterable[Place]) -> None:
        """Report to the watchers of the given threads that other watchers have joined or left."""
        for place in places:
            self._announce(place, watchers_action(place))

    def statuses(self, copies: Iterable[StatusCopy]) -> None:
        """Report status changes to the watchers of the threads to which the copies belong."""
        for copy in copies:
            self._announce(copy.place, status_action(copy))

    def _announce(self, place: Place, message: dict[str, Any]) -> None:
        room = self._rooms.get(place)
        for watch in room.watches if room is not None else ():
            if watch.presence:
                watch.pipe.say(message)

    # Sending.

    async def pump(self, pipe: Pipe) -> None:
        """Send the queued messages and events of a connection until the task is cancelled. If the connection fails, its
        error is raised.
        """
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
        """Read the next events of a thread after number `seq` from the event log. Return an empty list if the event log
        cannot be read.
        """
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
