"""Functions that run rules on one or two designs and separate the suppressed findings."""

from __future__ import annotations

import pkgutil
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from keyplan.check import rules as families
from keyplan.check.finding import Finding, count_text, merge_findings
from keyplan.check.rule import Rule
from keyplan.check.rules.declarations.declarations import (
    INVALID_DECLARATION,
    UNEXPLAINED_SUPPRESSION,
    UNUSED_SUPPRESSION,
)
from keyplan.check.subject import Subject
from keyplan.design.declaring.design import Design, Suppression
from keyplan.design.declaring.partial import Refusal
from keyplan.diff.comparison import Comparison

_MIN_REASON_WORDS = 3
_DECLARATION_CODES, _CHANGE_CODES = "KP0", "KP9"


def _load_rules() -> dict[str, tuple[Rule[Any], ...]]:
    """Import the modules in check/rules, and return their rules, grouped by family title and sorted by code."""
    rules_by_family = {}
    for family in pkgutil.iter_modules(families.__path__, f"{families.__name__}."):
        package = import_module(family.name)
        modules = pkgutil.iter_modules(package.__path__, f"{package.__name__}.")
        members = [member for module in modules for member in vars(import_module(module.name)).values()]
        family_rules = sorted((member for member in members if isinstance(member, Rule)), key=lambda rule: rule.code)
        rules_by_family[(package.__doc__ or "").partition(" (")[0]] = tuple(family_rules)
    return dict(sorted(rules_by_family.items(), key=lambda item: item[1][0].code))


FAMILIES: dict[str, tuple[Rule[Any], ...]] = _load_rules()
"""All rules, grouped by the title of their family, such as "Keys and templates"."""
PAGES: dict[str, Rule[Any]] = {rule.code: rule for family_rules in FAMILIES.values() for rule in family_rules}
"""All rules, by rule code."""
RULES: dict[str, Rule[Subject]] = {
    code: rule for code, rule in PAGES.items() if not code.startswith((_DECLARATION_CODES, _CHANGE_CODES))
}
"""The rules that examine one design."""
CHANGE_RULES: dict[str, Rule[Comparison]] = {
    code: rule for code, rule in PAGES.items() if code.startswith(_CHANGE_CODES)
}
"""The rules that compare two designs."""


@dataclass(frozen=True)
class Report:
    """The result of checking a design: the findings and the suppressed findings."""

    design: str
    findings: tuple[Finding, ...]
    """The report's findings that are not suppressed, sorted by source location."""
    suppressed: tuple[tuple[Finding, Suppression], ...]
    """The suppressed findings, each with the suppression that applies to it."""

    @property
    def failed(self) -> bool:
        """Return True if any finding of the report is an error."""
        return any(finding.severity == "error" for finding in self.findings)

    def errors_only(self) -> Report:
        """Return the report without warnings and advice."""
        errors = tuple(finding for finding in self.findings if finding.severity == "error")
        return Report(self.design, errors, self.suppressed)


def check(
    design: Design,
    rules: Iterable[Rule[Subject]] | None = None,
    *,
    refusals: Sequence[Refusal] = (),
    unresolved: Collection[str] = (),
) -> Report:
    """Check a design with the given rules, or with all rules that examine one design, and return the findings.

    `refusals` are declarations that are missing from the design because they raised an error. Each of them becomes a
    finding. If `refusals` is not empty, rules that report missing declarations are skipped. `unresolved` are the names
    that the missing declarations use. Warnings and advice about a pattern with such a name are omitted, because they
    may depend on a missing declaration, such as a transaction.
    """
    subject = Subject(design)
    active_rules = [rule for rule in (RULES.values() if rules is None else rules) if not (refusals and rule.of_absence)]
    unresolved_patterns = {pattern.name for pattern in design.patterns} & set(unresolved)
    findings = [_refusal_finding(refusal, design) for refusal in refusals]
    findings += [
        finding
        for rule in active_rules
        for finding in rule.check(subject)
        if finding.severity == "error" or finding.subject not in unresolved_patterns
    ]
    # Only a comparison of two designs shows whether a suppression of a change rule is used.
    suppressions = (
        [suppression for suppression in design.suppressed if suppression.code not in CHANGE_RULES]
        if rules is None and not refusals
        else []
    )
    return _report(design, findings, suppressions)


def _refusal_finding(refusal: Refusal, design: Design) -> Finding:
    error = refusal.error
    name = refusal.name or design.name
    code = error.code or INVALID_DECLARATION.code
    return Finding(code, "error", name, error.problem, error.fix, error.place, error.other)


