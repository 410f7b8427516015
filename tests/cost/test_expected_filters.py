"""Filters under a limit: as much is expected to be read as fills it, and that is what is read."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from keyplan import (
    GSI,
    Bytes,
    Engine,
    Entity,
    F,
    ItemWrite,
    KeyCondition,
    Table,
    Volume,
    attr,
    connect,
    every_shard,
    item,
    key,
    pk,
)
from keyplan.client.connection import Connection
from keyplan.client.requests import Transport
from keyplan.cost.expected import expected
from keyplan.design.declaring.patterns import Pattern

events = Table("events", pk="month", sk="at", indexes=[GSI("spread", pk="SpreadPK", sk="at")])


@events.entity(
    volume=Volume(8_000, bytes=Bytes(400), distinct={"month": 8, "state": {"open": 0.25, "full": 0.75}}),
    indexes={"spread": key("{month}#{at:shard(4)}", attr("at"))},
)
class Event(Entity):
    month: str
    at: int
    state: Literal["open", "full"]
    left: int


@events.create(Event)
def announce(event: Event) -> ItemWrite:
    return item(event)


@events.query(Event, limit=50)
def first_open(month: str) -> KeyCondition:
    return pk(month=month).filter(F.state == "open")


@events.query(Event, limit=900)
def many_open(month: str) -> KeyCondition:
    return pk(month=month).filter(F.state == "open")


@events.query(Event, limit=50)
def with_left(month: str, least: int) -> KeyCondition:
    return pk(month=month).filter(F.left >= least)


@events.query(Event)
def all_open(month: str) -> KeyCondition:
    return pk(month=month).filter(F.state == "open")


@events.query(Event, limit=100, index="spread")
def open_of_all_shards(month: str) -> KeyCondition:
    return pk(month=month, at=every_shard()).filter(F.state != "gone")


@pytest.mark.parametrize(
    ("pattern", "evaluated", "returned"),
    [
        (first_open, 50 + 100 + 200, 50),  # each request asks for twice as many as the one before
        (many_open, 1_000, 250),
        (with_left, 1_000, 50),  # nothing tells how many it keeps: as many as it takes
        (all_open, 1_000, 250),
        (open_of_all_shards, 4 * 100, 100),
    ],
    ids=lambda values: getattr(values, "name", ""),
)
def test_a_filter_under_a_limit_reads_until_the_limit_is_filled(
    pattern: Pattern[..., Any], evaluated: float, returned: float
) -> None:
    estimate = expected(pattern)
    assert (estimate.evaluated, estimate.returned) == (evaluated, returned)


class Counting:
    """A transport that counts what is read through it."""

    def __init__(self, inner: Transport) -> None:
        self.inner, self.read = inner, 0

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        response = self.inner.call(operation, request)
        self.read += response["ScannedCount"]
        return response

    def close(self) -> None:
        self.inner.close()


def test_a_filter_under_a_limit_reads_the_expected_number_of_items() -> None:
    with Engine.memory() as engine:
        db = connect(engine=engine)
        for at in range(1_000):
            db.run(announce(Event(month="5", at=at, state="full" if at % 4 else "open", left=0)))
        counting = Counting(db.transport)
        assert len(Connection(counting, db.context).run(first_open("5"))) == 50
        assert counting.read == expected(first_open).evaluated
