"""A finding: what a rule has to say of a declaration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from keyplan.design.places import Fault, Place

Severity = Literal["error", "warning", "advice"]


@dataclass(frozen=True)
class Finding:
    """Something found in a design."""

    code: str
    """The rule, such as KP203."""
    severity: Severity
    subject: str
    """The name of the table, index, entity, pattern or consumer that it is about."""
    problem: str
    """What is wrong, in one sentence, with its evidence in numbers where it rests on numbers."""
    fix: str
    place: Place
    other: Place | None = None
    """The declaration that it conflicts with."""

    @classmethod
    def of(cls, fault: Fault, severity: Severity, subject: str) -> Finding:
        """A fault of the design as a finding."""
        return cls(fault.code, severity, subject, fault.problem, fault.fix, fault.place, fault.other)
