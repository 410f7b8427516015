"""What each kind of pattern is granted: the actions that its requests need, where, and in which form."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from keyplan import (
    GSI,
    UNSET,
    Entity,
    F,
    Inserted,
    ItemKey,
    ItemWrite,
    KeyCondition,
    Table,
    Unset,
    each,
    everything,
    item,
    key,
    pk,
    transaction,
)
from keyplan.design.declaring.patterns import Pattern, WriteCall
from keyplan.export.iam import of_checks, of_consumers, of_failures, of_pattern, stores_failures
from keyplan.export.iam_keys import Bindings
from keyplan.streams import checkpoint_table, failure_table

club = Table("club", pk="PK", sk="SK", indexes=[GSI("by_state", pk="state", sk="points")])
logins = Table("logins", pk="PK", ttl="gone")
notes = Table("notes", pk="PK", ttl="gone", stream="NEW_IMAGE")


@club.entity(key=key("MEMBER#{member}", "PROFILE"), unique=["email"])
class Member(Entity):
    member: str
    email: str
    state: str = ""
    points: int = 0
    tags: frozenset[str] = frozenset()


@club.entity(key=key("CARD#{card}", "CARD"), version="version")
class Card(Entity):
    card: str
    text: str | None = None
    marks: frozenset[str] = frozenset()
    version: int = 0


@club.entity(key=key("CHIP#{chip}", "CHIP"))
class Chip(Entity):
    chip: str
    text: str | None = None
    marks: frozenset[str] = frozenset()


@notes.entity(key=key("NOTE#{note}"))
class Note(Entity):
    note: str
    text: str = ""
    gone: datetime | None = None


@logins.entity(key=key("LOGIN#{login}"), unique=["device"])
class Login(Entity):
    login: str
    device: str
    gone: datetime | None = None


@club.get(Member)
def member(member: str) -> ItemKey:
    return item(member=member)


@club.query(Member, index="by_state")
def of_state(state: str) -> KeyCondition:
    return pk(state=state)


@club.scan(Chip)
def chips() -> KeyCondition:
    return everything()


@club.count(Chip)
def how_many(chip: str) -> KeyCondition:
    return pk(chip=chip).filter(F.text == "x")


@club.count(Member, index="by_state")
def how_many_of(state: str) -> KeyCondition:
    return pk(state=state)


@club.count(Chip)
def never(text: str) -> KeyCondition:
    return pk(text=text)


@club.check(Chip)
def there(chip: str) -> ItemWrite:
    return item(chip=chip).condition(F.text.exists())


@club.batch_delete(Chip)
def drop(chips: list[str]) -> ItemWrite:
    return item(chip=each(chips))


@club.create(Member)
def join(member: Member) -> ItemWrite:
    return item(member)


@club.put(Member)
def keep(member: Member) -> ItemWrite:
    return item(member)


@club.delete(Member)
def leave(member: str) -> ItemWrite:
    return item(member=member)


@club.update(Member)
def move(member: str, email: str) -> ItemWrite:
    return item(member=member).set(email=email)


@club.update(Member)
def patch(member: str, email: str | Unset = UNSET, points: int | Unset = UNSET) -> ItemWrite:
    return item(member=member).patch(email=email, points=points)


@club.update(Member)
def score(member: str, points: int) -> ItemWrite:
    return item(member=member).set(points=points)


@club.update(Chip)
def mark(chip: str, marks: frozenset[str]) -> ItemWrite:
    return item(chip=chip).add_to_set(marks=marks)


@club.update(Chip)
def unmark(chip: str, marks: set[str], text: str) -> ItemWrite:
    return item(chip=chip).remove_from_set(marks=marks).set(text=text)


@club.update(Chip)
def fill(chip: str, text: str) -> ItemWrite:
    return item(chip=chip).set_if_missing(text=text)


@club.update(Chip)
def edit(chip: str, text: str | Unset = UNSET) -> ItemWrite:
    return item(chip=chip).patch(text=text)


@club.update(Card)
def mark_card(card: str, marks: frozenset[str]) -> ItemWrite:
    return item(card=card).add_to_set(marks=marks)


@notes.update(Note)
def write(note: str, text: str) -> ItemWrite:
    return item(note=note).set(text=text)


@notes.update(Note, upsert=True)
def write_anyway(note: str, text: str) -> ItemWrite:
    return item(note=note).set(text=text)


@club.update(Chip, upsert=True)
def make_anyway(chip: str, text: str) -> ItemWrite:
    return item(chip=chip).set(text=text)


@logins.create(Login)
def sign_in(login: Login) -> ItemWrite:
    return item(login)


@logins.create(Login)
def sign_in_again(login: Login) -> ItemWrite:
    return item(login).replace_if(F.device == "lost")


@club.put(Chip)
def put_chip(chip: Chip) -> ItemWrite:
    return item(chip)


@transaction()
def join_with_chip(member: Member, chip: Chip, other: str) -> list[WriteCall[Any]]:
    return [join(member), put_chip(chip), there(other)]


def grant_lines(pattern: Pattern[..., Any]) -> list[str]:
    """Each grant in a line: the action, what is under the table, the partition, the limits."""
    lines = []
    for grant in of_pattern(pattern, Bindings({})):
        limits = [grant.limits.select, *grant.limits.attributes, "enclosed" if grant.limits.enclosed else ""]
        lines.append(
            " ".join(filter(None, [grant.action, grant.subpath, ",".join(grant.leading.texts) or "-", *limits]))
        )
    return lines


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (member, ["GetItem MEMBER#*"]),
        (of_state, ["Query index/by_state *"]),
        (chips, ["Scan -"]),
        (how_many, ["Query CHIP#* COUNT"]),
        (how_many_of, ["Query index/by_state * SPECIFIC_ATTRIBUTES PK SK points state"]),
        (never, ["Query CHIP#*"]),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_read_is_granted_on_its_index_and_a_count_only_with_count_access(
    pattern: Pattern[..., Any], expected: list[str]
) -> None:
    assert grant_lines(pattern) == expected


OF_EMAIL = "UNIQUE#Member#email#* enclosed"


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (there, ["ConditionCheckItem CHIP#*"]),
        (drop, ["BatchWriteItem CHIP#*"]),
        (put_chip, ["PutItem CHIP#*"]),
        (score, ["UpdateItem MEMBER#*"]),
        (mark, ["UpdateItem CHIP#*", "ConditionCheckItem CHIP#*"]),
        (fill, ["UpdateItem CHIP#*", "ConditionCheckItem CHIP#*"]),
        (edit, ["UpdateItem CHIP#*", "ConditionCheckItem CHIP#*"]),
        (unmark, ["UpdateItem CHIP#*"]),
        (mark_card, ["UpdateItem CARD#*"]),
        (write, ["UpdateItem NOTE#*"]),
        (write_anyway, ["UpdateItem NOTE#*", "DeleteItem NOTE#*"]),
        (make_anyway, ["UpdateItem CHIP#*"]),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_write_is_granted_with_its_possible_operations(pattern: Pattern[..., Any], expected: list[str]) -> None:
    assert grant_lines(pattern) == expected


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (join, ["PutItem MEMBER#* enclosed", f"PutItem {OF_EMAIL}"]),
        (keep, ["PutItem MEMBER#* enclosed", "GetItem MEMBER#*", f"PutItem {OF_EMAIL}", f"DeleteItem {OF_EMAIL}"]),
        (leave, ["DeleteItem MEMBER#* enclosed", "GetItem MEMBER#*", f"DeleteItem {OF_EMAIL}"]),
        (move, ["UpdateItem MEMBER#* enclosed", "GetItem MEMBER#*", f"PutItem {OF_EMAIL}", f"DeleteItem {OF_EMAIL}"]),
        (
            patch,
            [
                "UpdateItem MEMBER#*",
                "GetItem MEMBER#*",
                f"PutItem {OF_EMAIL}",
                f"DeleteItem {OF_EMAIL}",
                "ConditionCheckItem MEMBER#*",
            ],
        ),
        (sign_in, ["PutItem LOGIN#* enclosed", "PutItem UNIQUE#Login#device#* enclosed"]),
        (
            sign_in_again,
            [
                "PutItem LOGIN#* enclosed",
                "GetItem LOGIN#*",
                "PutItem UNIQUE#Login#device#* enclosed",
                "DeleteItem UNIQUE#Login#device#* enclosed",
            ],
        ),
        (
            join_with_chip,
            [
                "PutItem MEMBER#* enclosed",
                f"PutItem {OF_EMAIL}",
                "PutItem CHIP#* enclosed",
                "ConditionCheckItem CHIP#*",
            ],
        ),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_unique_values_are_granted_only_in_transactions(pattern: Pattern[..., Any], expected: list[str]) -> None:
    assert grant_lines(pattern) == expected


# Consumers, failures, descriptions.


@notes.on_change(Note, on_failure="later")
def follow(change: Inserted[Note]) -> None: ...


@notes.on_change(Note)
def count(change: Inserted[Note]) -> None: ...


KEPT = ("Query", "PutItem", "UpdateItem", "DeleteItem")
STREAM = [("notes", action, "stream/*", ()) for action in ("DescribeStream", "GetRecords", "GetShardIterator")]


def test_a_runner_may_read_the_stream_and_store_checkpoints() -> None:
    marks = checkpoint_table()
    results = [
        (grant.table, grant.action, grant.subpath, grant.leading.texts) for grant in of_consumers(notes, "dev-", marks)
    ]
    assert results == [
        ("", "ListStreams", "", ()),
        *STREAM,
        (marks.name, "DescribeTable", "", ()),
        *((marks.name, action, "", (f"dev-notes/{name}",)) for name in ("follow", "count") for action in KEPT),
    ]
    without = [
        (grant.table, grant.action, grant.subpath, grant.leading.texts) for grant in of_consumers(notes, "dev-", None)
    ]
    assert without == [("", "ListStreams", "", ()), *STREAM]


def test_only_consumers_with_a_destination_may_store_failures() -> None:
    failures = failure_table()
    results = [(grant.table, grant.action, grant.leading.texts) for grant in of_failures(failures, notes, "")]
    assert results == [(failures.name, "PutItem", ("notes/follow",))]


def test_a_failure_table_is_recognized_by_its_key_and_entity() -> None:
    of_others, of_failure = Table("a", pk="consumer", sk="event_id"), Table("b", pk="PK")

    @of_others.entity()
    class Other(Entity):
        consumer: str
        event_id: str

    @of_failure.entity(key=key("X#{x}"))
    class Failure(Entity):
        x: str

    assert stores_failures(failure_table())
    assert not stores_failures(of_others)
    assert not stores_failures(of_failure)
    assert not stores_failures(notes)


@pytest.mark.parametrize(
    ("table", "actions"), [(notes, ["DescribeTable", "DescribeTimeToLive"]), (club, ["DescribeTable"])]
)
def test_describing_the_expiry_is_allowed_if_it_is_declared(table: Table, actions: list[str]) -> None:
    assert [(grant.action, grant.table) for grant in of_checks(table)] == [(action, table.name) for action in actions]
