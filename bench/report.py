"""Output of figures as tables for users and as JSON for programs."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from bench.durable import DurableFigures
from bench.floors import Floors
from bench.gsi import IndexCost
from bench.http import HOW_TO_GET_WRK
from bench.lines import TIMES, Line, figure_text, reasons
from bench.measure import Figure
from bench.scale import Scale
from bench.startup import Startup
from bench.suite import Plan, Results, clients_text
from bench.workload import Operation

SYNCS = 50

FILE_COLUMNS = 140  # where output does not go to a terminal

console = Console(highlight=False, width=None if sys.stdout.isatty() else FILE_COLUMNS)
progress_console = Console(stderr=True, highlight=False)


def machine() -> dict[str, Any]:
    """Return information about the machine. The load average shows whether other programs use it."""
    load = round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "load_average": load,
        "file_system": file_system_of(Path(tempfile.gettempdir())),
        "sync_us": sync_us(),
    }


def sync_us() -> float:
    """Return the median time in microseconds to append a page to a file and sync it, a lower bound for a durable
    commit.
    """
    with tempfile.TemporaryFile(buffering=0) as file:
        times_ns: list[int] = []
        for _ in range(SYNCS):
            started_ns = time.perf_counter_ns()
            file.write(bytes(4096))
            os.fsync(file.fileno())
            times_ns.append(time.perf_counter_ns() - started_ns)
    return statistics.median(times_ns) / 1000


def file_system_of(folder: Path) -> str:
    """Return the type of a folder's file system, or "unknown" if the system does not report it."""
    mounts = Path("/proc/mounts")
    if not mounts.exists():
        return "unknown"
    best = ("", "unknown")
    for line in mounts.read_text().splitlines():
        _, mount_point, kind, *_ = line.split()
        if folder.resolve().is_relative_to(mount_point) and len(mount_point) >= len(best[0]):
            best = (mount_point, kind)
    return best[1]


