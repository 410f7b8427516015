"""A required bound beside the figure measured for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Bound:
    """`measured` is None when it could not be measured, and `what` then says why."""

    section: str
    what: str
    limit: float
    unit: str
    direction: Literal["at most", "at least"] = "at most"
    measured: float | None = None

    @property
    def met(self) -> bool:
        if self.measured is None:
            return False
        return self.measured <= self.limit if self.direction == "at most" else self.measured >= self.limit


def at_most(section: str, what: str, measured: float, limit: float, unit: str) -> Bound:
    return Bound(section, what, limit, unit, "at most", measured)


def at_least(section: str, what: str, measured: float, limit: float, unit: str) -> Bound:
    return Bound(section, what, limit, unit, "at least", measured)
