"""Ranges whose key text is coarser than the field, and each(...) of single parameters: exact all the same."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated

import pytest
from pydantic import BaseModel

import keyplan
from keyplan import Attribute, Entity, F, ItemWrite, KeyCondition, Table, each, item, key, pk
from keyplan.client.errors import ConditionFailedError

log = Table("log", pk="PK", sk="SK")


@log.entity(key=key("LOG#{name}", "{at:utc_ms}#{number:03d}"))
class Line(Entity):
    name: str
    at: datetime
    number: int


@log.create(Line)
def write(line: Line) -> ItemWrite:
    return item(line)


@log.query(Line)
def within(name: str, first: datetime, last: datetime) -> KeyCondition:
    return pk(name=name).sk.between(at=(first, last))


@log.query(Line)
def of_two(name: str, other: str) -> KeyCondition:
    return pk(name=each([name, other]))


NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_times_within_one_millisecond_of_the_bounds_are_distinguished() -> None:
    with keyplan.connect(":memory:") as db:
        for number in range(6):
            db.run(write(Line(name="a", at=NOON + timedelta(microseconds=300 * number), number=number)))
        first, last = NOON + timedelta(microseconds=300), NOON + timedelta(microseconds=900)
        assert [line.number for line in db.run(within("a", first, last))] == [1, 2, 3]


def test_each_value_of_a_list_parameter_is_read() -> None:
    with keyplan.connect(":memory:") as db:
        for name in "abc":
            db.run(write(Line(name=name, at=NOON, number=1)))
        assert sorted(line.name for line in db.run(of_two("a", "c"))) == ["a", "c"]


class Stay(BaseModel):
    since: Annotated[datetime, Attribute(stored="iso_ms")]


@log.entity(key=key("VISIT#{name}", "VISIT"))
class Visit(Entity):
    name: str
    at: Annotated[datetime, Attribute(stored="epoch_s")]
    stay: Stay
    left: bool = False


@log.query(Visit)
def visits(name: str, first: datetime, last: datetime) -> KeyCondition:
    return pk(name=name).filter(F.at.between(first, last))


@log.query(Visit)
def stays(name: str, first: datetime, last: datetime) -> KeyCondition:
    return pk(name=name).filter((F.name != "b") & (F.stay["since"].between(first, last) | (F.name == "nobody")))


@log.update(Visit)
def leave(name: str, first: datetime, last: datetime) -> ItemWrite:
    return item(name=name).set(left=True).condition(F.at.between(first, last))


def test_a_range_within_one_stored_unit_is_empty() -> None:
    second, millisecond = timedelta(seconds=1), timedelta(milliseconds=1)
    with keyplan.connect(":memory:") as db:
        visit = db.create(Visit(name="a", at=NOON, stay=Stay(since=NOON)))
        within = NOON + timedelta(microseconds=300)
        for first, last, expected in ((NOON, NOON, [visit]), (within, within, []), (within - second, within, [visit])):
            assert db.run(visits("a", first, last)) == expected
        for first, last, expected in (
            (NOON, within, [visit]),
            (within, within, []),
            (within, within + millisecond, []),
        ):
            assert db.run(stays("a", first, last)) == expected
        with pytest.raises(ConditionFailedError, match=r"at\.between"):
            db.run(leave("a", within, within))
        assert db.run(leave("a", NOON, within)).left
