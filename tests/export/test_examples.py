"""Example arguments: of the field that a parameter goes into, and such as its declaration allows."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, NewType

import pytest
from pydantic import Field

from keyplan.cost.prices import PriceBook
from keyplan.design import (
    Change,
    Cond,
    Entity,
    F,
    Key,
    Table,
    WriteCall,
    each,
    key,
    key_of,
    pk,
    put,
    set_,
    transaction,
    where,
)
from keyplan.export.examples import arguments_of
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
def store(part: Part) -> Change:
    return put(part)


@parts.update(Part)
def rename(code: Code, number: int, name: str, slug: str) -> Change:
    return key_of(code=code, box=number) & set_(label=name, slug=slug)


@parts.query(Part)
def boxes(code: str, odd: str) -> Cond:
    return pk(code=code) & where(F.odd == odd)


@parts.batch_delete(Part)
def drop(codes: list[Code], box: int) -> Change:
    return key_of(code=each(codes), box=box)


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
def test_a_parameter_is_like_the_field_that_it_goes_into(pattern: Any, expected: dict[str, Any]) -> None:
    assert arguments_of(pattern) == expected


def test_the_fields_of_an_item_are_such_as_it_declares() -> None:
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


def test_a_transaction_gives_what_its_patterns_take() -> None:
    arguments = arguments_of(move)
    assert (arguments["old"], arguments["box"], arguments["part"].code) == ("AA-000", 10, "AA-000")


@pytest.mark.parametrize("pattern", [store, rename, boxes, drop, move])
def test_every_request_is_shown(pattern: Any, book: PriceBook) -> None:
    assert "with example arguments" in explain(pattern, book)


def test_a_pattern_that_is_not_understood_leaves_the_name() -> None:
    words = Table("words", pk="word")

    @words.entity()
    class Word(Entity):
        word: Annotated[str, Field(pattern=r"\bx")]

    @words.get(Word)
    def one(word: str) -> Key:
        return key_of(word=word)

    assert arguments_of(one) == {"word": "<word>"}
