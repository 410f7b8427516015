"""What diagrams say and join: every line of a small design's, and where its lines lead."""

from __future__ import annotations

import re
from itertools import groupby
from typing import Any, Literal
from xml.etree import ElementTree as ET

from tests.export.pages import Area, boxes, texts

from keyplan import (
    GSI,
    LSI,
    Entity,
    F,
    Inserted,
    ItemKey,
    ItemWrite,
    KeyCondition,
    Modified,
    Removed,
    Table,
    changed,
    item,
    key,
    pk,
    transaction,
)
from keyplan.design.declaring.patterns import Pattern, WriteCall
from keyplan.export import diagrams
from keyplan.export.svg import LINE

shop = Table(
    "shop",
    pk="PK",
    sk="SK",
    stream="NEW_AND_OLD_IMAGES",
    indexes=[
        GSI("open", pk="GSI1PK", sk="GSI1SK", project=["total", "note"]),
        GSI("courier", pk="courier"),
        LSI("total", sk="total", project="keys"),
    ],
)
log = Table("log", pk="id")
empty = Table("empty", pk="id")


@shop.entity(
    key=key("CUSTOMER#{customer}", "ORDER#{number:06d}"),
    indexes={"open": key("OPEN", "{number:06d}", only_if=F.state == "new")},
)
class Order(Entity):
    customer: str
    number: int
    state: Literal["new", "sent"] = "new"
    total: int
    courier: str | None = None


@shop.entity(key=key("CUSTOMER#{customer}", "PROFILE"))
class Customer(Entity):
    customer: str
    courier: str | None = None


@log.entity()
class Line(Entity):
    id: str


@shop.get(Order)
def order(customer: str, number: int) -> ItemKey:
    """One order."""
    return item(customer=customer, number=number)


@shop.query(Order, index="open")
def open_orders() -> KeyCondition:
    """Orders to be sent."""
    return pk.text("OPEN")


@shop.create(Order)
def place(order: Order) -> ItemWrite:
    """Store a new order."""
    return item(order)


@shop.update(Order)
def send(customer: str, number: int) -> ItemWrite:
    """Send an order."""
    return item(customer=customer, number=number).set(state="sent")


@log.put(Line)
def note(line: Line) -> ItemWrite:
    """Store a line of the log."""
    return item(line)


@transaction()
def place_and_note(order: Order, line: Line) -> list[WriteCall[Order] | WriteCall[Line]]:
    """Both."""
    return [place(order), note(line)]


@shop.on_change(Order, filter=changed("state", "sent"), batch=7, retries=3, on_failure="unsent")
def thank(change: Modified[Order]) -> None:
    """Thanks."""


@shop.on_change(Order, filter=changed("total"), retries=None)
def charge(change: Modified[Order]) -> None:
    """Update the sum."""


@shop.on_change(Order, Customer, filter=F.customer == "ann", retries=2)
def watch(change: Inserted[Order] | Removed[Order] | Inserted[Customer] | Removed[Customer]) -> None:
    """Track the changes of Ann."""


@log.on_change(Line, retries=1, on_failure="lost")
def copy(change: Inserted[Line]) -> None:
    """Elsewhere."""


def drawn(svg: str) -> ET.Element:
    return ET.fromstring(svg)


def words(picture: ET.Element) -> list[str]:
    return [text for text, _ in texts(picture)]


def styles(picture: ET.Element) -> list[str | None]:
    return [text.attrib.get("class") for text in picture.iter("text")]


def lines(picture: ET.Element, *kinds: str) -> list[list[tuple[float, float]]]:
    """Return the corners of every line of these kinds."""
    routes = [path.attrib["d"] for path in picture.iter("path") if path.attrib["class"] in kinds]
    corners = [re.findall(r"[ML]([\d.]+) ([\d.]+)", route) for route in routes]
    return [[(float(x), float(y)) for x, y in points] for points in corners]


def box_of(picture: ET.Element, text: str) -> Area:
    """Return the smallest box around a text."""
    area = next(area for label, area in texts(picture) if label == text)
    return min((box for box in boxes(picture) if box.holds(area)), key=lambda box: box.bottom - box.top)


