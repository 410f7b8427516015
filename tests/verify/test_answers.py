"""Expected answers of read patterns, key texts aligned with templates."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Literal

import pytest

from keyplan import Attribute, Entity, F, KeyCondition, Table, Volume, key, pk
from keyplan.design.declaring.design import Design
from keyplan.design.entities import spec_of
from keyplan.design.parameters import Param
from keyplan.verify import verify
from keyplan.verify.answers import ReadMeaning, meaning_of

things = Table("things", pk="PK", sk="SK")


@things.entity(key=key("OWNER#{owner}", "NOTE#{id}"))
class Note(Entity):
    owner: str
    id: str


@things.entity(key=key("OWNER#{owner}", "TASK#{id}"))
class Task(Entity):
    owner: str
    id: str
    status: Literal["open", "done"] = "open"


@things.entity(key=key("OWNER#{owner}", "LOAN#{id}"))
class Loan(Entity):
    owner: str
    id: str
    state: Annotated[str, Attribute("status")] = "open"


@things.query(Note, Task, Loan)
def with_status(owner: str, status: Literal["open", "done"]) -> KeyCondition:
    return pk(owner=owner).filter(F.status == status)


@things.query(Note, Task, Loan)
def without_status(owner: str) -> KeyCondition:
    return pk(owner=owner).filter(F.status.missing())


@pytest.mark.parametrize(
    ("entity", "is_with", "is_without"),
    [
        (Task(owner="ada", id="1"), True, False),
        (Task(owner="ada", id="1", status="done"), False, False),
        (Note(owner="ada", id="1"), False, True),
        (Loan(owner="ada", id="1"), True, False),
        (Loan(owner="ada", id="1", state="gone"), False, False),
    ],
)
def test_an_entity_without_a_field_is_judged_by_the_attribute(entity: Entity, is_with: bool, is_without: bool) -> None:
    """A filter compares attributes: an item without it does not match, even if another has the value."""
    spec, arguments = spec_of(type(entity)), {"owner": "ada", "status": "open"}
    assert meaning_of(with_status).includes(spec, entity, arguments, 0) is is_with
    assert meaning_of(without_status).includes(spec, entity, arguments, 0) is is_without


table = Table("things", pk="PK", sk="SK")


@table.entity(key=key("OWNER#{owner}", "STATUS#{status:upper}#{at}#{thing}"))
class Thing(Entity):
    owner: str
    status: str
    at: str
    thing: str


def meaning(op: str, low: str, high: str | None = None) -> ReadMeaning:
    @table.query(Thing)
    def asked(owner: str, status: str, first: str, last: str) -> KeyCondition:
        return pk(owner=owner).sk.text(op, low, high)  # type: ignore[arg-type]  # the op is a parameter here

    return meaning_of(asked)


def key_test_rows(read_meaning: ReadMeaning) -> list[tuple[str, str, str]]:
    return [
        (wish.field, wish.op, repr(wish.low) + (f"..{wish.high!r}" if wish.high is not None else ""))
        for wish in read_meaning.key_tests
        if wish.field != "owner"
    ]


@pytest.mark.parametrize(
    ("op", "low", "high", "expected"),
    [
        ("begins_with", "STATUS#", None, []),
        ("begins_with", "STAT", None, []),
        ("=", "STATUS#{status}#", None, [("status", "=", "status")]),
        ("begins_with", "STATUS#{status}#{first}", None, [("status", "=", "status"), ("at", "begins_with", "first")]),
        ("begins_with", "STATUS#{status}#{first}#", None, [("status", "=", "status"), ("at", "=", "first")]),
        ("<", "STATUS#{status}#{last}#", None, [("status", "=", "status"), ("at", "<", "last")]),
        (
            "between", "STATUS#{status}#{first}#", "STATUS#{status}#{last}#",
            [("status", "=", "status"), ("at", "between", "first..last")],
        ),
        ("begins_with", "STATUS#OPEN#{first}", None, [("status", "reads", "'OPEN'"), ("at", "begins_with", "first")]),
    ],
)  # fmt: skip
def test_placeholders_are_compared_as_their_fields(
    op: str, low: str, high: str | None, expected: list[tuple[str, str, str]]
) -> None:
    filter_meaning = meaning(op, low, high)
    assert key_test_rows(filter_meaning) == expected
    assert filter_meaning.unmatched_texts == ()


@pytest.mark.parametrize("low", ["STATE#{status}", "STATUS#OPEN#1#a#b", "{status}", "STATUS##"])
def test_a_text_that_matches_no_key_is_recognized(low: str) -> None:
    filter_meaning = meaning("=", low)
    assert filter_meaning.unmatched_texts == (low,) or key_test_rows(filter_meaning)[-1][1] == "reads"
    assert key_test_rows(filter_meaning) == [] or filter_meaning.unmatched_texts == ()


def test_a_literal_text_is_compared_like_the_key() -> None:
    filter_meaning = meaning("begins_with", "STATUS#OPEN#")
    entity = Thing(owner="o", status="open", at="1", thing="t")
    assert isinstance(filter_meaning.key_tests[0].low, Param)
    assert filter_meaning.includes(filter_meaning.plan.entity, entity, {"owner": "o"}, 0) is True
    other = entity.model_copy(update={"status": "done"})
    assert filter_meaning.includes(filter_meaning.plan.entity, other, {"owner": "o"}, 0) is False


def test_a_day_or_its_text_is_the_start_of_a_timestamp() -> None:
    logs = Table("logs", pk="PK", sk="SK")

    @logs.entity(key=key("DEVICE#{device}", "{state}#{at:utc_s}"), volume=Volume(count=300, distinct={"device": 3}))
    class Log(Entity):
        device: str
        state: Literal["on", "off"]
        at: datetime

    @logs.query(Log)
    def on_day(device: str, state: Literal["on", "off"], day: date) -> KeyCondition:
        return pk(device=device).sk.text("begins_with", "{state}#{day}")

    @logs.query(Log)
    def since_text(device: str, state: Literal["on", "off"], text: str) -> KeyCondition:
        return pk(device=device).sk.text("begins_with", "{state}#{text}")

    @logs.query(Log)
    def named_day(device: str, state: Literal["on", "off"], day: date) -> KeyCondition:
        return pk(device=device).sk(state=state).sk.begins_with(at=day)

    @logs.query(Log)
    def named_prefix(device: str, state: Literal["on", "off"], text: str) -> KeyCondition:
        return pk(device=device).sk(state=state).sk.begins_with(at=text)

    @logs.query(Log)
    def part_of_a_choice(device: str) -> KeyCondition:
        return pk(device=device).sk.begins_with(state="o")

    assert key_test_rows(meaning_of(on_day))[-1] == ("at", "begins_with", "day")
    report = verify(Design("logs", (logs,)))
    assert [(pattern.verdict, pattern.returned > 0) for pattern in report.patterns] == [("OK", True)] * 5
