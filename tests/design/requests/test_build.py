"""Requests as they go out: every expression, name and value, from a plan and its arguments."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, create_model

from keyplan import (
    GSI,
    Attribute,
    Entity,
    F,
    ItemKey,
    ItemWrite,
    KeyCondition,
    Table,
    attr,
    each,
    every_shard,
    item,
    key,
    limits,
    pk,
    transaction,
)
from keyplan.design.declaring.patterns import Call, WriteCall
from keyplan.design.keys.encodings import KeyPartError
from keyplan.design.requests.build import build

shop = Table(
    "shop",
    pk="PK",
    sk="SK",
    ttl="until",
    indexes=[
        GSI("by_state", pk="G1", sk="G1S"),
        GSI("by_total", pk="G2", sk="total_copy"),
        GSI("by_day", pk="G3", sk="SK"),
        GSI("plain", pk=("state", "place"), sk=("sum", "day")),
    ],
)


class State(Enum):
    new = "new"
    sent = "sent"


class Address(BaseModel):
    city: str
    street: Annotated[str, Attribute("st")] = ""
    lines: list[str] = Field(default_factory=list)


@shop.entity(
    key=key("BUYER#{buyer}", "ORDER#{order:06d}"),
    version="version",
    indexes={
        "by_state": key("STATE#{state}", "{order:06d}", only_if=(F.total > 0) & (F.state != "sent")),
        "by_total": key("SHARD#{buyer:shard(3)}", attr("total")),
        "by_day": key("DAY#{day}", "ORDER#{order:06d}"),
    },
)
class Order(Entity):
    buyer: str
    order: int
    state: State = State.new
    place: str = "here"
    total: Annotated[int | None, Attribute("sum")] = None
    day: date | None = None
    tags: set[str] = Field(default_factory=set)
    notes: list[str] = Field(default_factory=list)
    counts: dict[str, int] = Field(default_factory=dict)
    address: Address | None = None
    until: datetime | None = None
    version: int = 0


def request(call: Call[Any], **options: Any) -> dict[str, Any]:
    return build(call.pattern.plan, call.arguments, now_s=77, **options)


def resolved(text: str, request: dict[str, Any]) -> str:
    """Return an expression with its placeholders filled in."""
    for placeholder in sorted(request.get("ExpressionAttributeNames", {}), key=len, reverse=True):
        text = text.replace(placeholder, request["ExpressionAttributeNames"][placeholder])
    for placeholder in sorted(request.get("ExpressionAttributeValues", {}), key=len, reverse=True):
        ((_, content),) = request["ExpressionAttributeValues"][placeholder].items()
        text = text.replace(placeholder, repr(content))
    return text


def used(request: dict[str, Any]) -> None:
    """Every placeholder is used, and every used one is there: the service refuses the rest."""
    texts = " ".join(value for name, value in request.items() if name.endswith("Expression"))
    for kind in ("ExpressionAttributeNames", "ExpressionAttributeValues"):
        for placeholder in request.get(kind, {}):
            assert placeholder in texts, (placeholder, texts)


@shop.get(Order, consistent=True)
def order(buyer: str, order: int) -> ItemKey:
    return item(buyer=buyer, order=order)


@shop.query(Order, descending=True)
def orders_from(buyer: str, first: int) -> KeyCondition:
    return pk(buyer=buyer).sk.gte(order=first).filter(F.place == "x")


@shop.query(Order, index="by_total")
def totals(low: int, high: int) -> KeyCondition:
    return pk(buyer=every_shard()).sk.between(total=(low, high))


@shop.query(Order, index="by_day")
def of_days(days: list[date]) -> KeyCondition:
    return pk(day=each(days))


@shop.query(Order, index="plain")
def in_place(state: State, place: str, total: int, since: date) -> KeyCondition:
    return pk(state=state, place=place).sk(total=total).sk.gt(day=since)


@shop.count(Order)
def order_count(buyer: str) -> KeyCondition:
    return pk(buyer=buyer)


@shop.batch_get(Order)
def some(buyer: str, orders: list[int]) -> ItemKey:
    return item(buyer=buyer, order=each(orders))


@shop.create(Order)
def place_order(new: Order) -> ItemWrite:
    return item(new).replace_if((F.state == "sent") & F.tags.exists())


@shop.replace(Order)
def replace_order(new: Order) -> ItemWrite:
    return item(new)


@shop.delete(Order)
def drop(buyer: str, order: int, version: int) -> ItemWrite:
    return item(buyer=buyer, order=order).if_version(version)


@shop.update(Order)
def ship(buyer: str, order: int) -> ItemWrite:
    return item(buyer=buyer, order=order).set(state=State.sent)


@shop.update(Order)
def charge(buyer: str, order: int, total: int | None, state: State) -> ItemWrite:
    return item(buyer=buyer, order=order).set(total=total).assuming(state=state)


@shop.update(Order)
def date_it(buyer: str, order: int, day: date | None) -> ItemWrite:
    return item(buyer=buyer, order=order).set(day=day)


@shop.update(Order)
def change_everything(buyer: str, order: int, tag: str, name: str, city: str, tags: set[str]) -> ItemWrite:
    return (
        item(buyer=buyer, order=order)
        .set_if_missing(place="there")
        .append(notes=tag)
        .add_to_set(tags=tags)
        .add(F.counts[name], 2)
        .set(F.address["street"], city)
        .remove(F.address["lines"][0])
        .remove("until")
        .condition((F.address["city"] == city) | F.tags.contains(tag) & (F.notes.size() < 5))
        .condition(~F.place.is_in("a", "b") & F.total.between(1, 9))
    )


@shop.update(Order)
def untag(buyer: str, order: int, tag: str) -> ItemWrite:
    return item(buyer=buyer, order=order).remove_from_set(tags=tag)


@shop.update(Order, upsert=True)
def visit(buyer: str, order: int) -> ItemWrite:
    return item(buyer=buyer, order=order).add_to_set(tags="visited")


@shop.batch_put(Order)
def place_all(new: list[Order]) -> ItemWrite:
    return item(new)


@shop.batch_delete(Order)
def drop_all(buyer: str, orders: list[int]) -> ItemWrite:
    return item(buyer=buyer, order=each(orders))


KEY = {"PK": {"S": "BUYER#b"}, "SK": {"S": "ORDER#000007"}}


def test_a_get_has_the_key_of_its_item() -> None:
    assert request(order("b", 7)) == {"TableName": "shop", "Key": KEY, "ConsistentRead": True}
    assert request(order("b", 7), table="dev-shop")["TableName"] == "dev-shop"


def test_a_query_is_bounded_by_its_template() -> None:
    built_request = request(orders_from("b", 7))
    used(built_request)
    assert resolved(built_request["KeyConditionExpression"], built_request) == (
        "PK = 'BUYER#b' AND SK BETWEEN 'ORDER#000007' AND 'ORDER#:'"
    )
    assert resolved(built_request["FilterExpression"], built_request) == "place = 'x'"
    assert built_request["ScanIndexForward"] is False


def test_a_query_of_several_partitions_requests_them_one_by_one() -> None:
    from keyplan.design.requests.build import range_request  # noqa: PLC0415 - only here

    ranged = range_request(totals.plan)
    parts = [ranged.partition(partition) for partition in ranged.partitions(totals(1, 5).arguments)]
    assert parts == [{"G2": {"S": f"SHARD#{number}"}} for number in range(3)]
    days = [date(2026, 1, 1), date(2026, 1, 2), date(2026, 1, 1)]
    ranged = range_request(of_days.plan)
    parts = [ranged.partition(partition) for partition in ranged.partitions(of_days(days).arguments)]
    assert parts == [{"G3": {"S": "DAY#2026-01-01"}}, {"G3": {"S": "DAY#2026-01-02"}}]


def test_multi_attribute_keys_are_equal_from_the_left_with_a_range_at_the_end() -> None:
    built_request = request(in_place(State.new, "here", 5, date(2026, 1, 1)))
    used(built_request)
    assert resolved(built_request["KeyConditionExpression"], built_request) == (
        "state = 'new' AND place = 'here' AND sum = '5' AND day > '2026-01-01'"
    )


def test_a_count_excludes_expired_items() -> None:
    built_request = request(order_count("b"))
    used(built_request)
    assert built_request["Select"] == "COUNT"
    assert resolved(built_request["FilterExpression"], built_request) == "attribute_not_exists(until) OR until > '77'"


def test_batches_name_each_item_once() -> None:
    assert len(request(some("b", [1, 2, 3]))["RequestItems"]["shop"]["Keys"]) == 3
    writes = request(place_all([Order(buyer="b", order=1, place="x"), Order(buyer="b", order=1, place="y")]))
    ((put_request,),) = ([write["PutRequest"] for write in writes["RequestItems"]["shop"]],)
    assert put_request["Item"]["place"] == {"S": "y"}
    assert put_request["Item"]["version"] == {"N": "1"}
    deletes = request(drop_all("b", [7, 8, 7]))["RequestItems"]["shop"]
    assert [write["DeleteRequest"]["Key"]["SK"]["S"][-1] for write in deletes] == ["8", "7"]


def test_a_create_stores_every_key_and_replaces_allowed_items() -> None:
    new = Order(buyer="b", order=7, total=5, day=date(2026, 1, 2), tags=set())
    built_request = request(place_order(new))
    used(built_request)
    item = built_request["Item"]
    assert item["G1"] == {"S": "STATE#new"}
    assert item["total_copy"] == {"N": "5"}
    assert item["sum"] == {"N": "5"}
    assert item["G3"] == {"S": "DAY#2026-01-02"}
    assert "tags" not in item
    assert resolved(built_request["ConditionExpression"], built_request) == (
        "attribute_not_exists(PK) OR until <= '77' OR (state = 'sent' AND attribute_exists(tags))"
    )
    outside = request(place_order(new.model_copy(update={"total": 0})))["Item"]
    assert "G1" not in outside
    assert outside["total_copy"] == {"N": "0"}


def test_a_replacement_checks_the_items_version() -> None:
    built_request = request(replace_order(Order(buyer="b", order=7, version=3)))
    used(built_request)
    assert resolved(built_request["ConditionExpression"], built_request) == (
        "attribute_exists(PK) AND (attribute_not_exists(until) OR until > '77') AND version = '3'"
    )
    assert built_request["Item"]["version"] == {"N": "4"}
    first = request(replace_order(Order(buyer="b", order=7)))
    assert "attribute_not_exists(#version) OR #version = :version" in first["ConditionExpression"]


def test_a_delete_returns_the_item_and_may_check_a_version() -> None:
    built_request = request(drop("b", 7, 2))
    used(built_request)
    assert built_request["ReturnValues"] == "ALL_OLD"
    assert resolved(built_request["ConditionExpression"], built_request) == "version = '2'"


def test_leaving_an_index_removes_its_key() -> None:
    built_request = request(ship("b", 7))
    used(built_request)
    assert (
        resolved(built_request["UpdateExpression"], built_request)
        == "SET state = 'sent' REMOVE G1, G1S ADD version '1'"
    )


@pytest.mark.parametrize(
    ("total", "update"),
    [
        (5, "SET sum = '5', G1 = 'STATE#new', G1S = '000007', G2 = 'SHARD#2', total_copy = '5' ADD version '1'"),
        (0, "SET sum = '0', G2 = 'SHARD#2', total_copy = '0' REMOVE G1, G1S ADD version '1'"),
        (None, "REMOVE sum, G1, G1S, G2, total_copy ADD version '1'"),
    ],
)
def test_an_index_key_is_set_or_removed_by_its_condition(total: int | None, update: str) -> None:
    built_request = request(charge("b", 7, total, State.new))
    used(built_request)
    shard = request(place_order(Order(buyer="b", order=7, total=1)))["Item"]["G2"]["S"]
    assert resolved(built_request["UpdateExpression"], built_request) == update.replace("SHARD#2", shard)
    assert resolved(built_request["ConditionExpression"], built_request).endswith("AND state = 'new'")


def test_none_is_rejected_if_the_plan_requires_a_value() -> None:
    table = Table("table", pk="id", indexes=[GSI("present", pk="P")])

    @table.entity(indexes={"present": key("TEAM#{team}", only_if=F.left_at.missing())})
    class Member(Entity):
        id: str
        team: str
        left_at: datetime | None = None

    @table.update(Member)
    def leave(id: str, at: datetime) -> ItemWrite:
        return item(id=id).set(left_at=at)

    left = request(leave("ann", datetime(2026, 5, 4, tzinfo=UTC)))
    assert left["UpdateExpression"] == "SET #left_at = :left_at REMOVE #P"
    with pytest.raises(ValueError, match="the annotation of at does not allow None: the key of index"):
        request(leave("ann", None))  # type: ignore[arg-type]


def test_primary_key_attributes_are_never_changed_for_an_index() -> None:
    built_request = request(date_it("b", 7, date(2026, 1, 2)))
    used(built_request)
    assert resolved(built_request["UpdateExpression"], built_request) == (
        "SET day = '2026-01-02', G3 = 'DAY#2026-01-02' ADD version '1'"
    )
    assert resolved(request(date_it("b", 7, None))["UpdateExpression"], request(date_it("b", 7, None))) == (
        "REMOVE day, G3 ADD version '1'"
    )


def test_every_update_and_condition_is_rendered() -> None:
    built_request = request(change_everything("b", 7, "t", "x-y", "Bern", {"u"}))
    used(built_request)
    assert resolved(built_request["UpdateExpression"], built_request) == (
        "SET place = if_not_exists(place, 'there'), notes = list_append(if_not_exists(notes, []), [{'S': 't'}]),"
        " counts.x-y = if_not_exists(counts.x-y, '0') + '2', address.st = 'Bern'"
        " REMOVE address.lines[0], until ADD tags ['u'], version '1'"
    )
    assert resolved(built_request["ConditionExpression"], built_request) == (
        "attribute_exists(PK) AND (attribute_not_exists(until) OR until > '77') AND"
        " (address.city = 'Bern' OR (contains(tags, 't') AND size(notes) < '5'))"
        " AND NOT (place IN ('a', 'b')) AND sum BETWEEN '1' AND '9'"
    )
    assert "ADD #version :one" in request(change_everything("b", 7, "t", "x", "Bern", set()))["UpdateExpression"]
    without = request(untag("b", 7, "t"))
    assert resolved(without["UpdateExpression"], without).endswith("DELETE tags ['t']")


def test_increments_are_not_validated_against_the_bounds_of_the_sum() -> None:
    shelves = Table("shelves", pk="id")

    @shelves.entity()
    class Shelf(Entity):
        id: str
        stock: Annotated[int, Field(ge=0)] = 0
        debt: Annotated[int, Field(le=-10)] | None = None

    @shelves.update(Shelf)
    def take(id: str) -> ItemWrite:
        return item(id=id).add(stock=-1, debt=1).condition(F.stock >= 1)

    built_request = request(take("a"))
    assert resolved(built_request["UpdateExpression"], built_request) == "ADD stock '-1', debt '1'"


def test_a_limit_is_sent_with_the_first_request_of_a_call() -> None:
    plain = Table("plain", pk="id", sk="n")

    @plain.entity()
    class Row(Entity):
        id: str
        n: int

    @plain.query(Row, limit=20, page_size=5)
    def rows(id: str) -> KeyCondition:
        return pk(id=id)

    @plain.query(Row)
    def all_rows(id: str) -> KeyCondition:
        return pk(id=id)

    assert request(rows("x"))["Limit"] == 5
    assert "Limit" not in request(all_rows("x"))


def test_an_upsert_stores_the_required_fields() -> None:
    built_request = request(visit("b", 7))
    used(built_request)
    assert resolved(built_request["UpdateExpression"], built_request) == (
        "SET buyer = 'b', order = '7' ADD tags ['visited'], version '1'"
    )
    assert (
        resolved(built_request["ConditionExpression"], built_request) == "attribute_not_exists(until) OR until > '77'"
    )


def test_an_upsert_that_adds_to_an_index_sort_key_writes_the_rest_of_the_key() -> None:
    board = Table("board", pk="id", indexes=[GSI("top", pk="T", sk="points")])

    @board.entity(indexes={"top": key("TOP#{id:shard(1)}", attr("points"))})
    class Score(Entity):
        id: str
        points: int = 0

    @board.update(Score, upsert=True)
    def give(id: str, points: int) -> ItemWrite:
        return item(id=id).add(points=points)

    built_request = request(give("a", 3))
    assert resolved(built_request["UpdateExpression"], built_request) == "SET T = 'TOP#0' ADD points '3'"


def test_calls_of_a_transaction_are_built_one_by_one() -> None:
    @transaction()
    def ship_and_drop(buyer: str, orders: list[int]) -> list[WriteCall[Any]]:
        return [ship(buyer, 1), drop(buyer, each(orders), 1)]

    arguments = {"buyer": "b", "orders": [2, 3]}
    with pytest.raises(ValueError, match="one by one"):
        build(ship_and_drop.plan, arguments)
    keys = [request(call)["Key"]["SK"]["S"] for call in ship_and_drop.calls(arguments)]
    assert keys == ["ORDER#000001", "ORDER#000002", "ORDER#000003"]


def test_a_value_of_another_type_than_the_key_is_rejected() -> None:
    plain = Table("plain", pk="id", sk="n")

    @plain.entity()
    class Row(Entity):
        id: str
        n: int

    @plain.get(Row)
    def row(id: str, n: int) -> ItemKey:
        return item(id=id, n=n)

    assert request(row("x", 1))["Key"] == {"id": {"S": "x"}, "n": {"N": "1"}}
    with pytest.raises(TypeError, match=r"row\(\) expects n as int, got str: '1'"):
        request(row("x", "1"))  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(KeyPartError, match="empty"):
        request(row("", 1))


def test_adding_none_is_rejected() -> None:
    plain = Table("plain", pk="id")

    @plain.entity()
    class Row(Entity):
        id: str
        n: int = 0

    @plain.update(Row)
    def more(id: str, by: int | None) -> ItemWrite:
        return item(id=id).add(n=by)

    with pytest.raises(ValueError, match="n is a number, and cannot be changed by None"):
        request(more("x", None))


@pytest.mark.parametrize(
    ("value", "sent"),
    [(3, "-3"), (-3, "3"), (Decimal("0.5"), "-0.5"), (2.5, "-2.5"), (timedelta(seconds=90), "-90")],
)
def test_subtraction_adds_the_negative_value(value: Any, sent: str) -> None:
    plain = Table("plain", pk="id")

    @plain.entity()
    class Row(Entity):
        id: str
        n: Any = 0
        counts: dict[str, Any] = Field(default_factory=dict)

    @plain.update(Row)
    def less(id: str, by: Any) -> ItemWrite:
        return item(id=id).subtract(n=by).subtract(F.counts["a"], by)

    @plain.update(Row)
    def one_less(id: str) -> ItemWrite:
        return item(id=id).subtract(n=1)

    built_request = request(less("x", value))
    assert built_request["UpdateExpression"] == "SET #counts.#a = if_not_exists(#counts.#a, :zero) + :a ADD #n :n"
    assert built_request["ExpressionAttributeValues"] == {":n": {"N": sent}, ":a": {"N": sent}, ":zero": {"N": "0"}}
    assert request(one_less("x"))["ExpressionAttributeValues"] == {":n": {"N": "-1"}}
    text = request(less("x", "no number"))["ExpressionAttributeValues"]
    assert text[":n"] == {"S": "no number"}, "the service refuses it"


def test_comparing_with_none_names_the_alternative() -> None:
    @shop.query(Order)
    def placed(buyer: str, place: str | None) -> KeyCondition:
        return pk(buyer=buyer).filter(F.place == place)

    with pytest.raises(ValueError, match=r"place is compared with None.*\.exists\(\) or \.missing\(\)"):
        request(placed("b", None))


def test_an_attribute_shared_by_two_indexes_is_kept() -> None:
    table = Table("two", pk="PK", indexes=[GSI("one", pk="A", sk="B"), GSI("other", pk="A", sk="C")])

    @table.entity(
        key=key("X#{name}"),
        indexes={
            "one": key("A#{group}", "{first}"),
            "other": key("A#{group}", "{second}"),
        },
    )
    class Pair(Entity):
        name: str
        group: str
        first: str | None = None
        second: str | None = None

    @table.update(Pair)
    def clear(name: str, group: str) -> ItemWrite:
        return item(name=name).set(first=None).assuming(group=group)

    built_request = request(clear("n", "g"))
    used(built_request)
    assert resolved(built_request["UpdateExpression"], built_request) == "REMOVE first, B"


def test_a_literal_field_is_compared_in_its_stored_form() -> None:
    table = Table("timestamps", pk="id")

    @table.entity()
    class Event(Entity):
        id: str
        at: Annotated[datetime, Attribute("t", stored="epoch_ms")]
        kind: Literal["a", "b"] = "a"
        count: int = 0

    @table.update(Event)
    def touch(id: str, at: datetime) -> ItemWrite:
        return item(id=id).add(count=1).condition((F.at < at) & (F.kind == "a"))

    built_request = request(touch("x", datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)))
    used(built_request)
    assert (
        resolved(built_request["ConditionExpression"], built_request)
        == "attribute_exists(id) AND t < '1000' AND kind = 'a'"
    )


def test_placeholders_stay_short_for_long_and_many_names() -> None:
    wide = Table("wide", pk="id")
    names = [f"a_field_with_quite_a_long_name_{number}" for number in range(120)]
    columns: dict[str, Any] = dict.fromkeys(names, (str, ""))

    @wide.entity()
    class Row(create_model("Fields", __base__=Entity, **columns)):  # type: ignore[misc]
        id: str
        note: Annotated[str, Attribute("n" * 300)] = ""

    @wide.update(Row)
    def fill(id: str, text: str) -> ItemWrite:
        return item(id=id).set(note=text, **dict.fromkeys(names, text))

    request = build(fill.plan, {"id": "1", "text": "x"})
    assert len(request["UpdateExpression"]) <= limits.EXPRESSION_BYTES
    placeholders = [*request["ExpressionAttributeNames"], *request["ExpressionAttributeValues"]]
    assert len(placeholders) == len(set(placeholders)) == 243
    assert max(map(len, placeholders)) <= limits.EXPRESSION_PLACEHOLDER_BYTES
    written = dict(re.findall(r"(#\w+) = (:\w+)", request["UpdateExpression"]))
    requests = {request["ExpressionAttributeNames"][name] for name in written}
    assert requests == {"n" * 300, *names}
    assert all(request["ExpressionAttributeValues"][value] == {"S": "x"} for value in written.values())
