"""Calls of many connections, run together in turns of the event loop.

A lane is one connection (or one ASGI request): its works are answered in the order they came.
Everything that arrived while the loop looked at its sockets runs in the next turn, one work a lane
at a time. The turn's reads run first and are answered together. Its writes then share one
`engine.group()`, that is one commit, and are answered after it; if the commit fails, each of them
gets its error. A read that follows a write of its own lane waits until that is committed.
Operations on tables run alone: they may wait for other threads of the engine.

Where commits must be on the disk before they are acknowledged, the loop waits for the disk itself: a
thread for it would cost more, in changes of the interpreter's lock, than the loop could do meanwhile. So
a commit should be shared by as many writes as there can be. Clients that were answered together ask
again one after another, and a turn waits for them as long as looking at the sockets brings more.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Protocol, TypeAlias

from keyplan.server.catalogue import ITEM_READS, ITEM_WRITES, STATEMENTS
from keyplan.server.protocol import DynamoDBProtocol, ProtocolCall
from keyplan.server.wire import Answer, Request

WORKS_PER_TURN = 64
ROUNDS_PER_TURN = 8  # works of one lane: its answers are bounded before it can be found stalled
HELD_BYTES = 256 * 1024  # of answers that wait to be sent together
LOOKS_IN_VAIN = 4  # looks at the sockets that bring nothing, until a turn waits no more


class TurnQueue(Protocol):
    """Where works come from and answers go to."""

    works: deque[Work]
    queued: bool  # stands in line for a turn
    stalled: bool  # takes no answers now: its works wait

    def answered(self, answer: Answer) -> None:
        """Take the answer to the oldest work that has none."""


Work: TypeAlias = ProtocolCall | Answer | Request
"""A request; it may wait unparsed, where others of its lane are large."""
Entry: TypeAlias = tuple[TurnQueue, ProtocolCall | Answer]


class Turns:
    """The line of lanes with work, served once a turn of the loop."""

    def __init__(self, protocol: DynamoDBProtocol, loop: asyncio.AbstractEventLoop) -> None:
        self._protocol = protocol
        self._loop = loop
        self._line: deque[TurnQueue] = deque()
        self._due = False
        self._waits_for_disk = protocol.engine.waits_for_disk
        self._company = 0  # how many writes may be expected to come together
        self._seen = 0  # how many lanes stood in line at the last look
        self._vain = 0  # how many looks have brought nothing

    def enqueue(self, lane: TurnQueue) -> None:
        """Serve the works of this lane, from the next turn on."""
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
        """Whether another look at the sockets is likely to bring writes that can share this turn's commit."""
        there = len(self._line)
        if there < self._company:
            self._vain = 0 if there > self._seen else self._vain + 1
            self._seen = there
            if self._vain <= LOOKS_IN_VAIN:
                return True
        self._seen = self._vain = 0
        return False

    def _take(self) -> list[Entry]:
        """The works of this turn: round the lanes, one from each at a time."""
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
        """Run the works each by itself, a write with its own commit.

        Answers are sent in one go: a client that is woken by the first finds the others there already, where it
        would have to be woken again for each.
        """
        protocol = self._protocol
        done: list[tuple[TurnQueue, Answer]] = []
        held_bytes = 0
        for lane, work in entries:
            answer = protocol.finish(work)
            done.append((lane, answer))
            held_bytes += len(answer.body)
            if held_bytes > HELD_BYTES:
                _send(done)
                done, held_bytes = [], 0
        _send(done)

    def _together(self, entries: list[Entry]) -> None:
        """Run the works in a group, and answer when it is committed."""
        protocol = self._protocol
        if self._waits_for_disk:
            self._company = max(self._company, len(entries))
        try:
            with protocol.engine.group():
                answers = [protocol.finish(work) for _, work in entries]
        except Exception as error:  # noqa: BLE001 - whatever kept the group from committing is an answer
            answers = self._failed([work for _, work in entries], error)
        _send([(lane, answer) for (lane, _), answer in zip(entries, answers, strict=True)])

    def _failed(self, works: list[ProtocolCall | Answer], error: Exception) -> list[Answer]:
        protocol = self._protocol
        failure = protocol.failure(error)
        return [protocol.render(work, failure) if isinstance(work, ProtocolCall) else work for work in works]


def _send(done: list[tuple[TurnQueue, Answer]]) -> None:
    for lane, answer in done:
        lane.answered(answer)


def stretch(batch: list[Entry], start: int) -> tuple[int, list[Entry], list[Entry]]:
    """The works from `start` that one group can serve: where they end, those to run before it and
    those to run in it. Answers made already keep their place in their lane."""
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
