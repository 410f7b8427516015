"""Tables and indexes are reckoned apart, with what is bought for each."""

from __future__ import annotations

import pytest

from keyplan.check.subject import Subject
from keyplan.design import (
    GSI,
    LSI,
    Bytes,
    Change,
    Cond,
    Design,
    Entity,
    Items,
    Provisioned,
    Rate,
    Table,
    add,
    key_of,
    pk,
    put,
    transaction,
)

table = Table(
    "courses",
    pk="course_id",
    sk="part",
    billing=Provisioned(read=20, write=10),
    indexes=[
        GSI("by_level", pk="level", billing=Provisioned(read=5, write=4)),
        LSI("by_seats", sk="seats"),
    ],
)


@table.entity(items=Items(count=100, bytes=Bytes(900), distinct={"course_id": 50, "level": 5}))
class Course(Entity):
    course_id: str
    part: int
    level: str
    seats: int


@table.create(Course)
def create(course: Course) -> Change:
    return put(course)


@table.update(Course, rate=Rate(average=2, peak=6))
def book(course_id: str, part: int) -> Change:
    return key_of(course_id=course_id, part=part) & add(seats=-1)


@table.query(Course, index="by_level", returns=20, rate=Rate(average=1))
def of_level(level: str) -> Cond:
    return pk(level=level)


@table.query(Course, index="by_seats", returns=2, rate=Rate(average=1))
def of_course(course_id: str) -> Cond:
    return pk(course_id=course_id)


@transaction(rate=Rate(average=3))
def open_course(course: Course):  # type: ignore[no-untyped-def]
    return [create(course)]


@pytest.fixture
def parts() -> dict[str, tuple[float, ...]]:
    found = Subject(Design("d", (table,), (open_course,))).capacity_uses
    return {part.name: (part.read, part.write, part.peak_read, part.peak_write) for part in found}


def test_a_global_index_is_a_part_and_a_local_one_belongs_to_its_table(parts: dict[str, tuple[float, ...]]) -> None:
    assert list(parts) == ["courses", "by_level"]


def test_writes_of_transactions_cost_the_table_twice_and_indexes_once(parts: dict[str, tuple[float, ...]]) -> None:
    # Bookings: one unit and two for the changed key of the local index. Creations: two and one for it.
    assert parts["courses"][1] == 2 * (1 + 2) + 3 * (2 + 1)
    assert parts["courses"][3] == 6 * (1 + 2) + 3 * (2 + 1)
    assert parts["by_level"][1] == 2 * 1 + 3 * 1


def test_reads_are_taken_from_the_part_that_is_read(parts: dict[str, tuple[float, ...]]) -> None:
    assert parts["courses"][0] == 0.5
    assert parts["by_level"][0] == 2.5


def test_a_read_of_a_guessed_number_of_items_is_left_out() -> None:
    notes = Table("notes", pk="user_id", sk="note_id")

    @notes.entity()
    class Note(Entity):
        user_id: str
        note_id: str

    @notes.query(Note, rate=Rate(average=1_000))
    def of_user(user_id: str) -> Cond:
        return pk(user_id=user_id)

    (part,) = Subject(Design("d", (notes,))).capacity_uses
    assert part.read == 0.0
