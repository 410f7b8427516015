"""Threads that start at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

THREADS = 8


def together(worker: Callable[[int], T]) -> list[T]:
    """Run the worker in so many threads, each with its number; what they return."""
    barrier = threading.Barrier(THREADS)

    def started(number: int) -> T:
        barrier.wait()
        return worker(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(started, range(THREADS)))
