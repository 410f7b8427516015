"""Scheduler that processes the requests of all connections together, once per iteration of the event loop.

Each connection or ASGI request has a queue. The requests in a queue get their responses in the order of arrival.
Requests that arrive while the event loop polls its sockets run in the next iteration, one request of each queue at a
time. Reads run first, and their responses are sent together. Writes then share one `engine.group()` and therefore a
single commit. Their responses are sent after the commit. If the commit fails, the responses contain the error. A read
after a write in the same queue waits for the commit. Operations on tables run alone, because they may wait for other
threads of the engine.

If commits must be on disk before they are acknowledged, the event loop itself waits for the disk. A separate thread
would lose more time to GIL switches than the event loop would gain. Therefore as many writes as possible should share a
commit. Clients that received their responses together tend to send their next requests one after another. An iteration
waits for these requests as long as polling the sockets yields more of them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Protocol, TypeAlias

from keyplan.server.catalogue import ITEM_READS, ITEM_WRITES, STATEMENTS
from keyplan.server.protocol import DynamoDBProtocol, ProtocolCall
from keyplan.server.wire import Answer, Request

WORKS_PER_TURN = 64
ROUNDS_PER_TURN = 8  # maximum requests of one queue in a turn, which limits responses to a stalled client
HELD_BYTES = 256 * 1024  # limit of responses that wait to be sent together
LOOKS_IN_VAIN = 4  # polls without new requests, after which a turn starts


class TurnQueue(Protocol):
    """A queue of requests from one connection or ASGI request. It receives the responses."""

    works: deque[Work]
    queued: bool  # True if the queue is waiting for a turn
    stalled: bool  # True if the client does not accept responses now, so that its requests wait

    def answered(self, response: Answer) -> None:
        """Send the response to the oldest request in the queue that has no response yet."""


Work: TypeAlias = ProtocolCall | Answer | Request
"""A call to run, a response to send, or a request that is parsed later because the waiting requests are
already large.
"""
Entry: TypeAlias = tuple[TurnQueue, ProtocolCall | Answer]


class Turns:
    """All queues with waiting requests, which are processed once per iteration of the event loop."""

    def __init__(self, protocol: DynamoDBProtocol, loop: asyncio.AbstractEventLoop) -> None:
        self._protocol = protocol
        self._loop = loop
        self._line: deque[TurnQueue] = deque()
        self._due = False
        self._waits_for_disk = protocol.engine.waits_for_disk
        self._company = 0  # number of writes that are expected to arrive together
        self._seen = 0  # number of queues that were waiting at the last poll
        self._vain = 0  # number of successive polls without a new request

    def enqueue(self, lane: TurnQueue) -> None:
        """Process the requests in the queue `lane`, starting with the next iteration of the event loop."""
        if not lane.queued:
            lane.queued = True
            self._line.append(lane)
        if not self._due:
            self._due = True
            self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        if self._expects_more():
            self._loop.call_soon(self._turn)
            return
        self._due = False
        batch = self._take()
        self._company //= 2
        if len(batch) == 1:
            self._singly(batch)
        else:
            start = 0
            while start < len(batch):
                start, early, late = stretch(batch, start)
                self._singly(early)
                if len(late) > 1:
                    self._together(late)
                else:
                    self._singly(late)
        if self._line and not self._due:
            self._due = True
            self._loop.call_soon(self._turn)

    def _expects_more(self) -> bool:
        """Return True if another poll of the sockets is likely to yield more writes for the same commit."""
        length = len(self._line)
        if length < self._company:
            self._vain = 0 if length > self._seen else self._vain + 1
            self._seen = length
            if self._vain <= LOOKS_IN_VAIN:
                return True
        self._seen = self._vain = 0
        return False

    def _take(self) -> list[Entry]:
        """Remove the requests of this iteration from the queues and return them. The queues are served in turn, one
        request each.
        """
        line = self._line
        batch: list[Entry] = []
        large: list[TurnQueue] = []
        for _ in range(ROUNDS_PER_TURN):
            for _ in range(min(len(line), WORKS_PER_TURN - len(batch))):
                lane = line.popleft()
                if lane.works and not lane.stalled:
                    work = lane.works.popleft()
                    if isinstance(work, Request):
                        work = self._protocol.read(work)
                        large.append(lane)
                    elif lane.works:
                        line.append(lane)
                    batch.append((lane, work))
                    if lane.works:
                        continue
                lane.queued = False
        line.extend(lane for lane in large if lane.works)
        return batch

    def _singly(self, entries: list[Entry]) -> None:
        """Run the requests one by one. Each write has a separate commit.

        The responses are sent together, so that a client wakes up only once.
        """
        protocol = self._protocol
        done: list[tuple[TurnQueue, Answer]] = []
        held_bytes = 0
        for lane, work in entries:
            response = protocol.finish(work)
            done.append((lane, response))
            held_bytes += len(response.body)
            if held_bytes > HELD_BYTES:
                _send(done)
                done, held_bytes = [], 0
        _send(done)

    def _together(self, entries: list[Entry]) -> None:
        """Run the requests in one engine group, and send the responses after the commit."""
        protocol = self._protocol
        if self._waits_for_disk:
            self._company = max(self._company, len(entries))
        try:
            with protocol.engine.group():
                responses = [protocol.finish(work) for _, work in entries]
        except Exception as error:  # noqa: BLE001 - the error that prevented the commit becomes the response
            responses = self._failed([work for _, work in entries], error)
        _send([(lane, response) for (lane, _), response in zip(entries, responses, strict=True)])

    def _failed(self, works: list[ProtocolCall | Answer], error: Exception) -> list[Answer]:
        protocol = self._protocol
        failure = protocol.failure(error)
        return [protocol.render(work, failure) if isinstance(work, ProtocolCall) else work for work in works]


def _send(done: list[tuple[TurnQueue, Answer]]) -> None:
    for lane, response in done:
        lane.answered(response)


def stretch(batch: list[Entry], start: int) -> tuple[int, list[Entry], list[Entry]]:
    """Return the requests in `batch`, starting at the index `start`, whose writes can share one commit
    (`engine.group()`).

    The result consists of the index after these requests, the requests to run before the group, and the requests in the
    group. An entry that is already a response is in the group if a write of the same queue precedes it, so that each
    queue gets its responses in order.
    """
    early: list[Entry] = []
    late: list[Entry] = []
    writers: set[TurnQueue] = set()
    for position in range(start, len(batch)):
        entry = lane, work = batch[position]
        if not isinstance(work, ProtocolCall):
            (late if lane in writers else early).append(entry)
        elif work.operation in ITEM_WRITES:
            late.append(entry)
            writers.add(lane)
        elif lane in writers:
            return position, early, late
        elif work.operation in ITEM_READS:
            early.append(entry)
        elif work.operation in STATEMENTS:
            late.append(entry)
            writers.add(lane)
        elif position == start:
            return start + 1, [entry], late
        else:
            return position, early, late
    return len(batch), early, late
