"""Keys that are numbers: the service spells them in its own way, and 1.50 is the same key as 1.5."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import pytest

import keyplan
from keyplan import Entity, ItemKey, ItemWrite, KeyCondition, Table, each, item, pk
from keyplan.client.connection import Connection
from keyplan.engine.engine import Engine

table = Table("prices", pk="amount", sk="rate")


@table.entity()
class Price(Entity):
    """What is kept under two numbers."""

    amount: Decimal
    rate: float
    text: str = ""


@table.batch_get(Price)
def some(amount: Decimal, rates: list[float]) -> ItemKey:
    """Return the prices of an amount at some rates."""
    return item(amount=amount, rate=each(rates))


@table.batch_put(Price)
def add(prices: list[Price]) -> ItemWrite:
    """Write prices."""
    return item(prices)


@table.batch_delete(Price)
def drop(amounts: list[Decimal], rate: float) -> ItemKey:
    """Delete the prices of some amounts."""
    return item(amount=each(amounts), rate=rate)


@table.query(Price)
def of_amounts(amounts: list[Decimal]) -> KeyCondition:
    """Return the prices of some amounts."""
    return pk(amount=each(amounts))


@pytest.fixture
def db() -> Iterator[Connection]:
    """Yield a database with the table."""
    with Engine.memory() as engine, keyplan.connect(engine=engine) as db:
        db.create_tables(table)
        yield db


def priced(amount: str, rate: float, text: str = "") -> Price:
    """Return a price."""
    return Price(amount=Decimal(amount), rate=rate, text=text)


@pytest.mark.parametrize(("amount", "rate"), [("1.50", 2.0), ("1E+3", 1e16), ("100", 1e-7), ("-0.0", -2.50)])
def test_a_batch_get_finds_a_number_in_any_spelling(db: Connection, amount: str, rate: float) -> None:
    db.run(add([priced(amount, rate)]))
    assert db.run(some(Decimal(amount), [rate, 7.0, rate])) == [priced(amount, rate), None, priced(amount, rate)]


def test_the_last_of_several_writes_under_one_number_wins(db: Connection) -> None:
    db.run(add([priced("1.50", 2.0, "first"), priced("1.5", 2.0, "last")]))
    assert [payment.text for payment in db.all(of_amounts([Decimal("1.5")]))] == ["last"]
    db.run(drop([Decimal("1.5"), Decimal("1.50")], 2.0))
    assert db.all(of_amounts([Decimal("1.5")])) == []


def test_a_partition_named_twice_is_queried_once(db: Connection) -> None:
    db.run(add([priced("1.5", 2.0)]))
    assert len(db.all(of_amounts([Decimal("1.5"), Decimal("1.50")]))) == 1
