"""Conditions and key conditions in words."""

from __future__ import annotations

from datetime import UTC, date, datetime
from enum import Enum, IntEnum, StrEnum
from typing import Any

import pytest

from keyplan import GSI, Entity, F, ItemWrite, KeyCondition, Table, each, every_shard, everything, item, key, pk
from keyplan.design.conditions.conditions import Condition
from keyplan.design.declaring.patterns import Pattern
from keyplan.design.parameters import Param
from keyplan.export.conditions import condition, key_condition, written_only_if


class State(StrEnum):
    """Of a thing."""

    DONE = "done"


@pytest.mark.parametrize(
    ("expected", "words"),
    [
        (None, ""),
        (F.state == State.DONE, "state = 'done'"),
        (F.state == "done", "state = 'done'"),
        (F.count != 3, "count <> 3"),
        ((F.count >= 1) & (F.count < 9) & F.state.exists(), "count >= 1 and count < 9 and state is there"),
        ((F.a == 1) | (F.b > 2), "a = 1 or b > 2"),
        (((F.a == 1) | (F.b <= 2)) & F.c.missing(), "(a = 1 or b <= 2) and c is missing"),
        (~(F.a == 1), "not a = 1"),
        (~((F.a == 1) & (F.b == 2)), "not (a = 1 and b = 2)"),
        (F.count.between(1, 9), "count between 1 and 9"),
        (F.state.is_in("open", State.DONE), "state in ('open', 'done')"),
        (F.state.is_in(each(["open", State.DONE])), "state in ('open', 'done')"),
        (F.state.is_in(each(Param("states", None))), "state in ({each(states)})"),
        (F.state.begins_with("op"), "state begins_with 'op'"),
        (F.tags.contains("x"), "tags contains 'x'"),
        (F.tags.size() > 2, "size of tags > 2"),
        (F.address["city"] == "Bern", "address[city] = 'Bern'"),
        (F.scores[0] == 7, "scores[0] = 7"),
        (F.parts["a"][3].size() < 2, "size of parts[a][3] < 2"),
    ],
)  # fmt: skip
def test_a_condition_is_rendered_as_text(expected: Condition | None, words: str) -> None:
    assert condition(expected) == words


# Key conditions, and filters by parameters.


class Kind(Enum):
    """Of an event."""

    OPEN = "open"
    SHUT = "shut"


class Level(IntEnum):
    """Of an event."""

    LOW = 1


events = Table("events", pk="PK", sk="SK", indexes=[GSI("by_kind", pk="kind", sk="at"), GSI("by_size", pk="size")])
MIDNIGHT = datetime(2026, 1, 2, tzinfo=UTC)


@events.entity(key=key("KIND#{kind}#{level:04d}#{name:shard(4)}", "DAY#{day}#{at:utc_ms}"))
class Event(Entity):
    kind: Kind
    level: Level
    name: str
    day: date
    at: datetime
    size: int
    scores: dict[str, int]


@events.query(Event)
def constants(name: str) -> KeyCondition:
    return pk(kind=Kind.OPEN, level=Level.LOW, name=name).sk(day=date(2026, 1, 2), at=MIDNIGHT)


@events.query(Event)
def every(kinds: list[Kind]) -> KeyCondition:
    return pk(kind=each(kinds), level=Level.LOW, name="a").sk(day=date(2026, 1, 2))


@events.query(Event)
def spread(kind: Kind) -> KeyCondition:
    return pk(kind=kind, level=Level.LOW, name=every_shard())


@events.query(Event)
def whole(kind: Kind, level: Level, name: str) -> KeyCondition:
    return pk(kind=kind, level=level, name=name)


@events.query(Event)
def days(of: Kind, level: Level, name: str, low: date, high: date) -> KeyCondition:
    return pk(kind=of, level=level, name=name).sk.between(day=(low, high))


@events.query(Event)
def later(kind: Kind, level: Level, name: str, day: date) -> KeyCondition:
    return pk(kind=kind, level=level, name=name).sk.gt(day=day)


@events.query(Event)
def since(kind: Kind, level: Level, name: str, day: date) -> KeyCondition:
    return pk(kind=kind, level=level, name=name).sk.gte(day=day)


@events.query(Event)
def earlier(kind: Kind, level: Level, name: str, day: date) -> KeyCondition:
    return pk(kind=kind, level=level, name=name).sk.lt(day=day)


@events.query(Event)
def until(kind: Kind, level: Level, name: str, day: date) -> KeyCondition:
    return pk(kind=kind, level=level, name=name).sk.lte(day=day)


