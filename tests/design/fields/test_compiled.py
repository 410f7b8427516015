"""Generated decoders and encoders of items do what decoding and encoding field by field does."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, field_validator, model_validator
from tests.laws import examples

from keyplan import Attribute, Entity, Table, View, key
from keyplan.client.codec import Reader, reader_of
from keyplan.client.errors import UnreadableItemError
from keyplan.design.entities import spec_of
from keyplan.design.fields.compiled import item_decoder, item_encoder, item_reader
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
timestamps = st.datetimes(datetime(1980, 1, 1), datetime(2090, 1, 1), timezones=st.just(UTC))
zones = st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30)), timezone(timedelta(hours=-9))])
things = st.builds(
    Thing,
    name=st.text(st.characters(codec="utf-8"), min_size=1, max_size=5),
    big=st.decimals(-(10**9), 10**9, places=3),
    ratio=st.floats(-1e9, 1e9, allow_subnormal=False).map(lambda value: round(value, 6)),
    at=st.builds(lambda time, zone: time.astimezone(zone), timestamps, zones),
    until=timestamps.map(lambda value: value.replace(microsecond=0)),
    more=st.dictionaries(st.text("ab", min_size=1), st.integers() | st.text() | st.none(), max_size=2),
    numbers=st.lists(st.integers(-(10**12), 10**12), max_size=3),
    count=st.integers(-(10**12), 10**12),
    sizes=st.frozensets(st.integers(-9, 9), max_size=3),
)


@settings(max_examples=examples(100), deadline=None)
@given(entity=things)
def test_an_item_is_encoded_field_by_field_and_read_back(entity: Thing) -> None:
    values = entity.__dict__
    one_by_one = {
        field.attribute: field.encode(values[field.name])
        for field in FIELDS
        if not is_stored_as_absent(values[field.name])
    }
    assert item_encoder(FIELDS)(values) == one_by_one
    item = item_builder(SPEC).item(entity)
    assert reader_of(SPEC).entity(item) == entity
    if entity.tags and entity.owner is not None:
        assert reader_of(SPEC)._values(item) == item_decoder(FIELDS)(item)


def example() -> dict[str, Any]:
    time = datetime(2026, 1, 1, tzinfo=UTC)
    entity = Thing(
        name="n", count=1, big=Decimal(2), ratio=0.5, ready=True, at=time, until=time, colour=Colour.red,
        words=["a"], tags={"t"}, raw=b"x", owner=None, numbers=[1], parts=[Part(name="p")], more={"a": 1},
    )  # fmt: skip
    return dict(item_builder(SPEC).item(entity))


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


# Objects that are made without a validation.


@table.entity(key=key("PLAIN#{name}"))
class Plain(Entity):
    name: str
    note: str | None
    count: int
    label: str = "none"
    big: Decimal
    ratio: float
    ready: bool
    at: datetime
    second: Annotated[datetime, Attribute(stored="iso_s")]
    milli: Annotated[datetime, Attribute(stored="iso_ms")]
    until: Annotated[datetime | None, Attribute("u", stored="epoch_s")] = None
    since: Annotated[datetime, Attribute(stored="epoch_ms")]
    day: date
    colour: Colour
    kind: Literal["a", "b"] = "a"
    words: list[str] = Field(default_factory=list)
    numbers: list[int] = Field(default=[1])
    tags: set[str]
    sizes: frozenset[int] = frozenset()
    more: dict[str, int]
    raw: bytes
    owner: UUID | None = None


class Title(View[Plain]):
    label: str
    name: str


def whole(unit_us: int) -> st.SearchStrategy[datetime]:
    """Return timestamps without a part of a unit."""
    return timestamps.map(lambda value: value.replace(microsecond=value.microsecond // unit_us * unit_us))


plains = st.builds(
    Plain,
    name=st.text(st.characters(codec="utf-8"), min_size=1, max_size=5),
    big=st.decimals(-(10**9), 10**9, places=3),
    ratio=st.floats(-1e9, 1e9, allow_subnormal=False).map(lambda value: round(value, 6)),
    at=st.builds(lambda time, zone: time.astimezone(zone), timestamps, zones),
    second=whole(1_000_000),
    milli=whole(1_000),
    until=st.none() | whole(1_000_000),
    since=whole(1_000),
    more=st.dictionaries(st.text("ab", min_size=1), st.integers(-9, 9), max_size=2),
)


@settings(max_examples=examples(100), deadline=None)
@given(plain=plains, absent=st.sets(st.sampled_from(["note", "label", "u", "kind", "words", "numbers", "owner"])))
def test_a_compiled_object_equals_the_one_built_by_pydantic(plain: Plain, absent: set[str]) -> None:
    reader: Any = reader_of(spec_of(Plain))
    item = item_builder(reader.spec).item(plain)
    assert reader.entity(item) == plain
    item = {name: value for name, value in item.items() if name not in absent}
    entity, validated = reader.entity(item), reader._validated(item)
    assert reader.entity is not reader._validated
    assert entity == validated
    assert repr(entity.__dict__.keys()) == repr(validated.__dict__.keys())
    assert [*map(type, entity.__dict__.values())] == [*map(type, validated.__dict__.values())]
    assert entity.model_fields_set == validated.model_fields_set
    assert entity.model_copy(update={"count": 5}).model_dump() == {**validated.model_dump(), "count": 5}


def test_two_objects_share_no_mutable_value() -> None:
    reader: Any = reader_of(spec_of(Plain))
    item = plain_item()
    for name in ("words", "numbers", "tags"):
        item.pop(name, None)
    first, second = reader.entity(item), reader.entity(item)
    first.numbers.append(2)
    first.words.append("w")
    first.tags.add("t")
    first.model_fields_set.clear()
    assert (second.numbers, second.words, second.tags) == ([1], [], set())
    assert second.model_fields_set


def plain_item() -> dict[str, Any]:
    time = datetime(2026, 1, 1, tzinfo=UTC)
    plain = Plain(
        name="n", note="x", count=1, big=Decimal(2), ratio=0.5, ready=True, at=time, second=time, milli=time,
        since=time, day=date(2026, 1, 1), colour=Colour.red, tags={"t"}, more={"a": 1}, raw=b"x",
    )  # fmt: skip
    return dict(item_builder(spec_of(Plain)).item(plain))


@pytest.mark.parametrize(
    ("attribute", "value", "readable"),
    [
        ("count", {"N": "1.0"}, True),
        ("count", {"N": "1.5"}, False),
        ("kind", {"S": "c"}, False),
        ("colour", {"S": "green"}, False),
        ("at", {"S": "2026-01-01T00:00:00+01:00"}, True),
        ("at", {"S": "2026-W01-1T00:00:00.000000Z"}, False),
        ("at", {"S": "yesterday"}, False),
        ("day", {"S": "2026-W01-1"}, False),
        ("u", {"N": "1.5"}, True),
        ("owner", {"S": "x"}, False),
        ("numbers", {"L": [{"S": "one"}]}, False),
        ("note", {"NULL": True}, True),
    ],
)
def test_an_item_of_another_form_is_validated_by_pydantic(
    attribute: str, value: dict[str, Any], readable: bool
) -> None:
    reader: Any = reader_of(spec_of(Plain))
    item = {**plain_item(), attribute: value}
    if readable:
        assert reader.entity(item) == reader._validated(item)
    else:
        with pytest.raises(UnreadableItemError):
            reader.entity(item)


def test_a_view_contains_its_fields() -> None:
    reader: Any = Reader(spec_of(Plain), Title)
    title = reader.entity(plain_item())
    assert reader.entity is not reader._validated
    assert title == Title(name="n", label="none")
    assert [*title.__dict__] == ["label", "name"]


class Checked(Entity):
    name: str

    @field_validator("name")
    @classmethod
    def lower(cls, name: str) -> str:
        return name.lower()


class Whole(Entity):
    name: str

    @model_validator(mode="after")
    def check(self) -> Whole:
        return self


class Short(Entity):
    name: Annotated[str, Field(max_length=2)]


class Stripped(Entity):
    model_config = ConfigDict(str_strip_whitespace=True)
    name: str


class Private(Entity):
    name: str
    _cache: dict[str, int] = PrivateAttr(default_factory=dict)


class Computed(Entity):
    name: str
    length: int = 0

    def model_post_init(self, _context: object) -> None:
        self.length = len(self.name)


class Nested(Entity):
    name: str
    part: Part


@pytest.mark.parametrize("model", [Checked, Whole, Short, Stripped, Private, Computed, Nested])
def test_a_model_with_validators_is_validated(model: type[Entity]) -> None:
    rules = Table("rules", pk="PK")
    rules.entity(key=key("X#{name}"))(model)
    fields = spec_of(model).fields
    assert item_reader(model, fields, dict) is None
