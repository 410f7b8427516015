"""Measurements of get, query and put with 10,000 to 1,000,000 items and more, compared with bare SQLite on the same
rows.

At each number of items, the databases are opened again. A few calls of each operation are then timed while no pages of
the files are in memory (cold), and many calls while the pages that they need are in memory (warm). The engine and bare
SQLite take turns, and so do the large tables and tables of 10,000 items. Finally, one thread writes while another one
reads. At the last number of items, wrk repeats this over HTTP.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from bench import http
from bench.lines import PER_SECOND, TIMES, Line
from bench.measure import Figure, Run, measure_mixed, measure_once, measure_singles, median
from bench.suite import Loading
from bench.targets.model import InProcess, Settings, Target, TargetError
from bench.targets.server import running_engine
from bench.targets.table import open_target
from bench.wire import AnswerError
from bench.workload import BATCH_ITEMS, Operation, Workload, check_answer

SECTION = "a million items"
MILLION = 1_000_000
GET_TIMES = 1.5
GROWTH_TIMES = 1.5
FLOOR_TIMES = {Operation.GET: 2.5, Operation.QUERY: 2.0, Operation.PUT: 2.5}
PUT_P99_US = 20_000
LOG_MIB = 256
FIRST_STAGE_ITEMS = 10_000
STAGE_FACTOR = 10
TARGETS = ("engine", "engine-full", "bare", "bare-inline")
FLOOR = "bare"
MIB = 1024 * 1024

# Enough different keys to exceed a page cache of a few megabytes.
DISTINCT = {Operation.GET: 30_000, Operation.QUERY: 10_000, Operation.PUT: 20_000}
COLD_CALLS, COLD_ROUNDS = 200, 5
COLD_STREAM, MIXED_STREAM = 1, 2
MIXED = (Operation.GET, Operation.PUT)
MIXED_CONNECTIONS = 4
SERVED_S = 20  # long enough for several checkpoints


@dataclass(frozen=True, slots=True)
class TargetFigures:
    """The figures of one target at one number of items, by operation.

    `small` contains the figures of a table with 10,000 items, measured in turn with those in `warm`. `mixed` contains
    the figures of one thread with gets and one with puts, and `log_mib` is the size of the log afterwards.
    """

    cold: dict[Operation, Figure]
    warm: dict[Operation, Figure]
    small: dict[Operation, Figure]
    mixed: dict[Operation, Figure]
    load_items_per_second: float
    file_mib: float
    log_mib: float

    def growth(self, operation: Operation) -> float:
        """Return the ratio of the median time to that of the small table. Other load on the machine affects both."""
        return self.warm[operation].p50_us / self.small[operation].p50_us


@dataclass(frozen=True, slots=True)
class ServerFigures:
    """Concurrent gets and puts on `keyplan serve`, with several connections each, and the size of the log afterwards.

    `small` contains the figures of a table with 10,000 items, which is measured first.
    """

    figures: dict[Operation, Figure]
    small: dict[Operation, Figure]
    log_mib: float


@dataclass(frozen=True, slots=True)
class Stage:
    """The figures of all targets at one number of items. `resident_mib` is the memory of this process after loading."""

    items: int
    targets: dict[str, TargetFigures]
    resident_mib: float
    served: ServerFigures | None = None


@dataclass(frozen=True, slots=True)
class Scale:
    """All stages, smallest first."""

    target: str
    resident_at_start_mib: float
    stages: list[Stage]

    def lines(self) -> list[Line]:
        """Return lines that compare each stage with the small table and with bare SQLite. Only the last stage has
        limits.
        """
        return [line for stage in self.stages for line in self._of_stage(stage)]

    def _of_stage(self, stage: Stage) -> Iterator[Line]:
        size_text, small = f"{stage.items:,} items", f"{FIRST_STAGE_ITEMS:,} items"
        is_last = stage is self.stages[-1]
        target, floor = stage.targets[self.target], stage.targets.get(FLOOR) if self.target != FLOOR else None
        for operation, figure in target.warm.items():
            bound = GET_TIMES if operation == Operation.GET and is_last and stage.items <= MILLION else None
            label = f"{operation}, median, {size_text}"
            yield Line(SECTION, label, self.target, figure.p50_us, "us", small, target.small[operation].p50_us, bound)
            if floor:
                limit = FLOOR_TIMES[operation] if is_last else None
                yield Line(SECTION, label, self.target, figure.p50_us, "us", FLOOR, floor.warm[operation].p50_us, limit)
        for operation, figure in target.cold.items():
            other = (FLOOR, floor.cold[operation].p50_us) if floor else ("", None)
            yield Line(SECTION, f"{operation}, cold, median, {size_text}", self.target, figure.p50_us, "us", *other)
        if floor and is_last:
            growth = target.growth(Operation.GET), floor.growth(Operation.GET)
            label = f"growth of a get from {small}, {size_text}"
            yield Line(SECTION, label, self.target, growth[0], TIMES, FLOOR, growth[1], GROWTH_TIMES)
        yield from _mixed_lines(self.target, f"mixed, {size_text}", target.mixed, target.log_mib, has_limits=is_last)
        if served := stage.served:
            yield from _mixed_lines(
                "http", f"mixed over HTTP, {size_text}", served.figures, served.log_mib, has_limits=is_last
            )
            for operation, figure in served.small.items():
                label = f"{operation}, p99, mixed over HTTP, {small}"
                yield Line(SECTION, label, "http", figure.p99_us, "us")
        if target.load_items_per_second:
            yield Line(SECTION, f"loaded, {size_text}", self.target, target.load_items_per_second, PER_SECOND)
        yield Line(SECTION, f"file and log, {size_text}", self.target, target.file_mib, "MiB")
        added_mib = stage.resident_mib - self.resident_at_start_mib
        yield Line(SECTION, f"resident memory added, {size_text}", self.target, added_mib, "MiB")


def _mixed_lines(
    target: str, label: str, figures: Mapping[Operation, Figure], log_mib: float, *, has_limits: bool
) -> Iterator[Line]:
    for operation, figure in figures.items():
        limit = PUT_P99_US if has_limits and operation == Operation.PUT else None
        yield Line(SECTION, f"{operation}, {label}", target, figure.per_second, PER_SECOND)
        yield Line(SECTION, f"{operation}, p99, {label}", target, figure.p99_us, "us", limit=limit)
    yield Line(SECTION, f"log, {label}", target, log_mib, "MiB", limit=LOG_MIB if has_limits else None)


def measure(settings: Settings, items: int, loading: Loading, name: str = "engine") -> Scale:
    """Load `items` items in stages of 10,000, 100,000, ... and measure the target and bare SQLite after each stage.

    Items that the databases in the settings' folder already contain are not loaded again, and smaller stages are
    skipped.
    """
    if name not in TARGETS:
        raise TargetError(f"scale measures {', '.join(TARGETS)}, not {name}")
    initial_mib = resident_mib()
    databases = _Databases(settings, dict.fromkeys((name, FLOOR)))
    databases.small.folder.mkdir(parents=True, exist_ok=True)
    stages: list[Stage] = []
    for size in stage_sizes(items):
        if (loaded_items := databases.loaded_items()) > size:
            continue
        workload = replace(settings.workload, items=size)
        per_second = databases.load(workload, loaded_items, loading)
        stages.append(databases.stage(workload, per_second))
    if not stages:
        raise TargetError(f"{settings.folder} holds more than {items:,} items")
    if name.startswith("engine") and shutil.which("wrk"):
        stages[-1] = replace(stages[-1], served=_measure_server(databases, name))
    return Scale(name, initial_mib, stages)


def load(settings: Settings, loading: Loading, name: str = "engine") -> None:
    """Load the missing items of the settings' workload into a database in the settings' folder."""
    loaded_items = _Databases(settings, {name: None}).loaded_items()
    with open_target(name, settings) as target:
        _fill(_in_process(target), settings.workload, loaded_items, loading)


def stage_sizes(items: int) -> Sequence[int]:
    """Return 10,000, 100,000, ... and finally `items`."""
    sizes = list(itertools.takewhile(lambda size: size < items, _powers()))
    return [*sizes, items]


def resident_mib(process: str = "self") -> float:
    """Return the resident memory of a process without its children in MiB, or 0 if the system does not report it.

    Pages of mapped files do not count, because the system drops them when it needs memory.
    """
    statistics = Path(f"/proc/{process}/statm")
    if not statistics.exists():
        return 0.0
    _, resident, file_pages, *_ = map(int, statistics.read_text().split())
    return (resident - file_pages) * os.sysconf("SC_PAGE_SIZE") / MIB


def file_mib(folder: Path, name: str) -> float:
    """Return the size of a database including its log, in MiB."""
    return sum(path.stat().st_size for path in folder.glob(f"{name}.db*")) / MIB


def log_mib(folder: Path, name: str) -> float:
    """Return the size of a database's log in MiB. The log does not shrink while the database is open."""
    return sum(path.stat().st_size for path in folder.glob(f"{name}.db-wal")) / MIB


