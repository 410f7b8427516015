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
from keyplan.server.wire import Request, Response

JOBS_PER_TURN = 64
ROUNDS_PER_TURN = 8  # maximum requests of one queue in a turn, which limits responses to a stalled client
MAX_UNSENT_BYTES = 256 * 1024  # limit of responses that wait to be sent together
MAX_EMPTY_POLLS = 4  # polls without new requests, after which a turn starts


class TurnQueue(Protocol):
    """The interface of a queue that contains the requests of one connection or ASGI request and receives
    the responses.
    """

    jobs: deque[Job]
    queued: bool  # True if the queue is waiting for a turn
    stalled: bool  # True if the client does not accept responses now, so that its requests wait

    def send_response(self, response: Response) -> None:
        """Send the response to the oldest request in the queue that has no response yet."""


Job: TypeAlias = ProtocolCall | Response | Request
"""An entry of a queue: a call to run, a response to send, or an unparsed request. A request is parsed later if the
waiting requests already contain many bytes.
"""
Entry: TypeAlias = tuple[TurnQueue, ProtocolCall | Response]


class Turns:
    """Processes the requests of all queues, once per iteration of the event loop."""

    def __init__(self, protocol: DynamoDBProtocol, loop: asyncio.AbstractEventLoop) -> None:
        self._protocol = protocol
        self._loop = loop
        self._waiting: deque[TurnQueue] = deque()
        self._scheduled = False
        self._waits_for_disk = protocol.engine.waits_for_disk
        self._expected_writes = 0  # number of writes that are expected to arrive together
        self._last_length = 0  # number of queues that were waiting at the last poll
        self._empty_polls = 0  # number of successive polls without a new request

    def enqueue(self, queue: TurnQueue) -> None:
        """Process the requests in `queue`, starting with the next iteration of the event loop."""
        if not queue.queued:
            queue.queued = True
            self._waiting.append(queue)
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        if self._expects_more():
            self._loop.call_soon(self._turn)
            return
        self._scheduled = False
        batch = self._next_batch()
        self._expected_writes //= 2
        if len(batch) == 1:
            self._run_separately(batch)
        else:
            start = 0
            while start < len(batch):
                start, reads_first, group = split_batch(batch, start)
                self._run_separately(reads_first)
                if len(group) > 1:
                    self._run_in_group(group)
                else:
                    self._run_separately(group)
        if self._waiting and not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._turn)

    def _expects_more(self) -> bool:
        """Return True if another poll of the sockets is likely to yield more writes for the same commit."""
        length = len(self._waiting)
        if length < self._expected_writes:
            self._empty_polls = 0 if length > self._last_length else self._empty_polls + 1
            self._last_length = length
            if self._empty_polls <= MAX_EMPTY_POLLS:
                return True
        self._last_length = self._empty_polls = 0
        return False

    def _next_batch(self) -> list[Entry]:
        """Remove the requests of this iteration from the queues and return them. The queues are served in turn, one
        request each.
        """
        waiting = self._waiting
        batch: list[Entry] = []
        large: list[TurnQueue] = []
        for _ in range(ROUNDS_PER_TURN):
            for _ in range(min(len(waiting), JOBS_PER_TURN - len(batch))):
                queue = waiting.popleft()
                if queue.jobs and not queue.stalled:
                    job = queue.jobs.popleft()
                    if isinstance(job, Request):
                        job = self._protocol.read(job)
                        large.append(queue)
                    elif queue.jobs:
                        waiting.append(queue)
                    batch.append((queue, job))
                    if queue.jobs:
                        continue
                queue.queued = False
        waiting.extend(queue for queue in large if queue.jobs)
        return batch

    def _run_separately(self, entries: list[Entry]) -> None:
        """Run the requests one by one. Each write has a separate commit.

        The responses are sent together, so that a client wakes up only once.
        """
        protocol = self._protocol
        responses: list[tuple[TurnQueue, Response]] = []
        unsent_bytes = 0
        for queue, job in entries:
            response = protocol.finish(job)
            responses.append((queue, response))
            unsent_bytes += len(response.body)
            if unsent_bytes > MAX_UNSENT_BYTES:
                _send(responses)
                responses, unsent_bytes = [], 0
        _send(responses)

    def _run_in_group(self, entries: list[Entry]) -> None:
        """Run the requests in one engine group, and send the responses after the commit."""
        protocol = self._protocol
        if self._waits_for_disk:
            self._expected_writes = max(self._expected_writes, len(entries))
        try:
            with protocol.engine.group():
                responses = [protocol.finish(job) for _, job in entries]
        except Exception as error:  # noqa: BLE001 - the error that prevented the commit becomes the response
            responses = self._failure_responses([job for _, job in entries], error)
        _send([(queue, response) for (queue, _), response in zip(entries, responses, strict=True)])

    def _failure_responses(self, jobs: list[ProtocolCall | Response], error: Exception) -> list[Response]:
        protocol = self._protocol
        failure = protocol.failure(error)
        return [protocol.render(job, failure) if isinstance(job, ProtocolCall) else job for job in jobs]


def _send(responses: list[tuple[TurnQueue, Response]]) -> None:
    for queue, response in responses:
        queue.send_response(response)


def split_batch(batch: list[Entry], start: int) -> tuple[int, list[Entry], list[Entry]]:
    """Select the requests in `batch`, starting at the index `start`, whose writes can share one commit
    (`engine.group()`).

    Return a tuple of the index after these requests, the requests to run before the group, and the requests in the
    group. An entry that is already a response is in the group if a write of the same queue precedes it, so that each
    queue gets its responses in order.
    """
    early: list[Entry] = []
    late: list[Entry] = []
    writers: set[TurnQueue] = set()
    for position in range(start, len(batch)):
        entry = queue, job = batch[position]
        if not isinstance(job, ProtocolCall):
            (late if queue in writers else early).append(entry)
        elif job.operation in ITEM_WRITES:
            late.append(entry)
            writers.add(queue)
        elif queue in writers:
            return position, early, late
        elif job.operation in ITEM_READS:
            early.append(entry)
        elif job.operation in STATEMENTS:
            late.append(entry)
            writers.add(queue)
        elif position == start:
            return start + 1, [entry], late
        else:
            return position, early, late
    return len(batch), early, late
