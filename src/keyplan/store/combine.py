"""Writes of many threads, run together by whichever of them comes first.

A thread that finds nobody at it leads: it takes every call queued by then, its own among them, and runs
them in one transaction. While its commit goes to the disk the next thread in line leads the calls that
queued meanwhile. A call costs its thread one wake-up, and no lock is handed round between the calls of
a batch, which in Python would cost more than the calls themselves.

Threads that were answered together call again one after another. Whoever leads lets them run first, as
long as that brings more calls: a batch of few would keep the others waiting for a commit of its own.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

LOOKS_IN_VAIN = 4
"""Turns given to other threads that bring no call, until a batch waits no more."""


class Call:
    """One piece of work waiting to be run, and what became of it."""

    __slots__ = ("done", "error", "leads", "result", "settled", "ticket", "wake", "work")

    def __init__(self, work: Callable[..., Any], settled: bool) -> None:
        self.work = work
        self.settled = settled
        self.result: Any = None
        self.error: BaseException | None = None
        self.done = False
        self.leads = False
        self.ticket: int | None = None
        """What its thread is to settle by itself, because the one that led was interrupted."""
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
        self._company = 0  # how many calls may be expected to come together

    def submit(self, work: Callable[..., Any], settled: bool) -> Any:
        """Run the work in some batch; its result, or the exception that it or the batch met."""
        call = Call(work, settled)
        with self._mutex:
            self._queue.append(call)
            call.leads = not self._led
            self._led = True
        try:
            if not call.leads:
                call.wake.acquire()  # until it is done, or this thread is to lead
            if not call.done:
                self._await_company()
        except BaseException:
            # Of a signal's handler, as Ctrl-C has one: nobody must wait for a thread that is not there any more.
            self._withdraw(call)
            raise
        if not call.done:
            self._lead(call)
        elif call.ticket is not None:
            self._settle([call], call.ticket)
        if call.error is not None:
            raise call.error
        return call.result

    def _withdraw(self, call: Call) -> None:
        """Leave the queue, and to the next one in it what this thread was to lead."""
        with self._mutex:
            if call in self._queue:
                self._queue.remove(call)
            if call.leads:
                self._hand_on()

    def _hand_on(self) -> None:
        """Have the first in the queue lead. Under the mutex."""
        self._led = bool(self._queue)
        if self._queue:
            self._queue[0].leads = True
            self._queue[0].wake.release()

    def _lead(self, own: Call) -> None:
        with self._mutex:
            batch, self._queue = self._queue, []
        self._company = max(self._company // 2, len(batch))
        ticket = self._run(batch)
        with self._mutex:
            self._hand_on()
        try:
            self._settle(batch, ticket)
        except BaseException:
            for call in batch:  # of a signal's handler, as above: the calls of the others were run all the same
                call.ticket = ticket
            raise
        finally:
            for call in batch:
                call.done = True
                if call is not own:
                    call.wake.release()

    def _await_company(self) -> None:
        seen, vain = len(self._queue), 0
        while seen < self._company and vain < LOOKS_IN_VAIN:
            give_way()
            there = len(self._queue)
            vain = 0 if there > seen else vain + 1
            seen = there


def give_way() -> None:
    """Let other threads run, if any can."""
    time.sleep(0)
