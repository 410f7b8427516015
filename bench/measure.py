"""Timing of calls from Python: warm-up, one client, eight threads; operations per second and percentiles."""

from __future__ import annotations

import contextlib
import gc
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

Kind = TypeVar("Kind", bound=str)

Run = Callable[[], object]

Runs = Iterator[Run]
"""Endless prepared calls. Every measurement continues where the last one stopped, because repeated puts would find
their own rows.
"""

THREADS = 8
ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Figure:
    """The result of a measurement, with times in microseconds."""

    per_second: float
    p50_us: float
    p99_us: float
    calls: int
    failed: int = 0
    max_us: float = 0
    pages_read: float = 0
    """Number of 4 KiB pages per call that this process read from the disk, or 0 if the system does not count them."""

    @property
    def mean_us(self) -> float:
        """The mean time of a call, including deferred work such as checkpoints in line."""
        return 1e6 / self.per_second


@dataclass(frozen=True, slots=True)
class Span:
    """The durations of warm-up and measurement in seconds."""

    warm_up_s: float = 0.3
    measure_s: float = 1.5


def measure_single(runs: Runs, span: Span) -> Figure:
    """Measure one client that repeats `runs`."""
    _loop(runs, span.warm_up_s)
    # Garbage collection of the harness's prepared requests must not count as time of the target.
    gc.collect()
    gc.freeze()
    try:
        pages, started_ns = _pages_read(), time.perf_counter_ns()
        times_ns = _loop(runs, span.measure_s)
        return _figure(times_ns, time.perf_counter_ns() - started_ns, _pages_read() - pages)
    finally:
        gc.unfreeze()


def measure_once(runs: Sequence[Run]) -> Figure:
    """Measure one client that makes each call once, for calls that differ when repeated."""
    clock = time.perf_counter_ns
    times_ns: list[int] = []
    pages, started_ns = _pages_read(), clock()
    for run in runs:
        before_ns = clock()
        run()
        times_ns.append(clock() - before_ns)
    return _figure(times_ns, clock() - started_ns, _pages_read() - pages)


def measure_paced(runs: Runs, interval_s: float, stop: threading.Event) -> Figure:
    """Measure one client with a call due every `interval_s` seconds, until an event is set, with at least one call.

    The time of a call is measured from when the call was due, so that a call that has to wait also delays later calls.
    """
    clock, interval_ns = time.perf_counter_ns, int(interval_s * 1e9)
    times_ns: list[int] = []
    started_ns = due_ns = clock()
    for run in runs:
        if (ahead_ns := due_ns - clock()) > 0:
            time.sleep(ahead_ns / 1e9)
        run()
        times_ns.append(clock() - due_ns)
        due_ns += interval_ns
        if stop.is_set():
            break
    return _figure(times_ns, clock() - started_ns)


def measure_threads(runs_of_thread: Sequence[Runs], span: Span) -> Figure:
    """Measure one thread per sequence of calls, all started together. Raises the first error of any thread.

    Only the first sequence is used to warm up, because some targets take seconds for a call.
    """
    _loop(runs_of_thread[0], span.warm_up_s)
    times_ns, elapsed_ns = _run_threads(runs_of_thread, span.measure_s)
    return _figure([time_ns for thread_times_ns in times_ns for time_ns in thread_times_ns], elapsed_ns)


def measure_mixed(runs: Mapping[Kind, Runs], span: Span) -> dict[Kind, Figure]:
    """Measure one thread per kind of call, all at the same time, and return a figure for each kind."""
    times_ns, elapsed_ns = _run_threads(list(runs.values()), span.measure_s)
    return {kind: _figure(thread_times_ns, elapsed_ns) for kind, thread_times_ns in zip(runs, times_ns, strict=True)}


