"""Every rule has a Markdown file of designs; lines marked `# expect` are where its findings must be, one each."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from keyplan.check import rules
from keyplan.check.checking import check
from keyplan.check.table import RULES
from keyplan.design.design import Design
from keyplan.design.places import line_of

FOLDER = Path(__file__).parent / "rules"
CASE = re.compile(r"^## (?P<title>(?:bad|good): .+?)$\n+^```python\n(?P<source>.*?)^```$", re.MULTILINE | re.DOTALL)
HEAD = """from __future__ import annotations
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Annotated, Literal
from uuid import UUID
from pydantic import BaseModel, Field
from keyplan.design import *
"""


def cases() -> list[tuple[str, str, str]]:
    return [
        (path.stem, match["title"], match["source"])
        for path in sorted(FOLDER.glob("KP*.md"))
        for match in CASE.finditer(path.read_text())
    ]


@pytest.mark.parametrize(("code", "title", "source"), cases(), ids=lambda text: text[:60] if "\n" not in text else "")
def test_the_rule_finds_what_is_marked_and_nothing_else(code: str, title: str, source: str, tmp_path: Path) -> None:
    path = tmp_path / "design.py"
    path.write_text(HEAD + source)
    findings = check(Design.load(str(path)), [RULES[code]]).findings
    lines = enumerate(path.read_text().splitlines(), 1)
    wanted = [number for number, line in lines for _ in range(line.count("# expect"))]
    assert sorted(line_of(finding.place) for finding in findings) == wanted
    assert all(finding.code == code for finding in findings)
    assert bool(wanted) == title.startswith("bad"), "a bad design has a finding, a good one none"
    assert all(finding.severity in RULES[code].rule.severities for finding in findings)


def test_every_module_of_a_rule_is_in_the_table_by_its_code() -> None:
    files = sorted(path.stem.upper() for path in Path(rules.__path__[0]).glob("*/kp*.py"))
    assert list(RULES) == files


@pytest.mark.parametrize("code", RULES)
def test_every_rule_has_a_bad_and_a_good_design(code: str) -> None:
    titles = [title for stem, title, _ in cases() if stem == code]
    assert any(title.startswith("bad") for title in titles)
    assert any(title.startswith("good") for title in titles)


@pytest.mark.parametrize("code", RULES)
def test_every_rule_has_a_page_with_a_source(code: str) -> None:
    rule = RULES[code]
    assert rule.title
    assert len(rule.page.split()) > 40
    assert "Source" in rule.page
