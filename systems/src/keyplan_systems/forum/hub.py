"""The hub, which sends the events of threads to the watchers that are connected to this process. Each watcher receives
every event once, in the order of storage.

The events of a thread are numbered 1, 2, 3, ... without gaps, in the order of storage. For each watching connection,
the hub stores the number of the last event that was sent, and always sends the next one. Events from the stream are
buffered by thread and number. The next event may be missing from the buffer because the stream delivered a later event
first, the connection starts at a past event, or the client is slow. The hub then reads the event from the event log.
Therefore, the result does not depend on the order in which stream records arrive or on duplicate records. Stream
records only report the newest event number, and make most reads of the event log unnecessary.

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

MAX_BUFFERED_EVENTS: Final = 256
"""Maximum number of buffered events per watched thread."""
MAX_QUEUED_MESSAGES: Final = 1_000
"""Maximum number of queued messages per connection, not counting events."""
MAX_READ_RETRIES: Final = 400
"""Maximum number of retries if an event that must exist cannot be read. After the last retry, the connection is closed,
and the client is asked to connect again later.
"""
RETRY_PAUSE_S: Final = 0.025
NEWEST_READ_INTERVAL_S: Final = 30.0
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
class WatchedThread:
    """The state of a thread that at least one connection of this process watches."""

    newest_seq: int = 0
    """Highest event number in the thread that this process knows."""
    buffered_events: dict[int, Event] = field(default_factory=dict)
    watches: set[ThreadWatch] = field(default_factory=set)
    newest_read_s: float = -math.inf
    """Time in seconds on the monotonic clock at which a heartbeat last caused a read of the newest event number."""

    def buffer(self, event: Event) -> None:
        """Add an event to the thread's buffer. If the buffer is full, remove the event with the lowest number."""
        self.newest_seq = max(self.newest_seq, event.seq)
        self.buffered_events[event.seq] = event
        if len(self.buffered_events) > MAX_BUFFERED_EVENTS:
            del self.buffered_events[min(self.buffered_events)]

    def advance_to(self, newest_seq: int) -> None:
        """Record that the thread has events up to number `newest_seq`, and wake the connections that watch the
        thread.
        """
        self.newest_seq = max(self.newest_seq, newest_seq)
        for watch in self.watches:
            watch.connection.wake.set()


@dataclass(eq=False, slots=True)
class ThreadWatch:
    """The state of a connection's subscription to a thread."""

    place: Place
    connection: ClientConnection
    thread: WatchedThread
    expires_s: float
    """Time in epoch seconds at which the thread token of the subscription expires."""
    sent_seq: int | None = None
    """Number of the last event that was sent to the connection. None before `Hub.begin` is called."""
    has_ended: bool = False
    presence: bool = False
    """Whether the connection also receives status changes, and messages when other watchers join or leave."""

    @property
    def is_behind(self) -> bool:
        """Whether the thread has events that were not sent to the connection yet."""
        return not self.has_ended and self.sent_seq is not None and self.sent_seq < self.thread.newest_seq


@dataclass(frozen=True, slots=True)
class CloseReason:
    """The close code and the reason for closing a connection."""

    code: int
    reason: str


@dataclass(eq=False)
class ClientConnection:
    """The state of a connection: its subscriptions and its queue of messages to send."""

    connection_id: str
    user_id: str
    send: Send
    opened_s: float
    last_active_s: float
    watches: dict[Place, ThreadWatch] = field(default_factory=dict)
    queued: deque[dict[str, Any]] = field(default_factory=deque)
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    close_reason: asyncio.Future[CloseReason] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    def enqueue(self, message: dict[str, Any]) -> None:
        """Queue a message, which is sent before any further events. If too many messages are queued, close the
        connection.
        """
        self.queued.append(message)
        self.wake.set()
        if len(self.queued) > MAX_QUEUED_MESSAGES:
            self.request_close(TRY_AGAIN_LATER, "too many messages are waiting to be read: connect again")

    def request_close(self, code: int, reason: str) -> None:
        """Close the connection with a code and a reason. Only the first call has an effect."""
        if not self.close_reason.done():
            self.close_reason.set_result(CloseReason(code, reason))


