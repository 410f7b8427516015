"""Arguments of the wrong type are refused when a pattern is called, before they are used."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from typing import Any, Literal
from uuid import UUID

import pytest
from pydantic import Field

import keyplan
from keyplan import (
    GSI,
    Entity,
    F,
    ItemKey,
    ItemWrite,
    KeyCondition,
    Modified,
    Table,
    changed,
    each,
    everything,
    item,
    key,
    pk,
    transaction,
)
from keyplan.design.declaring.argument_checks import type_check, type_name
from keyplan.design.errors import DesignError
from keyplan.errors import KeyplanError

table = Table("things", pk="id", indexes=[GSI("by_rank", pk="kind", sk="rank")])
rows = Table("rows", pk="PK", sk="SK")
notes = Table("notes", pk="id")


class Kind(StrEnum):
    OLD = "old"
    NEW = "new"


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1


@table.entity()
class Thing(Entity):
    id: str
    kind: Kind = Kind.OLD
    rank: int = 0
    title: str = ""
    colour: Colour = Colour.RED
    weights: dict[str, int] = Field(default_factory=dict)
    until: datetime | None = None


@rows.entity(key=key("USER#{user}", "ROW#{number:06d}"))
class Row(Entity):
    user: str
    number: int
    title: str = ""


@notes.entity()
class Note(Entity):
    id: str
    title: str = ""


@table.get(Thing)
def thing(id: str) -> ItemKey:
    return item(id=id)


@table.get(Thing)
def thing_of(id) -> ItemKey:  # type: ignore[no-untyped-def]  # the field tells the type
    return item(id=id)


@table.batch_get(Thing)
def things(ids: list[str]) -> ItemKey:
    return item(id=each(ids))


@table.batch_get(Thing)
def things_of(ids) -> ItemKey:  # type: ignore[no-untyped-def]
    return item(id=each(ids))


@table.delete(Thing)
def remove(id: str) -> ItemWrite:
    return item(id=id)


@table.batch_delete(Thing)
def remove_all(ids: list[str]) -> ItemWrite:
    return item(id=each(ids))


@table.check(Thing)
def is_ranked(id: str, rank: int) -> ItemWrite:
    return item(id=id).condition(F.rank == rank)


@notes.update(Note, upsert=True)
def rename(id: str, title: str) -> ItemWrite:
    return item(id=id).set(title=title)


@table.update(Thing)
def move(id: str, title: str, before: str) -> ItemWrite:
    return item(id=id).set(title=title).condition(F.title == before)


@table.update(Thing)
def weigh(id: str, part: Any, weight: int) -> ItemWrite:
    return item(id=id).set(F.weights[part], weight)


@table.query(Thing, index="by_rank")
def of_kind(kind: Kind, low: int, high: int) -> KeyCondition:
    return pk(kind=kind).sk.between(rank=(low, high))


@table.scan(Thing)
def titled(title: str, colours: list[Colour]) -> KeyCondition:
    return everything().filter((F.title == title) & F.colour.is_in(each(colours)))


@table.scan(Thing)
def at_least(rank) -> KeyCondition:  # type: ignore[no-untyped-def]
    return everything().filter(F.rank >= rank)


@rows.query(Row)
def rows_of(user: str) -> KeyCondition:
    return pk(user=user)


@rows.create(Row)
def add_row(row: Row) -> ItemWrite:
    return item(row)


@transaction()
def remove_both(first: str, others: list[str]) -> list[Any]:
    return [remove(first), remove(each(others))]


def test_subclasses_and_values_of_enums_are_accepted() -> None:
    class Id(str):
        __slots__ = ()

    assert thing(Id("a")).arguments == {"id": "a"}
    assert of_kind("new", 1, Level.LOW).arguments["kind"] == "new"  # type: ignore[arg-type]
    assert titled("a", ["red", Colour.BLUE]).arguments["colours"] == ["red", Colour.BLUE]  # type: ignore[list-item]
    assert at_least(2.5).arguments == {"rank": 2.5}
    assert of_kind(Kind.OLD, Decimal(3), 4.0).arguments["low"] == Decimal(3)  # type: ignore[arg-type]
    assert things(("a", "b")).arguments["ids"] == ("a", "b")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("pattern", "arguments", "problem"),
    [
        (thing, (5,), "thing() expects id as str, got int: 5"),
        (thing, (["x"],), "thing() expects id as str, got list: ['x']"),
        (thing, (object,), "thing() expects id as str, got type: <class 'object'>"),
        (thing, (UUID(int=1),), f"thing() expects id as str, got UUID: {UUID(int=1)!r}"),
        (thing_of, (5,), "thing_of() expects id as str, got int: 5"),
        (things, ([5],), "things() expects ids as list[str], got list: [5]"),
        (things, (5,), "things() expects ids as list[str], got int: 5"),
        (things_of, ([["x"]],), "things_of() expects ids as Iterable[str], got list: [['x']]"),
        (remove, (5,), "remove() expects id as str, got int: 5"),
        (remove_all, ([b"x"],), "remove_all() expects ids as list[str], got list: [b'x']"),
        (is_ranked, ("a", "3"), "is_ranked() expects rank as int, got str: '3'"),
        (is_ranked, ("a", True), "is_ranked() expects rank as int, got bool: True"),
        (is_ranked, ("a", 2.5), "is_ranked() expects rank as int, got float: 2.5"),
        (rename, (["x"], "t"), "rename() expects id as str, got list: ['x']"),
        (move, ("a", "t", 5), "move() expects before as str, got int: 5"),
        (weigh, ("a", ["x"], 1), "weigh() expects part as str | int | Enum | UUID | date, got list: ['x']"),
        (weigh, ("a", "x", "1"), "weigh() expects weight as int, got str: '1'"),
        (of_kind, ("gone", 1, 2), "of_kind() expects kind as Kind, got str: 'gone'"),
        (of_kind, (Kind.NEW, "1", 2), "of_kind() expects low as int, got str: '1'"),
        (titled, (5, []), "titled() expects title as str, got int: 5"),
        (titled, ("a", ["green"]), "titled() expects colours as list[Colour], got list: ['green']"),
        (at_least, ("2",), "at_least() expects rank as int | float | Decimal, got str: '2'"),
        (rows_of, (5,), "rows_of() expects user as str, got int: 5"),
        (remove_both, (5, []), "remove_both() expects first as str, got int: 5"),
        (remove_both, ("a", [5]), "remove_both() expects others as list[str], got list: [5]"),
    ],
)
def test_a_value_of_the_wrong_type_is_rejected_when_the_pattern_is_called(
    pattern: Any, arguments: tuple[Any, ...], problem: str
) -> None:
    with pytest.raises(TypeError) as refused:
        pattern(*arguments)
    assert str(refused.value) == problem


def test_a_value_of_another_type_is_neither_stored_nor_deleted_under_its_text() -> None:
    @notes.delete(Note)
    def drop(id: str) -> ItemWrite:
        return item(id=id)

    @notes.scan(Note)
    def every_note() -> KeyCondition:
        return everything()

    untyped: Any
    with keyplan.connect(":memory:") as db:
        db.create_tables(notes)
        db.run(rename("5", "five"))
        for untyped in (5, ["5"], object):
            with pytest.raises(TypeError):
                db.run(drop(untyped))
            with pytest.raises(TypeError):
                db.run(rename(untyped, "other"))
        assert db.all(every_note()) == [Note(id="5", title="five")]


def test_another_value_is_not_stored_as_text() -> None:
    unchecked = Thing(id="a").model_copy(update={"title": ["x"]})

    @table.put(Thing)
    def save(new: Thing) -> ItemWrite:
        return item(new)

    with keyplan.connect(":memory:") as db:
        db.create_tables(table)
        with pytest.raises(KeyplanError, match=r"\['x'\] is list, but the field is a str"):
            db.run(save(unchecked))
        db.run(save(Thing(id="b").model_copy(update={"title": Kind.NEW})))
        stored = db.run(thing("b"))
        assert stored is not None
        assert stored.title == "new"


def test_validation_by_the_model_is_left_to_the_model() -> None:
    assert rename("a", 5).arguments == {"id": "a", "title": 5}  # type: ignore[arg-type]


def test_a_consumer_compares_a_field_with_values_of_its_type() -> None:
    def declare(condition: Any) -> None:
        @table.on_change(Thing, filter=condition)
        def follow(change: Modified[Thing]) -> None: ...

    declare(changed("colour", "red"))
    declare(F.rank > 2)
    with pytest.raises(DesignError, match="follow compares 5 with a field of Thing that is Kind"):
        declare(changed("kind", 5))
    with pytest.raises(DesignError, match="follow compares '2' with a field of Thing that is int"):
        declare(F.rank > "2")


@pytest.mark.parametrize(
    ("annotation", "accepted", "refused"),
    [
        (str, ["", Kind.OLD], [5, b"", ["a"]]),
        (int, [1, 1.0, Decimal(2), Level.LOW], [True, 1.5, "1", float("inf")]),
        (float, [1, 1.5, Decimal(2)], [True, "1"]),
        (bool, [True], [1, "true"]),
        (bytes, [b"", bytearray()], ["", 5]),
        (UUID, [UUID(int=0)], ["00000000-0000-0000-0000-000000000000"]),
        (datetime, [datetime(2026, 1, 1, tzinfo=UTC)], [date(2026, 1, 1), "2026-01-01"]),
        (date, [date(2026, 1, 1)], ["2026-01-01", 5]),
        (Literal["a", 1], ["a", 1], ["b", True, 1.0, []]),
        (Colour, [Colour.RED, "red"], ["green", 1, Kind.OLD]),
        (str | int, ["a", 1], [b"", []]),
        (list[int], [[1], (1,), {1}, []], [["a"], 1, {"a": 1}]),
        (dict[str, int], [{"a": 1}], [[], "a"]),
        (Thing, [Thing(id="a"), {}], ["a", 5]),
    ],
)
def test_a_type_check_accepts_only_values_of_its_type(annotation: Any, accepted: list[Any], refused: list[Any]) -> None:
    accepts = type_check(annotation)
    assert accepts is not None
    assert [value for value in accepted if not accepts(value)] == []
    assert [value for value in refused if accepts(value)] == []
    assert accepts(None)


@pytest.mark.parametrize("annotation", [Any, object, str | Any, None])
def test_some_types_accept_any_value(annotation: Any) -> None:
    assert type_check(annotation) is None


@pytest.mark.parametrize(
    ("annotation", "name"),
    [
        (str | None, "str | None"),
        (list[Kind], "list[Kind]"),
        (tuple[int, ...], "tuple[int, ...]"),
        (Literal["a", 1], "Literal['a', 1]"),
        (int | str, "int | str"),
    ],
)
def test_a_type_is_named_as_in_its_annotation(annotation: Any, name: str) -> None:
    assert type_name(annotation) == name
