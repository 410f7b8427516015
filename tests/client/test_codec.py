"""Entities as items and back: every type a field may have, whose item it is, and what cannot be read."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from random import Random
from typing import Annotated, Any, Literal, cast
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, create_model, model_validator
from tests.client import board
from tests.laws import examples

import keyplan
from keyplan import (
    GSI,
    Attribute,
    DesignError,
    Entity,
    ItemKey,
    ItemWrite,
    KeyCondition,
    Table,
    attr,
    everything,
    item,
    key,
    pk,
    unique,
)
from keyplan.client.codec import EntityMatcher, reader_of
from keyplan.client.errors import KeyValueError, UnreadableItemError
from keyplan.design.entities import EntitySpec, spec_of
from keyplan.design.requests.items import item_builder
from keyplan.engine.engine import Engine

store = Table("store", pk="id", ttl="until", indexes=[GSI("by_rank", pk="kind", sk="rank_copy")])


class Colour(Enum):
    red = "r"
    green = "g"


class Level(IntEnum):
    low = 1
    high = 2


class Part(BaseModel):
    name: str
    weight: Annotated[Decimal | None, Attribute("w")] = None
    made_at: Annotated[datetime | None, Attribute(stored="epoch_ms")] = None


@store.entity(indexes={"by_rank": key(attr("kind"), attr("rank"))})
class Thing(Entity):
    model_config = ConfigDict(populate_by_name=True)

    id: UUID
    kind: Literal["a", "b"] = "a"
    rank: int = 0
    flag: bool = False
    ratio: float = 0.0
    exact: Decimal = Decimal(0)
    raw: bytes = b""
    day: date | None = None
    at: datetime | None = None
    clock: time | None = None
    lasts: timedelta | None = None
    colour: Colour = Colour.red
    level: Level = Level.low
    words: frozenset[str] = frozenset()
    numbers: set[int] = Field(default_factory=set)
    blobs: set[bytes] = Field(default_factory=set)
    pair: tuple[int, str] | None = None
    parts: list[Part] = Field(default_factory=list)
    by_name: dict[str, Part] = Field(default_factory=dict)
    anything: dict[str, Any] = Field(default_factory=dict)
    renamed: Annotated[str, Field(alias="reNamed"), Attribute("rn")] = ""
    until: datetime | None = None


@store.put(Thing)
def keep(new: Thing) -> ItemWrite:
    return item(new)


@store.get(Thing, expired=True)
def thing(id: UUID) -> ItemKey:
    return item(id=id)


@store.update(Thing)
def describe(id: UUID, words: frozenset[str], renamed: str, colour: Colour) -> ItemWrite:
    return item(id=id).set(words=words, renamed=renamed).set_if_missing(colour=colour)


timestamps = st.datetimes(min_value=datetime(1970, 1, 2), max_value=datetime(2200, 1, 1), timezones=st.just(UTC))
whole_ms = timestamps.map(lambda timestamp: timestamp.replace(microsecond=timestamp.microsecond // 1000 * 1000))
decimals = st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**20), max_value=10**20)
floats = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e100, max_value=1e100).filter(
    lambda number: number == 0 or abs(number) > 1e-100
)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
parts = st.builds(Part, name=texts, weight=st.none() | decimals, made_at=st.none() | whole_ms)
things = st.builds(
    Thing,
    id=st.uuids(),
    kind=st.sampled_from(["a", "b"]),
    rank=st.integers(-(10**30), 10**30),
    flag=st.booleans(),
    ratio=floats,
    exact=decimals,
    raw=st.binary(max_size=8),
    day=st.none() | st.dates(),
    at=st.none() | timestamps,
    clock=st.none() | st.times(),
    lasts=st.none() | st.timedeltas(min_value=timedelta(days=-999), max_value=timedelta(days=999)),
    colour=st.sampled_from(Colour),
    level=st.sampled_from(Level),
    words=st.frozensets(texts.filter(bool), max_size=3),
    numbers=st.sets(st.integers(-(10**9), 10**9), max_size=3),
    blobs=st.sets(st.binary(min_size=1, max_size=3), max_size=3),
    pair=st.none() | st.tuples(st.integers(-9, 9), texts),
    parts=st.lists(parts, max_size=2),
    by_name=st.dictionaries(texts.filter(bool), parts, max_size=2),
    anything=st.dictionaries(texts.filter(bool), st.none() | st.booleans() | texts | st.integers(-9, 9), max_size=2),
    renamed=texts,
    until=st.none() | timestamps.map(lambda timestamp: timestamp.replace(microsecond=0)),
)


@pytest.fixture(scope="module")
def shared() -> Any:
    with Engine.memory(ttl_sweep_s=None) as engine:
        yield keyplan.connect(engine=engine)


@settings(
    deadline=None,
    max_examples=examples(150),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(things)
def test_stored_values_of_every_type_are_read_back(shared: Any, new: Thing) -> None:
    shared.run(keep(new))
    result = shared.run(thing(new.id))
    assert result == new
    assert type(result.rank) is int


def test_an_empty_set_is_neither_a_default_nor_a_missing_value() -> None:
    table = Table("sets", pk="id")

    @table.entity()
    class Bag(Entity):
        id: str
        needed: set[int]
        filled: set[str] = Field(default_factory=lambda: {"x"})
        perhaps: set[str] | None = None

    @table.put(Bag)
    def fill(new: Bag) -> ItemWrite:
        return item(new)

    @table.get(Bag)
    def bag(id: str) -> ItemKey:
        return item(id=id)

    with keyplan.connect(":memory:") as db:
        empty = db.run(fill(Bag(id="b", needed=set(), filled=set())))
        assert db.run(bag("b")) == empty


def test_index_keys_use_values_as_the_model_validates_them(db: Any) -> None:
    user, name = board.UserId("u"), board.TaskId("t")
    db.run(board.add_task(board.Task(user_id=user, task_id=name, title="t", points=3)))
    high: Any = "high"  # a caller that no type checker has seen
    assert db.run(board.set_priority(user, name, high, 3)).priority is board.Priority.high
    with pytest.raises(KeyValueError, match="points='many' is not valid"):
        db.run(board.set_priority(user, name, board.Priority.low, "many"))  # type: ignore[arg-type]  # wrong on purpose


def test_an_update_validates_values_with_the_model(shared: Any) -> None:
    new = Thing(id=UUID(int=1))
    shared.run(keep(new))
    changed = shared.run(describe(new.id, frozenset({"x"}), "y", Colour.green))
    assert (changed.words, changed.renamed, changed.colour) == ({"x"}, "y", Colour.red)
    with pytest.raises(KeyValueError, match=r"describe: renamed=5 is not valid: .*valid string"):
        shared.run(describe(new.id, frozenset(), 5, Colour.red))  # type: ignore[arg-type]  # wrong on purpose
    assert shared.run(thing(new.id)).renamed == "y"


def test_none_does_not_remove_a_required_field(db: Any) -> None:
    user, name, nothing = board.UserId("u"), board.TaskId("t"), cast("Any", None)
    db.run(board.add_task(board.Task(user_id=user, task_id=name, title="t")))
    with pytest.raises(KeyValueError, match="title=None is not valid"):
        db.run(board.rename(user, name, nothing, 1))
    assert db.run(board.task(user, name)).title == "t"


def test_an_unreadable_item_names_its_entity_key_and_field(shared: Any) -> None:
    item = {"id": {"S": str(UUID(int=2))}, "rank": {"S": "first"}, "kind": {"S": "c"}}
    shared.transport.call("PutItem", {"TableName": "store", "Item": item})
    with pytest.raises(UnreadableItemError, match=r"id='00000000-.*cannot be read as Thing: kind: Input") as caught:
        shared.run(thing(UUID(int=2)))
    assert caught.value.key == {"id": str(UUID(int=2))}
    assert "rank" in str(caught.value)


def test_model_validators_run_when_items_are_read() -> None:
    table = Table("spans", pk="PK")

    @table.entity(key=key("SPAN#{name}"))
    class Span(Entity):
        name: str
        first: int
        last: int

        @model_validator(mode="after")
        def _in_order(self) -> Span:
            if self.first > self.last:
                raise ValueError("first is after last")
            return self

    reader = reader_of(spec_of(Span))
    good = {"PK": {"S": "SPAN#x"}, "first": {"N": "1"}, "last": {"N": "2"}}
    assert reader.entity(good) == Span(name="x", first=1, last=2)
    with pytest.raises(UnreadableItemError, match="the whole: Value error, first is after last"):
        reader.entity({**good, "first": {"N": "3"}})


def test_the_most_literal_key_template_determines_the_entity() -> None:
    specs = [spec_of(board.Task), spec_of(board.Comment), spec_of(board.Profile)]
    matcher = EntityMatcher(specs[:1], specs)
    maker = item_builder(specs[1])
    comment = maker.item(board.Comment(user_id=board.UserId("u"), task_id=board.TaskId("t"), number=1, text=""))
    assert matcher.reader(comment) is None
    assert EntityMatcher(specs, specs).reader(comment) is reader_of(specs[1])
    assert matcher.reader({"PK": {"S": "USER#u"}, "SK": {"S": "OTHER#1"}}) is None
    assert matcher.reader({"PK": {"N": "1"}}) is None
    task = {"PK": {"S": "USER#u"}, "SK": {"S": "TASK#1"}}
    assert matcher.reader(task) is reader_of(specs[0])


def _declared(forms: list[tuple[str, str]], *names: str) -> list[EntitySpec]:
    """Declare an entity for each form of a key; {0} and {1} in the forms stand for fields with these names."""
    table = Table("t", pk="PK", sk="SK")
    for number, form in enumerate(forms):
        text = "".join(form)
        kinds: dict[str, Any] = {name: str for position, name in enumerate(names) if f"{{{position}" in text}
        if "{kind}" in text:
            kinds["kind"] = Literal["P", "Q"]
        parts = [part.replace("{0", "{" + names[0]).replace("{1", "{" + names[1]) for part in form]
        fields: dict[str, Any] = {name: (kind, ...) for name, kind in kinds.items()}
        table.entity(key=key(*parts))(create_model(f"E{number}", __base__=Entity, **fields))
    return table.entities


_FORMS = st.tuples(
    st.sampled_from(["X", "{0}", "{1}"]),
    st.sampled_from(["X", "{0}", "{1}", "X#{1}", "{0}#{1}", "{1}#{0}", "{1}#{1}", "{kind}#{1}", "{0:quote}#{1}"]),
)
_KEYS = st.tuples(st.sampled_from(["X", "a"]), st.sampled_from(["X", "a", "X#a", "a#b", "a#a", "P#a", "X#X"]))


def _readings(requested: list[EntitySpec], declared: list[EntitySpec], items: list[dict[str, Any]]) -> list[str | None]:
    matcher = EntityMatcher(requested, declared)
    return [None if (reader := matcher.reader(item)) is None else reader.spec.name for item in items]


@settings(deadline=None, max_examples=examples(150), suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(_FORMS, min_size=2, max_size=5),
    st.lists(_KEYS, min_size=4, max_size=8),
    st.randoms(use_true_random=False),
    st.sets(st.integers(0, 4), min_size=1),
)
def test_the_entity_of_an_item_depends_on_neither_declaration_order_nor_field_names(
    forms: list[tuple[str, str]], keys: list[tuple[str, str]], random: Random, numbers: set[int]
) -> None:
    specs, renamed = _declared(forms, "first", "second"), _declared(forms, "zebra", "apple")
    items = [{"PK": {"S": pk_text}, "SK": {"S": sk}} for pk_text, sk in keys]
    selected = [number for number in numbers if number < len(specs)] or [0]
    expected = _readings([specs[index] for index in selected], specs, items)
    assert expected == _readings([renamed[index] for index in selected], renamed, items)
    shuffled, chosen = list(specs), [specs[index] for index in selected]
    random.shuffle(shuffled)
    random.shuffle(chosen)
    assert expected == _readings(chosen, shuffled, items)


def test_a_field_repeated_in_a_key_has_one_value() -> None:
    table = Table("people", pk="PK", sk="SK")

    @table.entity(key=key("USER#{user_id}", "USER#{friend_id}"))
    class Friend(Entity):
        user_id: str
        friend_id: str

    @table.entity(key=key("USER#{name}", "USER#{name}"))
    class Person(Entity):
        name: str

    @table.entity(key=key("LOG#{at:utc_s}", "LOG#{at:utc_ms}"))
    class Log(Entity):
        at: datetime

    @table.entity(key=key("LOG#{where}", "LOG#{what}"))
    class Named(Entity):
        where: str
        what: str

    specs = table.entities
    for order in (specs, specs[::-1]):
        matcher = EntityMatcher(order, [])

        def entity(pk: str, sk: str, matcher: EntityMatcher = matcher) -> str:
            reader = matcher.reader({"PK": {"S": pk}, "SK": {"S": sk}})
            assert reader is not None
            return reader.spec.name

        assert entity("USER#a", "USER#a") == "Person"
        assert entity("USER#a", "USER#b") == "Friend"
        assert entity("LOG#2026-01-02T03:04:05Z", "LOG#2026-01-02T03:04:05.006Z") == "Log"
        assert entity("LOG#2026-01-02T03:04:05Z", "LOG#2026-01-02T03:04:09.006Z") == "Named"


def test_an_enumerated_field_is_more_specific_than_any_text() -> None:
    table = Table("mixed", pk="PK", sk="SK")

    @table.entity(key=key("A#{owner}", "{name}#{number}"))
    class Loose(Entity):
        owner: str
        name: str
        number: int

    @table.entity(key=key("A#{owner}", "{kind}#{number}"))
    class Strict(Entity):
        owner: str
        kind: Literal["bill", "offer"]
        number: int

    loose, strict = spec_of(Loose), spec_of(Strict)
    bill = {"PK": {"S": "A#a"}, "SK": {"S": "bill#1"}}
    assert _readings([loose], [loose, strict], [bill]) == [None]
    assert _readings([loose, strict], [loose, strict], [bill]) == ["Strict"]
    assert _readings([strict, loose], [strict, loose], [{**bill, "SK": {"S": "note#1"}}]) == ["Loose"]


def test_entities_with_equal_key_templates_are_read_as_the_requested_one() -> None:
    table = Table("twins", pk="PK")

    @table.entity(key=key("T#{left}"))
    class Left(Entity):
        left: str

    @table.entity(key=key("T#{right}"))
    class Right(Entity):
        right: str

    specs, item = [spec_of(Left), spec_of(Right)], {"PK": {"S": "T#1"}}
    assert _readings(specs[:1], specs, [item]) == ["Left"]
    assert _readings(specs[1:], specs, [item]) == ["Right"]
    assert _readings(specs, specs, [item]) == _readings(specs[::-1], specs[::-1], [item]) == ["Left"]


def test_a_discriminator_identifies_by_name_or_by_field_values() -> None:
    table = Table("zoo", pk="id", discriminator="type")

    @table.entity()
    class Cat(Entity):
        id: str
        lives: int = 9

    @table.entity()
    class Dog(Entity):
        id: str
        type: Literal["hound", "poodle"] = "hound"

    class Plumage(Enum):
        RED = "robin"
        BLUE = "jay"

    @table.entity()
    class Bird(Entity):
        id: str
        type: Plumage

    @table.scan(Bird, Cat, Dog)
    def animals() -> KeyCondition:
        return everything()

    @table.put(Bird)
    def add_bird(new: Bird) -> ItemWrite:
        return item(new)

    @table.put(Cat)
    def add_cat(new: Cat) -> ItemWrite:
        return item(new)

    @table.put(Dog)
    def add_dog(new: Dog) -> ItemWrite:
        return item(new)

    with keyplan.connect(":memory:") as db:
        db.run(add_bird(Bird(id="b", type=Plumage.BLUE)))
        db.run(add_cat(Cat(id="c")))
        db.run(add_dog(Dog(id="d", type="poodle")))
        db.transport.call("PutItem", {"TableName": "zoo", "Item": {"id": {"S": "x"}, "type": {"S": "Fish"}}})
        actual_animals = sorted(db.all(animals()), key=lambda model: model.id)
        assert actual_animals == [Bird(id="b", type=Plumage.BLUE), Cat(id="c"), Dog(id="d", type="poodle")]
        stored = db.transport.call("GetItem", {"TableName": "zoo", "Key": {"id": {"S": "c"}}})["Item"]
        assert stored["type"] == {"S": "Cat"}


def test_sentinels_in_a_table_without_templates_are_not_items() -> None:
    table = Table("accounts", pk="id")

    @table.entity(unique=(unique("email"), unique("realm", "name")))
    class Account(Entity):
        id: str
        email: str
        realm: str = "r"
        name: str = "n"

    @table.create(Account)
    def sign_up(new: Account) -> ItemWrite:
        return item(new)

    @table.get(Account)
    def account(id: str) -> ItemKey:
        return item(id=id)

    @table.scan(Account)
    def accounts() -> KeyCondition:
        return everything()

    @table.query(Account)
    def just(id: str) -> KeyCondition:
        return pk(id=id)

    with keyplan.connect(":memory:") as db:
        new = Account(id="1", email="a@b.c", name="a#b")
        db.run(sign_up(new))
        assert db.all(accounts()) == [new]
        stored = db.transport.call("Scan", {"TableName": "accounts"})["Items"]
        keys = sorted(item["id"]["S"] for item in stored)
        assert keys == ["1", "UNIQUE#Account#email#a@b.c", "UNIQUE#Account#realm#name#r#a#b"]
        assert db.run(account("UNIQUE#Account#email#a@b.c")) is None
        assert len(db.run(just("UNIQUE#Account#email#a@b.c"))) == 0


def test_a_required_nullable_field_is_read_from_a_missing_attribute(engine: Engine) -> None:
    class Part(BaseModel):
        label: str | None
        marks: set[str]

    table = Table("parts", pk="id")

    @table.entity()
    class Whole(Entity):
        id: str
        note: str | None
        seen: set[str] | None
        parts: list[Part]

    @table.create(Whole)
    def make(new: Whole) -> ItemWrite:
        return item(new)

    @table.get(Whole)
    def one(id: str) -> ItemKey:
        return item(id=id)

    complete = Whole(id="1", note=None, seen=None, parts=[Part(label=None, marks=set())])
    with keyplan.connect(engine=engine) as db:
        db.run(make(complete))
        assert db.run(one("1")) == complete


def test_an_upsert_that_could_create_an_unreadable_item_is_rejected(engine: Engine) -> None:
    table = Table("named", pk="id")

    @table.entity()
    class Named(Entity):
        id: str
        name: str
        count: int = 0

    @table.update(Named, upsert=True)
    def count(id: str) -> ItemWrite:
        return item(id=id).add(count=1)

    with keyplan.connect(engine=engine) as db, pytest.raises(DesignError, match="without its required name") as refused:
        db.run(count("1"))
    assert refused.value.code == "KP607"
