"""Stored timestamps: whole units of the service's texts and numbers, in keys, ranges, filters and models."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import Annotated, Any, Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel
from tests.laws import examples

import keyplan
from keyplan import (
    GSI,
    Attribute,
    Entity,
    F,
    ItemKey,
    ItemWrite,
    KeyCondition,
    Table,
    item,
    key,
    pk,
    unique,
)
from keyplan.client.errors import UniqueTakenError
from keyplan.design.declaring.patterns import Read
from keyplan.engine.engine import Engine

Unit = Literal["iso_s", "iso_ms", "epoch_s", "epoch_ms"]
UNITS: tuple[Unit, ...] = ("iso_s", "iso_ms", "epoch_s", "epoch_ms")
START = datetime(2026, 5, 4, 12, tzinfo=UTC)
STEP = {"iso_s": timedelta(seconds=1), "epoch_s": timedelta(seconds=1)}


def unit_of(unit: Unit) -> timedelta:
    return STEP.get(unit, timedelta(milliseconds=1))


@dataclass
class Log:
    """A table whose sort key, index and nested models hold timestamps in one unit, and its reads."""

    db: Any
    entry: Any
    ranges: dict[str, Read[[str, datetime], Any]]
    filters: dict[str, Read[[str, datetime], Any]]
    between: Read[[str, datetime, datetime], Any]


ASK = ("lt", "lte", "gt", "gte")


def log_of(unit: Unit, db: Any) -> Log:
    log = Table(f"log-{unit}", pk="owner", sk="at", indexes=[GSI("by_kind", pk="kind", sk="at")])

    class Seen(BaseModel):
        at: Annotated[datetime, Attribute("a", stored=unit)]

    @log.entity()
    class Entry(Entity):
        owner: str
        at: Annotated[datetime, Attribute(stored=unit)]
        kind: str = "k"
        seen: Seen
        moved: list[Seen]

    @log.create(Entry)
    def add_entry(new: Entry) -> ItemWrite:
        return item(new)

    def reading(name: str, index: str | None, cond: Any) -> Any:
        def pattern(owner: str, at: datetime) -> KeyCondition:
            terms: KeyCondition = cond(pk(owner=owner) if index is None else pk(kind=owner), at)
            return terms

        pattern.__name__ = name
        return (log.query(Entry) if index is None else log.query(Entry, index=index))(pattern)

    attribute = F.seen["at"]
    ranges = {op: reading(f"{op}", None, lambda of, at, op=op: getattr(of.sk, op)(at=at)) for op in ASK}
    ranges |= {f"{op} by_kind": reading(op, "by_kind", lambda of, at, op=op: getattr(of.sk, op)(at=at)) for op in ASK}
    filters = {
        "lt": reading("f_lt", None, lambda of, at: of.filter(attribute < at)),
        "lte": reading("f_lte", None, lambda of, at: of.filter(attribute <= at)),
        "gt": reading("f_gt", None, lambda of, at: of.filter(F.moved[0]["at"] > at)),
        "gte": reading("f_gte", "by_kind", lambda of, at: of.filter(F.moved[0]["at"] >= at)),
    }

    @log.query(Entry)
    def between(owner: str, first: datetime, last: datetime) -> KeyCondition:
        return pk(owner=owner).sk.between(at=(first, last)).filter(F.seen["at"].between(first, last))

    step = unit_of(unit)
    for number in range(5):
        at = START + number * step
        db.run(add_entry(Entry(owner="k", at=at, seen=Seen(at=at), moved=[Seen(at=at)])))
    return Log(db, Entry, ranges, filters, between)


@pytest.fixture(scope="module", params=UNITS)
def log(request: pytest.FixtureRequest) -> Iterator[tuple[Unit, Log]]:
    with Engine.memory(ttl_sweep_s=None) as engine, keyplan.connect(engine=engine) as db:
        yield request.param, log_of(request.param, db)


COMPARE = {
    "lt": lambda value, other: value < other,
    "lte": lambda value, other: value <= other,
    "gt": lambda value, other: value > other,
    "gte": lambda value, other: value >= other,
}


@settings(
    deadline=None,
    max_examples=examples(40),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.integers(-2, 12), st.sampled_from([0, 1, 400, 999]), st.sampled_from([0, 7]))
def test_ranges_and_filters_return_the_items_on_their_side_of_any_timestamp(
    log: tuple[Unit, Log], half_steps: int, extra_us: int, hours_east: int
) -> None:
    unit, patterns = log
    step = unit_of(unit)
    zone = timezone(timedelta(hours=hours_east))
    at = (START + half_steps * step / 2 + timedelta(microseconds=extra_us)).astimezone(zone)
    stored = [START + number * step for number in range(5)]
    for reads in (patterns.ranges, patterns.filters):
        for name, read in reads.items():
            expected = [time for time in stored if COMPARE[name.split()[0]](time, at)]
            assert [event.at for event in patterns.db.run(read("k", at))] == expected, name
    later = at + step * 1.5
    assert [event.at for event in patterns.db.run(patterns.between("k", at, later))] == [
        time for time in stored if at <= time <= later
    ]


def test_a_finer_timestamp_is_stored_in_its_unit_and_can_be_read_back(engine: Engine) -> None:
    events = Table("events", pk="PK", sk="SK", indexes=[GSI("by_at", pk="kind", sk="at")])

    class Part(BaseModel):
        at: Annotated[datetime | None, Attribute(stored="iso_ms")] = None

    @events.entity(
        key=key("E#{id}", "AT#{at:utc_ms}"),
        unique=[unique("at", key=key("TAKEN#{at:utc_ms}", "AT"))],
        version="version",
    )
    class Event(Entity):
        id: str
        kind: str = "k"
        at: Annotated[datetime, Attribute("happenedAt", stored="iso_ms")]
        ended: Annotated[datetime | None, Attribute(stored="iso_s")] = None
        part: Part = Part()
        version: int = 0

    @events.create(Event)
    def happen(new: Event) -> ItemWrite:
        return item(new)

    @events.get(Event)
    def event(id: str, at: datetime) -> ItemKey:
        return item(id=id, at=at)

    @events.update(Event)
    def end(id: str, at: datetime, ended: datetime | None) -> ItemWrite:
        return item(id=id, at=at).set(ended=ended).set(F.part["at"], ended)

    at, ended = START + timedelta(microseconds=1_234_567), START + timedelta(seconds=9, microseconds=700_001)
    with keyplan.connect(engine=engine) as db:
        db.run(happen(Event(id="1", at=at)))
        result = db.run(event("1", at))
        assert result is not None
        assert (result.at, result.ended) == (START + timedelta(milliseconds=1_234), None)
        ending = db.run(end("1", result.at, ended))
        assert (ending.ended, ending.part.at) == (START + timedelta(seconds=9), START + timedelta(milliseconds=9_700))
        ((stored,),) = [
            [scanned for scanned in engine.call("Scan", {"TableName": "events"})["Items"] if "kind" in scanned]
        ]
        assert stored["happenedAt"] == {"S": "2026-05-04T12:00:01.234Z"}
        assert stored["ended"] == {"S": "2026-05-04T12:00:09Z"}
        assert stored["part"] == {"M": {"at": {"S": "2026-05-04T12:00:09.700Z"}}}
        assert stored["SK"] == {"S": "AT#2026-05-04T12:00:01.234Z"}
        with pytest.raises(UniqueTakenError):
            db.run(happen(Event(id="2", at=result.at)))
