"""The engine's background thread: sweeps expired items, trims streams and histories, lets lagging indexes catch up.

It starts with the first table that needs it, or with a later look at a table if there is no thread to be had then, and
ends with the engine. A clock that does not run by itself has no use for it: then whoever moves the clock calls `sweep`,
`trim_streams` and `trim_history` on the engine.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from keyplan.clock import ManualClock
from keyplan.engine.store.threads import started
from keyplan.errors import EngineClosedError

if TYPE_CHECKING:
    from keyplan.engine.engine import Engine

SWEEP_S = 1.0
TRIM_S = 60.0
TRIM_HISTORY_S = 3600.0  # every record is looked at

_log = logging.getLogger(__name__)


class Background:
    """Owns the thread."""

    def __init__(self, engine: Engine, sweep_s: float | None) -> None:
        self._engine = engine
        self._sweep_s = sweep_s
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    @property
    def running(self) -> bool:
        """Whether there is a thread at work."""
        return self._thread is not None and self._thread.is_alive()

    def start_if_needed(self) -> None:
        """Start the thread if some table expires items, keeps a stream or its history, or has a lagging index."""
        if self._thread is not None or self._sweep_s is None or isinstance(self._engine.clock, ManualClock):
            return
        lagging = self._engine.faults is not None and self._engine.faults.lags
        kept = (table.expiry or table.stream or table.recovery for table in self._engine.catalog.known())
        if not lagging and not any(kept):
            return
        with self._lock:
            if self._thread is None and not self._stopping.is_set():
                self._thread = started(self._run, "keyplan-background")

    def stop(self) -> None:
        """End the thread. A sweep under way finishes its transaction first."""
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


def _attempt(work: Callable[[], object]) -> None:
    """Do one kind of work; what keeps it from being done keeps no other from it, now or later."""
    try:
        work()
    except EngineClosedError:
        raise
    except Exception:  # noqa: BLE001 - a thread that ended here would leave everything undone for good
        # Nothing is lost: what was not done is still due. A writer meets the same failure and reports it to its caller.
        _log.exception("background work failed")