@events.query(Event)
def of_year(kind: Kind, level: Level, name: str, year: str) -> KeyCondition:
    return pk(kind=kind, level=level, name=name).sk.begins_with(day=year)


@events.query(Event, index="by_kind")
def stored() -> KeyCondition:
    return pk(kind=Kind.SHUT).sk.gt(at=MIDNIGHT)


@events.query(Event, index="by_kind")
def among(kinds: list[Kind], low: datetime, high: datetime) -> KeyCondition:
    return pk(kind=each(kinds)).sk.between(at=(low, high))


@events.query(Event, index="by_size")
def sized() -> KeyCondition:
    return pk(size=7)


@events.query(Event, index="by_size")
def unfit() -> KeyCondition:
    return pk(size=float("nan"))


@events.query(Event)
def forged(name: str) -> KeyCondition:
    return pk(kind="no#kind", level=Level.LOW, name=name)


@events.query(Event)
def missing(name: str) -> KeyCondition:
    return pk(kind=None, level=Level.LOW, name=name)


@events.scan(Event)
def bigger(least: int, player: str) -> KeyCondition:
    return everything().filter((F.size > least) & (F.scores[player] == 1))


PK = "KIND#{kind}#{level}#{name}"


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        (constants, "PK = KIND#open#0001#{name}, SK = DAY#2026-01-02#2026-01-02T00:00:00.000Z"),
        (every, "PK = KIND#{each(kinds)}#0001#2, SK begins_with DAY#2026-01-02#"),
        (spread, "PK = KIND#{kind}#0001#{every_shard()}, SK begins_with DAY#"),
        (whole, f"PK = {PK}, SK begins_with DAY#"),
        (of_year, f"PK = {PK}, SK begins_with DAY#{{year}}"),
        (days, "PK = KIND#{of}#{level}#{name}, SK between DAY#{low}# and the end of DAY#{high}#"),
        (later, f"PK = {PK}, SK between the end of DAY#{{day}}# and the end of DAY#"),
        (since, f"PK = {PK}, SK between DAY#{{day}}# and the end of DAY#"),
        (earlier, f"PK = {PK}, SK between DAY# and the start of DAY#{{day}}#"),
        (until, f"PK = {PK}, SK between DAY# and the end of DAY#{{day}}#"),
        (stored, "kind = 'shut', at > '2026-01-02T00:00:00.000000Z'"),
        (among, "kind = {each(kinds)}, at between {low} and {high}"),
        (sized, "size = 7"),
        (unfit, "size = nan"),
        (forged, "PK = KIND#no#kind#0001#{name}, SK begins_with DAY#"),
        (missing, "PK = KIND#None#0001#{name}, SK begins_with DAY#"),
        (bigger, ""),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_key_condition_shows_templates_and_stored_constants(pattern: Pattern[..., Any], words: str) -> None:
    assert key_condition(pattern.plan) == words


def test_a_filter_by_parameters_names_them() -> None:
    assert condition(bigger.plan.filter) == "size > {least} and scores[{player}] = 1"


def test_a_write_shows_its_condition_known_values_and_version() -> None:
    table = Table("notes", pk="id")

    @table.entity(version="version")
    class Note(Entity):
        id: str
        text: str = ""
        due: date | None = None
        mood: str | None = None
        version: int = 0

    @table.update(Note)
    def note(id: str, mood: str, version: int) -> ItemWrite:
        change = item(id=id).set(text="x").assuming(due=None, mood=mood).if_version(version)
        return change.condition((F.text == "") | F.text.missing())

    @table.update(Note)
    def write(id: str) -> ItemWrite:
        return item(id=id).set(text="x")

    expected = "(text = '' or text is missing) and due is missing and mood = {mood} and version = {version}"

    @table.create(Note)
    def add(new: Note) -> ItemWrite:
        return item(new)

    @table.create(Note)
    def again(new: Note) -> ItemWrite:
        return item(new).replace_if((F.text == "") & F.mood.missing())

    @table.replace(Note)
    def other(new: Note) -> ItemWrite:
        return item(new)

    @table.put(Note)
    def any_of(new: Note) -> ItemWrite:
        return item(new)

    assert written_only_if(note.plan) == expected
    assert written_only_if(write.plan) == ""
    assert written_only_if(add.plan) == "no item exists"
    assert written_only_if(again.plan) == "no item exists or (text = '' and mood is missing)"
    assert written_only_if(other.plan) == "the item exists and version = {new.version}"
    assert written_only_if(any_of.plan) == ""
