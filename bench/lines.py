"""A line of the table: a figure, what it is compared with, and the bound that is required, if one is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

PER_SECOND = "/s"
TIMES = "x"


@dataclass(frozen=True, slots=True)
class Line:
    """One figure of a target, beside another's where `against` names one.

    A limit is on the ratio of the two where there are two, else on the figure. `figure` and `other` are None when they
    could not be measured, and `reason` then says why. Only plain values, so that a line is kept as JSON as it is.
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
    def measured(self) -> float | None:
        """What a limit is on."""
        return self.ratio if self.against else self.figure

    @property
    def required(self) -> str:
        """The bound in words, "" where there is none."""
        if self.limit is None:
            return ""
        unit = TIMES if self.against else self.unit
        return f"{self.direction} {self.limit:,g}{_gap(unit)}{unit}"

    @property
    def met(self) -> bool | None:
        """Whether the bound holds; None without a bound, and where the other target does not do this work."""
        if self.limit is None:
            return None
        if self.measured is None:
            return None if self.figure is not None else False
        return self.measured <= self.limit if self.direction == "at most" else self.measured >= self.limit


def figure_text(figure: float | None, unit: str) -> str:
    """A figure with its unit, as many digits as one reads; "-" for none."""
    if figure is None:
        return "-"
    decimals = 0 if abs(figure) >= 100 else 1 if abs(figure) >= 10 else 2
    return f"{figure:,.{decimals}f}{_gap(unit)}{unit}"


def _gap(unit: str) -> str:
    return "" if unit.startswith("/") else " "


def reasons(lines: Sequence[Line]) -> list[str]:
    """Why figures are missing, each reason once, where it comes first."""
    found: dict[tuple[str, str], str] = {}
    for line in lines:
        if line.reason:
            found.setdefault((line.what, line.reason), f"{line.section}, {line.what}: {line.reason}")
    return list(found.values())


def not_measured(section: str, error: Exception) -> Line:
    """A whole section that could not be measured: one line, which says why and is not met."""
    return Line(section, "not measured", "", None, "", limit=0, reason=f"{type(error).__name__}: {error}")