def check_change(comparison: Comparison, rules: Iterable[Rule[Comparison]] | None = None) -> Report:
    """Check a change between two designs with the given rules, or with all change rules, and return the findings.

    In the report, findings that the new design suppresses are separate from the other findings.
    """
    active_rules = CHANGE_RULES.values() if rules is None else rules
    findings = [finding for rule in active_rules for finding in rule.check(comparison)]
    design = comparison.new
    suppressions = (
        [suppression for suppression in design.suppressed if suppression.code in CHANGE_RULES] if rules is None else []
    )
    return _report(design, findings, suppressions, _names(comparison.old))


def _report(
    design: Design, findings: list[Finding], suppressions: list[Suppression], extra_names: Collection[str] = ()
) -> Report:
    """Return a report on findings, in which the suppressed findings are separate from the others.

    A finding is added for each suppression in `suppressions` that is unused or has no reason. A suppression can also
    refer to `extra_names`, which are names that the design does not declare.
    """
    findings = _remove_implied(findings)
    suppressed = [
        (finding, suppression) for finding in findings if (suppression := _suppression(finding, design)) is not None
    ]
    reported = [finding for finding in findings if _suppression(finding, design) is None]
    reported += _suppression_findings(
        design, suppressions, [suppression for _, suppression in suppressed], {*_names(design), *extra_names}
    )
    reported.sort(key=lambda finding: (finding.place.file, finding.place.line, finding.code, finding.problem))
    return Report(design.name, tuple(merge_findings(reported)), tuple(suppressed))


def _remove_implied(findings: list[Finding]) -> list[Finding]:
    """Remove the findings that another finding already explains, and return the rest.

    A finding is removed if its rule lists another rule in `implied_by`, and that rule has a finding with the same
    subject.
    """
    reported = {(finding.code, finding.subject) for finding in findings}
    return [
        finding
        for finding in findings
        if finding.code not in PAGES
        or not any((code, finding.subject) in reported for code in PAGES[finding.code].implied_by)
    ]


def _suppression(finding: Finding, design: Design) -> Suppression | None:
    for suppression in design.suppressed:
        if suppression.code == finding.code and suppression.on in {"", finding.subject}:
            return suppression
    return None


def _suppression_findings(
    design: Design, suppressions: list[Suppression], used_suppressions: list[Suppression], names: Collection[str]
) -> Iterator[Finding]:
    for suppression in suppressions:
        if suppression not in used_suppressions:
            problem, fix = _unused_suppression(suppression, names)
            yield UNUSED_SUPPRESSION.finding(suppression.on or design.name, problem, fix, suppression.place)
        if len(suppression.reason.split()) < _MIN_REASON_WORDS:
            yield UNEXPLAINED_SUPPRESSION.finding(
                suppression.on or design.name,
                _unexplained_problem(suppression),
                f"write a reason of at least {_MIN_REASON_WORDS} words that explains why the finding does not apply",
                suppression.place,
            )


def _unexplained_problem(suppression: Suppression) -> str:
    words = len(suppression.reason.split())
    if not words:
        return f"the reason for suppressing {suppression.code} is empty"
    return (
        f"the reason for suppressing {suppression.code} is too short to explain it: {suppression.reason!r} has"
        f" {count_text(words, 'word', 'words')}"
    )


def _unused_suppression(suppression: Suppression, names: Collection[str]) -> tuple[str, str]:
    """Return a message that explains why a suppression has no effect, and an instruction for fixing it.

    `names` are the names to which a suppression can refer.
    """
    suppressed = f"{suppression.code} is suppressed{' for ' + suppression.on if suppression.on else ''}"
    if suppression.code not in PAGES:
        return f"{suppressed}, but no such rule exists", "use a code that `keyplan rule` lists"
    if suppression.on and suppression.on not in names:
        return (
            f"{suppressed}, but the design declares nothing of that name",
            "name one of its tables, indexes, entities, patterns or consumers",
        )
    return f"{suppressed}, but the rule finds nothing there", "delete the suppression"


def _names(design: Design) -> set[str]:
    names = {design.name, *(entity.name for entity in design.entities), *(pattern.name for pattern in design.patterns)}
    for table in design.tables:
        names |= {table.name, *(index.name for index in table.schema.indexes)}
        names |= {consumer.name for consumer in table.consumers}
    return names