class Hub:
    """Sends events and other messages to all WebSocket connections of this process."""

    def __init__(self, log: EventLog, clock: Clock, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._log, self._clock = log, clock
        self._threads: dict[Place, WatchedThread] = {}
        self._connections: dict[str, ClientConnection] = {}

    @property
    def connections(self) -> int:
        """The number of open connections."""
        return len(self._connections)

    # Connections.

    def open(self, connection_id: str, user_id: str, send: Send) -> ClientConnection:
        """Register a connection and return its state. The caller must then run `keep_sending` for it."""
        now_s = self._clock.monotonic()
        connection = ClientConnection(connection_id, user_id, send, now_s, now_s)
        self._connections[connection_id] = connection
        return connection

    def close(self, connection: ClientConnection) -> None:
        """Remove a connection and all its subscriptions."""
        self._connections.pop(connection.connection_id, None)
        for place in list(connection.watches):
            self.leave(connection, place)

    def touch(self, connection: ClientConnection) -> None:
        """Record that a message was sent or received on a connection, which resets its idle time."""
        connection.last_active_s = self._clock.monotonic()

    def sweep(self) -> int:
        """Close all connections that are idle, have exceeded their maximum lifetime, or use an expired thread token.
        Return the number of closed connections.
        """
        now_s, epoch_s, closed = self._clock.monotonic(), self._clock.now(), 0
        for connection in self._connections.values():
            if now_s - connection.opened_s >= self.limits.total_s:
                connection.request_close(GOING_AWAY, "the connection has reached its maximum age: connect again")
            elif now_s - connection.last_active_s >= self.limits.idle_s:
                connection.request_close(GOING_AWAY, "the connection was idle for too long: send heartbeats")
            elif any(watch.expires_s <= epoch_s for watch in connection.watches.values()):
                connection.request_close(
                    GOING_AWAY, "a thread token has expired: request the thread again, then reconnect"
                )
            else:
                continue
            closed += 1
        return closed

    async def keep_sweeping(self) -> None:
        """Call `sweep` periodically until the task is cancelled."""
        while True:
            await asyncio.sleep(self.limits.sweep_s)
            self.sweep()

    # Watches.

    def join(self, connection: ClientConnection, place: Place, expires_s: float = math.inf) -> ThreadWatch:
        """Subscribe a connection to a thread, and return the subscription. New events of the thread are buffered, and
        are sent after `begin` is called.

        The connection is closed at `expires_s`, a time in epoch seconds.
        """
        thread = self._threads.setdefault(place, WatchedThread())
        watch = connection.watches[place] = ThreadWatch(place, connection, thread, expires_s)
        thread.watches.add(watch)
        return watch

    def begin(self, watch: ThreadWatch, after: int, newest_seq: int, *, presence: bool = False) -> None:
        """Start sending the events after number `after` to the connection to which the subscription belongs.
        `newest_seq` is the number of the thread's newest event.

        If `presence` is True, the connection also receives status changes, and messages when other watchers join or
        leave.
        """
        watch.sent_seq, watch.presence = after, presence
        watch.thread.advance_to(newest_seq)

    def leave(self, connection: ClientConnection, place: Place) -> bool:
        """Remove a connection's subscription to a thread. Return False if it did not exist."""
        watch = connection.watches.pop(place, None)
        if watch is None:
            return False
        watch.has_ended = True
        watch.thread.watches.discard(watch)
        if not watch.thread.watches:
            del self._threads[place]
        return True

    async def read_missed(self, connection: ClientConnection) -> None:
        """Read the newest event number of each thread that the connection watches. This finds events that the stream
        did not deliver.

        All connections share the results, so each thread is read at most once every NEWEST_READ_INTERVAL_S seconds.
        """
        now_s = self._clock.monotonic()
        stale_threads = {
            place: watch.thread
            for place, watch in connection.watches.items()
            if watch.sent_seq is not None and now_s - watch.thread.newest_read_s >= NEWEST_READ_INTERVAL_S
        }
        if not stale_threads:
            return
        # The times are set before the reads, so that heartbeats during the reads cause no more reads.
        for thread in stale_threads.values():
            thread.newest_read_s = now_s
        try:
            newest_seqs = await run_in_threadpool(lambda: [self._log.last_seq(place) for place in stale_threads])
        except BaseException:
            for thread in stale_threads.values():
                thread.newest_read_s = -math.inf
            raise
        for thread, newest_seq in zip(stale_threads.values(), newest_seqs, strict=True):
            thread.advance_to(newest_seq)

    # Changes from the stream.

    def push_events(self, events: Iterable[Event]) -> None:
        """Buffer events from the stream for the watchers of their threads. The events can arrive in any order and more
        than once.
        """
        for event in events:
            thread = self._threads.get(event.place)
            if thread is not None:
                thread.buffer(event)
                thread.advance_to(event.seq)

    def push_notifications(self, notifications: Iterable[Notification]) -> None:
        """Queue notifications from the stream for the connections of their users."""
        by_user: dict[str, list[ClientConnection]] = {}
        for connection in self._connections.values():
            by_user.setdefault(connection.user_id, []).append(connection)
        for notification in notifications:
            for connection in by_user.get(notification.user_id, ()):
                connection.enqueue(notification_action(notification))

    def announce_watchers(self, places: Iterable[Place]) -> None:
        """Report to the watchers of the given threads that other watchers have joined or left."""
        for place in places:
            self._announce(place, watchers_action(place))

    def announce_statuses(self, status_copies: Iterable[StatusCopy]) -> None:
        """Report status changes to the watchers of the threads to which the copies belong."""
        for copy in status_copies:
            self._announce(copy.place, status_action(copy))

    def _announce(self, place: Place, message: dict[str, Any]) -> None:
        thread = self._threads.get(place)
        for watch in thread.watches if thread is not None else ():
            if watch.presence:
                watch.connection.enqueue(message)

    # Sending.

    async def keep_sending(self, connection: ClientConnection) -> None:
        """Send a connection's queued messages and events until the task is cancelled. If sending fails, raise the
        connection's error.
        """
        while True:
            await connection.wake.wait()
            connection.wake.clear()
            await self._send_queued(connection)
            for watch in list(connection.watches.values()):
                await self._catch_up(watch)

    async def _send_queued(self, connection: ClientConnection) -> None:
        while connection.queued:
            await self._send(connection, connection.queued.popleft())

    async def _catch_up(self, watch: ThreadWatch) -> None:
        retries = 0
        while watch.is_behind and not watch.connection.close_reason.done():
            assert watch.sent_seq is not None, "a watch that is behind has begun"
            event = watch.thread.buffered_events.get(watch.sent_seq + 1)
            events = [event] if event is not None else await self._read(watch.place, watch.sent_seq)
            if not events:
                retries += 1
                if retries > MAX_READ_RETRIES:
                    watch.connection.request_close(TRY_AGAIN_LATER, "the event log cannot be read: connect again later")
                    return
                await self._send_queued(watch.connection)
                await asyncio.sleep(RETRY_PAUSE_S)
            for event in events:
                await self._push(watch, event)
                retries = 0

    async def _read(self, place: Place, seq: int) -> list[Event]:
        """Read the next events of a thread after number `seq` from the event log. Return an empty list if the event log
        cannot be read.
        """
        try:
            return await run_in_threadpool(self._log.events_after, place, seq)
        except RunError as error:
            _log.warning("cannot read the event log; retrying", extra={"reason": str(error)})
            return []

    async def _push(self, watch: ThreadWatch, event: Event) -> None:
        await self._send_queued(watch.connection)
        if not watch.has_ended:
            await self._send(watch.connection, event_action(event))
            watch.sent_seq = event.seq

    async def _send(self, connection: ClientConnection, message: dict[str, Any]) -> None:
        await connection.send(message)
        self.touch(connection)
