"""How get, query and put change from ten thousand items to a million, with file size and memory."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.lines import PER_SECOND, Line
from bench.measure import Figure, Runs, singles
from bench.suite import Loading
from bench.targets.model import InProcess, Settings, Target, TargetError
from bench.targets.table import open_target
from bench.wire import AnswerError
from bench.workload import BATCH_ITEMS, Operation, Workload, check_answer

SECTION = "a million items"
MILLION = 1_000_000
GET_TIMES = 1.5
FIRST_STAGE_ITEMS = 10_000
STAGE_FACTOR = 10
TARGETS = ("engine", "engine-full", "engine-memory", "bare", "bare-inline")
MIB = 1024 * 1024

# Enough different keys that a page cache of some megabytes cannot hold them all.
DISTINCT = {Operation.GET: 30_000, Operation.QUERY: 10_000, Operation.PUT: 20_000}


@dataclass(frozen=True, slots=True)
class Stage:
    """The figures at one number of items, and of a table of 10,000 measured in turn with it.

    `resident_mib` is of this whole process, before requests are prepared.
    """

    items: int
    figures: dict[Operation, Figure]
    small: dict[Operation, Figure]
    load_items_per_second: float
    file_mib: float
    resident_mib: float

    def times(self, operation: Operation) -> float:
        """Median time against the small table's: what else the machine does falls on both."""
        return self.figures[operation].p50_us / self.small[operation].p50_us


@dataclass(frozen=True, slots=True)
class Scale:
    """All stages, the smallest first."""

    target: str
    resident_at_start_mib: float
    stages: list[Stage]

    def lines(self) -> list[Line]:
        """Each stage beside the small table; the get of the last stage has a bound."""
        return [line for stage in self.stages for line in self._of_stage(stage)]

    def _of_stage(self, stage: Stage) -> Iterator[Line]:
        at, small = f"{stage.items:,} items", f"{FIRST_STAGE_ITEMS:,} items"
        for operation, figure in stage.figures.items():
            bound = GET_TIMES if operation == Operation.GET and stage is self.stages[-1] else None
            what = f"{operation}, median, {at}"
            yield Line(SECTION, what, self.target, figure.p50_us, "us", small, stage.small[operation].p50_us, bound)
        yield Line(SECTION, f"loaded, {at}", self.target, stage.load_items_per_second, PER_SECOND)
        yield Line(SECTION, f"file and log, {at}", self.target, stage.file_mib, "MiB")
        added_mib = stage.resident_mib - self.resident_at_start_mib
        yield Line(SECTION, f"resident memory added, {at}", self.target, added_mib, "MiB")


def measured(settings: Settings, items: int, loading: Loading, name: str = "engine") -> Scale:
    """Loads `items` items in stages of 10,000, 100,000, ... and measures after each."""
    if name not in TARGETS:
        raise TargetError(f"scale measures {', '.join(TARGETS)}, not {name}")
    at_start_mib = resident_mib()
    small_settings = replace(settings, folder=settings.folder / "small")
    small_settings.folder.mkdir()
    small_workload = replace(settings.workload, items=FIRST_STAGE_ITEMS)
    stages: list[Stage] = []
    with open_target(name, settings) as target, open_target(name, small_settings) as small:
        pair = _Pair(_in_process(target), _in_process(small), settings, small_workload)
        for opened in (pair.target, pair.small):
            opened.prepare(settings.workload.create_table())()
        with loading(name, items + FIRST_STAGE_ITEMS) as progress:
            _load(pair.small, small_workload, 0, progress)
            loaded = 0
            for size in stage_sizes(items):
                workload = replace(settings.workload, items=size)
                per_second = _load(pair.target, workload, loaded, progress)
                loaded = size
                stages.append(pair.stage(workload, per_second))
    return Scale(name, at_start_mib, stages)


def stage_sizes(items: int) -> Sequence[int]:
    """10,000, 100,000, ... up to `items`, which is always the last."""
    sizes = list(itertools.takewhile(lambda size: size < items, _powers()))
    return [*sizes, items]


def resident_mib() -> float:
    """Resident memory that is this process's own; 0 where the system does not tell.

    Pages of mapped files do not count: they are the system's, which drops them when it needs the room.
    """
    statistics = Path("/proc/self/statm")
    if not statistics.exists():
        return 0.0
    _, resident, of_files, *_ = map(int, statistics.read_text().split())
    return (resident - of_files) * os.sysconf("SC_PAGE_SIZE") / MIB


def file_mib(folder: Path, name: str) -> float:
    """Size of a database with its log."""
    return sum(path.stat().st_size for path in folder.glob(f"{name}.db*")) / MIB


def _powers() -> Iterator[int]:
    size = FIRST_STAGE_ITEMS
    while True:
        yield size
        size *= STAGE_FACTOR


def _load(target: InProcess, workload: Workload, first: int, progress: Callable[[int], None]) -> float:
    """Items a second, the time to make the items left out."""
    spent_ns = 0
    for call in workload.load(first):
        run = target.prepare(call)
        before_ns = time.perf_counter_ns()
        answer = run()
        spent_ns += time.perf_counter_ns() - before_ns
        if reason := check_answer(Operation.BATCH, answer):
            raise AnswerError(f"{target.name}: {reason}")
        progress(BATCH_ITEMS)
    return (workload.items - first) * 1e9 / spent_ns


@dataclass(frozen=True, slots=True)
class _Pair:
    """A table that grows beside one that does not."""

    target: InProcess
    small: InProcess
    settings: Settings
    small_workload: Workload

    def stage(self, workload: Workload, load_items_per_second: float) -> Stage:
        file, resident = file_mib(self.settings.folder, self.target.name), resident_mib()
        figures: dict[Operation, Figure] = {}
        small: dict[Operation, Figure] = {}
        for operation in DISTINCT:
            runs = {
                "target": _runs(self.target, workload, operation),
                "small": _runs(self.small, self.small_workload, operation),
            }
            both = singles(runs, self.settings.span)
            figures[operation], small[operation] = both["target"], both["small"]
        return Stage(workload.items, figures, small, load_items_per_second, file, resident)


def _in_process(target: Target) -> InProcess:
    if not isinstance(target, InProcess):
        raise TargetError(f"{target.name} runs in another process")
    return target


def _runs(target: InProcess, workload: Workload, operation: Operation) -> Runs:
    return itertools.cycle([target.prepare(call) for call in workload.calls(operation, DISTINCT[operation])])
