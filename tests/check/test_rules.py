"""Every rule has a Markdown file of designs. Each `# expect` marks the line of one finding.

Text after the mark is part of the finding's severity, problem or fix: `# expect error: task is claimed`. A case of
a change rule has two designs; the new one has the marks. The designs of KP0xx rules can be invalid.
"""

from __future__ import annotations

import re
from datetime import datetime
from functools import cache
from pathlib import Path

import pytest

from keyplan import Bytes, Entity, KeyCondition, Table, Volume, key, pk
from keyplan.check.checking import CHANGE_RULES, PAGES, RULES, check, check_change
from keyplan.check.finding import Finding
from keyplan.cost.prices import book
from keyplan.design.declaring.design import Design
from keyplan.design.declaring.partial import load_partially
from keyplan.design.errors import line_number
from keyplan.diff.comparison import Comparison

FOLDER = Path(__file__).parent / "rules"
CASE = re.compile(
    r"^## (?P<title>(?:bad|good): .+?)$\n+(?:^```python\n(?P<old>[^`]*?)^```$\n+)?^```python\n(?P<source>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
HEAD = """from __future__ import annotations
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal
from uuid import UUID
from pydantic import UUID7, BaseModel, Field
from keyplan import *
"""


def cases() -> list[tuple[str, str, str]]:
    """Code, title and source of every case of a rule that examines one design."""
    return [(code, title, source) for code, title, old, source in _all_cases() if old is None and code in RULES]


def cases_of_declarations() -> list[tuple[str, str, str]]:
    """Code, title and source of every case of KP0xx."""
    return [(code, title, source) for code, title, _, source in _all_cases() if code.startswith("KP0")]


def cases_of_changes() -> list[tuple[str, str, str, str]]:
    """Code, title, old and new source of every case of two designs."""
    return [(code, title, old, source) for code, title, old, source in _all_cases() if old is not None]


@cache
def _all_cases() -> list[tuple[str, str, str | None, str]]:
    return [
        (path.stem, match["title"], match["old"], match["source"])
        for path in sorted(FOLDER.glob("KP*.md"))
        for match in CASE.finditer(path.read_text())
    ]


def short(text: str) -> str:
    return text[:60] if "\n" not in text else ""


@pytest.mark.parametrize(("code", "title", "source"), cases(), ids=short)
def test_the_rule_reports_exactly_the_marked_lines(code: str, title: str, source: str, tmp_path: Path) -> None:
    findings = check(loaded(tmp_path / "design.py", source), [RULES[code]]).findings
    judge(each_of(findings), tmp_path / "design.py", code, title)


@pytest.mark.parametrize(("code", "title", "old", "new"), cases_of_changes(), ids=short)
def test_the_rule_reports_the_marked_lines_of_the_new_design(
    code: str, title: str, old: str, new: str, tmp_path: Path
) -> None:
    before, after = loaded(tmp_path / "old.py", old), loaded(tmp_path / "new.py", new)
    findings = check_change(Comparison(before, after, book()), [CHANGE_RULES[code]]).findings
    judge(findings, tmp_path / "new.py", code, title)


@pytest.mark.parametrize(("code", "title", "source"), cases_of_declarations(), ids=short)
def test_invalid_declarations_and_suppressions_are_reported_at_the_marked_lines(
    code: str, title: str, source: str, tmp_path: Path
) -> None:
    path = tmp_path / "design.py"
    path.write_text(HEAD + source)
    program = load_partially(str(path))
    report = check(program.design, refusals=program.refusals, unresolved=program.unresolved)
    judge(tuple(finding for finding in report.findings if finding.code == code), path, code, title)


def each_of(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Return findings together with the findings that they summarize."""
    return tuple(listed for finding in findings for listed in (finding, *finding.alike))


def loaded(path: Path, source: str) -> Design:
    path.write_text(HEAD + source)
    return Design.load(str(path))


def judge(findings: tuple[Finding, ...], path: Path, code: str, title: str) -> None:
    lines = enumerate(path.read_text().splitlines(), 1)
    expected = [(number, words.strip()) for number, line in lines for words in line.split("# expect")[1:]]
    assert sorted(line_number(finding.place) for finding in findings) == [number for number, _ in expected]
    actual = [
        (line_number(finding.place), f"{finding.severity}: {finding.problem}; {finding.fix}") for finding in findings
    ]
    for number, words in expected:
        assert any(number == line and words in text for line, text in actual), actual
    assert all(finding.code == code for finding in findings)
    assert bool(expected) == title.startswith("bad"), "a bad design has a finding, a good one none"
    assert all(finding.severity in PAGES[code].severities for finding in findings)


def test_rules_are_discovered_by_code_and_each_has_test_designs() -> None:
    assert list(PAGES) == sorted({path.stem for path in FOLDER.glob("KP*.md")})
    assert len({rule.slug for rule in PAGES.values()}) == len(PAGES)
    assert not RULES.keys() & CHANGE_RULES.keys()


@pytest.mark.parametrize("code", PAGES)
def test_every_rule_has_a_bad_and_a_good_design(code: str) -> None:
    titles = [title for stem, title, _, _ in _all_cases() if stem == code]
    assert any(title.startswith("bad") for title in titles)
    assert any(title.startswith("good") for title in titles)


@pytest.mark.parametrize("code", PAGES)
def test_every_rule_page_states_purpose_reason_fix_and_source(code: str) -> None:
    rule = PAGES[code]
    assert rule.title
    assert len(rule.page.split()) > 40
    assert rule.text.startswith("Finds ")
    labels = re.findall(r"^(Why is this bad\?|Fix:|Source:) \S", rule.text, re.MULTILINE)
    assert labels == ["Why is this bad?", "Fix:", "Source:"]


def test_the_fix_of_a_rounded_key_names_the_placeholder() -> None:
    app = Table("app", pk="PK")

    @app.entity(key=key("AT#{at:utc_s}"), store_key_fields=False)
    class Event(Entity):
        at: datetime

    (finding,) = check(Design("app", (app,)), [RULES["KP212"]]).findings
    assert finding.fix.startswith("write {at:utc_us}, or store")


def test_the_fix_of_a_range_query_names_returns() -> None:
    app = Table("app", pk="question", sk="at")

    @app.entity(volume=Volume(1_000_000, bytes=Bytes(1_000), distinct={"question": 100}))
    class Answer(Entity):
        question: str
        at: int

    @app.query(Answer)
    def since(question: str, at: int) -> KeyCondition:
        return pk(question=question).sk.gte(at=at)

    (finding,) = check(Design("app", (app,)), [RULES["KP309"]]).findings
    assert finding.fix.endswith("or declare expected_items= with the number of items in the range")
