"""Ranges over sort keys return the items that a plain comparison selects, among any other items of the partition."""

from __future__ import annotations

import itertools
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.laws import examples

import keyplan
from keyplan import GSI, Entity, ItemWrite, KeyCondition, Table, item, key, pk
from keyplan.client.errors import KeyValueError
from keyplan.engine.engine import Engine

book = Table("book", pk="PK", sk="SK", indexes=[GSI("by_time", pk="G", sk="GS"), GSI("by_size", pk="owner", sk="size")])


@book.entity(
    key=key("B#{owner}", "E#{number:03d}#{at:utc_ms}"),
    indexes={"by_time": key("M#{owner}", "{at:utc_ms}#{number:03d}")},
)
class Entry(Entity):
    owner: str = "o"
    number: int
    at: datetime
    size: int


@book.entity(key=key("B#{owner}", "E#{number:03d}"))
class Head(Entity):
    owner: str = "o"
    number: int


@book.batch_put(Entry)
def write(new: list[Entry]) -> ItemWrite:
    return item(new)


@book.batch_put(Head)
def head(new: list[Head]) -> ItemWrite:
    return item(new)


@book.query(Entry)
def number_lt(owner: str, n: int) -> KeyCondition:
    return pk(owner=owner).sk.lt(number=n)


@book.query(Entry)
def number_lte(owner: str, n: int) -> KeyCondition:
    return pk(owner=owner).sk.lte(number=n)


@book.query(Entry)
def number_gt(owner: str, n: int) -> KeyCondition:
    return pk(owner=owner).sk.gt(number=n)


@book.query(Entry)
def number_gte(owner: str, n: int) -> KeyCondition:
    return pk(owner=owner).sk.gte(number=n)


@book.query(Entry)
def number_between(owner: str, n: int, m: int) -> KeyCondition:
    return pk(owner=owner).sk.between(number=(n, m))


@book.query(Entry)
def at_lt(owner: str, n: int, at: datetime) -> KeyCondition:
    return pk(owner=owner).sk(number=n).sk.lt(at=at)


@book.query(Entry)
def at_gte(owner: str, n: int, at: datetime) -> KeyCondition:
    return pk(owner=owner).sk(number=n).sk.gte(at=at)


@book.query(Entry, index="by_time")
def timestamp_gt(owner: str, at: datetime) -> KeyCondition:
    return pk(owner=owner).sk.gt(at=at)


@book.query(Entry, index="by_time", descending=True)
def timestamp_lte(owner: str, at: datetime) -> KeyCondition:
    return pk(owner=owner).sk.lte(at=at)


@book.query(Entry, index="by_size")
def size_between(owner: str, n: int, m: int) -> KeyCondition:
    return pk(owner=owner).sk.between(size=(n, m))


@book.count(Entry)
def count_gt(owner: str, n: int) -> KeyCondition:
    return pk(owner=owner).sk.gt(number=n)


_owners = itertools.count()
START = datetime(2026, 1, 1, tzinfo=UTC)
timestamps = st.integers(0, 5).map(lambda n: START + timedelta(milliseconds=n))
numbers = st.integers(0, 4)
entries = st.lists(
    st.builds(Entry, number=numbers, at=timestamps, size=numbers),
    max_size=12,
    unique_by=lambda event: (event.number, event.at),
)


@pytest.fixture(scope="module")
def engine() -> Any:
    with Engine.memory() as engine:
        yield engine


