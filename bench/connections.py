"""Costs of a connection above the engine's own call, and the duration of checks of the published designs."""

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
from keyplan import Design, Entity, ItemKey, ItemWrite, Table, item, key
from keyplan.check.checking import check
from keyplan.design.requests.build import build

SECTION = "connections and checks"
GET_US, PUT_US, CHECK_S = 40.0, 60.0, 2.0
ROUNDS, CALLS = 40, 500
DESIGNS = Path(__file__).parent.parent / "examples" / "as_written"

table = Table("orders", pk="PK", sk="SK")


@table.entity(key=key("CUSTOMER#{customer}", "ORDER#{number:08d}"))
class Order(Entity):
    """Ten fields, about 1 KB."""

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
    """Put the order, new or not."""
    return item(order)


@table.get(Order)
def read(customer: str, number: int) -> ItemKey:
    """Return one order."""
    return item(customer=customer, number=number)


@dataclass(frozen=True, slots=True)
class Overhead:
    """Microseconds of a call, the minimum of many rounds in turn; CPU seconds of checking."""

    engine_get_us: float
    connection_get_us: float
    engine_put_us: float
    connection_put_us: float
    check_s: float

    def lines(self) -> list[Line]:
        """Return the lines; limits apply to the added time, not to the ratio."""
        get, put_ = self.connection_get_us - self.engine_get_us, self.connection_put_us - self.engine_put_us
        return [
            Line(SECTION, "get", "connection", self.connection_get_us, "us", "engine", self.engine_get_us),
            Line(SECTION, "added to a get", "connection", get, "us", limit=GET_US),
            Line(SECTION, "put", "connection", self.connection_put_us, "us", "engine", self.engine_put_us),
            Line(SECTION, "added to a put", "connection", put_, "us", limit=PUT_US),
            Line(SECTION, "five designs, CPU time", "check", self.check_s, "s", limit=CHECK_S),
        ]


def measured(settings: Settings) -> Overhead:
    """Measure all of it on a database in a file."""
    with keyplan.Engine.open(settings.folder / "connections.db") as engine, keyplan.connect(engine=engine) as db:
        order = _order()
        db.run(write(order))
        get, item = build(read.plan, {"customer": "c", "number": 7}), build(write.plan, {"order": order})
        engine_get, own_get = _least([lambda: engine.call("GetItem", get), lambda: db.run(read("c", 7))])
        engine_put, own_put = _least([lambda: engine.call("PutItem", item), lambda: db.run(write(order))])
    return Overhead(engine_get, own_get, engine_put, own_put, _check_s())


def _order() -> Order:
    return Order(
        customer="c", number=7, state="open", total=Decimal("12.50"), at=datetime(2026, 1, 1, tzinfo=UTC),
        lines=["a", "b"], paid=False, note="x" * 800, weight=3, tags={"new", "gift"},
    )  # fmt: skip


def _least(calls: list[Callable[[], object]]) -> list[float]:
    """Return the minimum time of each call in microseconds; the calls take turns, so both meet the same machine."""
    least = [float("inf")] * len(calls)
    for _ in range(ROUNDS):
        for place, call in enumerate(calls):
            started = time.perf_counter()
            for _ in range(CALLS):
                call()
            least[place] = min(least[place], (time.perf_counter() - started) / CALLS * 1e6)
    return least


def _check_s() -> float:
    designs = [Design.load(str(path)) for path in sorted(DESIGNS.glob("*.py"))]
    started = time.process_time()
    for design in designs:
        check(design)
    return time.process_time() - started
