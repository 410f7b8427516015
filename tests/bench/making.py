"""Figures that were never measured, for tests of the table and of the pages."""

from __future__ import annotations

from collections.abc import Mapping

from bench.measure import Figure
from bench.suite import Results, Row
from bench.workload import Operation

CLIENTS = 8


def results(
    per_second: Mapping[str, Mapping[Operation, float]], clients: int = 1, missing: Mapping[str, str] | None = None
) -> Results:
    """Return the results of targets that support the listed operations and refuse all others."""
    rows = [
        Row(name, operation, clients, figure(figures[operation]))
        if operation in figures
        else Row(name, operation, clients, None, "refused")
        for name, figures in per_second.items()
        for operation in Operation
    ]
    return Results(rows, dict.fromkeys(per_second, "a note"), dict(missing or {}))


def figure(per_second: float) -> Figure:
    return Figure(per_second, p50_us=1e6 / per_second, p99_us=2e6 / per_second, calls=100)
