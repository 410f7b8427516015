"""Charts of a user's progress per dimension, drawn from the history of profiles as text or PNG.

Matplotlib draws the PNGs. It is an optional dependency and is imported only when the first PNG is drawn. A drawing
library such as Pillow would be smaller, but the layout of axes, ticks and text would have to be written here. Figure
objects are used without `pyplot`, because its global state is not safe in a server with several threads.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from .domain.profiles import DimensionStatistics, Profile, Trend
from .domain.rubric import DIMENSIONS, MAX_SCORE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BARS = "▁▂▃▄▅▆▇█"
MAX_PROFILES_SHOWN = 30
_ARROWS = {Trend.IMPROVING: "↗ improving", Trend.DECLINING: "↘ declining", Trend.STABLE: "→ stable"}
_PNG_INCHES = (9.0, 10.0)
_PNG_DOTS_PER_INCH = 100


def progress_table(history: Sequence[Profile]) -> Table:
    """Return a table with one row per dimension. Each row contains the latest values of the dimension and one bar for
    each of the 30 most recent profiles.

    `history` is sorted oldest first. Raises ValueError if it is empty, out of order, or contains profiles of several
    users.
    """
    latest = _check_history(history)[-1]
    table = Table(title=f"Progress over {latest.attempt_count} attempts, overall average {latest.overall_average:.2f}")
    for heading in ("Dimension", "Moving average over time", "Latest", "Deviation", "Trend", "Weak"):
        table.add_column(heading, justify="right" if heading in {"Latest", "Deviation"} else "left", no_wrap=True)
    gaps = {weakness.dimension: weakness.gap for weakness in latest.weaknesses}
    for index, name in enumerate(DIMENSIONS):
        latest_statistics = latest.dimensions[index]
        gap = f"gap {gaps[name]:+.2f}" if name in gaps else ""
        bars = spark([profile.dimensions[index].moving_average for profile in history[-MAX_PROFILES_SHOWN:]])
        table.add_row(
            name.value,
            bars,
            f"{latest_statistics.moving_average:.2f}",
            f"{latest_statistics.standard_deviation:.2f}",
            _ARROWS[latest_statistics.trend],
            gap,
        )
    return table


def progress_text(history: Sequence[Profile], width: int = 110) -> str:
    """Return the table of `progress_table` as plain text with at most `width` columns."""
    console = Console(file=io.StringIO(), width=width, color_system=None)
    with console.capture() as captured:
        console.print(progress_table(history))
    return captured.get()


def spark(averages: Sequence[Decimal]) -> str:
    """Return one bar character per average. The bars have eight different heights, which represent averages from 0 to
    4.
    """
    steps = len(BARS) - 1
    return "".join(BARS[min(steps, int(average * steps / MAX_SCORE + Decimal("0.5")))] for average in averages)


def progress_png(history: Sequence[Profile]) -> bytes:
    """Return a PNG image with one panel per dimension. Each panel shows the moving average over time, with the standard
    deviation as a band around it.

    `history` has the same requirements as in `progress_table`. Raises ImportError with instructions if Matplotlib is
    not installed.
    """
    _check_history(history)
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - an optional extra, loaded when it is needed
    except ModuleNotFoundError as error:
        raise ImportError("PNG charts need Matplotlib: pip install 'keyplan[charts]'") from error
    figure = Figure(figsize=_PNG_INCHES, dpi=_PNG_DOTS_PER_INCH, layout="constrained")
    panels: list[Axes] = list(figure.subplots(len(DIMENSIONS) // 2, 2, sharex=True, sharey=True).flat)
    for index, (panel, name) in enumerate(zip(panels, DIMENSIONS, strict=True)):
        _draw(panel, name.value, [profile.dimensions[index] for profile in history])
    figure.suptitle(f"Moving average of the last attempts, 0 to {MAX_SCORE}")
    figure.supxlabel("snapshot, oldest first")
    png = io.BytesIO()
    figure.savefig(png, format="png", metadata={"Software": None})
    return png.getvalue()


def _draw(panel: Axes, title: str, history: Sequence[DimensionStatistics]) -> None:
    places = list(range(1, len(history) + 1))
    averages = [float(entry.moving_average) for entry in history]
    deviations = [float(entry.standard_deviation) for entry in history]
    lower = [max(0.0, average - spread) for average, spread in zip(averages, deviations, strict=True)]
    upper = [min(float(MAX_SCORE), average + spread) for average, spread in zip(averages, deviations, strict=True)]
    panel.fill_between(places, lower, upper, alpha=0.2)
    panel.plot(places, averages, marker="o", markersize=3)
    panel.set_title(f"{title} ({history[-1].trend.value})", fontsize=10)
    panel.set_ylim(-0.1, MAX_SCORE + 0.1)
    panel.grid(visible=True, alpha=0.3)


def _check_history(history: Sequence[Profile]) -> Sequence[Profile]:
    if not history:
        raise ValueError("cannot draw a chart without profiles")
    if len({profile.user_id for profile in history}) > 1:
        raise ValueError("a chart shows one user; these profiles belong to several users")
    keys = [profile.snapshot_key for profile in history]
    if keys != sorted(keys):
        raise ValueError("profiles must be in order, oldest first")
    return history
