"""Reports on findings as text, JSON, SARIF 2.1.0 and GitHub annotations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any

import orjson

from keyplan.check.checking import PAGES, Report
from keyplan.check.finding import Finding
from keyplan.design.errors import Place, line_number, show_place

_LEVELS = {"error": "error", "warning": "warning", "advice": "note"}
_ORDER = tuple(_LEVELS)


def text(reports: Sequence[Report]) -> str:
    """Format findings as text, grouped by rule with errors first, followed by a table of the rules and a summary."""
    findings = [finding for report in reports for finding in report.findings]
    parts = [_finding_text(*group) for group in _grouped(findings)]
    if len({finding.code for finding in findings}) > 1:
        parts.append("\n".join(_table(findings)))
    parts.append(summary(reports))
    return "\n\n".join(parts) + "\n"


def _grouped(findings: Sequence[Finding]) -> list[list[Finding]]:
    """Group findings by rule and severity. Errors come first, and each error is in a separate group."""
    groups: dict[object, list[Finding]] = {}
    for finding in findings:
        key = finding if finding.severity == "error" else (finding.code, finding.severity)
        groups.setdefault(key, []).append(finding)
    return sorted(groups.values(), key=lambda group: _ORDER.index(group[0].severity))


def _table(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield the lines of a table with the number of findings of each rule."""
    counts = Counter((_ORDER.index(finding.severity), finding.code) for finding in findings)
    yield f"{'severity':8}  {'rule':5}  {'findings':>8}  title"
    for (level, code), count in sorted(counts.items()):
        yield f"{_ORDER[level]:8}  {code:5}  {count:>8}  {_title(code)}".rstrip()


def _title(code: str) -> str:
    """Return the title of a rule, or an empty string if no rule has this code."""
    return PAGES[code].title if code in PAGES else ""


def _finding_text(finding: Finding, *similar: Finding) -> str:
    """Format a finding like a compiler message. The findings `similar`, which are findings of the same rule, are listed
    below it, one per line.
    """
    lines = [f"{finding.severity}[{finding.code}]: {finding.problem}", show_place(finding.place)]
    if finding.other is not None:
        lines += ["conflicts with" if _conflicts(finding) else "see also"]
        lines.append(show_place(finding.other, with_definition=True))
    lines.append(f"fix: {finding.fix}")
    if finding.alike:
        lines.append("likewise")
        lines += [f"  --> {_line(merged_finding.place)}: {merged_finding.item}" for merged_finding in finding.alike]
    elif similar:
        lines.append("likewise")
    for similar_finding in similar:
        lines.append(f"  --> {_line(similar_finding.place)}: {_distinct_text(similar_finding, finding)}")
        if similar_finding.fix != finding.fix:
            lines.append(f"      fix: {similar_finding.fix}")
    lines.append(f"more: keyplan rule {finding.code}")
    return "\n".join(lines)


def _conflicts(finding: Finding) -> bool:
    """Return True if a finding's `other` declaration conflicts with the declaration that the finding is about."""
    return finding.code in PAGES and PAGES[finding.code].conflicts


def _line(place: Place) -> str:
    return f"{place.display_path}:{line_number(place)}"


def _distinct_text(finding: Finding, first: Finding) -> str:
    """Return the problem of a finding. If the text after its first colon is the same as in the problem of `first`,
    return only the text before the colon.
    """
    head, _, tail = finding.problem.partition(": ")
    return head if tail == first.problem.partition(": ")[2] else finding.problem


def summary(reports: Sequence[Report]) -> str:
    """Format the names of the designs and the number of findings of each severity."""
    counts: Counter[str] = Counter(finding.severity for report in reports for finding in report.findings)
    suppressed = sum(len(report.suppressed) for report in reports)
    numbers = ", ".join(
        f"{counts[kind]} {kind}{'' if counts[kind] == 1 or kind == 'advice' else 's'}" for kind in _LEVELS
    )
    names = ", ".join(report.design for report in reports)
    return f"{names}: {numbers}" + (f", {suppressed} suppressed" if suppressed else "")


