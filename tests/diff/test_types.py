"""Changed types: which stored values can still be read; names of types in messages."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, Field
from tests.laws import examples

from keyplan import Attribute, Entity, Table
from keyplan.client.codec import Reader
from keyplan.design.entities import spec_of
from keyplan.design.fields.stored import StoredField
from keyplan.diff.types import losses, name_of


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Small(BaseModel):
    at: int


class Large(BaseModel):
    at: int
    by: str


class Loose(BaseModel):
    at: int
    by: str | None = None


def even(value: int) -> int:
    if value % 2:
        raise ValueError("odd")
    return value


SHORT = Annotated[str, Field(max_length=3)]
SOME = Annotated[str, Field(max_length=9, min_length=1)]
AS = Annotated[str, Field(pattern="^a+$")]
NATURAL = Annotated[int, Field(ge=0)]
DIGIT = Annotated[int, Field(ge=0, lt=10)]
EVEN = Annotated[int, AfterValidator(even)]
timestamps = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))


def named(value: Any) -> str:
    """Return a name that is the same in every process, without the addresses of functions."""
    return re.sub(r" at 0x[0-9a-f]+", "", str(value))


TYPES: dict[Any, st.SearchStrategy[Any]] = {
    str: st.text(),
    int: st.integers(-(10**9), 10**9),
    float: st.floats(-1e6, 1e6),
    Decimal: st.decimals(-100, 100, places=2),
    bool: st.booleans(),
    bytes: st.binary(),
    date: st.dates(),
    datetime: timestamps,
    time: st.times(),
    timedelta: st.timedeltas(timedelta(0), timedelta(days=9)),
    UUID: st.uuids(),
    Colour: st.sampled_from(Colour),
    Level: st.sampled_from(Level),
    Literal["red"]: st.just("red"),
    Literal["red", "blue", "green"]: st.sampled_from(["red", "blue", "green"]),
    SHORT: st.text(max_size=3),
    SOME: st.text(min_size=1, max_size=9),
    AS: st.sampled_from(["a", "aa"]),
    NATURAL: st.integers(0, 99),
    DIGIT: st.integers(0, 9),
    EVEN: st.integers(0, 9).map(lambda number: 2 * number),
    Annotated[datetime, Attribute(stored="epoch_s")]: timestamps.map(
        lambda timestamp: timestamp.replace(microsecond=0)
    ),
    Annotated[datetime, Attribute(stored="epoch_ms")]: timestamps.map(
        lambda timestamp: timestamp.replace(microsecond=0)
    ),
    Annotated[datetime, Attribute(stored="iso_s")]: timestamps.map(lambda timestamp: timestamp.replace(microsecond=0)),
    str | None: st.none() | st.text(),
    int | None: st.none() | st.integers(0, 9),
    int | str: st.integers(0, 9) | st.text(),
    list[int]: st.lists(st.integers(0, 9)),
    list[str]: st.lists(st.text()),
    list[Literal["red", "blue"]]: st.lists(st.sampled_from(["red", "blue"])),
    list[int | None]: st.lists(st.none() | st.integers(0, 9)),
    tuple[int, str]: st.tuples(st.integers(0, 9), st.text()),
    tuple[int, ...]: st.lists(st.integers(0, 9)).map(tuple),
    set[str]: st.sets(st.text()),
    dict[str, int]: st.dictionaries(st.text(), st.integers(0, 9)),
    dict[str, str]: st.dictionaries(st.text(), st.text()),
    Small: st.builds(Small, at=st.integers(0, 9)),
    Large: st.builds(Large, at=st.integers(0, 9), by=st.text()),
    Loose: st.builds(Loose, at=st.integers(0, 9), by=st.none() | st.text()),
    list[Small]: st.lists(st.builds(Small, at=st.integers(0, 9))),
    Any: st.text() | st.integers(0, 9) | st.lists(st.integers(0, 9)),
}


def declared(annotation: Any) -> Any:
    """Return an entity with a field of this type."""
    table = Table("t", pk="item_id")
    return table.entity()(type("Thing", (Entity,), {"__annotations__": {"item_id": str, "value": annotation}}))


MODELS = {annotation: declared(annotation) for annotation in TYPES}


def field(annotation: Any) -> StoredField:
    return spec_of(MODELS[annotation]).fields["value"]


@pytest.mark.parametrize("annotation", TYPES, ids=named)
def test_a_type_loses_nothing_to_itself(annotation: Any) -> None:
    assert losses(field(annotation), field(annotation)) == []


@pytest.mark.parametrize("old", TYPES, ids=named)
@settings(max_examples=examples(15), deadline=None)
@given(st.data())
def test_a_lossless_change_can_be_read(old: Any, data: st.DataObject) -> None:
    value = data.draw(TYPES[old])
    item = {"item_id": {"S": "1"}}
    if value is not None and value != set():
        item["value"] = field(old).encode(value)
    for new in TYPES:
        if not losses(field(old), field(new)):
            assert Reader(spec_of(MODELS[new])).entity(item), f"{old} read as {new}"


LOST = [
    (str, int, "type"),
    (int, str, "type"),
    (list[int], set[str], "type"),
    (Annotated[datetime, Attribute(stored="epoch_s")], Annotated[datetime, Attribute(stored="epoch_ms")], "type"),
    (str, UUID, "narrowed"),
    (str, Colour, "narrowed"),
    (Literal["red", "blue", "green"], Colour, "gone"),
    (Colour, Literal["red"], "gone"),
    (int, NATURAL, "narrowed"),
    (NATURAL, DIGIT, "narrowed"),
    (SOME, SHORT, "narrowed"),
    (str, AS, "narrowed"),
    (int, EVEN, "narrowed"),
    (str | None, str, "missing"),
    (list[int | None], list[int], "narrowed"),
    (list[str], list[Literal["red", "blue"]], "narrowed"),
    (Small, Large, "missing"),
    (Any, int, "narrowed"),
    (int | str, int, "narrowed"),
    (tuple[int, ...], tuple[int, str], "narrowed"),
    (float, int, "narrowed"),
    (dict[str, int], Small, "narrowed"),
]


@pytest.mark.parametrize(("old", "new", "kind"), LOST, ids=named)
def test_a_possible_loss_is_reported(old: Any, new: Any, kind: str) -> None:
    losses_found = losses(field(old), field(new))
    assert kind in {loss.kind for loss in losses_found}
    assert all(loss.text for loss in losses_found)


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        (dict[str, str], dict[str, int], "each part"),
        (dict[int, str], dict[NATURAL, str], "each key"),
        (tuple[int, int], tuple[NATURAL, int], "each part"),
        (list[int], list[NATURAL], "each part"),
    ],
    ids=named,
)
def test_a_loss_inside_a_value_names_its_path(old: Any, new: Any, where: str) -> None:
    (loss,) = losses(*(spec_of(declared(source)).fields["value"] for source in (old, new)))
    assert where in loss.text


KEPT = [
    (UUID, str),
    (Colour, str),
    (Level, int),
    (Colour, Literal["red", "blue", "green"]),
    (int, float),
    (int, Decimal),
    (float, Decimal),
    (str, str | None),
    (int, int | str),
    (Large, Small),
    (Small, Loose),
    (SHORT, str),
    (tuple[int, ...], list[int]),
    (int, Any),
]


@pytest.mark.parametrize(("old", "new"), KEPT, ids=named)
def test_a_readable_change_has_no_loss(old: Any, new: Any) -> None:
    assert losses(field(old), field(new)) == []


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (int, "int"),
        (int | None, "int"),
        (Annotated[int, "positive"], "int"),
        (int | str, "int or str"),
        (list[int], "list[int]"),
        (dict[str, int | None], "dict[str, int]"),
        (tuple[int, ...], "tuple[int, ...]"),
        (tuple[int, str], "tuple[int, str]"),
        (Literal["a", 1], "'a', 1"),
    ],
    ids=str,
)
def test_a_type_has_a_readable_name(kind: Any, name: str) -> None:
    assert name_of(kind) == name
