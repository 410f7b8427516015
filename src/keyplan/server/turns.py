"""Calls of many connections, run together in turns of the event loop.

A lane is one connection (or one ASGI request): its works are answered in the order they came.
Everything that arrived while the loop looked at its sockets runs in the next turn, one work a lane
at a time. The turn's reads run first and are answered at once. Its writes then share one
`engine.group()`, that is one commit, and are answered after it; if the commit fails, each of them
gets its error. A read that follows a write of its own lane waits until that is committed.
Operations on tables run alone: they may wait for other threads of the engine.

Where commits must be on the disk before they are acknowledged, a thread syncs them while the next turns
run, and answers wait for it in order: those of reads too, which may have seen what is not synced yet.
A write that is alone is synced in line, which is quicker than the way through a thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from queue import SimpleQueue
from typing import Protocol, TypeAlias

from keyplan.server.catalogue import ITEM_READS, ITEM_WRITES, STATEMENTS
from keyplan.server.protocol import Call, DynamoDBProtocol
from keyplan.server.wire import Answer
from keyplan.store.sync import LogSync

WORKS_PER_TURN = 64
WORTH_HALVING = 4
ROUNDS_PER_TURN = 8  # works of one lane: its answers are bounded before it can be found stalled


class Lane(Protocol):
    """Where works come from and answers go to."""

    works: deque[Call | Answer]
    queued: bool  # stands in line for a turn
    stalled: bool  # takes no answers now: its works wait

    def answered(self, answer: Answer) -> None:
        """Take the answer to the oldest work that has none."""


Entry: TypeAlias = tuple[Lane, Call | Answer]


class Turns:
    """The line of lanes with work, served once a turn of the loop."""

    def __init__(self, protocol: DynamoDBProtocol, loop: asyncio.AbstractEventLoop) -> None:
        self._protocol = protocol
        self._loop = loop
        self._line: deque[Lane] = deque()
        self._due = False
        self._sync = protocol.engine.unsynced
        self._unsynced: deque[tuple[int, Lane, Call | Answer, Answer]] = deque()
        self._asked: SimpleQueue[int | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._syncing = False

    def enqueue(self, lane: Lane) -> None:
        """Serve the works of this lane, from the next turn on."""
        if not lane.queued:
            lane.queued = True
            self._line.append(lane)
        if not self._due:
            self._due = True
            self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        self._due = False
        batch = self._take()
        if len(batch) == 1 and not self._unsynced:
            self._singly(batch)
        else:
            start = 0
            while start < len(batch):
                start, early, late = stretch(batch, start)
                self._singly(early)
                if len(late) > 1 or (late and self._unsynced):
                    self._together(late)
                else:
                    self._singly(late)
        if self._line and not self._due:
            self._due = True
            self._loop.call_soon(self._turn)

    def _take(self) -> list[Entry]:
        """The works of this turn: round the lanes, one from each at a time."""
        line = self._line
        batch: list[Entry] = []
        for _ in range(ROUNDS_PER_TURN):
            for _ in range(min(len(line), WORKS_PER_TURN - len(batch))):
                lane = line.popleft()
                if lane.works and not lane.stalled:
                    batch.append((lane, lane.works.popleft()))
                    if lane.works:
                        line.append(lane)
                        continue
                lane.queued = False
        return batch

    def _singly(self, entries: list[Entry]) -> None:
        """Run the works each by itself, a write with its own commit."""
        protocol = self._protocol
        for lane, work in entries:
            answer = protocol.finish(work)
            if self._unsynced:
                self._unsynced.append((self._unsynced[-1][0], lane, work, answer))
            else:
                lane.answered(answer)

    def _together(self, entries: list[Entry]) -> None:
        """Run the works in a group, and answer when it is committed.

        Where a thread syncs and has nothing to do, half of them go first: the disk works while the other
        half runs, and the two halves keep taking turns for as long as their clients keep asking.
        """
        if self._sync is not None and not self._syncing and len(entries) >= WORTH_HALVING:
            half = len(entries) // 2
            self._commit(entries[:half])
            self._commit(entries[half:])
        else:
            self._commit(entries)

    def _commit(self, entries: list[Entry]) -> None:
        protocol, sync = self._protocol, self._sync
        try:
            with protocol.engine.group(sync=False):
                answers = [protocol.finish(work) for _, work in entries]
        except Exception as error:  # noqa: BLE001 - whatever kept the group from committing is an answer
            answers = self._failed([work for _, work in entries], error)
        if sync is None:
            for (lane, _), answer in zip(entries, answers, strict=True):
                lane.answered(answer)
            return
        commit = sync.committed
        self._unsynced.extend(
            (commit, lane, work, answer) for (lane, work), answer in zip(entries, answers, strict=True)
        )
        self._sync_on()

    def _sync_on(self) -> None:
        """Have the thread sync what is committed by now, unless it is at it."""
        sync = self._sync
        if sync is None or self._syncing or not self._unsynced:
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._sync_asked, args=(sync,), name="keyplan-sync", daemon=True)
            self._thread.start()
        self._syncing = True
        self._asked.put(sync.committed)

    def _sync_asked(self, sync: LogSync) -> None:
        """The work of the sync thread: nothing but waiting for the disk."""
        while (commit := self._asked.get()) is not None:
            error: Exception | None = None
            try:
                sync.wait(commit)
            except Exception as failure:  # noqa: BLE001 - handed to the loop, where it is answered
                error = failure
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                self._loop.call_soon_threadsafe(self._synced, error)

    def close(self) -> None:
        """End the sync thread, when every answer has been given."""
        if self._thread is not None:
            self._asked.put(None)
            self._thread = None

    def _synced(self, error: Exception | None) -> None:
        """Give the answers whose commits are on the disk; if the disk fails, none was acknowledged."""
        self._syncing = False
        unsynced = self._unsynced
        if error is not None:
            works = [work for _, _, work, _ in unsynced]
            for (_, lane, _, _), answer in zip(unsynced, self._failed(works, error), strict=True):
                lane.answered(answer)
            unsynced.clear()
            return
        synced = self._sync.synced if self._sync is not None else 0
        while unsynced and unsynced[0][0] <= synced:
            _, lane, _, answer = unsynced.popleft()
            lane.answered(answer)
        self._sync_on()

    def _failed(self, works: list[Call | Answer], error: Exception) -> list[Answer]:
        protocol = self._protocol
        failure = protocol.failure(error)
        return [protocol.render(work, failure) if isinstance(work, Call) else work for work in works]


def stretch(batch: list[Entry], start: int) -> tuple[int, list[Entry], list[Entry]]:
    """The works from `start` that one group can serve: where they end, those to run before it and
    those to run in it. Answers made already keep their place in their lane."""
    early: list[Entry] = []
    late: list[Entry] = []
    writers: set[Lane] = set()
    for position in range(start, len(batch)):
        entry = lane, work = batch[position]
        if not isinstance(work, Call):
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
