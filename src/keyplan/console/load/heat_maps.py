"""Heat maps of partitions as inline SVG without styles. Time runs from left to right, and key ranges from top to
bottom.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from keyplan.console.load.recorder import LoadCounts, LoadWindow
from keyplan.engine.faults.partitions import PARTITION_UNITS

_LEVELS: Final = 5
_ROUNDING: Final = 1e-9
_WIDTH: Final = 640
_ROW: Final = 14
_TALL_ROWS: Final = 6
_ROWS: Final = 24
"""The maximum number of rows in a heat map. All remaining partitions share the last row."""


@dataclass(frozen=True)
class PartitionLoad:
    """The load of the partitions of one table or index, and its heat map."""

    resource: str
    partitions: int
    busiest: float
    """The largest share of the throughput limit that any partition used in one time bucket. The value 1 is
    the limit.
    """
    busiest_units: float
    """The capacity units per second in the partition and time bucket where `busiest` was measured."""
    exceeding: int
    """The number of requests that exceeded the throughput limit of a partition or of the table."""
    busiest_share: float
    """The busiest partition's share of all capacity units in the window, between 0 and 1."""
    svg: Markup


def partition_load_of(window: LoadWindow, resource: str, lows: Sequence[bytes]) -> PartitionLoad:
    """Return the load of the table or index `resource`. `lows` are the lowest keys of its partitions."""
    names = [f"{resource} {low.hex()}" for low in lows]
    rows: list[list[LoadCounts | None]] = [
        [bucket.get(("partition", name)) for bucket in window.buckets] for name in names
    ]
    lengths = [float(window.span.step_s)] * (len(window.buckets) - 1) + [max(1.0, window.now - window.times[-1])]
    busiest, busiest_units = 0.0, 0.0
    for row in rows:
        for counts, length in zip(row, lengths, strict=True):
            if counts is not None and (use := _use(counts, length)) >= busiest:
                busiest, busiest_units = use, counts.units / length
    totals = [sum(counts.units for counts in row if counts is not None) for row in rows]
    exceeding = sum(counts.throttled for row in rows for counts in row if counts is not None)
    total = sum(totals)
    scale = max(
        (
            _use(counts, length)
            for row in rows
            for counts, length in zip(row, lengths, strict=True)
            if counts is not None and not counts.throttled
        ),
        default=busiest,
    )
    svg = _map(resource, window, rows, lengths, scale)
    return PartitionLoad(
        resource, len(lows), busiest, busiest_units, exceeding, max(totals, default=0.0) / total if total else 0.0, svg
    )


def _use(counts: LoadCounts, seconds: float) -> float:
    """Return the share of a partition's throughput limit that the load in `counts` uses over `seconds` seconds.

    This is the larger of the shares for reads and for writes.
    """
    return max(counts.read / PARTITION_UNITS["Read"], counts.write / PARTITION_UNITS["Write"]) / seconds


def _map(
    resource: str,
    window: LoadWindow,
    rows: Sequence[Sequence[LoadCounts | None]],
    lengths: Sequence[float],
    scale: float,
) -> Markup:
    row_count = min(len(rows), _ROWS)
    row_height = _ROW if row_count <= _TALL_ROWS else _ROW // 2
    height = row_count * row_height
    cell = _WIDTH / len(window.buckets)
    shapes = [Markup('<rect class="heat-ground" x="0" y="0" width="{}" height="{}" rx="4"/>').format(_WIDTH, height)]
    for number, row in enumerate(rows):
        y = min(number, row_count - 1) * row_height
        for column, (counts, length) in enumerate(zip(row, lengths, strict=True)):
            if counts is None:
                continue
            use = _use(counts, length)
            level = "over" if counts.throttled else str(_level(use, scale))
            shapes.append(
                Markup(
                    '<rect class="heat-{}" x="{:.1f}" y="{}" width="{:.1f}" height="{}">'
                    "<title>{:.1f} units/s, {:.1%} of a partition{}</title></rect>"
                ).format(
                    level,
                    cell * column + 0.4,
                    y + 1,
                    cell - 0.8,
                    row_height - 2,
                    counts.units / length,
                    use,
                    f", {counts.throttled} over the limit" if counts.throttled else "",
                )
            )
    label = f"{len(rows)} partition{'' if len(rows) == 1 else 's'} of {resource}: units over time"
    return Markup('<svg class="heat" role="img" aria-label="{}" viewBox="0 0 {} {}">{}</svg>').format(
        label, _WIDTH, height, Markup("").join(shapes)
    )


def _level(use: float, busiest: float) -> int:
    """Return the color level of a cell in a heat map, from 0 to 4.

    `use` is the load of the cell, and `busiest` is the highest load. The scale is logarithmic: 10% of the highest load
    is two levels lower.
    """
    return 0 if use <= 0 else max(0, _LEVELS - 1 + math.floor(2 * math.log10(use / busiest) + _ROUNDING))
