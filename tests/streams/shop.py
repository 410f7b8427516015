"""A small shop whose orders change: a new design for each test, and functions that run its consumers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field

from keyplan import Entity, ItemWrite, Table, item, key
from keyplan.client.connection import Connection
from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan.streams import Backoff, Counts, Notice, Runner

NOW = 1_700_000_000.0


class Address(BaseModel):
    """Where an order goes."""

    city: str
    street: str = ""


class Shop:
    """Orders and customers in one table."""

    def __init__(self, view: Any = "NEW_AND_OLD_IMAGES") -> None:
        app = Table("shop", pk="PK", sk="SK", ttl="expires_at", stream=view)

        @app.entity(key=key("CUSTOMER#{customer}", "ORDER#{number}"), unique=("reference",))
        class Order(Entity):
            customer: str
            number: int
            reference: str | None = None
            state: Literal["open", "paid", "sent"] = "open"
            total: int = 0
            tags: set[str] = Field(default_factory=set)
            address: Address | None = None
            expires_at: datetime | None = None

        @app.entity(key=key("CUSTOMER#{customer}", "PROFILE"))
        class Customer(Entity):
            customer: str
            name: str = ""
            orders: int = 0

        @app.put(Order)
        def place(order: Order) -> ItemWrite:
            """Write an order."""
            return item(order)

        @app.update(Order)
        def move(customer: str, number: int, state: str) -> ItemWrite:
            """Put an order into another state."""
            return item(customer=customer, number=number).set(state=state)

        @app.delete(Order)
        def drop(customer: str, number: int) -> ItemWrite:
            """Delete an order."""
            return item(customer=customer, number=number)

        @app.put(Customer)
        def register(customer: Customer) -> ItemWrite:
            """Write a customer."""
            return item(customer)

        @app.update(Customer, upsert=True)
        def count_order(customer: str) -> ItemWrite:
            """Count an order."""
            return item(customer=customer).add(orders=1)

        self.table, self.Order, self.Customer = app, Order, Customer
        self.place, self.move, self.drop, self.register, self.count_order = place, move, drop, register, count_order

    def orders(self, db: Connection, count: int, customer: str = "ada", first: int = 0) -> None:
        """Place some orders, numbered."""
        for number in range(first, first + count):
            db.run(self.place(self.Order(customer=customer, number=number)))


@dataclass
class World:
    """A database behind one of its doors, with a clock that stands until it is moved."""

    engine: Engine
    db: Connection
    clock: ManualClock
    shop: Shop
    notices: list[Notice] = field(default_factory=list)
    runners: list[Runner] = field(default_factory=list)
    checkpoints: Callable[[], Any] = lambda: None

    def runner(self, *consumers: Any, **options: Any) -> Runner:
        """Return a runner of some of the shop's consumers, or all."""
        settings = {
            "runner": f"runner{len(self.runners)}",  # by default a name is drawn, and with it where it begins
            "checkpoints": self.checkpoints(),
            "notify": self.notices.append,
            "backoff": Backoff(1.0, 8.0),
        }
        runner = Runner(self.db, self.shop.table, consumers or None, clock=self.clock, **{**settings, **options})
        self.runners.append(runner)
        return runner

    def notices_of(self, kind: type[Notice]) -> list[Any]:
        """Return the notices of a kind."""
        return [notice for notice in self.notices if isinstance(notice, kind)]


def patiently(world: World, runner: Runner, *, turns: int = 1000) -> Counts:
    """Drain, moving the clock past every wait; the sums."""
    total = Counts()
    for _ in range(turns):
        counts = runner.run_once()
        for name in ("read", "delivered", "skipped", "retried", "failed", "gaps"):
            setattr(total, name, getattr(total, name) + getattr(counts, name))
        if not counts.waiting:
            return total
        world.clock.advance(10.0)
    raise AssertionError(f"still waiting after {turns} turns")
