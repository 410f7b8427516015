"""Explained patterns: the whole text of each kind, compared with files in this folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.export import diary

from keyplan.check.finding import Finding
from keyplan.cost.prices import PriceBook
from keyplan.design.declaring.design import Design
from keyplan.export.explain import explain

EXPECTED = Path(__file__).parent / "explained"
DESIGN = Design.of(diary)


@pytest.mark.parametrize("name", [pattern.name for pattern in DESIGN.patterns])
def test_a_pattern_is_explained_as_the_file_of_its_name_has_it(name: str, book: PriceBook) -> None:
    assert explain(DESIGN.pattern(name), book) == (EXPECTED / f"{name}.txt").read_text()


def test_every_file_belongs_to_a_pattern() -> None:
    assert {path.stem for path in EXPECTED.glob("*.txt")} == {pattern.name for pattern in DESIGN.patterns}


def test_findings_of_the_pattern_are_told_and_those_of_others_are_not(book: PriceBook) -> None:
    pattern = DESIGN.pattern("entry")
    mine = Finding("KP901", "warning", "entry", "the problem", "the fix", pattern.place)
    other = Finding("KP902", "error", "publish", "another problem", "another fix", pattern.place)
    told = explain(pattern, book, [mine, other])
    assert told.endswith("warning[KP901]: the problem\n  fix: the fix\n")
    assert "another problem" not in told


def test_a_fault_that_is_among_the_findings_is_told_once(book: PriceBook) -> None:
    pattern = DESIGN.pattern("of_day")
    (fault,) = pattern.plan.faults
    told = explain(pattern, book, [Finding.of(fault, "error", "of_day")])
    assert told.count(fault.problem) == 1
    assert explain(pattern, book).count(fault.problem) == 1