def publishable_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the information about a machine that can be published, without names, addresses and kernel version."""
    python = f"{platform.python_implementation()} {'.'.join(facts['python'].split('.')[:2])}"
    names = ("at", "cores", "load_average", "file_system", "sync_us")
    return {"python": python, **{name: facts[name] for name in names}}


def print_machine(facts: Mapping[str, Any] | None = None) -> None:
    facts = facts or machine()
    console.print(
        f"Python {facts['python']}, {facts['cores']} cores, load average {facts['load_average']}, "
        f"files on {facts['file_system']}, {duration(facts['sync_us'])} to write and sync a page"
    )
    if facts["file_system"] == "tmpfs":
        console.print(
            "[yellow]files are in memory: set TMPDIR to a folder on a disk, or durable writes cost nothing[/]"
        )


def say(text: str) -> None:
    """Print a line about the current step on standard error."""
    progress_console.print(f"[dim]{text}[/]")


@contextlib.contextmanager
def loading(name: str, items: int) -> Iterator[Callable[[int], None]]:
    """Show a progress bar of loaded items on standard error."""
    columns = (TextColumn(f"loading {name}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=progress_console, transient=True) as progress:
        task = progress.add_task(name, total=items)
        yield lambda count: progress.advance(task, count)


def print_results(results: Results, plan: Plan, baseline: str) -> None:
    """Print one row per operation, target and number of clients, with the ratio to the baseline."""
    for name, note in results.notes.items():
        console.print(f"{name}: {note}")
    for clients in plan.clients:
        title = "single client" if clients == 1 else f"{clients} clients (threads or connections)"
        table = _table(title, "operation", "target", "ops/s", "p50", "p99", f"x {baseline}")
        for operation in plan.operations:
            for index, target in enumerate(results.notes):
                label = str(operation) if index == 0 else ""
                table.add_row(label, target, *_cells(results, target, operation, clients, baseline))
            table.add_section()
        console.print(table)
    _print_reasons(results)


def _cells(results: Results, target: str, operation: Operation, clients: int, baseline: str) -> Sequence[str]:
    figure = results.figure(target, operation, clients)
    if figure is None:
        return "-", "-", "-", "-"
    base = results.figure(baseline, operation, clients)
    ratio = f"{figure.per_second / base.per_second:,.2f}" if base else "-"
    return rate(figure.per_second), duration(figure.p50_us), duration(figure.p99_us), ratio


def _print_reasons(results: Results) -> None:
    for row in results.rows:
        if row.reason:
            console.print(
                f"[yellow]{row.target}, {row.operation}, {clients_text(row.clients)}: {row.reason}[/]", soft_wrap=True
            )
    for name, reason in results.missing.items():
        console.print(f"[yellow]{name} was not measured: {reason}[/]", soft_wrap=True)


def print_floors(floors: Floors) -> None:
    table = _table("on the same rows, in turn", "operation", "what", "mean", "p50", "p99", "ops/s")
    for operation, figures in floors.figures.items():
        for index, (name, figure) in enumerate(figures.items()):
            table.add_row(str(operation) if index == 0 else "", name, *_timing(figure))
        table.add_section()
    if floors.batch_one_core:
        table.add_row("batch write 25", "engine, one core", *_timing(floors.batch_one_core))
    console.print(table)


def print_gsi(cases: Sequence[IndexCost]) -> None:
    table = _table(
        "one global secondary index, medians", "case", "put", "put, indexed", "adds", "bare", "bare, indexed", "adds"
    )
    for index_cost in cases:
        engine = (index_cost.without.p50_us, index_cost.with_index.p50_us, index_cost.added_us)
        bare = (index_cost.bare_without.p50_us, index_cost.bare_with_index.p50_us, index_cost.bare_added_us)
        table.add_row(index_cost.case.name, *(duration(time_us) for time_us in (*engine, *bare)))
    console.print(table)


def print_durable(durable: DurableFigures) -> None:
    table = _table("durable puts", "what", "mean", "p50", "p99", "ops/s")
    table.add_row("bare commit with fsync each", *_timing(durable.bare_each))
    table.add_row("engine, 1 thread", *_timing(durable.engine_one))
    table.add_row("engine, 8 threads", *_timing(durable.engine_threads))
    console.print(table)


def print_startup(startup: Startup) -> None:
    console.print(f"import, Engine.memory(), first answer: {startup.memory_ms:.0f} ms")
    console.print(f"keyplan serve, first answer over HTTP: {startup.serve_ms:.0f} ms")


def print_scale(scale: Scale) -> None:
    """Print median times and pages read from the disk at each number of items, cold and warm, and the mixed phase."""
    for stage in scale.stages:
        title = (
            f"{stage.items:,} items, medians; x those of 10,000 items measured in turn; pages from the disk per call"
        )
        table = _table(title, "target", "operation", "warm", "x", "pages", "cold", "pages", "mixed", "mixed p99")
        for name, target_figures in stage.targets.items():
            for operation, warm in target_figures.warm.items():
                cold, mixed = target_figures.cold[operation], target_figures.mixed.get(operation)
                table.add_row(
                    name,
                    str(operation),
                    duration(warm.p50_us),
                    f"{target_figures.growth(operation):.2f}",
                    f"{warm.pages_read:.1f}",
                    duration(cold.p50_us),
                    f"{cold.pages_read:.1f}",
                    *(("", "") if mixed is None else (rate(mixed.per_second), duration(mixed.p99_us))),
                )
        console.print(table)
        for name, target_figures in stage.targets.items():
            console.print(
                f"{name}: loaded {target_figures.load_items_per_second:,.0f}/s, "
                f"file and log {target_figures.file_mib:,.0f} MiB, "
                f"log after the mixed phase {target_figures.log_mib:,.0f} MiB"
            )
        console.print(f"resident: {stage.resident_mib:,.0f} MiB, at start {scale.resident_at_start_mib:,.0f} MiB")
        if stage.served:
            for operation, figure in stage.served.figures.items():
                small = stage.served.small[operation]
                console.print(
                    f"keyplan serve, mixed: {operation} {rate(figure.per_second)}, p99 {duration(figure.p99_us)}; "
                    f"of 10,000 items {rate(small.per_second)}, p99 {duration(small.p99_us)}"
                )
            console.print(f"keyplan serve, log: {stage.served.log_mib:,.0f} MiB")
    if scale.target.startswith("engine") and scale.stages[-1].served is None:
        console.print(f"[yellow]not measured over HTTP: {HOW_TO_GET_WRK}[/]", soft_wrap=True)


def print_lines(lines: Sequence[Line], title: str = "") -> None:
    """Print one table per section, the reasons for missing figures, and the number of limits that are met."""
    table = _table(title, "measurement", "target", "figure", "compared with", "its figure", "ratio", "required", "met")
    before: Line | None = None
    for line in lines:
        if before is None or before.section != line.section:
            table.add_section()
            table.add_row(f"[bold]{line.section}[/]")
            before = None
        is_same_label = before is not None and before.what == line.what
        table.add_row("" if is_same_label else line.what, *_line_cells(line))
        before = line
    console.print(table)
    for reason in reasons(lines):
        console.print(f"[yellow]{escape(reason)}[/]", soft_wrap=True)
    required = [line for line in lines if line.limit is not None]
    uncompared = sum(line.is_within_limit is None for line in required)
    console.print(
        f"{sum(line.is_within_limit is True for line in required)} of {len(required)} required bounds are met"
        + (f", {uncompared} have nothing to compare with" if uncompared else "")
    )


def _line_cells(line: Line) -> Sequence[str]:
    result_text = {True: "[green]yes[/]", False: "[red]no[/]", None: "-" if line.limit is not None else ""}[
        line.is_within_limit
    ]
    other = figure_text(line.other, line.unit) if line.against else ""
    ratio = figure_text(line.ratio, TIMES) if line.against else ""
    return line.target, figure_text(line.figure, line.unit), line.against, other, ratio, line.required, result_text


def print_missing(missing: Mapping[str, str]) -> None:
    """Print which targets were omitted, and the reasons."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in missing.items():
        by_reason.setdefault(reason, []).append(name)
    for reason, names in by_reason.items():
        console.print(f"[yellow]left out: {', '.join(names)}: {escape(reason)}[/]", soft_wrap=True)


def write_json(path: Path | None, content: dict[str, Any]) -> None:
    """Write all measurements and the description of the machine."""
    if path is not None:
        document = {"machine": machine(), "command": sys.argv[1:], **content}
        path.write_text(json.dumps(document, indent=2, default=_plain) + "\n")


def _plain(value: object) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {item.name: getattr(value, item.name) for item in dataclasses.fields(value)}
    raise TypeError(f"{type(value).__name__} has no JSON form")


def rate(per_second: float) -> str:
    return f"{per_second:,.0f}" if per_second >= 10 else f"{per_second:,.2f}"


def duration(time_us: float) -> str:
    """Return a time as text in the most readable unit."""
    return f"{time_us:,.1f} us" if time_us < 1000 else f"{time_us / 1000:,.2f} ms"


def _timing(figure: Figure) -> Sequence[str]:
    return duration(figure.mean_us), duration(figure.p50_us), duration(figure.p99_us), rate(figure.per_second)


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", header_style="bold")
    text_columns = {"operation", "target", "what", "measurement", "case", "compared with", "met"}
    for column in columns:
        table.add_column(column, justify="left" if column in text_columns else "right", overflow="fold")
    return table
