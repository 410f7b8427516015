"""Group commit, which combines the writes of many threads in one transaction.

A thread becomes the leader if it makes a call while no other thread is the leader. It runs all queued calls, including
its own, in one transaction. While its commit is written to disk, the next thread in the queue becomes the leader and
runs the calls that have been queued since. For each call, its thread is woken up only once. The calls of a batch do not
pass a lock from thread to thread, because in Python this would take longer than the calls themselves.

Threads that received their results at the same time tend to make their next calls in quick succession. The leader waits
as long as such calls keep arriving, because late calls would otherwise have to wait for a separate commit.

A signal handler can raise an exception while the main thread is the leader. If the exception is not an instance of
`Exception` (for example, KeyboardInterrupt or SystemExit), the main thread receives it. An `Exception` that is raised
during the call of another thread cannot be distinguished from an error in that call. The call is undone, and its thread
receives the exception instead of the main thread. Therefore, handlers that stop the program should raise an exception
that is derived directly from `BaseException`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from keyplan.errors import StorageError

MAX_IDLE_YIELDS = 4
"""The number of consecutive yields to other threads, without a new call, after which the leader runs the
queued calls.
"""


class CombinedCall:
    """A queued call. After the call has run, this object contains its result or error."""

    __slots__ = ("batch", "callback", "error", "is_done", "is_leader", "raises_early", "result", "ticket", "wake")

    def __init__(self, callback: Callable[..., Any], raises_early: bool) -> None:
        self.callback = callback
        self.raises_early = raises_early
        self.result: Any = None
        self.error: BaseException | None = None
        self.is_done = False
        self.is_leader = False
        self.batch: Sequence[CombinedCall] = ()
        """If this call's thread is the leader, the calls of its batch."""
        self.ticket: int | None = None
        """The number of the batch that this call's thread must settle itself, because the leader was interrupted."""
        self.wake = threading.Lock()
        self.wake.acquire()


class Combiner:
    """A queue of calls from several threads. The calls are run in batches.

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
        self._has_leader = False
        self._expected_calls = 0  # the expected number of concurrent calls

    def submit(self, callback: Callable[..., Any], raises_early: bool) -> Any:
        """Run `callback` as part of a batch and return its result.

        `raises_early` is True if the callback never raises an exception after its first write. Raises the exception
        that the callback raised or, if the whole batch failed, the exception that caused the failure.
        """
        call = CombinedCall(callback, raises_early)
        try:
            with self._mutex:
                self._queue.append(call)
                call.is_leader = not self._has_leader
                self._has_leader = True
            if not call.is_leader:
                call.wake.acquire()  # released when the call is done or this thread must lead
            if not call.is_done:
                self._await_calls()
                self._run_as_leader(call)
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
        """Remove a call from the queue. If the thread of the call is the leader, make the next thread in the queue the
        leader.
        """
        with self._mutex:
            if call in self._queue:
                self._queue.remove(call)
            self._pass_lead(call)
        _wake_batch(call)

    def _pass_lead(self, call: CombinedCall) -> None:
        """If the thread of `call` is the leader, make the first thread in the queue the leader instead. If the queue is
        empty, no thread is the leader. The caller must hold the mutex.
        """
        has_calls = bool(self._queue)
        if call.is_leader:
            call.is_leader, self._has_leader = False, has_calls
            if has_calls:
                first = self._queue[0]
                first.is_leader = True
                first.wake.release()

    def _run_as_leader(self, leader: CombinedCall) -> None:
        ticket = None
        try:
            with self._mutex:
                leader.batch, self._queue = self._queue, []
            self._expected_calls = max(self._expected_calls // 2, len(leader.batch))
            ticket = self._run(leader.batch)
            with self._mutex:
                self._pass_lead(leader)
            self._settle(leader.batch, ticket)
        except BaseException as error:
            for call in leader.batch:
                if ticket is not None:  # the batch ran despite the exception
                    call.ticket = ticket
                else:
                    call.error = StorageError(
                        "the writing thread was interrupted: this write may or may not have been stored"
                    )
                    call.error.__cause__ = error
            raise
        _wake_batch(leader)

    def _await_calls(self) -> None:
        length, idle_yields = len(self._queue), 0
        while length < self._expected_calls and idle_yields < MAX_IDLE_YIELDS:
            yield_processor()
            length_now = len(self._queue)
            idle_yields = 0 if length_now > length else idle_yields + 1
            length = length_now


def _wake_batch(leader: CombinedCall) -> None:
    """Wake the threads whose calls were run in a batch. If an exception interrupts this function, calling it again
    wakes the remaining threads.
    """
    for call in leader.batch:
        if not call.is_done:
            call.is_done = True
            if call is not leader:
                call.wake.release()


def yield_processor() -> None:
    """Yield the processor to other runnable threads."""
    time.sleep(0)