@settings(
    deadline=None,
    max_examples=examples(80),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(entries, numbers, numbers, timestamps, st.data())
def test_ranges_return_the_items_that_comparison_selects(
    engine: Engine, expected: list[Entry], n: int, m: int, at: datetime, data: st.DataObject
) -> None:
    db = keyplan.connect(engine=engine)
    owner = f"o{next(_owners)}"
    expected = [event.model_copy(update={"owner": owner}) for event in expected]
    db.run(write(expected))
    db.run(head([Head(owner=owner, number=number) for number in range(5)]))
    calls = [
        (number_lt(owner, n), lambda event: event.number < n),
        (number_lte(owner, n), lambda event: event.number <= n),
        (number_gt(owner, n), lambda event: event.number > n),
        (number_gte(owner, n), lambda event: event.number >= n),
        (number_between(owner, n, m), lambda event: n <= event.number <= m),
        (at_lt(owner, n, at), lambda event: event.number == n and event.at < at),
        (at_gte(owner, n, at), lambda event: event.number == n and event.at >= at),
        (timestamp_gt(owner, at), lambda event: event.at > at),
        (timestamp_lte(owner, at), lambda event: event.at <= at),
        (size_between(owner, n, m), lambda event: n <= event.size <= m),
    ]
    for call, matches in calls:
        given_back = db.all(call, page_size=data.draw(st.sampled_from([1, 2, 5, 100])))
        key_of = lambda event: (event.number, event.at)  # noqa: E731 - it names an order
        assert sorted(given_back, key=key_of) == sorted(filter(matches, expected), key=key_of), call
    assert db.run(count_gt(owner, n)) == sum(event.number > n for event in expected)


usage = Table("usage", pk="PK", sk="SK", indexes=[GSI("by_minute", pk="G", sk="GS")])


@usage.entity(key=key("U#{owner}", "MIN#{at:minute}"), indexes={"by_minute": key("U#{owner}", "{at:minute}")})
class Minute(Entity):
    owner: str = "o"
    at: datetime
    count: int = 0


@usage.batch_put(Minute)
def count(new: list[Minute]) -> ItemWrite:
    return item(new)


@usage.query(Minute, ordered_by="at")
def minutes(owner: str, start: datetime, end: datetime) -> KeyCondition:
    return pk(owner=owner).sk.between(at=(start, end))


@usage.query(Minute, descending=True)
def minutes_before(owner: str, at: datetime) -> KeyCondition:
    return pk(owner=owner).sk.lt(at=at)


@usage.query(Minute)
def minutes_from(owner: str, at: datetime) -> KeyCondition:
    return pk(owner=owner).sk.gte(at=at)


SECONDS = st.integers(-400, 400).map(lambda seconds: datetime(2026, 5, 4, 12, tzinfo=UTC) + timedelta(seconds=seconds))


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(SECONDS, max_size=12), SECONDS, SECONDS)
def test_a_range_over_one_item_per_minute_returns_items_within_it(
    times: list[datetime], first: datetime, second: datetime
) -> None:
    start, end = sorted((first, second))
    stored = {at.replace(second=0): Minute(at=at) for at in times}
    with keyplan.connect(":memory:") as db:
        if stored:
            db.run(count(list(stored.values())))
        times_stored = sorted(minute.at for minute in stored.values())
        assert [minute.at for minute in db.all(minutes("o", start, end))] == [
            at for at in times_stored if start <= at <= end
        ]
        assert [minute.at for minute in db.all(minutes_before("o", first))] == [
            at for at in times_stored[::-1] if at < first
        ]
        assert [minute.at for minute in db.all(minutes_from("o", first))] == [at for at in times_stored if at >= first]


def test_a_range_over_an_index_returns_several_items_per_minute_in_any_order() -> None:
    @usage.query(Minute, index="by_minute")
    def listed(owner: str, start: datetime, end: datetime) -> KeyCondition:
        return pk(owner=owner).sk.between(at=(start, end))

    assert [fault.code for fault in listed.plan.faults] == ["KP206"]


alarms = Table("alarms", pk="PK", sk="SK")


@alarms.entity(key=key("D#{device}", "{level}#{at:utc_s}"))
class Alarm(Entity):
    device: str = "d"
    level: Literal["NORMAL", "WARNING1", "WARNING2"]
    at: datetime


@alarms.batch_put(Alarm)
def alarm(new: list[Alarm]) -> ItemWrite:
    return item(new)


@alarms.query(Alarm)
def levels(device: str, start: str) -> KeyCondition:
    return pk(device=device).sk.begins_with(level=start)


@alarms.query(Alarm)
def on_day(device: str, level: str, day: date) -> KeyCondition:
    return pk(device=device).sk(level=level).sk.begins_with(at=day)


@alarms.query(Alarm)
def in_time(device: str, level: str, text: str) -> KeyCondition:
    return pk(device=device).sk(level=level).sk.begins_with(at=text)


def test_a_prefix_may_be_a_choice_a_timestamp_text_or_its_day() -> None:
    at = datetime(2026, 5, 4, 12, tzinfo=UTC)
    normal = Alarm(level="NORMAL", at=at)
    first, second = Alarm(level="WARNING1", at=at), Alarm(level="WARNING2", at=at)
    later = Alarm(level="WARNING2", at=at + timedelta(days=1))
    with keyplan.connect(":memory:") as db:
        db.run(alarm([normal, first, second, later]))
        assert db.run(levels("d", "WARNING")).items == (first, second, later)
        assert db.run(levels("d", "WARNING1")).items == (first,)
        assert db.run(on_day("d", "WARNING2", date(2026, 5, 5))).items == (later,)
        assert db.run(in_time("d", "WARNING2", "2026-05")).items == (second, later)
        assert db.run(in_time("d", "WARNING2", "2026-05-04T1")).items == (second,)


