"""The five published designs as they are written: the checker tells the faults that a design can tell."""

from __future__ import annotations

import time
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from keyplan.check.checking import Report, check
from keyplan.design.declaring.design import Design
from keyplan.design.errors import line_number

DESIGNS = Path(__file__).parents[2] / "examples" / "as_written"
TABLES = Path(__file__).parent / "as_written"
NAMES = sorted(path.stem for path in DESIGNS.glob("*.py"))


@cache
def report(name: str) -> Report:
    return check(Design.load(str(DESIGNS / f"{name}.py")))


def faults(name: str) -> list[dict[str, Any]]:
    return list(tomllib.loads((TABLES / f"{name}.toml").read_text())["fault"])


def is_reported(name: str, expected: list[str]) -> bool:
    code, subject, *words = expected
    return any(
        finding.code == code and finding.subject == subject and all(word in finding.problem for word in words)
        for reported in report(name).findings
        for finding in (reported, *reported.alike)
    )


CASES = [(name, fault) for name in NAMES for fault in faults(name)]


@pytest.mark.parametrize(("name", "fault"), CASES, ids=[fault["id"] for _, fault in CASES])
def test_each_fault_is_reported_by_its_listed_findings(name: str, fault: dict[str, Any]) -> None:
    assert fault["found"]
    missing = [finding for finding in fault["found"] if not is_reported(name, finding)]
    assert not missing, f"{fault['what']}: not found {missing}"


def test_every_design_has_a_fault_table_and_errors() -> None:
    assert sorted(path.stem for path in TABLES.glob("*.toml")) == NAMES
    assert len(NAMES) == 5
    assert all(report(name).failed for name in NAMES)


def test_at_least_seventy_five_faults_are_reported_and_none_is_listed_twice() -> None:
    numbers = [fault["id"] for _, fault in CASES]
    assert len(set(numbers)) == len(numbers) >= 75


@pytest.mark.parametrize("name", NAMES)
def test_every_finding_points_into_the_design(name: str) -> None:
    path = DESIGNS / f"{name}.py"
    lines = len(path.read_text().splitlines())
    for finding in report(name).findings:
        assert Path(finding.place.file) == path
        assert 1 <= line_number(finding.place) <= lines
        assert finding.fix


def test_all_five_designs_are_checked_within_two_seconds_of_cpu_time() -> None:
    designs = [Design.load(str(DESIGNS / f"{name}.py")) for name in NAMES]
    before = time.process_time()
    for design in designs:
        check(design)
    assert time.process_time() - before < 2
