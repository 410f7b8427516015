"""Designs as Markdown documents: one in full, and what makes cells and sections."""

from __future__ import annotations

from pathlib import Path

from tests.export import diary

from keyplan import GSI, Entity, ItemKey, KeyCondition, Table, everything, item, pk
from keyplan.check.finding import Finding
from keyplan.cost.estimate import estimate
from keyplan.cost.prices import PriceBook
from keyplan.design.declaring.design import Design
from keyplan.export.markdown import document, of_patterns, of_table, rows

EXPECTED = Path(__file__).with_name("diary.md")
DESIGN = Design.of(diary)


def document_of(book: PriceBook) -> str:
    place = DESIGN.pattern("entry").place
    findings = [Finding("KP901", "advice", "entry", "a | b", "do it", place)]
    return document(DESIGN, findings, estimate(DESIGN, book))


def test_the_document_of_a_design_equals_the_saved_file(book: PriceBook) -> None:
    assert document_of(book) == EXPECTED.read_text()


def test_every_row_of_a_table_has_as_many_cells_as_its_heading(book: PriceBook) -> None:
    head = 0
    for line in document_of(book).splitlines():
        if not line.startswith("|"):
            head = 0
            continue
        cells = line.replace("\\|", "").count("|")
        head = head or cells
        assert cells == head, line


def test_characters_that_would_break_a_table_are_escaped() -> None:
    assert rows(["a"], [["one | two\nthree"]]) == "| a |\n| --- |\n| one \\| two three |"


def test_a_design_without_findings_has_an_empty_section(book: PriceBook) -> None:
    assert document(DESIGN, [], estimate(DESIGN, book)).endswith("## Findings\n\nNone.\n")


def test_missing_settings_of_a_table_are_listed_as_none() -> None:
    facts = list(of_table(Table("plain", pk="id")))[1].splitlines()[2:]
    assert facts == [
        "| Partition key | `id` |",
        "| Sort key | none |",
        "| Capacity | on demand |",
        "| Expiry | none |",
        "| Stream | none |",
        "| Point-in-time recovery | off |",
        "| Deletion protection | off |",
    ]


def test_missing_settings_of_an_index_are_listed_as_none() -> None:
    indexes = list(of_table(Table("plain", pk="id", indexes=[GSI("by_name", pk="name")])))[3]
    assert indexes.splitlines()[-1] == "| by_name | GSI | `name` | none | all |"


def test_a_table_lists_its_discriminator() -> None:
    assert "| Entity name in | `kind` |" in list(of_table(Table("plain", pk="id", discriminator="kind")))[1]


def test_a_pattern_is_described_by_the_first_line_of_its_docstring() -> None:
    table = Table("plain", pk="id")

    @table.entity()
    class Thing(Entity):
        id: str

    @table.get(Thing)
    def thing(id: str) -> ItemKey:
        """One thing.

        More about it.
        """
        return item(id=id)

    row = list(of_patterns(Design("plain", (table,))))[1].splitlines()[-1]
    assert row.startswith("| `thing`: One thing. | GetItem | plain |")


def test_a_pattern_lists_its_limit_and_order() -> None:
    table = Table("plain", pk="owner", sk="day")

    @table.entity()
    class Note(Entity):
        owner: str
        day: str

    @table.query(Note, descending=True, limit=20)
    def last_notes(owner: str) -> KeyCondition:
        return pk(owner=owner)

    @table.scan(Note, page_size=100)
    def notes() -> KeyCondition:
        return everything()

    rows = list(of_patterns(Design("plain", (table,))))[1].splitlines()[2:]
    assert [row.split(" | ")[3] for row in rows] == ["owner = {owner} (descending, limit 20)", "(pages of 100)"]
