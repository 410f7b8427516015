"""Time and randomness: the only module that touches either, so that both can be replaced."""

from __future__ import annotations

import math
import random
import threading
import time
from typing import Protocol


class Clock(Protocol):
    """What the engine asks for time and chance."""

    @property
    def random(self) -> random.Random:
        """The source of randomness; seeded where runs must repeat."""

    def now(self) -> float:
        """Seconds since the Unix epoch."""

    def monotonic(self) -> float:
        """Seconds that never run backwards."""

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Wait for the event, at most this long; True if it was set."""


class SystemClock:
    """The machine's own time."""

    def __init__(self, seed: int | None = None) -> None:
        self.random = random.Random(seed)  # noqa: S311 - chance for ids and faults, no secrets

    def now(self) -> float:
        """Seconds since the Unix epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds that never run backwards."""
        return time.monotonic()

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Wait for the event, at most this long; True if it was set."""
        return event.wait(seconds)


class ManualClock:
    """Time that moves only when told to: for tests of everything that waits or expires."""

    def __init__(self, now: float = 1_700_000_000.0, seed: int = 0) -> None:
        self.random = random.Random(seed)  # noqa: S311 - chance for ids and faults, no secrets
        self._now = now

    def now(self) -> float:
        """Seconds since the Unix epoch, as last set."""
        return self._now

    def monotonic(self) -> float:
        """The same seconds; they never run backwards because `advance` refuses to."""
        return self._now

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Return at once: nothing passes but what `advance` adds."""
        del seconds
        return event.is_set()

    def advance(self, seconds: float) -> None:
        """Move time forward."""
        if seconds < 0:
            raise ValueError(f"time cannot move back ({seconds} seconds)")
        self._now += seconds


def check_seconds(**given: float) -> None:
    """Raise ValueError for what no delay can be: less than nothing, without an end, or no number."""
    for name, seconds in given.items():
        if not (isinstance(seconds, (int, float)) and 0 <= seconds < math.inf):
            raise ValueError(f"{name} is in seconds, not negative: {seconds!r}")