def json(reports: Sequence[Report]) -> bytes:
    """Format reports as JSON."""
    return orjson.dumps([document(report) for report in reports], option=orjson.OPT_INDENT_2) + b"\n"


def document(report: Report) -> dict[str, Any]:
    """Return a report as JSON-compatible data."""
    return {
        "design": report.design,
        "findings": [_finding_json(finding) for finding in report.findings],
        "suppressed": [
            {**_finding_json(finding), "reason": suppression.reason} for finding, suppression in report.suppressed
        ],
    }


def _finding_json(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "severity": finding.severity,
        "subject": finding.subject,
        "problem": finding.problem,
        "fix": finding.fix,
        "place": _place_json(finding.place),
        "other": None if finding.other is None else _place_json(finding.other),
        "alike": [
            {"subject": merged_finding.subject, "item": merged_finding.item, "place": _place_json(merged_finding.place)}
            for merged_finding in finding.alike
        ],
    }


def _place_json(place: Place) -> dict[str, Any]:
    return {"file": place.file, "line": line_number(place)}


def sarif(reports: Sequence[Report]) -> bytes:
    """Format reports as SARIF 2.1.0 (OASIS), with the findings and the pages of their rules in a single run."""
    codes = {
        finding.code
        for report in reports
        for finding in (*report.findings, *(suppressed for suppressed, _ in report.suppressed))
    }
    reported_codes = sorted(codes & set(PAGES))
    rules = [
        {
            "id": code,
            "name": PAGES[code].slug,
            "shortDescription": {"text": PAGES[code].title},
            "fullDescription": {"text": PAGES[code].page},
            "help": {"text": PAGES[code].page, "markdown": PAGES[code].page},
        }
        for code in reported_codes
    ]
    run = {
        "tool": {"driver": {"name": "keyplan", "version": version("keyplan"), "rules": rules}},
        "results": [
            *(_result(finding, None) for report in reports for finding in report.findings),
            *(_result(finding, suppression.reason) for report in reports for finding, suppression in report.suppressed),
        ],
    }
    log = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return orjson.dumps(log, option=orjson.OPT_INDENT_2) + b"\n"


def github(reports: Sequence[Report]) -> str:
    """Format findings as GitHub Actions workflow commands, which annotate the lines of a pull request.

    Source: GitHub Docs, "Workflow commands for GitHub Actions".
    """
    kinds = {"error": "error", "warning": "warning", "advice": "notice"}
    lines = []
    for finding in chain.from_iterable(report.findings for report in reports):
        place = _location(finding.place)["physicalLocation"]
        values = {"file": place["artifactLocation"]["uri"], "line": str(place["region"]["startLine"])}
        values["title"] = f"{finding.code} {_title(finding.code)}".strip()
        properties = ",".join(f"{name}={_escaped(value, of_property=True)}" for name, value in values.items())
        message = _escaped(f"{finding.problem}\nfix: {finding.fix}")
        lines.append(f"::{kinds[finding.severity]} {properties}::{message}\n")
    return "".join(lines) + summary(reports) + "\n"


def _escaped(value: str, *, of_property: bool = False) -> str:
    value = value.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return value.replace(":", "%3A").replace(",", "%2C") if of_property else value


def _result(finding: Finding, suppressed: str | None) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{finding.problem}. Fix: {finding.fix}."},
        "locations": [_location(finding.place)],
    }
    related = [
        *([] if finding.other is None else [finding.other]),
        *(merged_finding.place for merged_finding in finding.alike),
    ]
    if related:
        result["relatedLocations"] = [_location(place) for place in related]
    if suppressed is not None:
        result["suppressions"] = [{"kind": "inSource", "justification": suppressed}]
    return result


def _location(place: Place) -> dict[str, Any]:
    path = Path(place.file)
    uri = path.relative_to(Path.cwd()).as_posix() if path.is_relative_to(Path.cwd()) else path.as_uri()
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": uri},
            "region": {"startLine": max(1, line_number(place))},
        }
    }