def drop_pages(folder: Path, name: str) -> None:
    """Drop the pages of a closed database from the system's cache, if the system supports this."""
    if not hasattr(os, "posix_fadvise"):
        return
    for path in folder.glob(f"{name}.db*"):
        file = os.open(path, os.O_RDWR)
        try:
            os.fsync(file)  # a page that is not yet on the disk stays in memory
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(file)


def _powers() -> Iterator[int]:
    size = FIRST_STAGE_ITEMS
    while True:
        yield size
        size *= STAGE_FACTOR


@dataclass(frozen=True, slots=True)
class _Databases:
    """The databases of some targets, and for each a small database that does not grow. They are opened for each
    measurement.
    """

    settings: Settings
    names: Mapping[str, None]

    @property
    def small(self) -> Settings:
        workload = replace(self.settings.workload, items=FIRST_STAGE_ITEMS)
        return replace(self.settings, folder=self.settings.folder / "small", workload=workload)

    def loaded_items(self) -> int:
        """Return the size of the largest stage that all databases already contain, or 0."""
        sizes = [0, *stage_sizes(self.settings.workload.items)]
        loaded_items = len(sizes) - 1
        for name in self.names:
            if not (self.settings.folder / f"{name}.db").exists():
                return 0
            with open_target(name, self.settings) as target:
                while loaded_items and not _holds(_in_process(target), self.settings.workload, sizes[loaded_items] - 1):
                    loaded_items -= 1
        return sizes[loaded_items]

    def load(self, workload: Workload, first: int, loading: Loading) -> Mapping[str, float]:
        """Load the items starting at index `first` into each database.

        Return the items per second for each database, or 0 if it already contained the items.
        """
        per_second = dict.fromkeys(self.names, 0.0)
        for name in self.names:
            with open_target(name, self.small) as small:
                _fill(_in_process(small), self.small.workload, 0, loading)
            with open_target(name, self.settings) as target:
                per_second[name] = _fill(_in_process(target), workload, first, loading)
        return per_second

    def stage(self, workload: Workload, per_second: Mapping[str, float]) -> Stage:
        """Measure all databases in turn."""
        folder, resident = self.settings.folder, resident_mib()
        cold = {operation: self._cold(workload, operation) for operation in DISTINCT}
        with contextlib.ExitStack() as stack:
            large = {name: self._open(stack, name, self.settings) for name in self.names}
            small = {name: self._open(stack, name, self.small) for name in self.names}
            warm = {operation: self._warm(large, small, workload, operation) for operation in DISTINCT}
            mixed_figures = {
                name: measure_mixed(_mixed_runs(target, workload), self.settings.span) for name, target in large.items()
            }
            figures_by_target = {
                name: TargetFigures(
                    {operation: figures[name] for operation, figures in cold.items()},
                    {operation: figures[name] for operation, figures in warm.items()},
                    {operation: figures[_small_name(name)] for operation, figures in warm.items()},
                    mixed_figures[name],
                    per_second[name],
                    file_mib(folder, name),
                    log_mib(folder, name),
                )
                for name in self.names
            }
        return Stage(workload.items, figures_by_target, resident)

    def _cold(self, workload: Workload, operation: Operation) -> dict[str, Figure]:
        calls = workload.calls(operation, COLD_CALLS, COLD_STREAM)
        rounds: dict[str, list[Figure]] = {name: [] for name in self.names}
        for number in range(COLD_ROUNDS):
            for name in self.names:
                drop_pages(self.settings.folder, name)
                with open_target(name, self.settings) as target:
                    prepare = _in_process(target).prepare
                    rounds[name].append(measure_once([prepare(call) for call in calls[number::COLD_ROUNDS]]))
        return {name: median(figures) for name, figures in rounds.items()}

    def _warm(
        self,
        large: Mapping[str, InProcess],
        small: Mapping[str, InProcess],
        workload: Workload,
        operation: Operation,
    ) -> dict[str, Figure]:
        runs: dict[str, list[Run]] = {}
        for name in self.names:
            runs[name] = _runs(large[name], workload, operation)
            runs[_small_name(name)] = _runs(small[name], self.small.workload, operation)
        for calls in runs.values():
            for run in calls:  # load the pages
                run()
        return measure_singles({name: itertools.cycle(calls) for name, calls in runs.items()}, self.settings.span)

    def _open(self, stack: contextlib.ExitStack, name: str, settings: Settings) -> InProcess:
        return _in_process(stack.enter_context(open_target(name, settings)))


