"""Rules, which are functions with a code, severities and a documentation page.

A rule is a function that yields findings, with the decorator `design_rule` (it examines one design) or `change_rule`
(it compares two). The function's name with hyphens is the rule's slug, and its docstring is the rule's page:

    @design_rule("KP807", "advice")
    def no_deletion_protection(subject: Subject) -> Iterator[Finding]:
        \"\"\"Table has no deletion protection

        Finds ...

        Why is this bad? ...

        Fix: ...

        Source: ...
        \"\"\"
        for table in subject.tables:
            if not table.schema.deletion_protection:
                yield no_deletion_protection.finding(table.name, "...", "...", table.schema.place)

Faults that the design language itself detects need no function. `fault_rule` assigns a code and a page to them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from keyplan.check.finding import Finding, Severity
from keyplan.check.subject import Subject
from keyplan.design.errors import Place
from keyplan.diff.comparison import Comparison

S = TypeVar("S")
Check = Callable[[S], Iterator[Finding]]


@dataclass(frozen=True)
class Rule(Generic[S]):
    """A rule that checks objects of type S: a Subject (one design) or a Comparison (two designs)."""

    code: str
    slug: str
    """The hyphenated name of the rule, such as hot-partition-key."""
    severities: tuple[Severity, ...]
    """The possible severities of the rule's findings. The first is the default."""
    check: Check[S]
    page: str
    """The rule's page in Markdown: the title, then paragraphs on the finding, the reason, the fix and the source."""
    conflicts: bool = False
    """True if the `other` declaration of each finding conflicts with the declaration that the finding is about.

    If False, the two declarations are only related.
    """
    implied_by: tuple[str, ...] = ()
    """Codes of rules that report the same cause. If one of them has a finding with the same subject, this rule's
    finding is removed.
    """
    of_absence: bool = False
    """True if the rule reports missing declarations. Such a rule is skipped if a declaration of the design raised an
    error.
    """

    @property
    def title(self) -> str:
        """The first line of the rule's page."""
        return self.page.partition("\n")[0]

    @property
    def text(self) -> str:
        """The rule's page without its title."""
        return self.page.partition("\n")[2].strip()

    def finding(
        self,
        subject: str,
        problem: str,
        fix: str,
        place: Place,
        other: Place | None = None,
        *,
        severity: Severity | None = None,
        item: str = "",
        cause: str = "",
    ) -> Finding:
        """Return a finding of this rule with the given severity, or with the rule's first severity.

        Findings with an item and the same cause are reported as one finding, which lists all items.
        """
        return Finding(self.code, severity or self.severities[0], subject, problem, fix, place, other, item, cause)


def design_rule(
    code: str,
    *severities: Severity,
    conflicts: bool = False,
    implied_by: tuple[str, ...] = (),
    of_absence: bool = False,
) -> Callable[[Check[Subject]], Rule[Subject]]:
    """Return a decorator that converts a function into a rule that examines one design. The arguments become attributes
    of the rule.
    """
    return lambda check: replace(
        _rule(code, severities, check), conflicts=conflicts, implied_by=implied_by, of_absence=of_absence
    )


def change_rule(code: str, *severities: Severity) -> Callable[[Check[Comparison]], Rule[Comparison]]:
    """Return a decorator that converts a function into a rule that compares two designs. The arguments become
    attributes of the rule.
    """
    return lambda check: _rule(code, severities, check)


def fault_rule(code: str, slug: str, page: str, *, conflicts: bool = False) -> Rule[Subject]:
    """Return a rule that gives a code and a page to faults that the design language detects. All its findings are
    errors.

    The rule has no function that checks designs.
    """
    return Rule(code, slug, ("error",), lambda subject: subject.errors_of(code), inspect.cleandoc(page), conflicts)


def _rule(code: str, severities: tuple[Severity, ...], check: Check[S]) -> Rule[S]:
    slug = check.__name__.replace("_", "-")
    return Rule(code, slug, severities, check, inspect.cleandoc(check.__doc__ or ""))
