"""Designs as Markdown documents: one in full, and what makes cells and sections."""

from __future__ import annotations

from pathlib import Path

from tests.export import diary

from keyplan.check.finding import Finding
from keyplan.cost.estimate import estimate
from keyplan.cost.prices import PriceBook
from keyplan.design.design import Design
from keyplan.export.markdown import document, rows

EXPECTED = Path(__file__).with_name("diary.md")
DESIGN = Design.of(diary)


def made(book: PriceBook) -> str:
    place = DESIGN.pattern("entry").place
    findings = [Finding("KP901", "advice", "entry", "a | b", "do it", place)]
    return document(DESIGN, findings, estimate(DESIGN, book))


def test_the_document_of_a_design_is_the_one_that_is_kept(book: PriceBook) -> None:
    assert made(book) == EXPECTED.read_text()


def test_every_table_has_as_many_cells_in_each_row_as_in_its_head(book: PriceBook) -> None:
    head = 0
    for line in made(book).splitlines():
        if not line.startswith("|"):
            head = 0
            continue
        cells = line.replace("\\|", "").count("|")
        head = head or cells
        assert cells == head, line


def test_what_would_break_a_table_is_escaped() -> None:
    assert rows(["a"], [["one | two\nthree"]]) == "| a |\n| --- |\n| one \\| two three |"


def test_a_design_without_findings_says_so(book: PriceBook) -> None:
    assert document(DESIGN, [], estimate(DESIGN, book)).endswith("## Findings\n\nNone.\n")
