"""Runs the background workers, each in a separate thread. Before the process ends, the workers finish their pending
tasks.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from keyplan.clock import Clock, SystemClock
from keyplan.errors import UnknownOperationError
from keyplan_systems.web.system import UnfinishedError, Worker

_log = logging.getLogger("keyplan_systems.workers")
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 1.0, 60.0
_UP_TO_DATE_S = 5.0
"""Time in seconds for which a worker is considered up to date after a run in which it had no pending tasks. The
worker's pause between runs is added to this time.
"""
_UNFINISHED_PAUSE_S = 5.0
"""Maximum pause in seconds after a run in which only some tasks failed. It is short, because other tasks can still be
completed.

If the worker's normal pause between runs is longer, that pause is the maximum.
"""


@dataclass
class WorkerState:
    """The state of a background worker."""

    worker: Worker
    completed: int = 0
    """Number of tasks that the worker has completed since it was started."""
    failures: int = 0
    """Number of consecutive runs that failed."""
    is_unfinished: bool = False
    """Whether some tasks failed in the last failed run, but others could be completed."""
    last_error: str = ""
    """Class of the last error. The error's message is written only to the log, because it can contain stored values."""
    caught_up_s: float | None = None
    """Time in epoch seconds at which the worker last had no pending tasks, or None if it has had pending tasks ever
    since it was started.
    """


@dataclass
class Workers:
    """The workers of all systems, which are started and stopped together."""

    workers: Sequence[Worker]
    clock: Clock = field(default_factory=SystemClock)
    states: list[WorkerState] = field(init=False)
    _stopping: threading.Event = field(init=False, default_factory=threading.Event)
    _threads: list[threading.Thread] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.states = [WorkerState(worker) for worker in self.workers]

    def start(self) -> None:
        """Start a thread for each worker."""
        for state in self.states:
            thread = threading.Thread(target=self._run, args=(state,), name=f"keyplan-{state.worker.name}", daemon=True)
            thread.start()
            self._threads.append(thread)

    def lag_s(self, state: WorkerState) -> float | None:
        """Return the time in seconds since the worker last had no pending tasks. The result is 0 if the worker is up to
        date, or None if it has had pending tasks ever since it was started.
        """
        if state.caught_up_s is None:
            return None
        age_s = self.clock.now() - state.caught_up_s
        return 0.0 if not state.failures and age_s <= state.worker.every_s + _UP_TO_DATE_S else age_s

    def stop(self, timeout_s: float = 20.0) -> bool:
        """Stop the workers after they have finished their pending tasks. Return False if a worker did not stop within
        `timeout_s` seconds.
        """
        self._stopping.set()
        for thread in self._threads:
            thread.join(timeout_s)
        return not any(thread.is_alive() for thread in self._threads)

    def _run(self, state: WorkerState) -> None:
        while True:
            stopping = self._stopping.is_set()
            completed = self._run_once(state)
            if stopping and not completed:
                return
            if not completed:
                self._stopping.wait(self._pause_s(state))

    def _run_once(self, state: WorkerState) -> int:
        try:
            completed = state.worker.run_once()
        except Exception as error:  # noqa: BLE001 - reported to health and to the log, and tried again
            state.failures += 1
            state.last_error = _kind(error)
            state.is_unfinished = isinstance(error, UnfinishedError)
            _log_failure(error, state)
            completed = error.completed if isinstance(error, UnfinishedError) else 0
        else:
            state.failures, state.last_error = 0, ""
            if not completed:
                state.caught_up_s = self.clock.now()
        state.completed += completed
        return completed

    def _pause_s(self, state: WorkerState) -> float:
        if not state.failures:
            return state.worker.every_s
        limit_s = max(_UNFINISHED_PAUSE_S, state.worker.every_s) if state.is_unfinished else _LONGEST_PAUSE_S
        return float(min(_LONGEST_PAUSE_S, limit_s, _FIRST_PAUSE_S * 2 ** min(state.failures - 1, 6)))


def _log_failure(error: Exception, state: WorkerState) -> None:
    """Log an error of a worker with its traceback.

    If the error occurred because the endpoint does not support an operation, the traceback is omitted.
    """
    fields = {"worker": state.worker.name, "failures": state.failures}
    if getattr(error, "code", None) == UnknownOperationError.code:
        _log.error("worker failed: %s", error, extra=fields)
    else:
        _log.error("worker failed", exc_info=error, extra=fields)


def _kind(error: Exception) -> str:
    """Return the name of an error's class. For an exception group, also include the class names of the errors in it."""
    if not isinstance(error, ExceptionGroup):
        return type(error).__name__
    return f"{type(error).__name__}: {', '.join(sorted({_kind(cause) for cause in error.exceptions}))}"
