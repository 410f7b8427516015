"""Long jobs on a large table during writes: an index backfill, time to live and its sweep, an export, `keyplan fsck`.

The jobs use a copy of a database that `scale` has loaded. A thread puts an item every ten milliseconds. The time of a
put is measured from when the put was due, so that a put that has to wait also delays later puts.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import scale
from bench.lines import PER_SECOND, Line
from bench.measure import Figure, Run, measure_paced
from bench.scale import LOG_MIB, PUT_P99_US, drop_pages, log_mib, resident_mib
from bench.suite import Loading, Say
from bench.targets.engine import engine_call, engine_class
from bench.targets.model import Settings, TargetError
from bench.targets.server import source_environment
from bench.workload import Operation
from keyplan.clock import Clock, SystemClock
from keyplan.engine import progress

if TYPE_CHECKING:
    from keyplan.engine.engine import Engine

SECTION = "maintenance"
ENGINE, COPY = "engine", "maintenance"
BUCKET = "exports"
IDLE_S = 20.0
WARM_UP_S = 3.0
PUTS = 20_000
PUT_STREAM = 3
PUT_INTERVAL_S = 0.01
POLL_S = 0.05
MEMORY_MIB = 256
EXPIRED_AT = 200
"""Time in epoch seconds. The attribute `amount` is used as the expiry time, and about a ninth of its values
are lower.
"""

JobFunction = Callable[["Engine", Settings, float], int]
"""Function that runs a job with the engine, the settings and a deadline (monotonic seconds), and returns the number of
processed items.
"""

INDEX = {
    "IndexName": "by_status",
    "KeySchema": [
        {"AttributeName": "status", "KeyType": "HASH"},
        {"AttributeName": "created_at", "KeyType": "RANGE"},
    ],
    "Projection": {"ProjectionType": "ALL"},
}


@dataclass(frozen=True, slots=True)
class JobResult:
    """The result of a job: its duration, its number of items, and the puts of a thread during the job.

    `resident_mib` is the maximum memory that the job added to this process, or that its separate process used.
    """

    name: str
    items: int
    seconds: float
    put: Figure
    resident_mib: float
    log_mib: float

    def lines(self) -> Iterator[Line]:
        """Yield lines with items per second, put times, memory and log size."""
        if self.items:
            yield Line(SECTION, self.name, ENGINE, self.items / self.seconds, PER_SECOND)
        yield Line(SECTION, f"put, median, during {self.name}", ENGINE, self.put.p50_us, "us")
        yield Line(SECTION, f"put, p99, during {self.name}", ENGINE, self.put.p99_us, "us", limit=PUT_P99_US)
        if self.items:
            yield Line(SECTION, f"put, slowest, during {self.name}", ENGINE, self.put.max_us, "us")
            yield Line(SECTION, f"memory, {self.name}", ENGINE, self.resident_mib, "MiB", limit=MEMORY_MIB)
            yield Line(SECTION, f"log, {self.name}", ENGINE, self.log_mib, "MiB", limit=LOG_MIB)


class _EarlyClock(SystemClock):
    """A clock with a time at which some of the items have expired."""

    def now(self) -> float:
        """Return the fixed time in epoch seconds."""
        return EXPIRED_AT


def measure(settings: Settings, limit_s: float, loading: Loading, say: Say) -> list[JobResult]:
    """Run every job on a copy of the engine's database in the folder. The copy is removed afterwards.

    A job that takes longer than `limit_s` seconds is stopped, and its result contains the items processed so far.
    """
    scale.load(settings, loading, ENGINE)
    with contextlib.ExitStack() as stack:
        stack.callback(_remove, settings.folder)
        say("copying the database")
        shutil.copyfile(settings.folder / f"{ENGINE}.db", settings.folder / f"{COPY}.db")
        return list(_jobs(settings, limit_s, say))


def _remove(folder: Path) -> None:
    for path in folder.glob(f"{COPY}.db*"):
        path.unlink()
    shutil.rmtree(folder / BUCKET, ignore_errors=True)


def _jobs(settings: Settings, limit_s: float, say: Say) -> Iterator[JobResult]:
    def run(name: str, job: JobFunction, clock: Clock | None = None) -> JobResult:
        say(name)
        drop_pages(settings.folder, COPY)
        path = settings.folder / f"{COPY}.db"
        with engine_class().open(path, ttl_sweep_s=None, buckets=settings.folder, clock=clock) as engine:
            return _while_writing(name, engine, settings, partial(job, engine, settings, time.monotonic() + limit_s))

    yield run("no job", _wait)
    yield run("keyplan fsck", _fsck)
    yield run("export", _export)
    yield run("index backfill", _index_backfill)
    with engine_class().open(settings.folder / f"{COPY}.db", ttl_sweep_s=None) as engine:
        deletion = [{"Delete": {"IndexName": INDEX["IndexName"]}}]
        engine.call("UpdateTable", {"TableName": settings.workload.table, "GlobalSecondaryIndexUpdates": deletion})
    yield run("time to live backfill", _expiry_backfill)
    yield run("time to live sweep", _sweep, _EarlyClock())


def _wait(_engine: Engine, _settings: Settings, _deadline_s: float) -> int:
    time.sleep(IDLE_S)
    return 0


def _fsck(_engine: Engine, settings: Settings, deadline_s: float) -> int:
    path = str(settings.folder / f"{COPY}.db")
    command = [sys.executable, "-c", "from keyplan.cli.main import app; app()", "fsck", path]
    with tempfile.TemporaryFile("w+") as report:
        process = subprocess.Popen(command, env={**os.environ, **source_environment()}, stderr=report)
        is_complete = _wait_until(lambda: process.poll() is not None, deadline_s)
        if not is_complete:
            process.kill()
        process.wait()
        report.seek(0)
        lines = report.read().splitlines()
    if is_complete and process.returncode:
        raise TargetError(f"keyplan fsck: {lines}")
    return settings.workload.items if is_complete else _reported_items(lines, settings)


def _export(engine: Engine, settings: Settings, deadline_s: float) -> int:
    table = settings.workload.table
    arn = f"arn:aws:dynamodb:{engine.region}:{engine.account}:table/{table}"
    (settings.folder / BUCKET).mkdir(exist_ok=True)
    engine.call("UpdateContinuousBackups", {"TableName": table, **_recovery(enabled=True)})
    export = engine.call("ExportTableToPointInTime", {"TableArn": arn, "S3Bucket": BUCKET})["ExportDescription"]

    def describe_export() -> dict[str, Any]:
        described_export: dict[str, Any] = engine.call("DescribeExport", {"ExportArn": export["ExportArn"]})[
            "ExportDescription"
        ]
        return described_export

    lines: list[str] = []
    with progress.reporting_to(lines.append):
        is_complete = _wait_until(lambda: describe_export()["ExportStatus"] != "IN_PROGRESS", deadline_s)
    if not is_complete:
        engine.jobs.close()
    elif describe_export()["ExportStatus"] != "COMPLETED":
        raise TargetError(f"the export failed: {describe_export()}")
    engine.call("UpdateContinuousBackups", {"TableName": table, **_recovery(enabled=False)})
    return settings.workload.items if is_complete else _reported_items(lines, settings)


def _recovery(*, enabled: bool) -> dict[str, Any]:
    return {"PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": enabled}}


def _expiry_backfill(engine: Engine, settings: Settings, deadline_s: float) -> int:
    engine.call("UpdateTimeToLive", _time_to_live(settings, enabled=True))
    return _wait_for_backfill(engine, settings, deadline_s)


def _sweep(engine: Engine, _settings: Settings, deadline_s: float) -> int:
    return engine.sweep(lambda: time.monotonic() >= deadline_s)


def _time_to_live(settings: Settings, *, enabled: bool) -> dict[str, Any]:
    specification = {"AttributeName": "amount", "Enabled": enabled}
    return {"TableName": settings.workload.table, "TimeToLiveSpecification": specification}


def _index_backfill(engine: Engine, settings: Settings, deadline_s: float) -> int:
    definitions = [{"AttributeName": name, "AttributeType": "S"} for name in ("status", "created_at")]
    update = {"AttributeDefinitions": definitions, "GlobalSecondaryIndexUpdates": [{"Create": INDEX}]}
    engine.call("UpdateTable", {"TableName": settings.workload.table, **update})
    return _wait_for_backfill(engine, settings, deadline_s)


def _wait_for_backfill(engine: Engine, settings: Settings, deadline_s: float) -> int:
    lines: list[str] = []
    with progress.reporting_to(lines.append):
        is_complete = _wait_until(lambda: not engine.store.view().documents("backfill:"), deadline_s)
    return settings.workload.items if is_complete else _reported_items(lines, settings)


def _wait_until(condition: Callable[[], bool], deadline_s: float) -> bool:
    """Wait until a condition is met, at most until the deadline. Return True if it was met."""
    while not (is_met := condition()) and time.monotonic() < deadline_s:
        time.sleep(POLL_S)
    return is_met


def _reported_items(lines: Sequence[str], settings: Settings) -> int:
    """Return the number of items in the job's last progress report."""
    percents = [int(match[1]) for line in lines if (match := re.search(r": (\d+) %$", line))]
    return settings.workload.items * (percents[-1] if percents else 0) // 100


