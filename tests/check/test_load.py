"""What patterns take a second, of which request and index, and what that costs a month."""

from __future__ import annotations

import pytest

from keyplan.check.finding import number
from keyplan.check.load import monthly_price, units_a_second
from keyplan.check.subject import Subject
from keyplan.design import (
    GSI,
    Bytes,
    Change,
    Design,
    Entity,
    Items,
    Rate,
    Table,
    WriteCall,
    key,
    key_of,
    put,
    set_,
    transaction,
)
from keyplan.design.entities import spec_of

shop = Table("shop", pk="PK", sk="SK", indexes=[GSI("by_day", pk="day", sk="SK")])
log = Table("log", pk="id", indexes=[GSI("by_day", pk="day")])


@shop.entity(key=key("ORDER#{number}", "ORDER"), items=Items(100, bytes=Bytes(500)))
class Order(Entity):
    number: str
    day: str
    note: str = ""


@shop.entity(key=key("BILL#{number}", "BILL"), items=Items(100, bytes=Bytes(1_500)))
class Bill(Entity):
    number: str
    day: str


@log.entity(items=Items(100, bytes=Bytes(500)))
class Line(Entity):
    id: str
    day: str


@shop.create(Order, rate=Rate(average=0.5, peak=0.75))
def order(one: Order) -> Change:
    return put(one)


@shop.create(Bill)
def bill(one: Bill) -> Change:
    return put(one)


@shop.check(Order)
def is_ordered(number: str) -> Change:
    return key_of(number=number)


@shop.update(Order, rate=Rate(average=4))
def annotate(number: str, note: str) -> Change:
    return key_of(number=number) & set_(note=note)


@log.create(Line, rate=Rate(average=100))
def write(line: Line) -> Change:
    return put(line)


@transaction(rate=Rate(average=2, peak=3))
def order_and_bill(one: Order, two: Bill) -> list[WriteCall[Order] | WriteCall[Bill]]:
    return [order(one), bill(two)]


@transaction(rate=Rate(average=1))
def bill_what_is_ordered(number: str, two: Bill) -> list[WriteCall[None] | WriteCall[Bill]]:
    return [is_ordered(number), bill(two)]


SUBJECT = Subject(Design("d", (shop, log), (order_and_bill, bill_what_is_ordered)))


def test_a_step_is_counted_where_it_is_called_and_by_itself_only_if_it_is() -> None:
    told = [(work.pattern.name, work.plan.entity.name, work.units.write) for work in SUBJECT.works]
    assert sorted(told) == [
        ("annotate", "Order", 1),
        ("bill_what_is_ordered", "Bill", 4),
        ("bill_what_is_ordered", "Order", 2),
        ("order", "Order", 1),
        ("order_and_bill", "Bill", 4),
        ("order_and_bill", "Order", 2),
        ("write", "Line", 1),
    ]


def test_an_index_takes_what_every_pattern_writes_of_it() -> None:
    # An order's entry is one unit, a bill's two; a note is in the entry too.
    assert units_a_second(SUBJECT.works, shop.schema, "by_day") == 0.5 + 4 + 2 * (1 + 2) + 2
    assert units_a_second(SUBJECT.works, shop.schema, "by_day", peak=True) == 0.75 + 4 + 3 * (1 + 2) + 2
    assert units_a_second(SUBJECT.works, shop.schema, "by_day", spec_of(Bill)) == 2 * 2 + 2
    assert units_a_second(SUBJECT.works, log.schema, "by_day") == 100
    assert units_a_second(SUBJECT.works, log.schema, "by_week") == 0


def test_a_unit_a_second_costs_as_much_as_there_are_seconds() -> None:
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
def test_a_number_is_told_in_two_digits_or_whole(value: float, text: str) -> None:
    assert number(value) == text
