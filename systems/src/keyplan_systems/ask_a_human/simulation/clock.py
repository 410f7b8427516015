"""A clock whose time is set by the simulation. `monotonic` and `wait` use real time."""

from __future__ import annotations

import random
import threading
import time


class DayClock:
    """A clock that shows the time of the simulated day. Instances are thread-safe."""

    def __init__(self, at_ms: int, seed: int = 0) -> None:
        self.random = random.Random(seed)  # noqa: S311 - a seeded simulation
        self._now = 0.0
        self.set(at_ms)

    def set(self, at_ms: int) -> None:
        """Set the simulated time to the middle of the millisecond `at_ms`, so that rounding errors in the result of
        `now` do not lead to a different millisecond.
        """
        self._now = (at_ms + 0.5) / 1000

    def now(self) -> float:
        """Return the simulated time in epoch seconds."""
        return self._now

    def monotonic(self) -> float:
        """Return the real monotonic time in seconds."""
        return time.monotonic()

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Wait for at most `seconds` of real time until the event is set. Return True if it was set."""
        return event.wait(seconds)
