"""Reports of findings: as text, JSON and SARIF 2.1.0."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import orjson

from keyplan.check.checking import PAGES, Report
from keyplan.check.finding import Finding
from keyplan.design.errors import Place, line_number, show_place

_LEVELS = {"error": "error", "warning": "warning", "advice": "note"}


def text(reports: Sequence[Report]) -> str:
    """Format findings one after the other, and a summary."""
    parts = [_finding_text(*alike) for report in reports for alike in _grouped(report.findings)]
    parts.append(summary(reports))
    return "\n\n".join(parts) + "\n"


def _grouped(findings: Sequence[Finding]) -> Iterable[list[Finding]]:
    """Group findings of one rule about one subject at the first of them; errors stay separate."""
    groups: dict[object, list[Finding]] = {}
    for finding in findings:
        key = finding if finding.severity == "error" else (finding.code, finding.severity, finding.subject)
        groups.setdefault(key, []).append(finding)
    return groups.values()


def _finding_text(finding: Finding, *alike: Finding) -> str:
    """Format a finding like a compiler, with similar findings at other places."""
    lines = [f"{finding.severity}[{finding.code}]: {finding.problem}", show_place(finding.place)]
    if finding.other is not None:
        lines += ["conflicts with", show_place(finding.other)]
    lines.append(f"fix: {finding.fix}")
    if alike:
        lines.append("likewise")
    for one in alike:
        lines.append(f"  --> {one.place.file}:{line_number(one.place)}: {_differing(one, finding)}")
        if one.fix != finding.fix:
            lines.append(f"      fix: {one.fix}")
    lines.append(f"more: keyplan rule {finding.code}")
    return "\n".join(lines)


def _differing(one: Finding, first: Finding) -> str:
    """Return the problem without the part after a colon, if it equals that of the first finding."""
    head, _, tail = one.problem.partition(": ")
    return head if tail == first.problem.partition(": ")[2] else one.problem


def summary(reports: Sequence[Report]) -> str:
    """Format the number of findings of each severity."""
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
    """Return one report as plain data."""
    return {
        "design": report.design,
        "findings": [_finding_json(finding) for finding in report.findings],
        "suppressed": [{**_finding_json(finding), "reason": by.reason} for finding, by in report.suppressed],
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
    }


def _place_json(place: Place) -> dict[str, Any]:
    return {"file": place.file, "line": line_number(place)}


def sarif(reports: Sequence[Report]) -> bytes:
    """Format reports as SARIF 2.1.0 (OASIS): one run with rules, their pages, and results with their places."""
    codes = {
        finding.code for report in reports for finding in (*report.findings, *(one for one, _ in report.suppressed))
    }
    used = sorted(codes & set(PAGES))
    rules = [
        {
            "id": code,
            "name": PAGES[code].slug,
            "shortDescription": {"text": PAGES[code].title},
            "fullDescription": {"text": PAGES[code].page},
            "help": {"text": PAGES[code].page, "markdown": PAGES[code].page},
        }
        for code in used
    ]
    run = {
        "tool": {"driver": {"name": "keyplan", "version": version("keyplan"), "rules": rules}},
        "results": [
            *(_result(finding, None) for report in reports for finding in report.findings),
            *(_result(finding, by.reason) for report in reports for finding, by in report.suppressed),
        ],
    }
    log = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return orjson.dumps(log, option=orjson.OPT_INDENT_2) + b"\n"


def _result(finding: Finding, suppressed: str | None) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{finding.problem}. Fix: {finding.fix}."},
        "locations": [_location(finding.place)],
    }
    if finding.other is not None:
        result["relatedLocations"] = [_location(finding.other)]
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
