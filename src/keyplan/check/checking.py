"""Checking: every rule over a design, or over two, accepted findings apart, in the order of the source."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from keyplan.check.finding import Finding
from keyplan.check.rule import LoadedRule
from keyplan.check.subject import Subject
from keyplan.check.table import CHANGE_RULES, PAGES, RULES
from keyplan.design.design import Design, Suppression
from keyplan.diff.comparison import Comparison

UNUSED_ACCEPTANCE, UNEXPLAINED_ACCEPTANCE = "KP001", "KP002"


@dataclass(frozen=True)
class Report:
    """What was found in a design."""

    design: str
    findings: tuple[Finding, ...]
    """In the order of their places."""
    accepted: tuple[tuple[Finding, Suppression], ...]
    """Findings that the design accepts, with the reason."""

    @property
    def failed(self) -> bool:
        """Whether there is an error."""
        return any(finding.severity == "error" for finding in self.findings)


def check(design: Design, rules: Iterable[LoadedRule[Subject]] | None = None) -> Report:
    """Run the rules, all of them unless some are named, over a design."""
    subject = Subject(design)
    found = [one for rule in (RULES.values() if rules is None else rules) for one in rule.check(subject)]
    # Whether an acceptance of a rule of two designs is of use shows when two are compared.
    judged = [by for by in design.accepted if by.code not in CHANGE_RULES] if rules is None else []
    return _report(design, found, judged)


def check_change(comparison: Comparison, rules: Iterable[LoadedRule[Comparison]] | None = None) -> Report:
    """Run the rules of two designs, all of them unless some are named; what is accepted is said in the new one."""
    run = CHANGE_RULES.values() if rules is None else rules
    found = [one for rule in run for one in rule.check(comparison)]
    design = comparison.new
    judged = [by for by in design.accepted if by.code in CHANGE_RULES] if rules is None else []
    return _report(design, found, judged, _names(comparison.old))


def _report(
    design: Design, found: list[Finding], judged: list[Suppression], more_names: Collection[str] = ()
) -> Report:
    """What was found, without what is accepted; of the acceptances that are judged, those that are of no use."""
    accepted = [(one, by) for one in found if (by := _acceptance(one, design)) is not None]
    left = [one for one in found if _acceptance(one, design) is None]
    left += _about_acceptances(design, judged, [by for _, by in accepted], {*_names(design), *more_names})
    left.sort(key=lambda one: (one.place.file, one.place.line, one.code, one.problem))
    return Report(design.name, tuple(dict.fromkeys(left)), tuple(accepted))


def _acceptance(finding: Finding, design: Design) -> Suppression | None:
    for by in design.accepted:
        if by.code == finding.code and by.on in {"", finding.subject}:
            return by
    return None


def _about_acceptances(
    design: Design, judged: list[Suppression], used: list[Suppression], names: Collection[str]
) -> Iterator[Finding]:
    for by in judged:
        if by not in used:
            problem, fix = _unused(by, names)
            yield Finding(UNUSED_ACCEPTANCE, "warning", by.on or design.name, problem, fix, by.place)
        if len(by.reason.split()) < _WORDS_OF_A_REASON:
            yield Finding(
                UNEXPLAINED_ACCEPTANCE,
                "error",
                by.on or design.name,
                f"{by.code} is accepted without a reason",
                "say in a few words why it is right here",
                by.place,
            )


def _unused(by: Suppression, names: Collection[str]) -> tuple[str, str]:
    """Why an acceptance is of no use, and what to do."""
    what = f"{by.code} is accepted{' of ' + by.on if by.on else ''}"
    if by.code not in PAGES:
        return f"{what}, and there is no such rule", "name one that `keyplan rule` lists"
    if by.on and by.on not in names:
        return f"{what}, and the design has nothing of that name", "name a table, index, entity or pattern of it"
    return f"{what}, and nothing of that kind is found", "delete the acceptance"


def _names(design: Design) -> set[str]:
    names = {design.name, *(entity.name for entity in design.entities), *(one.name for one in design.patterns)}
    for table in design.tables:
        names |= {table.name, *(index.name for index in table.schema.indexes)}
        names |= {consumer.name for consumer in table.consumers}
    return names


_WORDS_OF_A_REASON = 3
