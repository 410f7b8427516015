"""Background threads. A `Worker` processes one kind of pending work, and `Background` runs periodic maintenance.

Maintenance deletes expired items, trims streams and recovery records, and performs delayed index writes. The
maintenance thread starts when the first table needs it and stops when the engine is closed. If the thread cannot be
started, the next table access tries again. The thread never runs with a `ManualClock`. Code that uses such a clock
calls `sweep`, `trim_streams` and `trim_history` itself.
"""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar

from keyplan.clock import Clock, ManualClock
from keyplan.engine.store.threads import start_thread
from keyplan.errors import EngineClosedError

T = TypeVar("T")


MAX_TRANSACTION_S, MIN_ROWS = 0.003, 10


class Pace:
    """An adaptive limit on the number of rows that a background transaction changes. The limit keeps other writers from
    waiting longer than a few milliseconds.
    """

    def __init__(self, clock: Clock, max_rows: int) -> None:
        self._clock = clock
        self._max_rows = max_rows
        self.rows = max_rows

    @contextmanager
    def measure(self) -> Iterator[None]:
        """Measure the duration of the transaction in the `with` block, and adapt `rows` for the next transaction.

        `rows` is the number of rows to change in one transaction. The number is halved after a transaction that took
        more than 3 ms, and doubled after one that took less than 1.5 ms.
        """
        started_s = self._clock.monotonic()
        yield
        duration_s = self._clock.monotonic() - started_s
        if duration_s > MAX_TRANSACTION_S:
            self.rows = max(min(MIN_ROWS, self._max_rows), self.rows // 2)
        elif duration_s < MAX_TRANSACTION_S / 2:
            self.rows = min(self._max_rows, 2 * self.rows)


class Worker(ABC, Generic[T]):
    """A background thread that processes one kind of work and ends when no work is left.

    A later call to `wake` starts a new thread.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._latest: threading.Thread | None = None  # running, or about to end

    @abstractmethod
    def _pending(self) -> Sequence[T]:
        """Return the pending tasks in processing order."""

    @abstractmethod
    def _run(self) -> None:
        """Process pending tasks until `_next_tasks` returns an empty sequence. If an error ends the thread early, a
        later call to `wake` starts a new thread.
        """

    def wake(self) -> None:
        """Start the thread if work is pending. If no thread can be started now, a later call to `wake` tries again."""
        with self._lock:
            if self._thread is None and not self._stop.is_set() and self._pending():
                self._thread = self._latest = start_thread(self._run_thread, self._name)

    def wait(self) -> None:
        """Wait until the thread has finished all pending work."""
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join()

    def close(self) -> None:
        """Stop the thread and wait until it ends. Unfinished work is resumed when the database is opened again."""
        self._stop.set()
        with self._lock:
            thread = self._latest
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _next_tasks(self) -> Sequence[T]:
        """Return the pending tasks. If no task is pending, or after `close`, return an empty sequence and mark the
        thread as ended.
        """
        with self._lock:
            tasks = () if self._stop.is_set() else self._pending()
            if not tasks:
                self._thread = None
            return tasks

    def _run_thread(self) -> None:
        try:
            self._run()
        finally:
            with self._lock:
                if self._thread is threading.current_thread():  # the thread ended although work is pending
                    self._thread = None


SWEEP_S = 1.0
TRIM_S = 60.0
TRIM_HISTORY_S = 3600.0  # each trim reads every record

_log = logging.getLogger(__name__)


class MaintainedEngine(Protocol):
    """The interface of an engine that the maintenance thread uses."""

    clock: Clock

    @property
    def needs_maintenance(self) -> bool:
        """Whether the maintenance thread has work: injected faults delay index writes, or a table uses time to live, a
        stream or point-in-time recovery.
        """
        ...

    def settle(self) -> None:
        """Perform the index writes that fault injection has delayed and that are now due."""
        ...

    def sweep(self, stopped: Callable[[], bool]) -> int:
        """Delete expired items and return their number. Stop early if `stopped()` returns True."""
        ...

    def trim_streams(self, stopped: Callable[[], bool]) -> int:
        """Remove expired stream records and return their number. Stop early if `stopped()` returns True."""
        ...

    def trim_history(self) -> int:
        """Remove recovery records that are older than the recovery period, and return their number."""
        ...


class Background:
    """The maintenance thread, which regularly deletes expired items, trims streams and recovery records, and performs
    delayed index writes.
    """

    def __init__(self, engine: MaintainedEngine, sweep_s: float | None) -> None:
        self._engine = engine
        self._sweep_s = sweep_s
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    @property
    def running(self) -> bool:
        """Whether the maintenance thread is running."""
        return self._thread is not None and self._thread.is_alive()

    def start_if_needed(self) -> None:
        """Start the maintenance thread if the engine needs maintenance, background sweeps are enabled and the clock is
        not a `ManualClock`.
        """
        if self._thread is not None or self._sweep_s is None or isinstance(self._engine.clock, ManualClock):
            return
        if not self._engine.needs_maintenance:
            return
        with self._lock:
            if self._thread is None and not self._stopping.is_set():
                self._thread = start_thread(self._run, "keyplan-background")

    def stop(self) -> None:
        """Stop the maintenance thread and wait until it ends. A sweep in progress finishes its current transaction
        first.
        """
        with self._lock:
            self._stopping.set()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _run(self) -> None:
        clock, sweep_s = self._engine.clock, self._sweep_s
        assert sweep_s is not None
        trimmed_at = history_trimmed_at = clock.monotonic()
        try:
            while not clock.wait(self._stopping, sweep_s):
                _attempt(self._engine.settle)
                _attempt(lambda: self._engine.sweep(self._stopping.is_set))
                if clock.monotonic() - trimmed_at >= TRIM_S:
                    trimmed_at = clock.monotonic()
                    _attempt(lambda: self._engine.trim_streams(self._stopping.is_set))
                if clock.monotonic() - history_trimmed_at >= TRIM_HISTORY_S:
                    history_trimmed_at = clock.monotonic()
                    _attempt(self._engine.trim_history)
        except EngineClosedError:
            return


def _attempt(task: Callable[[], object]) -> None:
    """Run a maintenance task and log any error, so that other tasks and later attempts still run.

    EngineClosedError is raised instead of logged, because it ends the thread.
    """
    try:
        task()
    except EngineClosedError:
        raise
    except Exception:  # noqa: BLE001 - the thread must continue, because no other code does its work
        # The work stays pending and is retried. A writer with the same failure reports it to its caller.
        _log.exception("background work failed")
