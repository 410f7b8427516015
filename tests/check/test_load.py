"""The load of patterns in units per second, and the capacity of tables and indexes that it uses."""

from __future__ import annotations

import pytest

from keyplan import (
    GSI,
    LSI,
    Bytes,
    Design,
    Entity,
    ItemWrite,
    KeyCondition,
    Provisioned,
    Rate,
    Table,
    Volume,
    WriteCall,
    item,
    key,
    pk,
    transaction,
)
from keyplan.check.finding import number
from keyplan.check.load import index_units_per_second, monthly_price
from keyplan.check.subject import Subject
from keyplan.design.entities import spec_of

shop = Table("shop", pk="PK", sk="SK", indexes=[GSI("by_day", pk="day", sk="SK")])
log = Table("log", pk="id", indexes=[GSI("by_day", pk="day")])


@shop.entity(key=key("ORDER#{number}", "ORDER"), volume=Volume(100, bytes=Bytes(500)))
class Order(Entity):
    number: str
    day: str
    note: str = ""


@shop.entity(key=key("BILL#{number}", "BILL"), volume=Volume(100, bytes=Bytes(1_500)))
class Bill(Entity):
    number: str
    day: str


@log.entity(volume=Volume(100, bytes=Bytes(500)))
class Line(Entity):
    id: str
    day: str


@shop.create(Order, rate=Rate(average=0.5, peak=0.75))
def order(new: Order) -> ItemWrite:
    return item(new)


@shop.create(Bill)
def bill(new: Bill) -> ItemWrite:
    return item(new)


@shop.check(Order)
def is_ordered(number: str) -> ItemWrite:
    return item(number=number)


@shop.update(Order, rate=Rate(average=4))
def annotate(number: str, note: str) -> ItemWrite:
    return item(number=number).set(note=note)


@log.create(Line, rate=Rate(average=100))
def write(line: Line) -> ItemWrite:
    return item(line)


@transaction(rate=Rate(average=2, peak=3))
def order_and_bill(new: Order, paid: Bill) -> list[WriteCall[Order] | WriteCall[Bill]]:
    return [order(new), bill(paid)]


@transaction(rate=Rate(average=1))
def bill_what_is_ordered(number: str, two: Bill) -> list[WriteCall[None] | WriteCall[Bill]]:
    return [is_ordered(number), bill(two)]


SUBJECT = Subject(Design("d", (shop, log), (order_and_bill, bill_what_is_ordered)))


def test_a_step_counts_in_its_transaction_and_separately_only_with_its_own_rate() -> None:
    actual = [(work.pattern.name, work.plan.entity.name, work.units.write) for work in SUBJECT.requests]
    assert sorted(actual) == [
        ("annotate", "Order", 1),
        ("bill_what_is_ordered", "Bill", 4),
        ("bill_what_is_ordered", "Order", 2),
        ("order", "Order", 1),
        ("order_and_bill", "Bill", 4),
        ("order_and_bill", "Order", 2),
        ("write", "Line", 1),
    ]


def test_the_load_of_an_index_is_the_sum_of_all_writes_to_it() -> None:
    # An order's entry is one unit, a bill's two; a note is in the entry too.
    assert index_units_per_second(SUBJECT.requests, shop.schema, "by_day") == 0.5 + 4 + 2 * (1 + 2) + 2
    assert index_units_per_second(SUBJECT.requests, shop.schema, "by_day", peak=True) == 0.75 + 4 + 3 * (1 + 2) + 2
    assert index_units_per_second(SUBJECT.requests, shop.schema, "by_day", spec_of(Bill)) == 2 * 2 + 2
    assert index_units_per_second(SUBJECT.requests, log.schema, "by_day") == 100
    assert index_units_per_second(SUBJECT.requests, log.schema, "by_week") == 0


def test_a_unit_per_second_costs_the_price_of_a_months_seconds() -> None:
    assert monthly_price(1.0) == pytest.approx(730 * 3600 * 0.625e-6)
    assert monthly_price(20.0) == pytest.approx(20 * 730 * 3600 * 0.625e-6)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.5, "0.5"),
        (2.0, "2"),
        (2.25, "2.2"),
        (99.4, "99"),
        (99.6, "100"),
        (100.4, "100"),
        (1234.5, "1,234"),
        (33, "33"),
    ],
)
def test_numbers_are_whole_or_have_two_decimals(value: float, text: str) -> None:
    assert number(value) == text


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


@table.entity(volume=Volume(count=100, bytes=Bytes(900), distinct={"course_id": 50, "level": 5}))
class Course(Entity):
    course_id: str
    part: int
    level: str
    seats: int


@table.create(Course)
def create(course: Course) -> ItemWrite:
    return item(course)


@table.update(Course, rate=Rate(average=2, peak=6))
def book(course_id: str, part: int) -> ItemWrite:
    return item(course_id=course_id, part=part).add(seats=-1)


@table.query(Course, index="by_level", expected_items=20, rate=Rate(average=1))
def of_level(level: str) -> KeyCondition:
    return pk(level=level)


@table.query(Course, index="by_seats", expected_items=2, rate=Rate(average=1))
def of_course(course_id: str) -> KeyCondition:
    return pk(course_id=course_id)


@transaction(rate=Rate(average=3))
def open_course(course: Course):  # type: ignore[no-untyped-def]
    return [create(course)]


@pytest.fixture
def parts() -> dict[str, tuple[float, ...]]:
    capacity_uses = Subject(Design("d", (table,), (open_course,))).capacity_uses
    return {part.name: (part.read, part.write, part.peak_read, part.peak_write) for part in capacity_uses}


def test_a_global_index_has_its_own_capacity_and_a_local_index_uses_the_tables(
    parts: dict[str, tuple[float, ...]],
) -> None:
    assert list(parts) == ["courses", "by_level"]


def test_transactional_writes_cost_the_table_twice_and_indexes_once(parts: dict[str, tuple[float, ...]]) -> None:
    # Bookings: one unit and two for the changed key of the local index. Creations: two and one for it.
    assert parts["courses"][1] == 2 * (1 + 2) + 3 * (2 + 1)
    assert parts["courses"][3] == 6 * (1 + 2) + 3 * (2 + 1)
    assert parts["by_level"][1] == 2 * 1 + 3 * 1


def test_reads_consume_capacity_of_the_table_or_index_that_they_read(parts: dict[str, tuple[float, ...]]) -> None:
    assert parts["courses"][0] == 0.5
    assert parts["by_level"][0] == 2.5


def test_a_read_of_an_assumed_number_of_items_adds_no_load() -> None:
    notes = Table("notes", pk="user_id", sk="note_id")

    @notes.entity()
    class Note(Entity):
        user_id: str
        note_id: str

    @notes.query(Note, rate=Rate(average=1_000))
    def of_user(user_id: str) -> KeyCondition:
        return pk(user_id=user_id)

    (part,) = Subject(Design("d", (notes,))).capacity_uses
    assert part.read == 0.0
