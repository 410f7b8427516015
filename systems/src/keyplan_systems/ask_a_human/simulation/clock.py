"""A clock whose time is set by the simulation. Waits and durations use real time."""

from __future__ import annotations

import random
import threading
import time


class DayClock:
    """The time of a simulated day. Threads can share it."""

    def __init__(self, at_ms: int, seed: int = 0) -> None:
        self.random = random.Random(seed)  # noqa: S311 - a seeded simulation
        self._now = 0.0
        self.set(at_ms)

    def set(self, at_ms: int) -> None:
        """Set the time. Half a millisecond is added, so that truncated float seconds give the intended value."""
        self._now = (at_ms + 0.5) / 1000

    def now(self) -> float:
        """Return the seconds since the Unix epoch, as last set."""
        return self._now

    def monotonic(self) -> float:
        """Return monotonic seconds of real time."""
        return time.monotonic()

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Wait for the event in real time, at most this long. Return True if it was set."""
        return event.wait(seconds)