@alarms.query(Alarm)
def alarms_of(
    device: str, level: Literal["NORMAL", "WARNING1", "WARNING2"] | None = None, before: datetime | None = None
) -> KeyCondition:
    return pk(device=device).sk(level=level).sk < before


@alarms.query(Alarm)
def alarms_between(device: str, level: str, start: datetime | None = None, end: datetime | None = None) -> KeyCondition:
    return pk(device=device).sk(level=level).sk.between(at=(start, end))


@alarms.count(Alarm)
def alarm_count(device: str, level: str | None = None) -> KeyCondition:
    return pk(device=device).sk(level=level)


@alarms.query(Alarm)
def levels_like(device: str, start: str | None) -> KeyCondition:
    return pk(device=device).sk.begins_with(level=start)


def test_omitted_sort_parameters_give_a_shorter_prefix() -> None:
    at = datetime(2026, 5, 4, 12, tzinfo=UTC)
    days = [at + timedelta(days=day) for day in range(4)]
    normal, first = Alarm(level="NORMAL", at=at), Alarm(level="WARNING1", at=at)
    seconds = [Alarm(level="WARNING2", at=day) for day in days]
    with keyplan.connect(":memory:") as db:
        db.run(alarm([normal, first, *seconds]))
        assert db.run(alarms_of("d")) == [normal, first, *seconds]
        assert db.run(alarms_of("d", "WARNING1")) == [first]
        assert db.run(alarms_of("d", "WARNING2", days[2])) == seconds[:2]
        assert db.run(alarms_of("d", "WARNING2", before=None)) == seconds
        assert db.run(alarms_between("d", "WARNING2")) == seconds
        assert db.run(alarms_between("d", "WARNING2", start=days[1])) == seconds[1:]
        assert db.run(alarms_between("d", "WARNING2", end=days[1])) == seconds[:2]
        assert db.run(alarms_between("d", "WARNING2", days[1], days[2])) == seconds[1:3]
        assert (db.run(alarm_count("d")), db.run(alarm_count("d", "WARNING2"))) == (6, 4)
        assert db.run(levels_like("d", None)) == db.run(alarms_of("d"))
        first_page = db.run(alarms_of("d"), limit=4)
        assert db.run(alarms_of("d"), cursor=first_page.cursor) == seconds[2:]
        assert db.all(alarms_of("d", None, None), page_size=1) == [normal, first, *seconds]


def test_a_none_before_a_given_sort_field_is_rejected_at_the_call() -> None:
    message = (
        r"^alarms_of\(\) expects level with at, got None: the sort key contains level, at in this order, and only its"
        " end can be left out$"
    )
    with pytest.raises(TypeError, match=message):
        alarms_of("d", None, datetime(2026, 5, 4, tzinfo=UTC))


def test_a_parameter_that_is_not_optional_requires_a_value() -> None:
    @alarms.query(Alarm)
    def of_level(device: str, level: str) -> KeyCondition:
        return pk(device=device).sk(level=level)

    @alarms.query(Alarm)
    def named_twice(device: str | None) -> KeyCondition:
        return pk(device=device).sk(level=device)

    with keyplan.connect(":memory:") as db:
        with pytest.raises(KeyValueError, match=r"'level' .* has no value"):
            db.run(of_level("d", None))  # type: ignore[arg-type]
        with pytest.raises(KeyValueError, match=r"'device' .* has no value"):
            db.run(named_twice(None))


places = Table("places", pk="PK", sk="SK")


@places.entity(key=key("PLACES", "C#{country}#{state}"))
class State(Entity):
    country: str
    state: str


@places.entity(key=key("PLACES", "C#{country}#{state}#{city}"))
class City(Entity):
    country: str
    state: str
    city: str


@places.query(State, City)
def below(country: str) -> KeyCondition:
    return pk().sk(country=country)


def test_all_levels_below_one_are_read_and_no_others() -> None:
    texas, austin = State(country="us", state="tx"), City(country="us", state="tx", city="austin")
    with keyplan.connect(":memory:") as db:
        db.create_tables(places)
        for place in (texas, austin, State(country="usa", state="x"), City(country="de", state="be", city="berlin")):
            db.put(place)
        assert db.run(below("us")) == [texas, austin]
