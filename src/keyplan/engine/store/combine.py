"""Writes of many threads, combined by the thread that comes first.

A thread that finds no leader leads: it runs every queued call, its own included, in one transaction. While its commit
goes to the disk, the next thread in line leads the calls that have queued since. A call costs its thread one wake-up,
and no lock passes between the calls of a batch, which in Python would cost more than the calls themselves.

Threads that got their answers together call again one after another. The leader lets them run first, as long as that
brings more calls: a small batch would keep the others waiting for a separate commit.

If a signal handler raises while the main thread leads, the main thread gets the exception unless it is an Exception;
KeyboardInterrupt and SystemExit are not. An Exception of a handler during another thread's call cannot be distinguished
from one of that call: the call is undone and its thread gets the exception instead of the main thread. Handlers that
stop the program should raise a BaseException that is not an Exception.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from keyplan.errors import StorageError

LOOKS_IN_VAIN = 4
"""Number of turns given to other threads without a new call, after which a batch starts."""


class CombinedCall:
    """One queued piece of work and its result."""

    __slots__ = ("batch", "done", "error", "leads", "result", "settled", "ticket", "wake", "work")

    def __init__(self, work: Callable[..., Any], settled: bool) -> None:
        self.work = work
        self.settled = settled
        self.result: Any = None
        self.error: BaseException | None = None
        self.done = False
        self.leads = False
        self.batch: Sequence[CombinedCall] = ()
        """The calls that wait for this call's thread, which leads."""
        self.ticket: int | None = None
        """The batch that its thread must settle itself, because the leader was interrupted."""
        self.wake = threading.Lock()
        self.wake.acquire()


class Combiner:
    """Runner of calls in batches. `run` computes a batch's results, `settle` makes them durable; neither may raise."""

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
        """Run the work in some batch. Return its result, or raise the exception of the work or the batch."""
        call = CombinedCall(work, settled)
        try:
            with self._mutex:
                self._queue.append(call)
                call.leads = not self._led
                self._led = True
            if not call.leads:
                call.wake.acquire()  # until the call is done, or this thread has to lead
            if not call.done:
                self._await_company()
                self._lead(call)
            elif call.ticket is not None:
                self._settle([call], call.ticket)
        except BaseException:
            # A signal handler raised, for example on Ctrl-C: nobody must wait for a thread that has left.
            self._withdraw(call)
            raise
        if call.error is not None:
            raise call.error
        return call.result

    def _withdraw(self, call: CombinedCall) -> None:
        """Leave the queue, and pass leadership to the next thread in it."""
        with self._mutex:
            if call in self._queue:
                self._queue.remove(call)
            self._hand_on(call)
        _wake(call)

    def _hand_on(self, own: CombinedCall) -> None:
        """Make the first thread in the queue lead, if this one still does. Requires the mutex."""
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
                if ticket is not None:  # the batch ran all the same
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
    """Wake the threads of a batch. After an interruption, a second call wakes the remaining ones."""
    for call in own.batch:
        if not call.done:
            call.done = True
            if call is not own:
                call.wake.release()


def give_way() -> None:
    """Let other threads run, if any can."""
    time.sleep(0)
