"""A finding of a rule, and helpers for the wording of its message."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from keyplan.design.errors import Fault, Place

Severity = Literal["error", "warning", "advice"]


@dataclass(frozen=True)
class Finding:
    """A problem that a rule found in a design."""

    code: str
    """The rule's code, such as KP203."""
    severity: Severity
    subject: str
    """The name of the table, index, entity, pattern or consumer at fault."""
    problem: str
    """The consequence, in one sentence, with the numbers it rests on."""
    fix: str
    """An instruction."""
    place: Place
    other: Place | None = None
    """The declaration that it conflicts with."""

    @classmethod
    def of(cls, fault: Fault, severity: Severity, subject: str) -> Finding:
        """Return the finding for a fault of the design language."""
        return cls(fault.code, severity, subject, fault.problem, fault.fix, fault.place, fault.other)


def number(value: float) -> str:
    """Format a number for a message: 1,234 or 0.5."""
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.2g}"


def counted(count: int, singular: str, plural: str) -> str:
    """Format a number with its noun: 1 index, 2 indexes."""
    return f"{count:,} {singular if count == 1 else plural}"


def with_article(name: str) -> str:
    """Return a name with its indefinite article: an Event, a Booking."""
    return f"{'an' if name[:1] in 'AEIOaeio' else 'a'} {name}"
