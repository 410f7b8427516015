"""Writes of many threads, run together by whichever of them comes first.

A thread that finds nobody at it leads: it takes every call queued by then, its own among them, and runs
them in one transaction. While its commit goes to the disk the next thread in line leads the calls that
queued meanwhile. A call costs its thread one wake-up, and no lock is handed round between the calls of
a batch, which in Python would cost more than the calls themselves.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


class Call:
    """One piece of work waiting to be run, and what became of it."""

    __slots__ = ("done", "error", "result", "settled", "wake", "work")

    def __init__(self, work: Callable[..., Any], settled: bool) -> None:
        self.work = work
        self.settled = settled
        self.result: Any = None
        self.error: BaseException | None = None
        self.done = False
        self.wake = threading.Lock()
        self.wake.acquire()


class Combiner:
    """Runs calls in batches. `run` makes a batch's results, `settle` makes them last; neither raises."""

    def __init__(self, run: Callable[[list[Call]], int], settle: Callable[[list[Call], int], None]) -> None:
        self._run = run
        self._settle = settle
        self._mutex = threading.Lock()
        self._queue: list[Call] = []
        self._led = False

    def submit(self, work: Callable[..., Any], settled: bool) -> Any:
        """Run the work in some batch; its result, or the exception that it or the batch met."""
        call = Call(work, settled)
        with self._mutex:
            self._queue.append(call)
            leads = not self._led
            self._led = True
        if not leads:
            call.wake.acquire()  # until it is done, or this thread is to lead
        if not call.done:
            self._lead(call)
        if call.error is not None:
            raise call.error
        return call.result

    def _lead(self, own: Call) -> None:
        with self._mutex:
            batch, self._queue = self._queue, []
        ticket = self._run(batch)
        with self._mutex:
            successor = self._queue[0] if self._queue else None
            self._led = successor is not None
        if successor is not None:
            successor.wake.release()
        self._settle(batch, ticket)
        for call in batch:
            call.done = True
            if call is not own:
                call.wake.release()
