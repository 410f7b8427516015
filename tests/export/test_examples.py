"""Example arguments: of the field that a parameter goes into, and such as its declaration allows."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, StrEnum
from types import SimpleNamespace
from typing import Annotated, Any, Literal, NewType, get_type_hints
from uuid import UUID

import pytest
from pydantic import BaseModel, Field, TypeAdapter

from keyplan import (
    Entity,
    F,
    ItemKey,
    ItemWrite,
    KeyCondition,
    Table,
    WriteCall,
    connect,
    each,
    item,
    key,
    pk,
    transaction,
)
from keyplan.cost.prices import PriceBook
from keyplan.engine.engine import Engine
from keyplan.errors import TransactionCanceledError
from keyplan.export.examples import ExampleRequest, arguments_of, example, example_model, example_request
from keyplan.export.explain import explain

Code = NewType("Code", str)
parts = Table("parts", pk="PK", sk="SK")


@parts.entity(key=key("PART#{code}", "BOX#{box:03d}"))
class Part(Entity):
    code: Annotated[Code, Field(pattern=r"^[A-Z]{2}-\d{3}$")]
    box: Annotated[int, Field(ge=10, le=20)]
    label: Annotated[str, Field(min_length=8)]
    short: Annotated[str, Field(max_length=4)]
    made: Annotated[date, Field(examples=["not a day", "2026-03-01"])]
    tags: list[Annotated[str, Field(pattern="^#[0-9]$")]]
    slug: Annotated[str, Field(pattern="^[a-z]+$", min_length=5)] = "plain"
    odd: Annotated[str, Field(pattern=r"\bx\b", examples=["a x b"])] = "x"


@parts.create(Part)
def store(part: Part) -> ItemWrite:
    return item(part)


@parts.update(Part)
def rename(code: Code, number: int, name: str, slug: str) -> ItemWrite:
    return item(code=code, box=number).set(label=name, slug=slug)


@parts.query(Part)
def boxes(code: str, odd: str) -> KeyCondition:
    return pk(code=code).filter(F.odd == odd)


@parts.batch_delete(Part)
def drop(codes: list[Code], box: int) -> ItemWrite:
    return item(code=each(codes), box=box)


@transaction()
def move(part: Part, old: Code, box: int) -> list[WriteCall[Part]]:
    return [store(part), rename(old, box, "a new name", "slugs")]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (rename, {"code": "AA-000", "number": 10, "name": "<name>>>", "slug": "aaaaa"}),
        (boxes, {"code": "AA-000", "odd": "a x b"}),
        (drop, {"codes": ["AA-000"], "box": 10}),
    ],
)
def test_a_parameter_has_an_example_of_its_field(pattern: Any, expected: dict[str, Any]) -> None:
    assert arguments_of(pattern) == expected


def test_the_fields_of_an_example_item_follow_their_declarations() -> None:
    part = arguments_of(store)["part"]
    assert part.model_dump() == {
        "code": "AA-000",
        "box": 10,
        "label": "<label>>",
        "short": "<sho",
        "slug": "plain",
        "odd": "x",
        "made": date(2026, 3, 1),
        "tags": ["#0"],
    }
    Part.model_validate(part.model_dump())


def test_a_transaction_passes_arguments_to_its_patterns() -> None:
    arguments = arguments_of(move)
    assert (arguments["old"], arguments["box"], arguments["part"].code) == ("AA-000", 10, "AA-000")


@pytest.mark.parametrize("pattern", [store, rename, boxes, drop, move])
def test_every_request_is_shown(pattern: Any, book: PriceBook) -> None:
    assert "with example arguments" in explain(pattern, book)


def test_an_unsupported_regex_gives_the_name_as_example() -> None:
    words = Table("words", pk="word")

    @words.entity()
    class Word(Entity):
        word: Annotated[str, Field(pattern=r"\bx")]

    @words.get(Word)
    def one(word: str) -> ItemKey:
        return item(word=word)

    assert arguments_of(one) == {"word": "<word>"}


class Colour(Enum):
    """Of something."""

    RED = "red"
    BLUE = "blue"


class Nothing(Enum):
    """Without members."""


class Leaf(BaseModel):
    """A part of a tree."""

    size: int


class Tree(BaseModel):
    """A model that is part of itself."""

    name: str
    left: Tree | None
    children: list[Tree]
    leaves: list[Leaf]
    sizes: list[int] = Field(default_factory=lambda: [7])
    depth: int = 3


@dataclass
class Pair:
    """A class with hints."""

    size: Annotated[int, Field(ge=5)]
    label: str


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (str, "<x>"),
        (int | None, 1),
        (bool, True),
        (float, 1.5),
        (Decimal, Decimal("1.5")),
        (UUID, UUID("00000000-0000-7000-8000-000000000001")),
        (datetime, datetime(2026, 1, 31, 12, tzinfo=UTC)),
        (date, date(2026, 1, 31)),
        (time, time(12)),
        (timedelta, timedelta(hours=1)),
        (bytes, b"bytes"),
        (Literal["q", "r"], "q"),
        (Colour, Colour.RED),
        (Nothing, "<x>"),
        (list, ["<x>"]),
        (list[int], [1]),
        (set[str], {"<x>"}),
        (frozenset[int], frozenset({1})),
        (tuple[int, ...], (1,)),
        (tuple[int, str], (1, "<x>")),
        (tuple[()], ()),
        (dict, {"x": "<x>"}),
        (dict[str, int], {"x": 1}),
        (Mapping[str, bytes], {"x": b"bytes"}),
        (Leaf, Leaf(size=1)),
        (list[Leaf], [Leaf(size=1)]),
        (Pair, SimpleNamespace(size=5, label="<label>")),
        (object, "<x>"),
        (Any, "<x>"),
        (Annotated[int, Field(ge=5)], 5),
        (Annotated[int, Field(gt=5)], 6),
        (Annotated[int, Field(ge=0, le=9)], 1),
        (Annotated[int, Field(le=0)], 0),
        (Annotated[int, Field(lt=0)], -1),
        (Annotated[str, Field(min_length=5)], "<x>>>"),
        (Annotated[str, Field(max_length=2)], "<x"),
        (Annotated[str, Field(pattern="^a+$")], "a"),
        (Annotated[str, Field(pattern="^a+$", min_length=3)], "aaa"),
        (Annotated[str, Field(pattern=r"\bx")], "<x>"),
    ],
    ids=str,
)  # fmt: skip
def test_an_example_has_its_type_and_limits(annotation: Any, expected: Any) -> None:
    actual_example = example(annotation, "x")
    assert (type(actual_example), actual_example) == (type(expected), expected)


def test_a_recursive_model_ends() -> None:
    assert dict(example_model(Tree)) == {
        "name": "<name>",
        "left": "<left>",
        "children": [],
        "leaves": [Leaf(size=1)],
        "sizes": [7],
        "depth": 3,
    }


@parts.query(Part)
def labelled(code: Code, labels: list[str], other: list[int], dates: list[date]) -> KeyCondition:
    return pk(code=code).filter((F.label == labels) | (F.label == other) | (F.made == dates))


@transaction()
def store_again(part: Part, same: Part) -> list[WriteCall[Part]]:
    return [store(part), rename(same.code, 12, same.label, "slugs")]


def test_fields_of_an_object_parameter_do_not_affect_the_parameter() -> None:
    assert set(arguments_of(store_again)["same"].model_dump()) == set(arguments_of(store)["part"].model_dump())


class Scale(StrEnum):
    SMALL = "small"
    LARGE = "large"


class Address(BaseModel):
    """A part of a person."""

    street: str


@parts.entity(key=key("PERSON#{email}", "{scale}#{number}#{count}"))
class Person(Entity):
    email: Annotated[str, Field(examples=["ada@example.com", "bob@example.com"])]
    scale: Scale
    number: Annotated[int, Field(ge=5, le=10, multiple_of=5)]
    count: int
    price: Decimal
    ratio: Annotated[float, Field(gt=2.5, lt=2.75)]
    code: Annotated[str, Field(pattern="^[A-Z]{3}$")]
    nick: str
    kind: Literal["a", "b"]
    token: UUID
    joined: date
    seen: datetime
    awake: time
    pause: timedelta
    raw: bytes
    active: bool
    address: Address


@parts.create(Person)
def add_person(person: Person) -> ItemWrite:
    return item(person)


@parts.update(Person)
def name_person(email: str, scale: Scale, nick: str) -> ItemWrite:
    return item(email=email, scale=scale, number=5, count=1).set(nick=nick)


@transaction()
def add_both(first: Person, others: list[Person], last: Person) -> list[WriteCall[Any]]:
    return [add_person(first), add_person(each(others)), add_person(last)]


@transaction()
def exchange(old: str, new: str, nick: str, last: str) -> list[WriteCall[Any]]:
    return [
        name_person(old, Scale.SMALL, nick),
        name_person(new, Scale.SMALL, nick),
        name_person(last, Scale.LARGE, nick),
    ]


def test_parameters_of_one_model_differ_in_every_field_that_can_differ() -> None:
    arguments = arguments_of(add_both)
    first, (second,), third = arguments["first"], arguments["others"], arguments["last"]
    assert dict(second) == {
        "email": "bob@example.com",
        "scale": Scale.LARGE,
        "number": 10,
        "count": 2,
        "price": Decimal("2.5"),
        "ratio": first.ratio,
        "code": second.code,
        "nick": "<others.nick>",
        "kind": "b",
        "token": UUID("00000000-0000-7000-8000-000000000002"),
        "joined": date(2026, 2, 1),
        "seen": datetime(2026, 2, 1, 12, tzinfo=UTC),
        "awake": time(13),
        "pause": timedelta(hours=2),
        "raw": b"bytes2",
        "active": False,
        "address": Address(street="<others.street>"),
    }
    assert (first.nick, first.address, third.nick) == ("<nick>", Address(street="<street>"), "<last.nick>")
    assert len({first.code, second.code, third.code}) == 3
    assert len({first.joined, second.joined, third.joined}) == 3
    assert (first.number, third.count) == (5, 3)
    for person in (first, second, third):
        Person.model_validate(person.model_dump())


def test_parameters_of_one_field_use_its_examples_in_turn() -> None:
    arguments = arguments_of(exchange)
    assert [arguments[name] for name in ("old", "new", "last")] == [
        "ada@example.com", "bob@example.com", "ada@example.com",
    ]  # fmt: skip
    assert arguments["nick"] == "<nick>"


@pytest.mark.parametrize("pattern", [add_both, exchange])
def test_a_transaction_writes_each_item_once(pattern: Any) -> None:
    with Engine.memory() as engine:
        connect(engine=engine).create_tables(parts)
        request = example_request(pattern)
        assert isinstance(request, ExampleRequest)
        with suppress(TransactionCanceledError):
            engine.call(request.operation, request.request)


def test_a_list_has_examples_of_the_field_only_if_its_elements_belong_to_it() -> None:
    arguments = arguments_of(labelled)
    assert (arguments["other"], arguments["labels"]) == ([1], ["<labels>"])
    assert arguments["dates"] == [date(2026, 3, 1)]


class Limited(BaseModel):
    five: Annotated[int, Field(multiple_of=5)]
    seven: Annotated[int, Field(multiple_of=7, ge=10)]
    many: Annotated[int, Field(gt=100, lt=103)]
    ratio: Annotated[float, Field(gt=2.5, lt=2.75)]
    low: Annotated[float, Field(ge=0, le=0.5)]
    below: Annotated[float, Field(lt=0)]
    price: Annotated[Decimal, Field(gt=0, le=Decimal("0.99"), multiple_of=Decimal("0.01"))]
    long: Annotated[int, Field(ge=10**37)]
    any: Annotated[float, Field(le=float("inf"))]
    maybe: Annotated[int, Field(multiple_of=4)] | None
    tags: Annotated[list[str], Field(min_length=2)]
    pair: Annotated[tuple[int, ...], Field(min_length=3)]
    bag: Annotated[set[int], Field(min_length=3)]
    words: Annotated[frozenset[str], Field(min_length=3)]
    names: Annotated[dict[str, Annotated[int, Field(ge=5)]], Field(min_length=2)]
    raw: Annotated[bytes, Field(min_length=8)]
    no: Annotated[set[bool], Field(min_length=0)]


def test_numbers_and_collections_are_within_their_limits() -> None:
    new_example = example_model(Limited)
    assert Limited.model_validate(new_example.model_dump()) == new_example


@pytest.mark.parametrize("name", Limited.model_fields)
def test_a_parameter_of_a_limited_type_is_within_its_limits(name: str) -> None:
    kind = get_type_hints(Limited, include_extras=True)[name]
    TypeAdapter(kind).validate_python(example(kind, name))


def test_unsatisfiable_limits_leave_the_default_example() -> None:
    assert example(Annotated[int, Field(gt=1, lt=2)], "n") == 1
