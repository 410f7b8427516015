"""The time that a connection adds to the engine's own call, and the duration of checks of the published designs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import keyplan
from bench.lines import Line
from bench.targets.model import Settings
from keyplan import Design, Engine, Entity, ItemKey, ItemWrite, KeyCondition, Table, item, key, pk
from keyplan.check.checking import check
from keyplan.client.connection import Connection
from keyplan.design.requests.build import build

SECTION = "connections and checks"
GET_US, PUT_US, PAGE_RATIO, CHECK_S = 5.0, 12.0, 1.5, 2.0
ROUNDS, CALLS = 1_000, 12
"""Short rounds: the minimum is then a round that no other process interrupted."""
PAGE_ITEMS = 50
DESIGNS = Path(__file__).parent.parent / "examples" / "as_written"

table = Table("orders", pk="PK", sk="SK")


@table.entity(key=key("CUSTOMER#{customer}", "ORDER#{number:08d}"))
class Order(Entity):
    """An order with ten fields and about 1 KB."""

    customer: str
    number: int
    state: str
    total: Decimal
    at: datetime
    lines: list[str]
    paid: bool
    note: str
    weight: int
    tags: set[str]


@table.put(Order)
def write(order: Order) -> ItemWrite:
    """Store an order, whether or not it exists."""
    return item(order)


@table.get(Order)
def read(customer: str, number: int) -> ItemKey:
    """Get an order."""
    return item(customer=customer, number=number)


@table.query(Order)
def orders(customer: str) -> KeyCondition:
    """List a customer's orders."""
    return pk(customer=customer)


@dataclass(frozen=True, slots=True)
class Overhead:
    """The measured times: the minimum time of a call over many rounds in microseconds, and the CPU time of checks in
    seconds.
    """

    engine_get_us: float
    connection_get_us: float
    engine_put_us: float
    connection_put_us: float
    engine_page_us: float
    """Time of the engine's own query for a page, plus the time in which pydantic constructs its items from plain
    values.
    """
    connection_page_us: float
    check_s: float

    def lines(self) -> list[Line]:
        """Return the lines of the table. For gets and puts, limits apply to the added time and not to the ratio."""
        get, put_ = self.connection_get_us - self.engine_get_us, self.connection_put_us - self.engine_put_us
        return [
            Line(SECTION, "get", "connection", self.connection_get_us, "us", "engine", self.engine_get_us),
            Line(SECTION, "added to a get", "connection", get, "us", limit=GET_US),
            Line(SECTION, "put", "connection", self.connection_put_us, "us", "engine", self.engine_put_us),
            Line(SECTION, "added to a put", "connection", put_, "us", limit=PUT_US),
            Line(
                SECTION,
                f"page of {PAGE_ITEMS} items",
                "connection",
                self.connection_page_us,
                "us",
                "engine and pydantic",
                self.engine_page_us,
                limit=PAGE_RATIO,
            ),
            Line(SECTION, "five designs, CPU time", "check", self.check_s, "s", limit=CHECK_S),
        ]


def measure(settings: Settings) -> Overhead:
    """Measure the overhead of a connection on a database file, and the duration of checks."""
    with keyplan.Engine.open(settings.folder / "connections.db") as engine, keyplan.connect(engine=engine) as db:
        order = _order()
        db.run(write(order))
        get, item = build(read.plan, {"customer": "c", "number": 7}), build(write.plan, {"order": order})
        engine_get, connection_get = _minimum_times([lambda: engine.call("GetItem", get), lambda: db.run(read("c", 7))])
        engine_put, connection_put = _minimum_times(
            [lambda: engine.call("PutItem", item), lambda: db.run(write(order))]
        )
        page, connection_page = _page(engine, db, order)
    return Overhead(engine_get, connection_get, engine_put, connection_put, page, connection_page, _check_s())


def _page(engine: Engine, db: Connection, order: Order) -> tuple[float, float]:
    """Return the times of the engine's query including pydantic's construction of the items, and of the typed query."""
    for number in range(PAGE_ITEMS + 10):
        db.run(write(order.model_copy(update={"customer": "d", "number": number})))
    query = {**build(orders.plan, {"customer": "d"}), "Limit": PAGE_ITEMS}
    values = [dict(stored.__dict__) for stored in db.run(orders("d"), limit=PAGE_ITEMS)]
    construct = Order.__pydantic_validator__.validate_python
    raw, typed, constructed = _minimum_times(
        [
            lambda: engine.call("Query", query),
            lambda: db.run(orders("d"), limit=PAGE_ITEMS),
            lambda: [construct(fields) for fields in values],
        ],
        calls=1,
    )
    return raw + constructed, typed


def _order() -> Order:
    return Order(
        customer="c", number=7, state="open", total=Decimal("12.50"), at=datetime(2026, 1, 1, tzinfo=UTC),
        lines=["a", "b"], paid=False, note="x" * 800, weight=3, tags={"new", "gift"},
    )  # fmt: skip


def _minimum_times(functions: list[Callable[[], object]], calls: int = CALLS) -> list[float]:
    """Return the minimum time of each function in microseconds. The functions take turns, so that other load affects
    them all.
    """
    minimum_us = [float("inf")] * len(functions)
    for _ in range(ROUNDS):
        for index, call in enumerate(functions):
            started = time.perf_counter()
            for _ in range(calls):
                call()
            minimum_us[index] = min(minimum_us[index], (time.perf_counter() - started) / calls * 1e6)
    return minimum_us


def _check_s() -> float:
    designs = [Design.load(str(path)) for path in sorted(DESIGNS.glob("*.py"))]
    started = time.process_time()
    for design in designs:
        check(design)
    return time.process_time() - started
