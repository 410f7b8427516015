"""Group commit, which combines the writes of many threads in one transaction.

A thread becomes the leader if it makes a call while no other thread is the leader. It runs all queued calls, including
its own, in one transaction. While its commit is written to disk, the next thread in the queue becomes the leader and
runs the calls that have been queued since. For each call, its thread is woken up only once. The calls of a batch do not
pass a lock from thread to thread, because in Python this would take longer than the calls themselves.

Threads that received their results at the same time tend to make their next calls in quick succession. The leader waits
as long as such calls keep arriving, because late calls would otherwise have to wait for a separate commit.

If a signal handler raises an exception while the main thread is the leader, the main thread receives it, unless it is a
subclass of Exception. KeyboardInterrupt and SystemExit are not subclasses. If a handler raises an Exception during the
call of another thread, it cannot be distinguished from an exception of that call. The call is undone, and its thread
receives the exception instead of the main thread. Handlers that stop the program should raise a BaseException that is
not an Exception.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from keyplan.errors import StorageError

LOOKS_IN_VAIN = 4
"""The number of times that the leader yields to other threads without receiving a new call. After this number of
consecutive times, it runs the queued calls.
"""


class CombinedCall:
    """A call in the queue, which contains its result or error after it has run."""

    __slots__ = ("batch", "done", "error", "leads", "result", "settled", "ticket", "wake", "work")

    def __init__(self, work: Callable[..., Any], settled: bool) -> None:
        self.work = work
        self.settled = settled
        self.result: Any = None
        self.error: BaseException | None = None
        self.done = False
        self.leads = False
        self.batch: Sequence[CombinedCall] = ()
        """If this call's thread is the leader, the calls of its batch."""
        self.ticket: int | None = None
        """The number of the batch that this call's thread must settle itself, because the leader was interrupted."""
        self.wake = threading.Lock()
        self.wake.acquire()


class Combiner:
    """A queue of calls from several threads, which are run in batches.

    `run` computes the results of a batch, and `settle` makes them durable. Both store errors in the calls and do not
    raise them.
    """

    def __init__(
        self, run: Callable[[list[CombinedCall]], int], settle: Callable[[list[CombinedCall], int], None]
    ) -> None:
        self._run = run
        self._settle = settle
        self._mutex = threading.Lock()
        self._queue: list[CombinedCall] = []
        self._led = False
        self._company = 0  # the expected number of concurrent calls

    def submit(self, work: Callable[..., Any], settled: bool) -> Any:
        """Run `work` as part of a batch and return its result.

        `settled` is True if the work never raises an exception after its first write. Raises the exception that the
        work raised or, if the whole batch failed, the exception that caused the failure.
        """
        call = CombinedCall(work, settled)
        try:
            with self._mutex:
                self._queue.append(call)
                call.leads = not self._led
                self._led = True
            if not call.leads:
                call.wake.acquire()  # released when the call is done or this thread must lead
            if not call.done:
                self._await_company()
                self._lead(call)
            elif call.ticket is not None:
                self._settle([call], call.ticket)
        except BaseException:
            # A signal handler raised an exception, for example on Ctrl-C. No thread may wait for this thread any
            # longer.
            self._withdraw(call)
            raise
        if call.error is not None:
            raise call.error
        return call.result

    def _withdraw(self, call: CombinedCall) -> None:
        """Remove a call from the queue, and make the next thread in the queue the leader."""
        with self._mutex:
            if call in self._queue:
                self._queue.remove(call)
            self._hand_on(call)
        _wake(call)

    def _hand_on(self, own: CombinedCall) -> None:
        """If the thread of the call `own` is the leader, make the first thread in the queue the leader. The caller must
        hold the mutex.
        """
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
                if ticket is not None:  # the batch ran despite the exception
                    call.ticket = ticket
                else:
                    call.error = StorageError("the thread that wrote was interrupted: this may be written or not")
                    call.error.__cause__ = error
            raise
        _wake(own)

    def _await_company(self) -> None:
        length, vain = len(self._queue), 0
        while length < self._company and vain < LOOKS_IN_VAIN:
            give_way()
            length_now = len(self._queue)
            vain = 0 if length_now > length else vain + 1
            length = length_now


def _wake(own: CombinedCall) -> None:
    """Wake the threads whose calls were run in a batch. If an exception interrupts this function, calling it again
    wakes the remaining threads.
    """
    for call in own.batch:
        if not call.done:
            call.done = True
            if call is not own:
                call.wake.release()


def give_way() -> None:
    """Yield the processor to other runnable threads."""
    time.sleep(0)
