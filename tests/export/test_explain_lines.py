"""Single lines of explained patterns, and when each is printed."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import Field

from keyplan import (
    GSI,
    LSI,
    UNSET,
    Entity,
    F,
    ItemKey,
    ItemWrite,
    KeyCondition,
    Table,
    Unset,
    each,
    every_shard,
    item,
    key,
    pk,
    transaction,
)
from keyplan.cost.prices import PriceBook
from keyplan.design.declaring.patterns import Pattern, WriteCall
from keyplan.export.explain import explain

club = Table(
    "club",
    pk="PK",
    sk="SK",
    indexes=[LSI("by_points", sk="points", project="keys"), GSI("spread", pk="SpreadPK", sk="SpreadSK")],
)
log = Table("log", pk="owner", indexes=[GSI("by_mark", pk="mark")])


@club.entity(key=key("MEMBER#{member}", "PROFILE"), unique=["email"])
class Member(Entity):
    member: str
    email: str
    points: int = 0
    name: str = ""


@club.entity(
    key=key("MEMBER#{member}", "CARD#{card:04d}"),
    indexes={"spread": key("CARDS#{member:shard(4)}", "{card:04d}")},
    version="version",
)
class Card(Entity):
    member: str
    card: Annotated[int, Field(ge=0, le=9_999)]
    version: int = 0
    tags: list[str]


@log.entity()
class Line(Entity):
    owner: str
    mark: bytes
    words: list[str]


@club.create(Member)
def join(member: Member) -> ItemWrite:
    return item(member)


@club.delete(Member)
def leave(member: str) -> ItemWrite:
    return item(member=member)


@club.update(Member)
def rename(member: str, name: str) -> ItemWrite:
    return item(member=member).set(name=name)


@club.update(Member)
def edit(member: str, name: str | Unset = UNSET) -> ItemWrite:
    return item(member=member).patch(name=name)


@club.update(Card)
def tag(member: str, card: int, tags: list[str], was: int) -> ItemWrite:
    return item(member=member, card=card).set(tags=tags).if_version(was)


@club.update(Member)
def spend(member: str, points: int) -> ItemWrite:
    return item(member=member).subtract(points=points).condition(F.points >= points).assuming(name="Ada")


@club.update(Member)
def clear(member: str) -> ItemWrite:
    return item(member=member).set(points=0).condition((F.points < 0) | (F.points > 100))


@log.create(Line)
def keep_first(line: Line) -> ItemWrite:
    return item(line).replace_if(F.mark == b"-")


@log.put(Line)
def keep_newer(line: Line) -> ItemWrite:
    return item(line).condition(F.mark < line.mark)


@club.get(Card)
def card(member: str, card: int) -> ItemKey:
    return item(member=member, card=card)


@club.batch_get(Card)
def cards(member: str, numbers: list[int]) -> ItemKey:
    return item(member=member, card=each(numbers))


@club.batch_delete(Card)
def drop(member: str, numbers: list[int]) -> ItemWrite:
    return item(member=member, card=each(numbers))


@club.query(Card)
def of_members(members: list[str]) -> KeyCondition:
    return pk(member=each(members))


@club.query(Card, index="spread")
def all_cards() -> KeyCondition:
    return pk(member=every_shard())


@club.query(Member, index="by_points")
def by_points(member: str) -> KeyCondition:
    return pk(member=member)


@log.put(Line)
def keep(line: Line) -> ItemWrite:
    return item(line)


@log.query(Line, index="by_mark")
def marked(mark: bytes) -> KeyCondition:
    return pk(mark=mark).filter(F.words.contains("x"))


@transaction()
def join_and_keep(member: Member, line: Line) -> list[WriteCall[Any]]:
    return [join(member), keep(line)]


@transaction()
def spend_and_keep(member: str, line: Line) -> list[WriteCall[Any]]:
    return [spend(member, 5), keep(line)]


@transaction()
def keep_two(line: Line, other: Line) -> list[WriteCall[Any]]:
    return [keep(line), keep(other)]


THERE, MAY = "fails unless the item exists", "succeeds whether or not the item exists"


@pytest.mark.parametrize(
    ("pattern", "lines"),
    [
        (join, ["puts an item for each unique value (email) in the same transaction", "fails if the item exists"]),
        (
            leave,
            [
                (
                    "reads the item first: it changes sentinels of unique values in the same transaction, on condition"
                    " of the values read"
                ),
                MAY,
            ],
        ),
        (rename, [THERE]),
        (edit, ["changes name only if the call passes a value", THERE]),
        (tag, [THERE, "fails unless the version is the expected one"]),
        (spend, [f"{THERE} and points >= {{points}} and name = 'Ada'"]),
        (clear, [f"{THERE} and (points < 0 or points > 100)"]),
        (keep_first, ["fails if the item exists, unless mark = b'-'"]),
        (keep_newer, ["fails unless mark < {line.mark}"]),
        (card, []),
        (cards, ["one key for each card, up to 100 in a request"]),
        (
            drop,
            [
                "one delete for each card, up to 25 in a request",
                "written separately, without conditions: some can succeed while others fail",
            ],
        ),
        (of_members, ["one request for each member, merged in order of the sort key"]),
        (all_cards, ["one request for each shard of member, merged in order of the sort key"]),
        (
            by_points,
            ["fetches each item from the table, one read each: by_points does not project email, name"],
        ),
        (marked, ["filters after reading: filtered items are read and billed"]),
        (keep, [MAY]),
        (
            spend_and_keep,
            [
                f"spend: UpdateItem on club, {THERE} and points >= {{points}} and name = 'Ada'",
                f"keep: PutItem on log, {MAY}",
            ],
        ),
        (join_and_keep, ["join: PutItem on club, fails if the item exists", f"keep: PutItem on log, {MAY}"]),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_the_plan_describes_the_read_or_write(pattern: Pattern[..., Any], lines: list[str], book: PriceBook) -> None:
    _, _, after = explain(pattern, book).partition("\nPlan\n")
    assert [line.strip() for line in after.partition("\n\n")[0].splitlines()] == lines


@pytest.mark.parametrize(
    ("pattern", "head"),
    [
        (card, "card: GetItem on table club (Card)"),
        (marked, "marked: Query on index by_mark of table log (Line)"),
        (join_and_keep, "join_and_keep: TransactWriteItems on tables club, log (Member, Line)"),
        (keep_two, "keep_two: TransactWriteItems on table log (Line)"),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_the_heading_names_operation_and_table(pattern: Pattern[..., Any], head: str, book: PriceBook) -> None:
    assert explain(pattern, book).splitlines()[0] == head


def test_binary_is_shown_in_python_notation(book: PriceBook) -> None:
    text = explain(keep, book)
    assert '"B": "b\'\'"' in text or "b'" in explain(marked, book)
    assert "\"b'bytes'\"" in explain(marked, book)


shapes = Table("shapes", pk="PK")


@shapes.entity(key=key("{number:04d}"))
class Shape(Entity):
    number: Annotated[int, Field(ge=10_000)]


@shapes.get(Shape)
def shape(number: int) -> ItemKey:
    return item(number=number)


def test_a_request_without_valid_examples_is_not_shown(book: PriceBook) -> None:
    assert "Request\n  not shown: no valid example arguments: " in explain(shape, book)


def test_a_write_with_unique_values_is_shown_and_priced_as_a_transaction(book: PriceBook) -> None:
    text = explain(join, book)
    assert '"TransactItems"' in text
    assert text.count('"Put"') == 2
    text = explain(leave, book)
    assert "Request\n  not shown: it reads the item first: " in text
    assert "5.0 write units (table 4.0, by_points 1.0), 2.0 read units" in text
