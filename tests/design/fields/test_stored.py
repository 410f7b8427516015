"""Fields as they are stored: what is written is read again, exactly, or refused where it is declared or written."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, RootModel, TypeAdapter, create_model
from tests.design.stored import TIMESTAMPS, Colour, Level, Point, Shape, Street, Town, UserId, Word
from tests.laws import examples

from keyplan.design.fields.annotations import Attribute, UnstorableTypeError
from keyplan.design.fields.stored import stored_field


def round_trip(annotation: Any, value: Any) -> Any:
    """Write a value to an attribute and return it as it is read back."""
    info = create_model("Model", field=(annotation, ...)).model_fields["field"]
    stored = stored_field("field", info)
    return TypeAdapter(annotation).validate_python(stored.decode(stored.encode(value)))


DECIMALS = st.decimals(allow_nan=False, allow_infinity=False, places=8)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


STREETS = st.builds(
    Street,
    name=TEXTS,
    built=st.none() | TIMESTAMPS.map(lambda at: at.replace(microsecond=0)),
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
    (datetime, TIMESTAMPS),
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
    (dict[datetime, int], st.dictionaries(TIMESTAMPS, st.integers(0, 9), max_size=2)),
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


@pytest.mark.parametrize(("annotation", "values"), TYPES, ids=[str(case[0]) for case in TYPES])
@settings(max_examples=examples(40), deadline=None)
@given(data=st.data())
def test_written_values_are_read_back(annotation: Any, values: st.SearchStrategy[Any], data: st.DataObject) -> None:
    value = data.draw(values)
    assert round_trip(annotation, value) == value


@pytest.mark.parametrize(("stored", "text"), [("epoch_s", "1767225600"), ("epoch_ms", "1767225600123")])
def test_epochs_are_whole_numbers(stored: Any, text: str) -> None:
    at = datetime(2026, 1, 1, microsecond=123_999, tzinfo=UTC)
    annotations: list[Any] = [
        Annotated[datetime, Attribute(stored=stored)],
        Annotated[datetime, Attribute("at", stored=stored)] | None,
    ]
    for annotation in annotations:
        info = create_model("Model", field=(annotation, None)).model_fields["field"]
        field = stored_field("field", info)
        assert field.type_code == "N"
        assert field.encode(at) == {"N": text}
        assert field.decode({"N": text}) == at.replace(microsecond=123_000 if stored == "epoch_ms" else 0)


def test_missing_attributes_are_read_as_none_and_empty_sets() -> None:
    town = Town(streets=[], names=set(), pair=("a", Street(name="b")))
    assert round_trip(Town, town) == town


def test_the_expiry_attribute_contains_seconds() -> None:
    info = create_model("Model", field=(datetime | None, None)).model_fields["field"]
    assert stored_field("until", info, ttl="until").type_code == "N"
    assert stored_field("other", info, ttl="until").type_code == "S"


class Loose(BaseModel, extra="allow"):
    a: int


class Wrapped(RootModel[list[int]]):
    pass


class Marked(BaseModel):
    at: Annotated[int, Attribute(stored="epoch_s")]


@pytest.mark.parametrize(
    ("annotation", "why"),
    [
        (Marked, "stored='epoch_s' applies only to a datetime"),
        (dict[str, Marked | None], "stored='epoch_s' applies only to a datetime"),
        (complex, "complex has no attribute type"),
        (set[list[int]], "a set holds strings, numbers or binary"),
        (Loose, "Loose allows extra fields"),
        (Wrapped, "Wrapped is a RootModel"),
        (Annotated[int, Attribute(stored="epoch_s")], "stored='epoch_s' applies only to a datetime"),
        (Annotated[datetime, Attribute(stored="epoch")], "unknown stored='epoch'"),  # type: ignore[arg-type]
        (Annotated[str, Attribute(kind="ids")], "unknown kind='ids'"),  # type: ignore[arg-type]
        (list[Street | Loose], "Street.name has an Attribute, and its model is part of a union"),
    ],
)
def test_an_unstorable_type_is_rejected_at_its_declaration(annotation: Any, why: str) -> None:
    info = create_model("Model", field=(annotation, ...)).model_fields["field"]
    with pytest.raises(UnstorableTypeError, match=why):
        stored_field("field", info)


def test_a_default_that_would_replace_none_is_rejected() -> None:
    info = create_model("Model", field=(int | None, 3)).model_fields["field"]
    with pytest.raises(UnstorableTypeError, match="is read as the default 3"):
        stored_field("field", info)
