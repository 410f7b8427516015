"""A line of the table: a figure, its comparison, and the required limit, if any."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

PER_SECOND = "/s"
TIMES = "x"


@dataclass(frozen=True, slots=True)
class Line:
    """One figure of a target, compared with the figure of another target if `against` names one.

    A limit applies to the ratio if two figures are compared, and otherwise to the figure. If `figure` or `other` could
    not be measured, it is None, and `reason` contains the reason. All values are plain, so that a line can be stored as
    JSON.
    """

    section: str
    what: str
    target: str
    figure: float | None
    unit: str
    against: str = ""
    other: float | None = None
    limit: float | None = None
    direction: Literal["at most", "at least"] = "at most"
    reason: str = ""

    @property
    def ratio(self) -> float | None:
        return self.figure / self.other if self.figure is not None and self.other else None

    @property
    def compared_value(self) -> float | None:
        """The value to which the limit applies."""
        return self.ratio if self.against else self.figure

    @property
    def required(self) -> str:
        """The limit as text, or an empty string without a limit."""
        if self.limit is None:
            return ""
        unit = TIMES if self.against else self.unit
        return f"{self.direction} {self.limit:,g}{_gap(unit)}{unit}"

    @property
    def is_within_limit(self) -> bool | None:
        """True if the figure is within the limit. None without a limit, or if the other target does not support the
        operation.
        """
        if self.limit is None:
            return None
        if self.compared_value is None:
            return None if self.figure is not None else False
        return self.compared_value <= self.limit if self.direction == "at most" else self.compared_value >= self.limit


def figure_text(figure: float | None, unit: str) -> str:
    """Return a figure with its unit and a readable number of digits, or "-" for None."""
    if figure is None:
        return "-"
    decimals = 0 if abs(figure) >= 100 else 1 if abs(figure) >= 10 else 2
    return f"{figure:,.{decimals}f}{_gap(unit)}{unit}"


def _gap(unit: str) -> str:
    return "" if unit.startswith("/") else " "


def reasons(lines: Sequence[Line]) -> list[str]:
    """Return the reasons for missing figures in order, without duplicates."""
    unique: dict[tuple[str, str], str] = {}
    for line in lines:
        if line.reason:
            unique.setdefault((line.what, line.reason), f"{line.section}, {line.what}: {line.reason}")
    return list(unique.values())


def not_measured(section: str, error: Exception) -> Line:
    """Return one line for a section that could not be measured. It contains the reason and counts as
    outside its limit.
    """
    return Line(section, "not measured", "", None, "", limit=0, reason=f"{type(error).__name__}: {error}")
