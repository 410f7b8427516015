"""A clock whose time of day is set, while waits and durations are real."""

from __future__ import annotations

import random
import threading
import time


class DayClock:
    """The time of a simulated day. Threads may share it."""

    def __init__(self, at_ms: int, seed: int = 0) -> None:
        self.random = random.Random(seed)  # noqa: S311 - a seeded simulation
        self._now = 0.0
        self.set(at_ms)

    def set(self, at_ms: int) -> None:
        """Make it this moment; half a millisecond past, so that seconds as floats are cut to what is meant."""
        self._now = (at_ms + 0.5) / 1000

    def now(self) -> float:
        """Seconds since the Unix epoch, as last set."""
        return self._now

    def monotonic(self) -> float:
        """Real seconds that never run backwards."""
        return time.monotonic()

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Really wait for the event, at most this long; True if it was set."""
        return event.wait(seconds)
