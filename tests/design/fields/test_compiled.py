"""Generated decoders and encoders of items do what decoding and encoding field by field does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel
from tests.laws import examples

from keyplan import Attribute, Entity, Table, key
from keyplan.client.codec import reader_of
from keyplan.client.errors import UnreadableItemError
from keyplan.design.entities import spec_of
from keyplan.design.fields.compiled import item_decoder, item_encoder
from keyplan.design.fields.stored import is_stored_as_absent
from keyplan.design.requests.items import item_builder

table = Table("things", pk="PK")


class Colour(Enum):
    red = "r"
    blue = "b"


class Part(BaseModel):
    name: str
    size: int | None = None


@table.entity(key=key("THING#{name}"))
class Thing(Entity):
    name: str
    count: int
    big: Decimal
    ratio: float
    ready: bool
    at: datetime
    until: Annotated[datetime, Attribute("u", stored="epoch_s")]
    colour: Colour
    kind: Literal["a", "b"] = "a"
    note: Annotated[str | None, Attribute("n")] = None
    words: list[str]
    numbers: list[int]
    tags: set[str]
    sizes: frozenset[int] = frozenset()
    parts: list[Part]
    more: dict[str, Any]
    raw: bytes
    owner: UUID | None


SPEC = spec_of(Thing)
FIELDS = list(SPEC.fields.values())
moments = st.datetimes(datetime(1980, 1, 1), datetime(2090, 1, 1), timezones=st.just(UTC))
zones = st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30)), timezone(timedelta(hours=-9))])
things = st.builds(
    Thing,
    name=st.text(st.characters(codec="utf-8"), min_size=1, max_size=5),
    big=st.decimals(-(10**9), 10**9, places=3),
    ratio=st.floats(-1e9, 1e9, allow_subnormal=False).map(lambda value: round(value, 6)),
    at=st.builds(lambda moment, zone: moment.astimezone(zone), moments, zones),
    until=moments.map(lambda value: value.replace(microsecond=0)),
    more=st.dictionaries(st.text("ab", min_size=1), st.integers() | st.text() | st.none(), max_size=2),
    numbers=st.lists(st.integers(-(10**12), 10**12), max_size=3),
    count=st.integers(-(10**12), 10**12),
    sizes=st.frozensets(st.integers(-9, 9), max_size=3),
)


@settings(max_examples=examples(100), deadline=None)
@given(thing=things)
def test_an_item_is_encoded_field_by_field_and_read_back(thing: Thing) -> None:
    values = thing.__dict__
    one_by_one = {
        field.attribute: field.encode(values[field.name])
        for field in FIELDS
        if not is_stored_as_absent(values[field.name])
    }
    assert item_encoder(FIELDS)(values) == one_by_one
    item = item_builder(SPEC).item(thing)
    assert reader_of(SPEC).entity(item) == thing
    if thing.tags and thing.owner is not None:
        assert reader_of(SPEC)._values(item) == item_decoder(FIELDS)(item)


def example() -> dict[str, Any]:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    thing = Thing(
        name="n", count=1, big=Decimal(2), ratio=0.5, ready=True, at=moment, until=moment, colour=Colour.red,
        words=["a"], tags={"t"}, raw=b"x", owner=None, numbers=[1], parts=[Part(name="p")], more={"a": 1},
    )  # fmt: skip
    return dict(item_builder(SPEC).item(thing))


@pytest.mark.parametrize(
    ("attribute", "value", "readable"),
    [
        ("count", {"N": "1.0"}, True),
        ("count", {"S": "1"}, True),
        ("count", {"N": "1.5"}, False),
        ("words", {"L": [{"N": "1"}]}, False),
        ("words", {"SS": ["a"]}, True),
        ("tags", {"L": [{"S": "t"}]}, True),
        ("ready", {"NULL": True}, False),
        ("u", {"S": "2026-01-01T00:00:00Z"}, True),
        ("note", {"NULL": True}, True),
        ("big", {"S": "2"}, True),
    ],
)
def test_attributes_of_other_types_are_left_to_pydantic(attribute: str, value: dict[str, Any], readable: bool) -> None:
    item = {**example(), attribute: value}
    if readable:
        assert reader_of(SPEC).entity(item) is not None
    else:
        with pytest.raises(UnreadableItemError):
            reader_of(SPEC).entity(item)


def test_a_missing_attribute_is_named() -> None:
    item = example()
    del item["count"]
    with pytest.raises(UnreadableItemError, match="count: Field required"):
        reader_of(SPEC).entity(item)
