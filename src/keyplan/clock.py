"""Clocks, which provide the time and random numbers. Tests can replace them."""

from __future__ import annotations

import math
import random
import threading
import time
from typing import Protocol


class Clock(Protocol):
    """The interface of a clock, which provides time and random numbers to the engine and to connections."""

    @property
    def random(self) -> random.Random:
        """The generator of random numbers. Seed it for repeatable runs."""

    def now(self) -> float:
        """Return the current time in seconds since the Unix epoch."""

    def monotonic(self) -> float:
        """Return a time in seconds that never decreases, for measuring durations."""

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Wait for an event for at most `seconds` seconds. Return True if the event is set."""


class SystemClock:
    """The clock of the operating system."""

    def __init__(self, seed: int | None = None) -> None:
        self.random = random.Random(seed)  # noqa: S311 - for ids and faults, not for secrets

    def now(self) -> float:
        """Return the current time in seconds since the Unix epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Return a time in seconds that never decreases, for measuring durations."""
        return time.monotonic()

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Wait for an event for at most `seconds` seconds. Return True if the event is set."""
        return event.wait(seconds)


class ManualClock:
    """A clock whose time changes only when `advance` is called, for tests of waiting and expiry."""

    def __init__(self, now: float = 1_700_000_000.0, seed: int = 0) -> None:
        self.random = random.Random(seed)  # noqa: S311 - for ids and faults, not for secrets
        self._now = now

    def now(self) -> float:
        """Return the current time of this clock in seconds since the Unix epoch."""
        return self._now

    def monotonic(self) -> float:
        """Return the same value as `now`. It never decreases, because `advance` rejects negative values."""
        return self._now

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Return True if the event is set, without waiting, because only `advance` changes the time."""
        del seconds
        return event.is_set()

    def advance(self, seconds: float) -> None:
        """Advance the clock by a number of seconds."""
        if seconds < 0:
            raise ValueError(f"time cannot move back ({seconds} seconds)")
        self._now += seconds


def check_seconds(**delays: float) -> None:
    """Raise ValueError if a delay is negative, infinite or not a number. The message contains the parameter's name."""
    for name, seconds in delays.items():
        if not (isinstance(seconds, (int, float)) and 0 <= seconds < math.inf):
            raise ValueError(f"{name} must be a non-negative number of seconds, not {seconds!r}")
