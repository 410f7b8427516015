"""Bar charts and line charts as inline SVG without styles or scripts.

Classes in keyplan.css define the colors, so charts follow the theme. Each chart has a title and a description for
screen readers. Pages should also show the numbers in a table next to the chart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from markupsafe import Markup, escape

_WIDTH: Final = 640
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 12, 12, 28
_DIGIT_WIDTH: Final = 7.5
"""The width of a digit in the labels of an axis."""
_MAX_MARKED_POINTS: Final = 40
"""The maximum length of a series in which every point is marked. In longer series, only isolated points are marked."""
_PREFIX_UNITS: Final = frozenset("$€£")
"""The units that are written before the number. Other units are written after it."""
_SERIES_COLORS: Final = 6
"""The number of colors for series in keyplan.css."""


def bars(title: str, rows: Sequence[tuple[str, float]], *, unit: str = "", digits: int = 0) -> Markup:
    """Return a horizontal bar chart. Each element of `rows` consists of the label and the value of a bar.

    `unit` and `digits` determine how values are shown.
    """
    highest = max((value for _, value in rows), default=0) or 1
    height, label_width = 34 * len(rows) + 8, 190
    span = _WIDTH - label_width - 90
    shapes = []
    for number, (label, value) in enumerate(rows):
        y, width = 34 * number + 6, max(2.0, span * max(value, 0) / highest)
        shapes.append(
            Markup(
                '<text class="chart-label" x="{x}" y="{ty}" text-anchor="end">{label}</text>'
                '<rect class="series-0" x="{left}" y="{y}" width="{width:.1f}" height="22" rx="3"/>'
                '<text class="chart-value" x="{vx:.1f}" y="{ty}">{value}</text>'
            ).format(
                x=label_width - 10,
                ty=y + 16,
                label=_shortened(label, 26),
                left=label_width,
                y=y,
                width=width,
                vx=label_width + width + 8,
                value=_text(value, unit, digits),
            )
        )
    description = ", ".join(f"{label}: {_text(value, unit, digits)}" for label, value in rows)
    return _svg(title, description, height, shapes)


def lines(
    title: str,
    labels: Sequence[str],
    series: Sequence[tuple[str, Sequence[float | None]]],
    *,
    unit: str = "",
    digits: int = 0,
    low: float | None = None,
    high: float | None = None,
) -> Markup:
    """Return a line chart with several series. Each series is a name and one value per label. The value None leaves a
    gap.

    `low` and `high` set the range of the vertical axis. The default range is from 0 to the largest value. `unit` and
    `digits` determine how values are shown.
    """
    values = [value for _, points in series for value in points if value is not None]
    bottom = min([0.0, *values]) if low is None else low
    top = max([*values, bottom]) if high is None else high
    grid_step = _grid_step(max(top - bottom, 10.0**-digits), digits)
    if high is None:
        top = bottom + grid_step * max(1, math.ceil((top - bottom) / grid_step - 1e-9))
    legend = 26 * -(-len(series) // 2) if len(series) > 1 else 0
    height = 240 + legend
    ticks = [bottom + grid_step * number for number in range(round((top - bottom) / grid_step) + 1)]
    tick_texts = [_text(value, unit, digits) for value in ticks]
    left_edge = max(_LEFT, math.ceil(_DIGIT_WIDTH * max(map(len, tick_texts))) + 8)
    shapes = [
        _grid_line(left_edge, _y(value, bottom, top), text) for value, text in zip(ticks, tick_texts, strict=True)
    ]
    label_step = (_WIDTH - left_edge - _RIGHT) / max(1, len(labels) - 1)
    label_interval = max(1, -(-len(labels) // 8))
    for number, label in enumerate(labels):
        if number % label_interval == 0:
            anchor = "end" if number == len(labels) - 1 else "middle"
            shapes.append(
                Markup('<text class="chart-tick" x="{:.1f}" y="{}" text-anchor="{}">{}</text>').format(
                    left_edge + label_step * number, 240 - 8, anchor, _shortened(label, 12)
                )
            )
    for index, (name, points) in enumerate(series):
        series_points = [(left_edge + label_step * number, value) for number, value in enumerate(points)]
        shapes += _line_shapes(index, series_points, bottom, top)
        if legend:
            x, y = left_edge + index % 2 * (_WIDTH - left_edge) / 2, 246 + 26 * (index // 2)
            shapes.append(
                Markup(
                    '<rect class="series-{}" x="{:.0f}" y="{}" width="12" height="12" rx="2"/>'
                    '<text class="chart-tick" x="{:.0f}" y="{}">{}</text>'
                ).format(index % _SERIES_COLORS, x, y, x + 18, y + 11, _shortened(name, 24))
            )
    description = "; ".join(
        f"{name}: "
        + ", ".join(
            f"{label} {'none' if value is None else _text(value, unit, digits)}"
            for label, value in zip(labels, points, strict=True)
        )
        for name, points in series
    )
    return _svg(title, description, height, shapes)


def _line_shapes(index: int, points: Sequence[tuple[float, float | None]], bottom: float, top: float) -> list[Markup]:
    color = index % _SERIES_COLORS
    segments: list[list[tuple[float, float]]] = [[]]
    for x, value in points:
        if value is None:
            segments.append([])
        else:
            segments[-1].append((x, _y(value, bottom, top)))
    shapes = [
        Markup('<polyline class="stroke-{}" points="{}"/>').format(
            color, " ".join(f"{x:.1f},{y:.1f}" for x, y in segment)
        )
        for segment in segments
        if len(segment) > 1
    ]
    # If there are many points, only points that are not part of a line are drawn.
    marked_segments = (
        segments if len(points) <= _MAX_MARKED_POINTS else [segment for segment in segments if len(segment) == 1]
    )
    dots = [
        Markup('<circle class="series-{}" cx="{:.1f}" cy="{:.1f}" r="4"/>').format(color, x, y)
        for segment in marked_segments
        for x, y in segment
    ]
    return [*shapes, *dots]


def _grid_line(left_edge: float, y: float, text: str) -> Markup:
    return Markup(
        '<line class="chart-grid" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>'
        '<text class="chart-tick" x="{}" y="{:.1f}" text-anchor="end">{}</text>'
    ).format(left_edge, _WIDTH - _RIGHT, y, y, left_edge - 6, y + 4, text)


def _grid_step(span: float, digits: int) -> float:
    """Return the distance between grid lines that gives an axis of length `span` at most five lines.

    The distance is 1, 2 or 5 times a power of ten.
    """
    min_step: float = max(span / 4, 10.0**-digits)
    power = 10.0 ** math.floor(math.log10(min_step))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= min_step * 0.999)


def _y(value: float, bottom: float, top: float) -> float:
    return 240 - _BOTTOM - (240 - _BOTTOM - _TOP) * (value - bottom) / (top - bottom)


def _svg(title: str, description: str, height: int, shapes: Sequence[Markup]) -> Markup:
    return Markup(
        '<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}"><title>{}</title><desc>{}</desc>{}</svg>'
    ).format(_WIDTH, height, title, title, description, Markup("").join(shapes))


def _text(value: float, unit: str, digits: int) -> str:
    number = f"{value:,.{digits}f}"
    return f"{unit}{number}" if unit in _PREFIX_UNITS else f"{number}{unit}"


def _shortened(text: str, characters: int) -> Markup:
    return escape(text if len(text) <= characters else text[: characters - 1] + "…")