def _run_threads(runs_of_thread: Sequence[Runs], seconds: float) -> tuple[list[list[int]], int]:
    """Start one thread per sequence of calls. Return the call times of each thread and the total elapsed time, in
    nanoseconds.
    """
    times_ns: list[list[int]] = [[] for _ in runs_of_thread]
    errors: list[BaseException] = []
    start = threading.Barrier(len(runs_of_thread) + 1)

    def loop(runs: Runs, thread_times_ns: list[int]) -> None:
        try:
            start.wait()
            thread_times_ns.extend(_loop(runs, seconds))
        except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits
            errors.append(error)

    threads = [
        threading.Thread(target=loop, args=arguments, daemon=True)
        for arguments in zip(runs_of_thread, times_ns, strict=True)
    ]
    for thread in threads:
        thread.start()
    start.wait()
    started_ns = time.perf_counter_ns()
    for thread in threads:
        thread.join()
    elapsed_ns = time.perf_counter_ns() - started_ns
    if errors:
        raise errors[0]
    return times_ns, elapsed_ns


def measure_in_turn(measures: Mapping[str, Callable[[Span], Figure]], span: Span) -> dict[str, Figure]:
    """Measure several functions in turn for a few rounds, and return the median round of each.

    Other load on the machine then affects all of them in the same way, so that their ratios stay meaningful.
    """
    round_span = Span(span.warm_up_s / ROUNDS, span.measure_s / ROUNDS)
    rounds: dict[str, list[Figure]] = {name: [] for name in measures}
    for _ in range(ROUNDS):
        for name, measure in measures.items():
            rounds[name].append(measure(round_span))
    return {name: median(figures) for name, figures in rounds.items()}


def median(figures: Sequence[Figure]) -> Figure:
    """Return the figure with the median number of calls per second."""
    return sorted(figures, key=_per_second)[len(figures) // 2]


def measure_singles(runs: Mapping[str, Runs], span: Span) -> dict[str, Figure]:
    """Measure one client per target in turn, with `measure_in_turn`."""
    return measure_in_turn({name: partial(measure_single, calls) for name, calls in runs.items()}, span)


@contextlib.contextmanager
def one_core() -> Iterator[None]:
    """Keep all threads of this process on one core, where the system supports it (Linux)."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    try:
        _set_affinity({max(allowed)})
        yield
    finally:
        _set_affinity(allowed)


def _set_affinity(cores: set[int]) -> None:
    for thread in Path("/proc/self/task").iterdir():
        with contextlib.suppress(ProcessLookupError):  # it may have ended
            os.sched_setaffinity(int(thread.name), cores)


def _per_second(figure: Figure) -> float:
    return figure.per_second


def _loop(runs: Runs, seconds: float) -> list[int]:
    """Run calls until the time is over, but at least one. Return the time of each call in nanoseconds."""
    clock = time.perf_counter_ns
    times_ns: list[int] = []
    deadline_ns = clock() + int(seconds * 1e9)
    for run in runs:
        before_ns = clock()
        run()
        after_ns = clock()
        times_ns.append(after_ns - before_ns)
        if after_ns >= deadline_ns:
            break
    return times_ns


def _figure(times_ns: list[int], elapsed_ns: int, pages_read: int = 0) -> Figure:
    times_ns.sort()
    count = len(times_ns)
    return Figure(
        per_second=count * 1e9 / elapsed_ns,
        p50_us=times_ns[count // 2] / 1000,
        p99_us=times_ns[min(count - 1, count * 99 // 100)] / 1000,
        calls=count,
        max_us=times_ns[-1] / 1000,
        pages_read=pages_read / count,
    )


def _pages_read() -> int:
    """Return the number of 4 KiB pages that this process has read from disks, or 0 if the system does not
    count them.
    """
    counters = Path("/proc/self/io")
    if not counters.exists():
        return 0
    read_bytes = next(line for line in counters.read_text().splitlines() if line.startswith("read_bytes:"))
    return int(read_bytes.split()[1]) // 4096
