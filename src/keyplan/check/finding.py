"""A finding of a rule, with helpers that format its message."""

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
    """The name of the table, index, entity, pattern or consumer at fault."""
    problem: str
    """The consequence, in one sentence, with the numbers on which it is based."""
    fix: str
    """An instruction."""
    place: Place
    other: Place | None = None
    """A related declaration, or for an error, the declaration that it conflicts with."""
    item: str = ""
    """The part at fault, such as a field. A merged finding lists the items of all its findings."""
    cause: str = ""
    """A key for merging: findings of a rule with an item, and the same cause and severity, become one finding."""
    alike: tuple[Finding, ...] = ()
    """The findings with the same cause that were merged into this finding."""

    @property
    def subjects(self) -> tuple[str, ...]:
        """The subjects of this finding and of the findings that were merged into it."""
        return tuple(dict.fromkeys((self.subject, *(one.subject for one in self.alike))))

    @classmethod
    def of(cls, fault: Fault, severity: Severity, subject: str) -> Finding:
        """Return the finding for a fault of the design language."""
        return cls(fault.code, severity, subject, fault.problem, fault.fix, fault.place, fault.other)


def merged(findings: Iterable[Finding]) -> list[Finding]:
    """Merge findings with the same rule and cause into the first of them, which then lists all items."""
    groups: dict[object, list[Finding]] = {}
    for finding in findings:
        group = (finding.code, finding.severity, finding.cause) if finding.item else finding
        groups.setdefault(group, []).append(finding)
    return [_listing(*dict.fromkeys(group)) for group in groups.values()]


def _listing(first: Finding, *others: Finding) -> Finding:
    if not others:
        return first
    items = [one.item for one in others if one.item != first.item]
    likewise = f"; likewise {', '.join(dict.fromkeys(items))}" if items else ""
    return replace(first, problem=first.problem + likewise, alike=others)


def number(value: float) -> str:
    """Format a number for a message, such as 1,234 or 0.5."""
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.2g}"


def counted(count: int, singular: str, plural: str) -> str:
    """Format a number with its noun, such as 1 index or 2 indexes."""
    return f"{count:,} {singular if count == 1 else plural}"


def with_article(name: str) -> str:
    """Return a name with its indefinite article, such as an Event or a Booking."""
    return f"{'an' if name[:1] in 'AEIOaeio' else 'a'} {name}"