def _small_name(name: str) -> str:
    return f"{name}, small"


def _holds(target: InProcess, workload: Workload, index: int) -> bool:
    """Return True if a database contains an item. The result is False if the table does not exist."""
    try:
        return "note" in target.prepare(workload.get_call(index))()["Item"]
    except Exception:  # noqa: BLE001 - no table, or no row: each target raises its own errors
        return False


def _fill(target: InProcess, workload: Workload, first: int, loading: Loading) -> float:
    """Load the items starting at index `first`. Return the items per second, or 0 if the database already contains
    them.
    """
    if _holds(target, workload, workload.items - 1):
        return 0.0
    if not first:
        target.prepare(workload.create_table())()
    with loading(f"{target.name}, {workload.items:,} items", workload.items - first) as progress:
        return _load(target, workload, first, progress)


def _load(target: InProcess, workload: Workload, first: int, progress: Callable[[int], None]) -> float:
    """Load the items starting at index `first`. Return the items per second, excluding the time to generate
    the items.
    """
    elapsed_ns = 0
    for call in workload.load(first):
        run = target.prepare(call)
        before_ns = time.perf_counter_ns()
        response = run()
        elapsed_ns += time.perf_counter_ns() - before_ns
        if reason := check_answer(Operation.BATCH, response):
            raise AnswerError(f"{target.name}: {reason}")
        progress(BATCH_ITEMS)
    return (workload.items - first) * 1e9 / elapsed_ns


