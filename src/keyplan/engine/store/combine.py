"""Writes of many threads, run together by whichever of them comes first.

A thread that finds nobody at it leads: it takes every call queued by then, its own among them, and runs
them in one transaction. While its commit goes to the disk the next thread in line leads the calls that
queued meanwhile. A call costs its thread one wake-up, and no lock is handed round between the calls of
a batch, which in Python would cost more than the calls themselves.

Threads that were answered together call again one after another. Whoever leads lets them run first, as
long as that brings more calls: a batch of few would keep the others waiting for a commit of its own.

What a signal's handler raises while the main thread leads goes to the main thread if it is no Exception, as
KeyboardInterrupt and SystemExit are none. An Exception of a handler that comes while the work of another thread's call
is run cannot be told from one of that work: that call is undone and its thread gets the exception, the main thread
does not. Handlers that mean to stop the program should raise what is no Exception.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from keyplan.errors import StorageError

LOOKS_IN_VAIN = 4
"""Turns given to other threads that bring no call, until a batch waits no more."""


class CombinedCall:
    """One piece of work waiting to be run, and what became of it."""

    __slots__ = ("batch", "done", "error", "leads", "result", "settled", "ticket", "wake", "work")

    def __init__(self, work: Callable[..., Any], settled: bool) -> None:
        self.work = work
        self.settled = settled
        self.result: Any = None
        self.error: BaseException | None = None
        self.done = False
        self.leads = False
        self.batch: Sequence[CombinedCall] = ()
        """The calls that wait for this one's thread, which leads."""
        self.ticket: int | None = None
        """What its thread is to settle by itself, because the one that led was interrupted."""
        self.wake = threading.Lock()
        self.wake.acquire()


class Combiner:
    """Runs calls in batches. `run` makes a batch's results, `settle` makes them last; neither raises
    anything of its own."""

    def __init__(
        self, run: Callable[[list[CombinedCall]], int], settle: Callable[[list[CombinedCall], int], None]
    ) -> None:
        self._run = run
        self._settle = settle
        self._mutex = threading.Lock()
        self._queue: list[CombinedCall] = []
        self._led = False
        self._company = 0  # how many calls may be expected to come together

    def submit(self, work: Callable[..., Any], settled: bool) -> Any:
        """Run the work in some batch; its result, or the exception that it or the batch met."""
        call = CombinedCall(work, settled)
        try:
            with self._mutex:
                self._queue.append(call)
                call.leads = not self._led
                self._led = True
            if not call.leads:
                call.wake.acquire()  # until it is done, or this thread is to lead
            if not call.done:
                self._await_company()
                self._lead(call)
            elif call.ticket is not None:
                self._settle([call], call.ticket)
        except BaseException:
            # Of a signal's handler, as Ctrl-C has one: nobody must wait for a thread that is not there any more.
            self._withdraw(call)
            raise
        if call.error is not None:
            raise call.error
        return call.result

    def _withdraw(self, call: CombinedCall) -> None:
        """Leave the queue, and to the next one in it what this thread was to lead."""
        with self._mutex:
            if call in self._queue:
                self._queue.remove(call)
            self._hand_on(call)
        _wake(call)

    def _hand_on(self, own: CombinedCall) -> None:
        """Have the first in the queue lead, if this one still does. Under the mutex."""
        others = bool(self._queue)
        if own.leads:
            own.leads, self._led = False, others
            if others:
                first = self._queue[0]
                first.leads = True
                first.wake.release()

    def _lead(self, own: CombinedCall) -> None:
        ticket = None
        try:
            with self._mutex:
                own.batch, self._queue = self._queue, []
            self._company = max(self._company // 2, len(own.batch))
            ticket = self._run(own.batch)
            with self._mutex:
                self._hand_on(own)
            self._settle(own.batch, ticket)
        except BaseException as error:
            for call in own.batch:
                if ticket is not None:  # it was run all the same
                    call.ticket = ticket
                else:
                    call.error = StorageError("the thread that wrote was interrupted: this may be written or not")
                    call.error.__cause__ = error
            raise
        _wake(own)

    def _await_company(self) -> None:
        seen, vain = len(self._queue), 0
        while seen < self._company and vain < LOOKS_IN_VAIN:
            give_way()
            there = len(self._queue)
            vain = 0 if there > seen else vain + 1
            seen = there


def _wake(own: CombinedCall) -> None:
    """Let the threads of a batch go on. What an interruption has kept from one is done when this is called again."""
    for call in own.batch:
        if not call.done:
            call.done = True
            if call is not own:
                call.wake.release()


def give_way() -> None:
    """Let other threads run, if any can."""
    time.sleep(0)