def description_of(picture: ET.Element) -> str:
    return str(picture.findtext("desc"))


def test_entities_have_their_keys_indexes_and_fields() -> None:
    picture = drawn(diagrams.entities(shop, "e"))
    assert words(picture) == [
        *("Order", "PK = CUSTOMER#{customer}", "SK = ORDER#{number:06d}"),
        *("in open", "GSI1PK = OPEN", "GSI1SK = {number:06d}", "only while state = 'new'"),
        *("in courier", "courier = {courier}"),
        *("in total", "PK = CUSTOMER#{customer}", "total = {total}"),
        "customer S, number N, state S, total N, courier? S",
        *("Customer", "PK = CUSTOMER#{customer}", "SK = PROFILE"),
        *("in courier", "courier = {courier}", "customer S, courier? S"),
        *("table shop", "partition key PK, sort key SK"),
        *("open, GSI", "partition key GSI1PK", "sort key GSI1SK", "holds total, note", "1 of 2 entities"),
        *("total, LSI", "partition key PK", "sort key total", "holds keys", "1 of 2 entities"),
        *("courier, GSI", "partition key courier", "holds all", "2 of 2 entities"),
    ]
    entity = ["name", "key", "key"]
    index = ["name", None, None, None]
    assert styles(picture) == [
        *(*entity, "dim", "key", "key", "dim", "dim", "key", "dim", "key", "key", None),
        *(*entity, "dim", "key", None, "name", "dim", *index, None, *index, None, *index),
    ]
    assert description_of(picture) == (
        "Order: PK = CUSTOMER#{customer}, SK = ORDER#{number:06d}; in open, courier, total."
        " Customer: PK = CUSTOMER#{customer}, SK = PROFILE; in courier"
    )
    assert picture.findtext("title") == "Entities of table shop"


def test_the_index_keys_of_an_entity_are_connected_to_the_index() -> None:
    picture = drawn(diagrams.entities(shop, "e"))
    routes = lines(picture, *(f"line colour{number}" for number in range(3)))
    assert len(routes) == 4  # two entities are in one of them
    routes = [min(group) for _, group in groupby(routes, key=lambda route: route[-1])]
    order = box_of(picture, "Order")
    heights = {text: (area.top + area.bottom) / 2 for text, area in reversed(texts(picture))}  # the first of each
    for (start, *_, end), name in zip(routes, ("open", "total", "courier"), strict=True):
        kind = "LSI" if name == "total" else "GSI"
        index = box_of(picture, f"{name}, {kind}")
        assert start[0] == order.right
        assert abs(start[1] - heights[f"in {name}"]) < LINE / 2
        assert end == (index.left, (index.top + index.bottom) / 2)
    lanes = [route[1][0] for route in routes]
    assert len(set(lanes)) == 3
    assert order.right < min(lanes) < max(lanes) < box_of(picture, "open, GSI").left


def test_sections_of_an_entity_are_separated_by_rules() -> None:
    picture = drawn(diagrams.entities(shop, "e"))
    area = dict(reversed(texts(picture)))  # the first of each
    ruled = [points[0][1] for points in lines(picture, "rule")]
    firsts = [
        "PK = CUSTOMER#{customer}",
        "in open",
        "in courier",
        "in total",
        "customer S, number N, state S, total N, courier? S",
    ]
    order = box_of(picture, "Order")
    assert len(ruled) == len(firsts) + 3
    for name, level in zip(firsts[1:], ruled[1:], strict=False):
        assert abs(area[name].top - level) < LINE / 2
    assert all(
        points == [(order.left, level), (order.right, level)]
        for points, level in zip(lines(picture, "rule"), ruled, strict=True)
    )


def test_a_table_without_entities_is_drawn() -> None:
    picture = drawn(diagrams.entities(empty, "e"))
    assert words(picture) == ["table empty", "partition key id"]
    assert description_of(picture) == "No entities."
    assert words(drawn(diagrams.entities(log, "e"))) == ["Line", "id = {id}", "id S", "table log", "partition key id"]