def _while_writing(name: str, engine: Engine, settings: Settings, job: Callable[[], int]) -> JobResult:
    """Run a job while one thread puts items and another watches the memory."""
    calls = settings.workload.calls(Operation.PUT, PUTS, PUT_STREAM)
    runs: Iterator[Run] = itertools.cycle([engine_call(engine, call) for call in calls])
    warmed_up = threading.Event()
    threading.Timer(WARM_UP_S, warmed_up.set).start()
    measure_paced(runs, PUT_INTERVAL_S, warmed_up)
    gc.collect()
    gc.freeze()  # garbage collection of the prepared calls would stop all threads
    is_complete = threading.Event()
    with ThreadPoolExecutor(2) as pool:
        puts = pool.submit(measure_paced, runs, PUT_INTERVAL_S, is_complete)
        memory = pool.submit(_peak_mib, is_complete)
        started_s = time.monotonic()
        try:
            items = job()
        finally:
            is_complete.set()
            gc.unfreeze()
        seconds = time.monotonic() - started_s
        return JobResult(name, items, seconds, puts.result(), memory.result(), log_mib(settings.folder, COPY))


def _peak_mib(is_complete: threading.Event) -> float:
    """Return by how much the memory of this process and its children exceeded the current value until `is_complete` was
    set, in MiB.
    """
    before_mib = peak_mib = resident_mib()
    while not is_complete.wait(POLL_S):
        peak_mib = max(peak_mib, resident_mib() + _children_mib())
    return peak_mib - before_mib


def _children_mib() -> float:
    total = 0.0
    for path in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError):
            total += sum(resident_mib(process) for process in path.read_text().split())
    return total
