"""Checking: every rule over a design, accepted findings apart, in the order of the source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from keyplan.check.finding import Finding
from keyplan.check.rule import LoadedRule
from keyplan.check.subject import Subject
from keyplan.check.table import RULES
from keyplan.design.design import Design, Suppression

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


def check(design: Design, rules: Iterable[LoadedRule] | None = None) -> Report:
    """Run the rules, all of them unless some are named, over a design."""
    subject = Subject(design)
    found = [one for rule in (RULES.values() if rules is None else rules) for one in rule.check(subject)]
    accepted = [(one, by) for one in found if (by := _acceptance(one, design)) is not None]
    left = [one for one in found if _acceptance(one, design) is None]
    if rules is None:
        left += _about_acceptances(design, [by for _, by in accepted])
    left.sort(key=lambda one: (one.place.file, one.place.line, one.code, one.problem))
    return Report(design.name, tuple(dict.fromkeys(left)), tuple(accepted))


def _acceptance(finding: Finding, design: Design) -> Suppression | None:
    for by in design.accepted:
        if by.code == finding.code and by.on in {"", finding.subject}:
            return by
    return None


def _about_acceptances(design: Design, used: list[Suppression]) -> Iterator[Finding]:
    for by in design.accepted:
        if by not in used:
            problem, fix = _unused(by, design)
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


def _unused(by: Suppression, design: Design) -> tuple[str, str]:
    """Why an acceptance is of no use, and what to do."""
    what = f"{by.code} is accepted{' of ' + by.on if by.on else ''}"
    if by.code not in RULES:
        return f"{what}, and there is no such rule", "name one that `keyplan rule` lists"
    if by.on and by.on not in _names(design):
        return f"{what}, and the design has nothing of that name", "name a table, index, entity or pattern of it"
    return f"{what}, and nothing of that kind is found", "delete the acceptance"


def _names(design: Design) -> set[str]:
    names = {design.name, *(entity.name for entity in design.entities), *(one.name for one in design.patterns)}
    for table in design.tables:
        names |= {table.name, *(index.name for index in table.schema.indexes)}
        names |= {consumer.name for consumer in table.consumers}
    return names


_WORDS_OF_A_REASON = 3