def test_patterns_are_drawn_next_to_their_tables() -> None:
    used: list[Pattern[..., Any]] = [order, open_orders, place, send, place_and_note]
    picture = drawn(diagrams.patterns(shop, used, "p"))
    assert words(picture) == [
        *("table shop", "partition key PK", "sort key SK", "2 entities"),
        *("order Get", "place Put", "send Update", "place_and_note transaction"),
        *("open, GSI", "partition key GSI1PK", "sort key GSI1SK", "holds total, note", "1 of 2 entities"),
        "open_orders Query",
        *("courier, GSI", "partition key courier", "holds all", "2 of 2 entities"),
        *("total, LSI", "partition key PK", "sort key total", "holds keys", "1 of 2 entities"),
    ]
    assert styles(picture)[:4] == ["name", None, None, None]
    assert description_of(picture) == (
        "Table shop is read by order. Index open is read by open_orders. Index courier is read by no pattern."
        " Index total is read by no pattern. The table is written by place, send, place_and_note."
    )
    table, index = box_of(picture, "table shop"), box_of(picture, "open, GSI")
    reads, writes = lines(picture, "line read"), lines(picture, "line write")
    for route, target, name in ((reads[0], table, "order Get"), (reads[1], index, "open_orders Query")):
        pattern = box_of(picture, name)
        assert route[0] == (target.left, (pattern.top + pattern.bottom) / 2)
        assert 0 <= route[1][0] - pattern.right < 4
        assert pattern.right < target.left
    for route, name in zip(writes, ("place Put", "send Update", "place_and_note transaction"), strict=True):
        pattern = box_of(picture, name)
        assert route[0] == (pattern.left, (pattern.top + pattern.bottom) / 2)
        assert 0 <= route[1][0] - table.right < 4
        assert pattern.left > table.right


def test_tables_without_reads_or_writes_are_described() -> None:
    picture = drawn(diagrams.patterns(log, [note], "p"))
    assert words(picture) == ["table log", "partition key id", "1 entity", "note Put"]
    assert box_of(picture, "table log").left == 0
    assert description_of(picture) == "Table log is read by no pattern. The table is written by note."
    assert description_of(drawn(diagrams.patterns(shop, [order], "p"))).endswith("The table is written by no pattern.")


def test_consumers_are_drawn_between_their_tables_and_failure_destinations() -> None:
    picture = drawn(diagrams.consumers((shop, empty, log), "c"))
    assert words(picture) == [
        *("table shop", "stream NEW_AND_OLD_IMAGES"),
        *("thank", "Order: modified", "only when state changes to 'sent'", "batches of 7", "after 3 retries: unsent"),
        *("charge", "Order: modified", "only when total changes", "batches of 100"),
        "retried as long as the stream keeps the change",
        *("watch", "Order, Customer: inserted, removed", "only while customer = 'ann'", "batches of 100"),
        "after 2 retries: the consumer stops",
        *("table log", "stream off", "copy", "Line: inserted", "batches of 100", "after 1 retry: lost"),
    ]
    assert styles(picture)[:3] == ["name", None, "name"]
    assert description_of(picture) == (
        "thank receives changes of Order from table shop; failed changes: after 3 retries: unsent."
        " charge receives changes of Order from table shop; failed changes: retried as long as the stream keeps the"
        " change."
        " watch receives changes of Order, Customer from table shop; failed changes: after 2 retries: the consumer"
        " stops."
        " copy receives changes of Line from table log; failed changes: after 1 retry: lost."
    )
    ends = (
        "after 3 retries: unsent",
        "retried as long as the stream keeps the change",
        "after 2 retries: the consumer stops",
    )
    tables = (*["table shop"] * 3, "table log")
    rows = zip(tables, ("thank", "charge", "watch", "copy"), (*ends, "after 1 retry: lost"), strict=True)
    reads, failures = lines(picture, "line read"), lines(picture, "line write")
    for (source, consumer, end), into, out in zip(rows, reads, failures, strict=True):
        start, after = box_of(picture, consumer), box_of(picture, end)
        middle = (start.top + start.bottom) / 2
        assert into == [(box_of(picture, source).right, middle), (start.left - 2, middle)]
        assert out == [(start.right, middle), (after.left - 2, middle)]
