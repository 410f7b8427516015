"""What patterns send, with example arguments: requests that the engine takes, or the reason why there is none."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import Annotated, Any

import pytest
from pydantic import Field
from tests.export.designs import CREATABLE, loaded

from keyplan import Engine, Entity, ItemKey, ItemWrite, KeyCondition, Table, connect, item, key, pk, transaction
from keyplan.design.conditions.conditions import F
from keyplan.design.declaring.patterns import Pattern, WriteCall
from keyplan.errors import ConditionalCheckFailedError, TransactionCanceledError
from keyplan.export.examples import ExampleRequest, example_item, example_request

club = Table("club", pk="PK", sk="SK")


@club.entity(key=key("MEMBER#{member}", "PROFILE"), unique=["email"])
class Member(Entity):
    member: str
    email: str
    points: int = 0


@club.entity(key=key("MEMBER#{member}", "CARD#{card:04d}"))
class Card(Entity):
    member: str
    card: int
    text: str = ""


@club.get(Member)
def member_of(member: str) -> ItemKey:
    return item(member=member)


@club.create(Member)
def join(member: Member) -> ItemWrite:
    return item(member)


@club.update(Member)
def move(member: str, email: str) -> ItemWrite:
    return item(member=member).set(email=email)


@club.update(Member)
def score(member: str, points: int) -> ItemWrite:
    return item(member=member).set(points=points)


@club.check(Member)
def is_strong(member: str) -> ItemWrite:
    return item(member=member).condition(F.points > 10)


@club.put(Card)
def write(card: Card) -> ItemWrite:
    return item(card)


@transaction()
def join_with_card(member: Member, card: Card) -> list[WriteCall[Any]]:
    return [join(member), write(card)]


@transaction()
def move_with_card(member: str, email: str, card: Card) -> list[WriteCall[Any]]:
    return [move(member, email), write(card)]


log = Table("log", pk="owner", sk="day")


@log.entity()
class Entry(Entity):
    owner: str
    day: str


@log.query(Entry)
def entries(owner: str, since: str, before: str) -> KeyCondition:
    return pk(owner=owner).sk.between(day=(since, before))


@club.query(Card)
def of_nobody(card: int) -> KeyCondition:
    return pk(card=card)


def request_of(pattern: Pattern[..., Any], prefix: str = "") -> ExampleRequest:
    example = example_request(pattern, prefix)
    assert isinstance(example, ExampleRequest), example
    return example


def test_a_read_is_one_request() -> None:
    key = {"PK": {"S": "MEMBER#<member>"}, "SK": {"S": "PROFILE"}}
    assert example_request(member_of) == ExampleRequest("GetItem", {"TableName": "club", "Key": key})


def test_a_prefix_is_added_to_every_table_of_a_request() -> None:
    example = request_of(member_of, "dev-")
    assert example.request["TableName"] == "dev-club"
    example = request_of(join_with_card, "dev-")
    assert {members["TableName"] for action in example.request["TransactItems"] for members in action.values()} == {
        "dev-club"
    }


def test_a_new_item_with_a_unique_value_is_written_with_its_sentinel() -> None:
    example = request_of(join)
    assert example.operation == "TransactWriteItems"
    assert [list(action) for action in example.request["TransactItems"]] == [["Put"], ["Put"]]


def test_a_write_that_reads_first_is_not_a_single_request() -> None:
    expected = "it reads the item first: sentinels of unique values (email) depend on the values read"
    assert example_request(move) == example_request(move_with_card) == expected


def test_a_write_without_unique_values_is_one_request() -> None:
    example = request_of(score)
    assert example.operation == "UpdateItem"


def test_range_arguments_ascend_even_if_parameter_names_do_not() -> None:
    example = request_of(entries)
    assert example.request["KeyConditionExpression"] == "#owner = :owner AND #day BETWEEN :day_from AND :day_to"
    values = example.request["ExpressionAttributeValues"]
    assert (values[":day_from"], values[":day_to"]) == ({"S": "<before>"}, {"S": "<since>"})


def test_a_check_is_sent_as_a_transaction() -> None:
    example = request_of(is_strong)
    assert example.operation == "TransactWriteItems"
    assert [list(action) for action in example.request["TransactItems"]] == [["ConditionCheck"]]


def test_an_invalid_pattern_is_explained_by_its_fault() -> None:
    example = example_request(of_nobody)
    assert isinstance(example, str)
    assert example.startswith("it has a fault: KP301, ")


def test_an_example_item_contains_every_stored_field() -> None:
    assert example_item(club.entities[1]) == {
        "member": {"S": "<member>"},
        "card": {"N": "1"},
        "text": {"S": ""},
        "PK": {"S": "MEMBER#<member>"},
        "SK": {"S": "CARD#0001"},
    }


seats = Table("seats", pk="PK", ttl="gone")


@seats.entity(key=key("SEAT#{seat}"), version="version")
class Seat(Entity):
    seat: str
    gone: datetime | None = None
    version: int = 0


@seats.update(Seat)
def hold(seat: str, ends: datetime) -> ItemWrite:
    return item(seat=seat).set(gone=ends)


@club.batch_put(Member)
def join_many(members: list[Member]) -> ItemWrite:
    return item(members)


def test_example_items_have_their_first_version_and_requests_an_example_time() -> None:
    item = example_item(seats.entities[0])
    assert not isinstance(item, str)
    assert item["version"] == {"N": "1"}
    assert request_of(hold).request["ExpressionAttributeValues"][":now"] == {"N": "1769860800"}


def test_unique_values_are_not_written_in_batches() -> None:
    example = example_request(join_many)
    assert isinstance(example, str)
    assert example.startswith("it has a fault: KP605, ")


def test_an_entity_without_a_valid_example_is_reported() -> None:
    shapes = Table("shapes", pk="PK")

    @shapes.entity(key=key("{number:04d}"))
    class Shape(Entity):
        number: Annotated[int, Field(ge=10_000)]

    actual = example_item(shapes.entities[0])
    assert isinstance(actual, str)
    assert actual.startswith("no valid example of Shape: ")


@pytest.mark.slow  # exports whole designs
@pytest.mark.parametrize("name", CREATABLE)
def test_the_service_accepts_every_request(name: str) -> None:
    """It may find a condition untrue, and nothing else to object to."""
    design = loaded(name)
    with Engine.open(":memory:") as engine:
        connect(engine=engine).create_tables(*design.tables)
        for pattern in design.patterns:
            example = example_request(pattern)
            if isinstance(example, str):
                continue
            with suppress(ConditionalCheckFailedError, TransactionCanceledError):
                engine.call(example.operation, example.request)
