"""Generated data has the declared numbers, shares, presence and sizes, and comes from its seed alone."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from random import Random
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field
from tests.verify import shop

from keyplan import GSI, Bytes, Distinct, Entity, Table, Volume, key, unique
from keyplan.design.declaring.design import Design
from keyplan.verify.generate import EntityGenerator, generators
from keyplan.verify.population import amounts
from keyplan.verify.sizes import length_limits, resize, stored_bytes, target_sizes
from keyplan.verify.values import SampleError, ValueGenerator

NOW_S = 1_767_225_600.0


class Page(BaseModel):
    number: int
    text: str


book = Table("book", pk="PK", sk="SK", ttl="gone_at", indexes=[GSI("by_kind", pk="kind", sk="title")])


@book.entity(
    key=key("READER#{reader}", "NOTE#{note}"),
    volume=Volume(
        count=100_000,
        bytes=Bytes(2_000, p99=8_000),
        distinct={"reader": Distinct(1_000, hottest=0.3), "kind": {"short": 0.9, "long": 0.1}, "shelf": 7},
        present={"remark": 0.25},
    ),
)
class Note(Entity):
    reader: str
    note: str
    kind: Literal["short", "long"]
    title: Annotated[str, Field(min_length=2, max_length=40)]
    shelf: int
    remark: str | None = None
    pages: list[Page]
    gone_at: int


@book.entity(key=key("READER#{reader}", "PROFILE"))
class Reader(Entity):
    reader: str
    name: str


@pytest.fixture(scope="module")
def generated() -> tuple[EntityGenerator, list[Note]]:
    by_spec = generators(Design("book", (book,)), 1_000, ValueGenerator(5, NOW_S))
    (maker,) = [generator for spec, generator in by_spec.items() if spec.name == "Note"]
    notes = [note for note in maker.make_all() if isinstance(note, Note)]
    return maker, notes


def test_partitions_keep_their_size_when_data_is_scaled_down(generated: tuple[EntityGenerator, list[Note]]) -> None:
    maker, notes = generated
    assert len(notes) == maker.amount.count
    assert maker.amount.declared == 100_000
    assert 900 <= len(notes) <= 1_000
    assert maker.amount.values["reader"] == round(1_000 * len(notes) / 100_000)
    assert maker.amount.values["shelf"] == 7, "no partition key is made of it"


def test_shares_presence_and_the_hottest_value_match_the_declarations(
    generated: tuple[EntityGenerator, list[Note]],
) -> None:
    _, notes = generated
    kinds = Counter(note.kind for note in notes)
    assert kinds["long"] / len(notes) == pytest.approx(0.1, abs=0.005)
    assert sum(note.remark is not None for note in notes) / len(notes) == pytest.approx(0.25, abs=0.06)
    (_, most), *_ = Counter(note.reader for note in notes).most_common(1)
    assert most / len(notes) == pytest.approx(0.3, abs=0.06)


def test_sizes_have_the_declared_average_and_99th_percentile(generated: tuple[EntityGenerator, list[Note]]) -> None:
    maker, notes = generated
    sizes = sorted(stored_bytes(maker.spec, note) for note in notes)
    assert sum(sizes) / len(sizes) == pytest.approx(2_000, rel=0.05)
    assert sizes[int(len(sizes) * 0.99)] == pytest.approx(8_000, rel=0.1)
    assert all(2 <= len(note.title) <= 40 for note in notes)


def test_optional_fields_of_one_index_key_are_present_together() -> None:
    cases = Table("cases", pk="id", indexes=[GSI("escalated", pk="to", sk="since")])

    @cases.entity(volume=Volume(count=1_000, present={"to": 0.1, "since": 0.1}))
    class Case(Entity):
        id: str
        to: str | None = None
        since: int | None = None

    (maker,) = generators(Design("cases", (cases,)), 1_000, ValueGenerator(5, NOW_S)).values()
    present = [case.since is not None for case in maker.make_all() if isinstance(case, Case) and case.to is not None]
    assert all(present)
    assert len(present) == pytest.approx(100, rel=0.3)


def test_one_field_of_a_unique_combination_differs_in_each_item() -> None:
    lots = Table("lots", pk="seller", sk="lot")

    @lots.entity(unique=[unique("seller", "ref")], volume=Volume(count=200, distinct={"seller": 4}))
    class Lot(Entity):
        seller: str
        lot: str
        ref: str

    (maker,) = generators(Design("lots", (lots,)), 200, ValueGenerator(5, NOW_S)).values()
    items = [lot for lot in maker.make_all() if isinstance(lot, Lot)]
    assert (len({lot.seller for lot in items}), len({lot.ref for lot in items})) == (4, 200)


def test_timestamps_are_in_the_declared_number_of_months() -> None:
    bank = Table("bank", pk="PK", sk="SK")

    @bank.entity(
        key=key("ACCOUNT#{account}#{booked:month}", "{entry}"),
        volume=Volume(count=2_000, distinct={"account": 10, "booked": 24}),
    )
    class Entry(Entity):
        account: str
        booked: datetime
        entry: str

    (maker,) = generators(Design("bank", (bank,)), 2_000, ValueGenerator(5, NOW_S)).values()
    months = {entry.booked.strftime("%Y-%m") for entry in maker.make_all() if isinstance(entry, Entry)}
    assert len(months) == pytest.approx(24, abs=1)


def test_generated_items_have_not_expired(generated: tuple[EntityGenerator, list[Note]]) -> None:
    assert all(note.gone_at > NOW_S for note in generated[1])


def test_referenced_entities_have_matching_keys() -> None:
    by_spec = generators(Design("book", (book,)), 1_000, ValueGenerator(5, NOW_S))
    actual = {spec.name: list(maker.make_all()) for spec, maker in by_spec.items()}
    readers = {reader.reader for reader in actual["Reader"] if isinstance(reader, Reader)}
    assert {note.reader for note in actual["Note"] if isinstance(note, Note)} <= readers


def test_the_same_seed_generates_the_same_entities() -> None:
    def all_of(seed: int) -> list[object]:
        return [
            entity
            for maker in generators(Design.of(shop), 60, ValueGenerator(seed, NOW_S)).values()
            for entity in maker.make_all()
        ]

    assert all_of(1) == all_of(1)
    assert all_of(1) != all_of(2)


def test_small_designs_are_not_scaled() -> None:
    for amount in amounts(Design.of(shop), 10_000_000).values():
        assert not amount.scaled


@given(average=st.integers(50, 5_000), factor=st.floats(1.0, 8.0), count=st.integers(1, 400), seed=st.integers(0, 100))
def test_target_sizes_keep_the_average(average: int, factor: float, count: int, seed: int) -> None:
    sizes = target_sizes(Bytes(average, p99=round(average * factor)), count, Random(seed))
    assert len(sizes) == count
    assert all(size >= 0 for size in sizes)
    if count >= 100:
        assert sum(sizes) / count == pytest.approx(average, rel=0.15)


@given(text=st.text(min_size=1, max_size=30), by=st.integers(-60, 200))
def test_a_text_is_lengthened_by_the_requested_or_the_possible_bytes(text: str, by: int) -> None:
    longer, done = resize(str, text, by)
    assert len(longer.encode()) - len(text.encode()) == done
    assert done == by or by < 0
    assert longer


def test_texts_inside_models_and_lists_are_lengthened_unless_they_have_a_format() -> None:
    page = Page(number=1, text="a")
    longer, done = resize(list[Page], [page], 100)
    assert done == 100
    assert len(longer[0].text) == 101
    assert resize(Literal["a"], "a", 10) == ("a", 0)
    assert resize(Annotated[str, Field(pattern="^a$")], "a", 10) == ("a", 0)
    assert resize(Annotated[str, Field(max_length=3)] | None, "a", 10)[1] == 2
    assert length_limits(Annotated[str, Field(min_length=2, max_length=9)], ()) == (2, 9)


def test_a_type_with_too_few_values_is_reported() -> None:
    class Few(BaseModel):
        choice: Literal["a", "b"]

    samples = ValueGenerator(0, NOW_S)
    assert {samples.nth(Few, "choice", number) for number in range(2)} == {"a", "b"}
    with pytest.raises(SampleError, match="has only 2 different values"):
        samples.nth(Few, "choice", 2)
    assert samples.up_to(Few, "choice", 7) in {"a", "b"}


def test_a_field_with_few_values_is_repeated_if_another_field_distinguishes_the_keys() -> None:
    boxes = Table("boxes", pk="PK", sk="SK")

    @boxes.entity(key=key("PART#{code}", "BOX#{box:02d}"))
    class Box(Entity):
        code: Annotated[str, Field(pattern="^[A-Z]{3}$")]
        box: Annotated[int, Field(ge=10, le=20)]

    (maker,) = generators(Design("boxes", (boxes,)), 1_000, ValueGenerator(5, NOW_S)).values()
    assert len({(box.code, box.box) for box in maker.make_all() if isinstance(box, Box)}) == 100


def test_a_field_with_few_values_may_repeat_if_other_key_fields_distinguish_items() -> None:
    seats = Table("seats", pk="PK", sk="SK")

    @seats.entity(key=key("HALL#{hall}", "SEAT#{row:02d}#{seat:03d}"))
    class Seat(Entity):
        hall: str
        row: Annotated[int, Field(ge=1, le=20)]
        seat: Annotated[int, Field(ge=1, le=100)]

    (maker,) = generators(Design("seats", (seats,)), 100, ValueGenerator(5, NOW_S)).values()
    created = [maker.make() for _ in range(300)]
    assert len({(seat.hall, seat.row, seat.seat) for seat in created if isinstance(seat, Seat)}) == 300
