"""Explained patterns: the whole text of each kind, compared with files in this folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.export import diary

from keyplan import (
    Bytes,
    Claim,
    Entity,
    F,
    Inserted,
    ItemKey,
    KeyCondition,
    Modified,
    Removed,
    Table,
    Volume,
    changed,
    item,
    pk,
)
from keyplan.check.finding import Finding
from keyplan.cost.estimate import estimate
from keyplan.cost.prices import PriceBook
from keyplan.design.declaring.design import Design
from keyplan.export.explain import explain, explain_consumer, explain_design

EXPECTED = Path(__file__).parent / "explained"
DESIGN = Design.of(diary)


@pytest.mark.parametrize("name", [pattern.name for pattern in DESIGN.patterns])
def test_explanations_of_patterns_match_the_saved_files(name: str, book: PriceBook) -> None:
    assert explain(DESIGN.pattern(name), book) == (EXPECTED / f"{name}.txt").read_text()


def test_every_file_belongs_to_a_pattern() -> None:
    assert {path.stem for path in EXPECTED.glob("*.txt")} == {pattern.name for pattern in DESIGN.patterns}


def test_only_findings_of_the_pattern_are_shown(book: PriceBook) -> None:
    pattern = DESIGN.pattern("entry")
    mine = Finding("KP901", "warning", "entry", "the problem", "the fix", pattern.place)
    other = Finding("KP902", "error", "publish", "another problem", "another fix", pattern.place)
    text = explain(pattern, book, [mine, other])
    assert text.endswith("warning[KP901]: the problem\n  fix: the fix\n")
    assert "another problem" not in text


def test_a_fault_among_the_findings_is_shown_once(book: PriceBook) -> None:
    pattern = DESIGN.pattern("of_day")
    (fault,) = pattern.plan.faults
    text = explain(pattern, book, [Finding.from_fault(fault, "error", "of_day")])
    assert text.count(fault.problem) == 1
    assert explain(pattern, book).count(fault.problem) == 1


def test_a_design_is_explained_with_its_patterns_by_table_and_index(book: PriceBook) -> None:
    lines = explain_design(DESIGN, estimate(DESIGN, book)).splitlines()
    assert lines[0].startswith("diary: 9 patterns, $")
    assert lines.index("index by_day of table diary") < lines.index(
        next(line for line in lines if line.startswith("  of_day "))
    )
    assert "  mirror: new or changed Entry of table diary" in lines
    assert lines[-1] == "no findings"


def test_assumed_figures_of_a_design_are_marked_as_unproved(book: PriceBook) -> None:
    text = explain_design(DESIGN, estimate(DESIGN, book))
    assert "unproved:" in text.split("\n\n")[0]
    (row,) = [line for line in text.splitlines() if line.startswith("  write_counted ")]
    assert row.split() == ["write_counted", "TransactWriteItems", "~10.0", "W", "no", "rate", "-"]
    assert "  - sizes of Author are estimated from its fields" in text
    assert "  - no calls, because no rate is declared: of_day, " in text


def test_findings_are_counted_at_their_pattern(book: PriceBook) -> None:
    place = DESIGN.pattern("entry").place
    findings = [
        Finding("KP901", "warning", "entry", "the problem", "the fix", place),
        Finding("KP902", "error", "entry", "another problem", "another fix", place),
        Finding("KP903", "error", "diary", "a third problem", "a third fix", place),
    ]
    text = explain_design(DESIGN, estimate(DESIGN, book), findings)
    (row,) = [line for line in text.splitlines() if line.startswith("  entry ")]
    assert row.split()[-1] == "2"
    assert text.endswith("findings: 2 errors, 1 warning; `keyplan check` shows them\n")


def test_an_overview_has_lines_of_up_to_80_characters_even_with_long_names(book: PriceBook) -> None:
    table = Table("a_table_with_a_name_" * 4, pk="number")

    class Thing(Entity):
        number: str

    table.entity()(Thing)

    def body(number: str) -> ItemKey:
        return item(number=number)

    body.__name__ = "a_pattern_with_a_name_that_is_too_long_for_a_column_of_the_table"
    table.get(Thing)(body)
    design = Design("long", (table,))
    lines = explain_design(design, estimate(design, book)).splitlines()
    (row,) = [number for number, line in enumerate(lines) if line == f"  {body.__name__}"]
    assert lines[row + 1].split()[:1] == ["GetItem"]
    assert [line for line in lines if len(line) > 80 and table.name not in line] == []


watched = Table("watched", pk="number", stream="NEW_IMAGE")


@watched.entity()
class Parcel(Entity):
    number: str
    state: str = "open"


@watched.on_change(Parcel, filter=changed("state", "sent"), bisect=False)
def sent(change: Modified[Parcel]) -> None: ...


@watched.on_change(Parcel, filter=F.state == "open", retries=2, on_failure="lost", idempotent=True, batch=1_000)
def opened(changes: list[Inserted[Parcel] | Removed[Parcel]]) -> None:
    """Announce open parcels.

    More.
    """


def test_a_consumer_is_explained_with_start_batch_retries_destination_and_filter() -> None:
    assert explain_consumer(watched.consumers[1], watched) == (
        "opened: consumer of the stream of table watched (Parcel)\n"
        "  Announce open parcels.\n\n"
        "Starts on\n"
        "  new or deleted items of these entities\n"
        "  filter: state = 'open'\n"
        "  needs the old and new image; the stream has NEW_IMAGE\n\n"
        "Batch\n"
        "  reads up to 1,000 records in a request\n"
        "  is called with a list of changes\n"
        "  may receive a change again: declared idempotent\n\n"
        "Failure\n"
        "  retries: 2\n"
        "  a failing batch is halved until the failing record is alone\n"
        "  destination: lost, receives the records that fail permanently\n"
    )


def test_a_consumer_without_a_destination_is_explained_as_stopping_its_runner() -> None:
    finding = Finding("KP901", "warning", "sent", "the problem", "the fix", watched.consumers[0].place)
    text = explain_consumer(watched.consumers[0], watched, [finding])
    assert "  filter: state changes to 'sent'\n" in text
    assert "  is called with one change at a time\n" in text
    assert "  retries: as long as the stream keeps the record, 24 hours\n" in text
    assert "  destination: none, the runner stops at a record that fails permanently\n" in text
    assert "halved" not in text
    assert text.endswith("warning[KP901]: the problem\n  fix: the fix\n")


orders = Table("orders", pk="customer", sk="number")


@orders.entity(volume=Volume(1_000, bytes=Bytes(400), distinct={"customer": 50}))
class Order(Entity):
    customer: str
    number: str


@orders.entity()
class Note(Entity):
    customer: str
    number: str


@orders.query(Order, claims=[Claim("1 RCU"), Claim("2 RCU"), Claim("0.5 RCU"), Claim("single-digit ms")])
def orders_of(customer: str) -> KeyCondition:
    return pk(customer=customer)


@orders.get(Note, claims=Claim("0.5 RCU"))
def note(customer: str, number: str) -> ItemKey:
    return item(customer=customer, number=number)


def test_claims_are_judged_by_the_estimate(book: PriceBook) -> None:
    assert (
        "Claims\n"
        '  "1 RCU": holds, estimated 1 read units\n'
        '  "2 RCU": less than claimed, estimated 1 read units\n'
        '  "0.5 RCU": fails, estimated 1 read units\n'
        '  "single-digit ms": unproved, an estimate cannot show it\n'
    ) in explain(orders_of, book)


def test_a_claim_that_rests_on_an_assumption_is_unproved(book: PriceBook) -> None:
    text = explain(note, book)
    assert "Cost, at declared sizes, unproved: it rests on an assumption (see below)\n" in text
    assert '  "0.5 RCU": unproved, because of an assumption (see below), estimated 0.5 read units\n' in text
    assert "  - assumed: sizes of Note are estimated from its fields\n" in text
