"""Background work: each worker in a thread of its own, drained before the process ends."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from keyplan.errors import UnknownOperationError
from keyplan_systems.web.system import UnfinishedError, Worker

_log = logging.getLogger("keyplan_systems.workers")
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 1.0, 60.0
_UNFINISHED_PAUSE_S = 5.0
"""The longest pause of a worker that left something undone, unless it rests longer anyway: the rest can be done."""


@dataclass
class State:
    """How a worker is doing."""

    worker: Worker
    done: int = 0
    """How much it has done since the start."""
    failures: int = 0
    """How often it failed in a row."""
    is_unfinished: bool = False
    """Whether it failed in a part of its work only, when it last failed."""
    last_error: str = ""
    """The kind of its last failure; the log has the whole, which may quote what is stored."""


@dataclass
class Workers:
    """The workers of all systems; `start` and `stop` them together."""

    workers: Sequence[Worker]
    states: list[State] = field(init=False)
    _stopping: threading.Event = field(init=False, default_factory=threading.Event)
    _threads: list[threading.Thread] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.states = [State(worker) for worker in self.workers]

    def start(self) -> None:
        """Begin; returns at once."""
        for state in self.states:
            thread = threading.Thread(target=self._run, args=(state,), name=f"keyplan-{state.worker.name}", daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop(self, timeout_s: float = 20.0) -> bool:
        """Let each finish what there is to do; False where one did not end in time."""
        self._stopping.set()
        for thread in self._threads:
            thread.join(timeout_s)
        return not any(thread.is_alive() for thread in self._threads)

    def _run(self, state: State) -> None:
        while True:
            stopping = self._stopping.is_set()
            did = self._once(state)
            if stopping and not did:
                return
            if not did:
                self._stopping.wait(self._pause_s(state))

    def _once(self, state: State) -> int:
        try:
            did = state.worker.run_once()
        except Exception as error:  # noqa: BLE001 - told to health and to the log, and tried again
            state.failures += 1
            state.last_error = _kind(error)
            state.is_unfinished = isinstance(error, UnfinishedError)
            _log_failure(error, state)
            did = error.done if isinstance(error, UnfinishedError) else 0
        else:
            state.failures, state.last_error = 0, ""
        state.done += did
        return did

    def _pause_s(self, state: State) -> float:
        if not state.failures:
            return state.worker.every_s
        part_s = max(_UNFINISHED_PAUSE_S, state.worker.every_s) if state.is_unfinished else _LONGEST_PAUSE_S
        return float(min(_LONGEST_PAUSE_S, part_s, _FIRST_PAUSE_S * 2 ** min(state.failures - 1, 6)))


def _log_failure(error: Exception, state: State) -> None:
    """Log the failure with its traceback; an operation that the endpoint does not support is explained by its text."""
    about = {"worker": state.worker.name, "failures": state.failures}
    if getattr(error, "code", None) == UnknownOperationError.code:
        _log.error("worker failed: %s", error, extra=about)
    else:
        _log.error("worker failed", exc_info=error, extra=about)


def _kind(error: Exception) -> str:
    """The error's class, and those of the errors that it stands for."""
    if not isinstance(error, ExceptionGroup):
        return type(error).__name__
    return f"{type(error).__name__}: {', '.join(sorted({_kind(one) for one in error.exceptions}))}"
