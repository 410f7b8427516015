"""The findings of rules, with functions that format their messages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
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
    """The name of the table, index, entity, pattern or consumer that the finding is about."""
    problem: str
    """One sentence that describes the consequence of the problem and includes the relevant numbers."""
    fix: str
    """An instruction for solving the problem."""
    place: Place
    other: Place | None = None
    """A related declaration. For rules with `conflicts=True`, a declaration that conflicts with the one at `place`."""
    item: str = ""
    """The part of the subject that the finding is about, such as a field. A merged finding lists the items of all its
    findings.
    """
    cause: str = ""
    """A key for merging findings. Findings with an item are merged if they have the same rule, severity and cause."""
    alike: tuple[Finding, ...] = ()
    """The findings with the same cause that were merged into this finding."""

    @property
    def subjects(self) -> tuple[str, ...]:
        """The subjects of this finding and of the findings that were merged into it."""
        return tuple(dict.fromkeys((self.subject, *(finding.subject for finding in self.alike))))

    @classmethod
    def from_fault(cls, fault: Fault, severity: Severity, subject: str) -> Finding:
        """Return a finding for a fault that the design language detected in a declaration."""
        return cls(fault.code, severity, subject, fault.problem, fault.fix, fault.place, fault.other)


def merge_findings(findings: Iterable[Finding]) -> list[Finding]:
    """Merge the findings that have the same rule, severity and cause into one finding that lists all their items.

    Findings without an item are returned unchanged.
    """
    groups: dict[object, list[Finding]] = {}
    for finding in findings:
        group = (finding.code, finding.severity, finding.cause) if finding.item else finding
        groups.setdefault(group, []).append(finding)
    return [_merge(*dict.fromkeys(group)) for group in groups.values()]


def _merge(first: Finding, *duplicates: Finding) -> Finding:
    if not duplicates:
        return first
    items = [finding.item for finding in duplicates if finding.item != first.item]
    suffix = f"; likewise {', '.join(dict.fromkeys(items))}" if items else ""
    return replace(first, problem=first.problem + suffix, alike=duplicates)


def number(value: float) -> str:
    """Format a number for a message, such as 1,234 or 0.5."""
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.2g}"


def count_text(count: int, singular: str, plural: str) -> str:
    """Format a count with the singular or plural form of its noun, such as 1 index or 2 indexes."""
    return f"{count:,} {singular if count == 1 else plural}"


def with_article(name: str) -> str:
    """Return a name with its indefinite article, such as "an Event" or "a Booking"."""
    return f"{'an' if name[:1] in 'AEIOaeio' else 'a'} {name}"