def _measure_server(databases: _Databases, name: str) -> ServerFigures:
    """Measure `keyplan serve` with the small and the large database file."""
    small, _ = _drive_server(databases.small, name)
    figures, log = _drive_server(databases.settings, name)
    return ServerFigures(figures, small, log)


def _drive_server(settings: Settings, name: str) -> tuple[dict[Operation, Figure], float]:
    """Measure `keyplan serve` with two wrk processes, one for gets and one for puts. Return the figures and the size of
    the log.
    """
    load = http.Load(MIXED_CONNECTIONS, SERVED_S)
    with (
        # Another seed, because a put of a stored item writes nothing.
        http.RequestFiles(replace(settings.workload, seed=settings.workload.seed + 1)) as requests,
        running_engine(settings.folder, existing=settings.folder / f"{name}.db") as server,
        ThreadPoolExecutor(len(MIXED)) as pool,
    ):
        files = {operation: requests.path(operation) for operation in MIXED}
        futures = {operation: pool.submit(http.drive, server, path, load) for operation, path in files.items()}
        figures = {operation: future.result() for operation, future in futures.items()}
        return figures, log_mib(settings.folder, name)


def _in_process(target: Target) -> InProcess:
    if not isinstance(target, InProcess):
        raise TargetError(f"{target.name} runs in another process")
    return target


def _mixed_runs(target: InProcess, workload: Workload) -> dict[Operation, Iterator[Run]]:
    return {operation: itertools.cycle(_runs(target, workload, operation, MIXED_STREAM)) for operation in MIXED}


def _runs(target: InProcess, workload: Workload, operation: Operation, stream: int = 0) -> list[Run]:
    return [target.prepare(call) for call in workload.calls(operation, DISTINCT[operation], stream)]
