"""A value of the wrong type is refused by every kind of pattern, in every place of a pattern, in the same words."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, NamedTuple, get_args

import pytest
from pydantic import AfterValidator, BaseModel, Field

import keyplan
from keyplan import (
    GSI,
    Attribute,
    Entity,
    F,
    ItemKey,
    ItemWrite,
    KeyCondition,
    Modified,
    Table,
    WriteCall,
    each,
    everything,
    item,
    key,
    pk,
    transaction,
)
from keyplan.design.declaring.patterns import Kind, Pattern
from keyplan.design.errors import DesignError

shop = Table("shop", pk="PK", sk="SK", indexes=[GSI("by_total", pk="state", sk="total")])


class Line(BaseModel):
    sku: str
    count: int = 1


class Place(BaseModel):
    city: str
    code: Annotated[int | None, Attribute("c")] = None


@shop.entity(key=key("USER#{user}", "ORDER#{at:utc_ms}#{number:06d}"), version="version")
class Order(Entity):
    user: str
    at: datetime
    number: int
    state: Literal["open", "sent"] = "open"
    total: int = 0
    note: str = ""
    tags: set[str] = Field(default_factory=set)
    codes: set[int] = Field(default_factory=set)
    lines: list[Line] = Field(default_factory=list)
    words: list[str] = Field(default_factory=list)
    place: Place | None = None
    counts: dict[str, int] = Field(default_factory=dict)
    version: int = 0


@shop.entity(key=key("STOCK#{sku}", "STOCK"))
class Stock(Entity):
    sku: str
    free: int = 0


AT = datetime(2027, 1, 1, tzinfo=UTC)
ORDER = Order(user="a", at=AT, number=1)


# Parameters have no annotations where the type comes from the field.


@shop.get(Order)
def order(user, at, number) -> ItemKey:  # type: ignore[no-untyped-def]
    return item(user=user, at=at, number=number)


@shop.batch_get(Order)
def orders(user: str, at, numbers) -> ItemKey:  # type: ignore[no-untyped-def]
    return item(user=user, at=at, number=each(numbers))


@shop.query(Order)
def orders_between(user, low, high) -> KeyCondition:  # type: ignore[no-untyped-def]
    return pk(user=user).sk.between(at=(low, high))


@shop.query(Order)
def orders_of(users, at, number) -> KeyCondition:  # type: ignore[no-untyped-def]
    return pk(user=each(users)).sk(at=at).sk < number  # type: ignore[no-any-return]


@shop.query(Order, index="by_total")
def orders_over(state, total, prefix, city, code, count, name) -> KeyCondition:  # type: ignore[no-untyped-def]
    member = (F.place["city"] == city) & (F.place["code"] > code) & (F.counts[name] == count)
    return pk(state=state).sk.gt(total=total).filter(member & F.note.begins_with(prefix))


@shop.count(Order)
def count_tagged(user, tag, code, size) -> KeyCondition:  # type: ignore[no-untyped-def]
    condition = F.tags.contains(tag) & F.codes.contains(code) & (F.words.size() < size)
    return pk(user=user).filter(condition)


@shop.scan(Order)
def scanned(states, low, high, words, sku) -> KeyCondition:  # type: ignore[no-untyped-def]
    among = F.note.is_in(each(words)) & F.state.is_in(each(states))
    return everything().filter(among & F.total.between(low, high) & (F.lines[0]["sku"] == sku))


@shop.create(Order)
def place(new) -> ItemWrite:  # type: ignore[no-untyped-def]
    return item(new).replace_if(F.state == "sent")


@shop.put(Order)
def save(new: Order, before) -> ItemWrite:  # type: ignore[no-untyped-def]
    return item(new).condition(F.total == before)


@shop.replace(Order)
def change(new: Order) -> ItemWrite:
    return item(new)


@shop.update(Order)
def update(user, at, number, city, code, tag, codes, words, total, counted, version) -> ItemWrite:  # type: ignore[no-untyped-def]
    return (
        item(user=user, at=at, number=number)
        .set(F.place["city"], city)
        .set(F.place["code"], code)
        .add_to_set(tags=tag)
        .remove_from_set(codes=codes)
        .append(words=words)
        .add(total=total)
        .subtract(F.counts["a"], counted)
        .if_version(version)
    )


@shop.delete(Order)
def delete(user: str, at: datetime, number: int, name) -> ItemWrite:  # type: ignore[no-untyped-def]
    return item(user=user, at=at, number=number).condition(F.counts[name].exists())


@shop.check(Order)
def check(user: str, at: datetime, number: int, state) -> ItemWrite:  # type: ignore[no-untyped-def]
    return item(user=user, at=at, number=number).condition(F.state == state)


@shop.batch_put(Order)
def load(new) -> ItemWrite:  # type: ignore[no-untyped-def]
    return item(new)


@shop.batch_delete(Order)
def unload(user: str, at: datetime, numbers) -> ItemWrite:  # type: ignore[no-untyped-def]
    return item(user=user, at=at, number=each(numbers))


@shop.update(Stock)
def reserve(line: Line) -> ItemWrite:
    return item(sku=line.sku).subtract(free=line.count).condition(F.free >= line.count)


@transaction()
def buy(new, lines, user, at, numbers, first: Line) -> list[WriteCall[Any]]:  # type: ignore[no-untyped-def]
    return [place(new), reserve(each(lines)), check(user, at, each(numbers), "open"), reserve(first)]


class Wrong(NamedTuple):
    """A call with one wrong argument."""

    pattern: Pattern[..., Any]
    good: dict[str, Any]
    parameter: str
    value: Any
    expected: str


KEY = {"user": "a", "at": AT, "number": 1}
OVER = {"state": "open", "total": 1, "prefix": "p", "city": "c", "code": 1, "count": 1, "name": "n"}
SCANNED = {"states": ["open"], "low": 1, "high": 2, "words": ["w"], "sku": "s"}
CHANGES = {
    "city": "c",
    "code": 1,
    "tag": "t",
    "codes": {1},
    "words": ["w"],
    "total": 1,
    "counted": 1,
    "version": 1,
    **KEY,
}
BUY = {"new": ORDER, "lines": [Line(sku="s")], "user": "a", "at": AT, "numbers": [1], "first": Line(sku="s")}
NUMBER = "int | float | Decimal"

WRONG = [
    Wrong(order, KEY, "user", 5, "str"),
    Wrong(order, KEY, "at", "2027-01-01", "datetime"),
    Wrong(order, KEY, "number", "1", "int"),
    Wrong(orders, {"user": "a", "at": AT, "numbers": [1]}, "numbers", ["1"], "Iterable[int]"),
    Wrong(orders, {"user": "a", "at": AT, "numbers": [1]}, "numbers", "12", "Iterable[int]"),
    Wrong(orders, {"user": "a", "at": AT, "numbers": [1]}, "numbers", 5, "Iterable[int]"),
    Wrong(orders_between, {"user": "a", "low": AT, "high": AT}, "low", "2027", "datetime"),
    Wrong(orders_between, {"user": "a", "low": AT, "high": AT}, "high", 5, "datetime"),
    Wrong(orders_of, {"users": ["a"], "at": AT, "number": 1}, "users", "ab", "Iterable[str]"),
    Wrong(orders_of, {"users": ["a"], "at": AT, "number": 1}, "users", ["a", 5], "Iterable[str]"),
    Wrong(orders_of, {"users": ["a"], "at": AT, "number": 1}, "number", "1", "int"),
    Wrong(orders_over, OVER, "state", 5, "Literal['open', 'sent']"),
    Wrong(orders_over, OVER, "total", "5", "int"),
    Wrong(orders_over, OVER, "prefix", 5, "str"),
    Wrong(orders_over, OVER, "city", 5, "str"),
    Wrong(orders_over, OVER, "code", "5", NUMBER),
    Wrong(orders_over, OVER, "count", "5", NUMBER),
    Wrong(orders_over, OVER, "name", ["n"], "str | int | Enum | UUID | date"),
    Wrong(count_tagged, {"user": "a", "tag": "t", "code": 1, "size": 1}, "tag", 5, "str"),
    Wrong(count_tagged, {"user": "a", "tag": "t", "code": 1, "size": 1}, "code", "5", NUMBER),
    Wrong(count_tagged, {"user": "a", "tag": "t", "code": 1, "size": 1}, "size", "5", NUMBER),
    Wrong(scanned, SCANNED, "states", ["gone"], "Iterable[Literal['open', 'sent']]"),
    Wrong(scanned, SCANNED, "low", "1", NUMBER),
    Wrong(scanned, SCANNED, "high", None.__class__, NUMBER),
    Wrong(scanned, SCANNED, "words", [5], "Iterable[str]"),
    Wrong(scanned, SCANNED, "sku", 5, "str"),
    Wrong(place, {"new": ORDER}, "new", {"user": "a"}, "Order"),
    Wrong(place, {"new": ORDER}, "new", Stock(sku="s"), "Order"),
    Wrong(place, {"new": ORDER}, "new", None, "Order"),
    Wrong(save, {"new": ORDER, "before": 1}, "new", [ORDER], "Order"),
    Wrong(save, {"new": ORDER, "before": 1}, "before", "1", NUMBER),
    Wrong(change, {"new": ORDER}, "new", Stock(sku="s"), "Order"),
    Wrong(update, CHANGES, "user", 5, "str"),
    Wrong(update, CHANGES, "city", 5, "str"),
    Wrong(update, CHANGES, "code", "5", "int | None"),
    Wrong(update, CHANGES, "tag", 5, "str | Iterable[str]"),
    Wrong(update, CHANGES, "tag", ["a", 5], "str | Iterable[str]"),
    Wrong(update, CHANGES, "codes", "ab", "int | Iterable[int]"),
    Wrong(update, CHANGES, "words", 5, "str | list[str]"),
    Wrong(update, CHANGES, "words", [5], "str | list[str]"),
    Wrong(update, CHANGES, "total", "5", NUMBER),
    Wrong(update, CHANGES, "counted", "5", NUMBER),
    Wrong(update, CHANGES, "version", "5", "int"),
    Wrong(delete, {**KEY, "name": "n"}, "number", "1", "int"),
    Wrong(delete, {**KEY, "name": "n"}, "name", 1.5, "str | int | Enum | UUID | date"),
    Wrong(check, {**KEY, "state": "open"}, "state", "gone", "Literal['open', 'sent']"),
    Wrong(load, {"new": [ORDER]}, "new", [ORDER, Stock(sku="s")], "list[Order]"),
    Wrong(load, {"new": [ORDER]}, "new", ORDER, "list[Order]"),
    Wrong(load, {"new": [ORDER]}, "new", None, "list[Order]"),
    Wrong(unload, {"user": "a", "at": AT, "numbers": [1]}, "numbers", ["1"], "Iterable[int]"),
    Wrong(reserve, {"line": Line(sku="s")}, "line", {"sku": "s"}, "Line"),
    Wrong(reserve, {"line": Line(sku="s")}, "line", ORDER, "Line"),
    Wrong(buy, BUY, "new", {"user": "a"}, "Order"),
    Wrong(buy, BUY, "lines", [{"sku": "s"}], "list[Line]"),
    Wrong(buy, BUY, "lines", Line(sku="s"), "list[Line]"),
    Wrong(buy, BUY, "user", 5, "str"),
    Wrong(buy, BUY, "numbers", ["1"], "Iterable[int]"),
    Wrong(buy, BUY, "first", "s", "Line"),
]


@pytest.mark.parametrize("case", WRONG, ids=lambda case: f"{case.pattern.kind} {case.parameter} {case.value!r:.20}")
def test_a_value_of_the_wrong_type_is_rejected_with_the_same_message(case: Wrong) -> None:
    assert case.pattern(**case.good).arguments.keys() == case.good.keys()
    with pytest.raises(TypeError) as refused:
        case.pattern(**{**case.good, case.parameter: case.value})
    start, _, end = str(refused.value).partition(", got ")
    assert start == f"{case.pattern.name}() expects {case.parameter} as {case.expected}"
    assert end.startswith(f"{type(case.value).__name__}: ")


def test_every_kind_of_pattern_is_in_the_table() -> None:
    assert {case.pattern.kind for case in WRONG} == set(get_args(Kind))


@pytest.mark.parametrize(
    ("call", "accepted"),
    [
        (update, {"tag": ["a", "b"]}),
        (update, {"tag": None, "words": None, "code": None}),
        (update, {"codes": 5, "words": ("a", "b"), "total": 1.5}),
        (orders_over, {"code": 1.5, "name": 3}),
        (scanned, {"words": ("a",), "low": 1.5}),
        (buy, {"lines": (Line(sku="a"), Line(sku="b"))}),
        (load, {"new": (ORDER,)}),
    ],
)
def test_values_that_the_service_can_compare_or_store_are_accepted(call: Any, accepted: dict[str, Any]) -> None:
    good = next(case.good for case in WRONG if case.pattern is call)
    assert call(**{**good, **accepted})


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"limit": "3"}, "orders_between() expects limit as int, got str: '3'"),
        ({"limit": True}, "orders_between() expects limit as int, got bool: True"),
        ({"page_size": 2.5}, "orders_between() expects page_size as int, got float: 2.5"),
        ({"cursor": 5}, "orders_between() expects cursor as str, got int: 5"),
        ({"cursor": b"abc"}, "orders_between() expects cursor as str, got bytes: b'abc'"),
        ({"unreadable": "log"}, "orders_between() expects unreadable as a function, got str: 'log'"),
    ],
)
def test_page_options_of_the_wrong_type_are_rejected(options: dict[str, Any], problem: str) -> None:
    with keyplan.connect(":memory:") as db:
        db.create_tables(shop)
        with pytest.raises(TypeError) as refused:
            db.run(orders_between("a", AT, AT), **options)
        assert str(refused.value) == problem
        assert db.run(orders_between("a", AT, AT), limit=1, page_size=1, unreadable=print) == []


def _follow(condition: Any) -> Callable[[], object]:
    def declare() -> None:
        @shop.on_change(Order, filter=condition)
        def follow(change: Modified[Order]) -> None: ...

    return declare


@pytest.mark.parametrize(
    ("condition", "problem"),
    [
        (F.place["city"] == 5, "follow compares 5 with a field of Order that is str"),
        (F.counts["a"] > "5", f"follow compares '5' with a field of Order that is {NUMBER}"),
        (F.tags.contains(5), "follow compares 5 with a field of Order that is str"),
        (F.total.is_in(1, "2"), f"follow compares '2' with a field of Order that is {NUMBER}"),
        (F.words.size() > "2", f"follow compares '2' with a field of Order that is {NUMBER}"),
    ],
)
def test_a_consumers_filter_compares_members_with_values_of_their_type(condition: Any, problem: str) -> None:
    with pytest.raises(DesignError) as refused:
        _follow(condition)()
    assert refused.value.problem == problem


def _once_each(lines: list[Line]) -> list[Line]:
    if len({line.sku for line in lines}) < len(lines):
        raise ValueError("add up the lines of one product")
    return lines


@transaction()
def buy_lines(lines: Annotated[list[Line], AfterValidator(_once_each)]) -> list[WriteCall[Any]]:
    return [reserve(each(lines))]


def test_the_validator_of_a_transactions_parameter_refuses_a_call() -> None:
    assert buy_lines([Line(sku="a"), Line(sku="b")])
    with pytest.raises(ValueError, match="add up the lines of one product"):
        buy_lines([Line(sku="a"), Line(sku="a")])
    with pytest.raises(TypeError, match="buy_lines\\(\\) expects lines as "):
        buy_lines(["a"])  # type: ignore[list-item]
