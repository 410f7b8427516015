"""Fields as they are stored: what is written is read again, exactly, or refused where it is declared or written."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from typing import Annotated, Any, Literal, NamedTuple, NewType
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, RootModel, TypeAdapter, create_model
from typing_extensions import TypedDict

from keyplan.design.fields import (
    Attribute,
    UnstorableTypeError,
    decode_value,
    encode_value,
    moment_text,
    stored_field,
    type_code,
)

UserId = NewType("UserId", str)


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Word(StrEnum):
    YES = "yes"


class Point(NamedTuple):
    x: int
    y: int


class Shape(TypedDict):
    sides: int


class Street(BaseModel):
    name: Annotated[str, Attribute("n")]
    built: Annotated[datetime, Attribute(stored="epoch_s")] | None = None
    marks: set[str] = set()


class Town(BaseModel):
    streets: list[Street]
    main: Annotated[Street, Attribute("m")] | None = None
    names: set[str]
    by_name: dict[str, Street] = {}
    pair: tuple[str, Street]


def round_trip(annotation: Any, value: Any) -> Any:
    """A value written to an attribute and read again."""
    info = create_model("Model", field=(annotation, ...)).model_fields["field"]
    stored = stored_field("field", info)
    return TypeAdapter(annotation).validate_python(stored.decode(stored.encode(value)))


ZONES = st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30)), timezone(timedelta(hours=-11))])
MOMENTS = st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1), timezones=ZONES)
DECIMALS = st.decimals(allow_nan=False, allow_infinity=False, places=8)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
STREETS = st.builds(
    Street,
    name=TEXTS,
    built=st.none() | MOMENTS.map(lambda at: at.replace(microsecond=0)),
    marks=st.sets(TEXTS, max_size=2),
)
TYPES: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (str, TEXTS),
    (UserId, TEXTS),
    (Annotated[UserId, "mark"], TEXTS),
    (int, st.integers(-(10**37), 10**37)),
    (bool, st.booleans()),
    (float, st.floats(allow_nan=False, allow_infinity=False)),
    (Decimal, DECIMALS | st.decimals("-1e30", "1e30")),
    (bytes, st.binary()),
    (datetime, MOMENTS),
    (date, st.dates()),
    (time, st.times()),
    (timedelta, st.timedeltas(timedelta(days=-10_000), timedelta(days=10_000))),
    (UUID, st.uuids()),
    (Colour, st.sampled_from(Colour)),
    (Level, st.sampled_from(Level)),
    (Word, st.sampled_from(Word)),
    (Literal["a", "b"], st.sampled_from(["a", "b"])),
    (Literal[1, 2], st.sampled_from([1, 2])),
    (int | str, st.integers(-9, 9) | st.sampled_from(["x", "y"])),
    (list[int], st.lists(st.integers(-9, 9))),
    (list[int | None], st.lists(st.none() | st.integers(-9, 9))),
    (dict[str, Decimal], st.dictionaries(TEXTS, DECIMALS)),
    (dict[int, bool], st.dictionaries(st.integers(0, 9), st.booleans())),
    (dict[Colour, int], st.dictionaries(st.sampled_from(Colour), st.integers(0, 9))),
    (dict[date, int], st.dictionaries(st.dates(), st.integers(0, 9), max_size=2)),
    (dict[datetime, int], st.dictionaries(MOMENTS, st.integers(0, 9), max_size=2)),
    (set[str], st.sets(TEXTS, min_size=1)),
    (set[int], st.sets(st.integers(-9, 9), min_size=1)),
    (set[bytes], st.sets(st.binary(), min_size=1)),
    (set[Colour], st.sets(st.sampled_from(Colour), min_size=1)),
    (frozenset[UUID], st.frozensets(st.uuids(), min_size=1)),
    (set[Decimal], st.sets(DECIMALS, min_size=1)),
    (tuple[int, str], st.tuples(st.integers(0, 9), TEXTS)),
    (tuple[int, ...], st.lists(st.integers(0, 9)).map(tuple)),
    (Point, st.builds(Point, st.integers(0, 9), st.integers(0, 9))),
    (Shape, st.builds(Shape, sides=st.integers(0, 9))),
    (Street, STREETS),
    (list[Street], st.lists(STREETS, max_size=2)),
    (dict[str, list[Street]], st.dictionaries(TEXTS, st.lists(STREETS, max_size=2), max_size=2)),
    (
        Town,
        st.builds(
            Town,
            streets=st.lists(STREETS, max_size=2),
            main=st.none() | STREETS,
            names=st.sets(TEXTS, max_size=2),
            by_name=st.dictionaries(TEXTS, STREETS, max_size=2),
            pair=st.tuples(TEXTS, STREETS),
        ),
    ),
]


@pytest.mark.parametrize(("annotation", "values"), TYPES, ids=[str(one[0]) for one in TYPES])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_what_is_written_is_read_again(annotation: Any, values: st.SearchStrategy[Any], data: st.DataObject) -> None:
    value = data.draw(values)
    assert round_trip(annotation, value) == value


CODES: list[tuple[Any, str]] = [
    (str, "S"), (UserId, "S"), (int, "N"), (bool, "BOOL"), (float, "N"), (Decimal, "N"), (bytes, "B"),
    (datetime, "S"), (date, "S"), (time, "S"), (timedelta, "N"), (UUID, "S"), (Colour, "S"), (Level, "N"),
    (list[str], "L"), (tuple[int, ...], "L"), (dict[str, int], "M"), (Street, "M"), (set[str], "SS"),
    (set[int], "NS"), (frozenset[bytes], "BS"), (int | Decimal, "N"), (int | str, "ANY"), (Any, "ANY"), (object, "ANY"),
    (Literal["a", "b"], "S"), (Literal["a", 1], "ANY"), (Literal["a", None], "S"), (str | None, "S"), (Point, "L"),
]  # fmt: skip


@pytest.mark.parametrize(("annotation", "code"), CODES, ids=[str(one[0]) for one in CODES])
def test_the_attribute_type_follows_from_the_annotation(annotation: Any, code: str) -> None:
    info = create_model("Model", field=(annotation, None)).model_fields["field"]
    assert stored_field("field", info).type_code == code


def test_numbers_are_exact() -> None:
    assert encode_value(Decimal("0.10")) == {"N": "0.10"}
    assert encode_value(Decimal("1E+20")) == {"N": "1" + "0" * 20}
    assert encode_value(0.1) == {"N": "0.1"}
    assert encode_value(1e22) == {"N": "1e+22"}
    assert decode_value({"N": "12345678901234567890123456789012345678"}) == 12345678901234567890123456789012345678
    assert decode_value({"N": "0.1"}) == Decimal("0.1")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), Decimal("-Infinity"), Decimal("NaN")])
def test_what_is_no_finite_number_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="cannot be stored: a Number is finite"):
        encode_value(value)


def test_moments_are_texts_of_one_width_that_sort_by_time() -> None:
    assert moment_text(datetime(7, 1, 2, 3, 4, 5, 6, tzinfo=UTC)) == "0007-01-02T03:04:05.000006Z"
    east = datetime(2026, 1, 1, 1, tzinfo=timezone(timedelta(hours=2)))
    assert moment_text(east) == "2025-12-31T23:00:00.000000Z"


@settings(max_examples=100)
@given(one=MOMENTS, two=MOMENTS)
def test_texts_of_moments_sort_as_the_moments_do(one: datetime, two: datetime) -> None:
    assert (one < two) == (moment_text(one) < moment_text(two))


def test_a_moment_without_a_time_zone_is_refused() -> None:
    naive = datetime(2026, 1, 1)
    with pytest.raises(ValueError, match="has no time zone"):
        encode_value(naive)
    with pytest.raises(ValueError, match="has no time zone"):
        encode_value(Street(name="x", built=naive))


@pytest.mark.parametrize(("stored", "text"), [("epoch_s", "1767225600"), ("epoch_ms", "1767225600123")])
def test_epochs_are_whole_numbers(stored: Any, text: str) -> None:
    at = datetime(2026, 1, 1, microsecond=123_999, tzinfo=UTC)
    for annotation in (
        Annotated[datetime, Attribute(stored=stored)],
        Annotated[datetime, Attribute("at", stored=stored)] | None,
    ):
        info = create_model("Model", field=(annotation, None)).model_fields["field"]
        field = stored_field("field", info)
        assert field.type_code == "N"
        assert field.encode(at) == {"N": text}
        assert field.decode({"N": text}) == at.replace(microsecond=123_000 if stored == "epoch_ms" else 0)


def test_the_attribute_for_expiry_holds_seconds() -> None:
    info = create_model("Model", field=(datetime | None, None)).model_fields["field"]
    assert stored_field("until", info, ttl="until").type_code == "N"
    assert stored_field("other", info, ttl="until").type_code == "S"


def test_nothing_is_stored_of_none_and_of_empty_sets() -> None:
    assert encode_value(Street(name="x")) == {"M": {"n": {"S": "x"}}}
    town = Town(streets=[], names=set(), pair=("a", Street(name="b")))
    stored = encode_value(town)
    assert set(stored["M"]) == {"streets", "by_name", "pair"}
    assert round_trip(Town, town) == town
    with pytest.raises(UnstorableTypeError, match="an empty set cannot be stored"):
        encode_value([set()])


def test_sets_hold_one_type() -> None:
    with pytest.raises(UnstorableTypeError, match="only strings, only numbers or only binary"):
        encode_value({"a", 1})
    with pytest.raises(UnstorableTypeError, match="only strings, only numbers or only binary"):
        encode_value({(1, 2)})


class Loose(BaseModel, extra="allow"):
    a: int


class Wrapped(RootModel[list[int]]):
    pass


@pytest.mark.parametrize(
    ("annotation", "why"),
    [
        (complex, "complex has no attribute type"),
        (set[list[int]], "a set holds strings, numbers or binary"),
        (Loose, "Loose allows extra fields"),
        (Wrapped, "Wrapped is a RootModel"),
        (Annotated[int, Attribute(stored="epoch_s")], "stored='epoch_s' is for a datetime"),
        (Annotated[datetime, Attribute(stored="epoch")], "there is no stored='epoch'"),  # type: ignore[arg-type]
        (list[Street | Loose], "Street.name has an Attribute of its own, and the model is one of a union"),
    ],
)
def test_what_cannot_be_stored_is_refused_where_it_is_declared(annotation: Any, why: str) -> None:
    info = create_model("Model", field=(annotation, ...)).model_fields["field"]
    with pytest.raises(UnstorableTypeError, match=why):
        stored_field("field", info)


def test_a_default_that_would_be_read_for_none_is_refused() -> None:
    info = create_model("Model", field=(int | None, 3)).model_fields["field"]
    with pytest.raises(UnstorableTypeError, match="nothing is read as its default 3"):
        stored_field("field", info)


def test_values_of_subclasses_are_stored_as_what_they_are() -> None:
    class Long(int):
        pass

    assert encode_value(Long(3)) == {"N": "3"}
    assert encode_value({"a": Level.HIGH, "b": Word.YES}) == {"M": {"a": {"N": "2"}, "b": {"S": "yes"}}}
    assert encode_value(Point(1, 2)) == {"L": [{"N": "1"}, {"N": "2"}]}
    with pytest.raises(UnstorableTypeError, match="object has no attribute type"):
        encode_value(object())
    assert type_code(Long) == "N"
