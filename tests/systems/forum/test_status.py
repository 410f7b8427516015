"""Changes of a thread: the whole table of status changes, and the fields sent with it, on both databases."""

from __future__ import annotations

import tomllib
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from tests.systems.forum.stage import Stage
from tests.systems.forum.worlds import NOW_MS

from keyplan.clock import ManualClock
from keyplan_systems.forum.domain import (
    MAX_MESSAGE_COUNT,
    BadRequestError,
    ForumError,
    NotAllowedError,
    Status,
    ThreadUpdate,
)
from keyplan_systems.forum.relational.session import Database
from keyplan_systems.forum.relational.threads import update_thread

TABLE = tomllib.loads((Path(__file__).parent / "status_cases.toml").read_text())
STATES = ("not_started", *Status)


@pytest.fixture
def stage(database: Database, clock: ManualClock) -> Stage:
    return Stage(database, clock, TABLE["world"])


def log(stage: Stage) -> list[tuple[str, str]]:
    return [(row.kind, row.user_id) for row in stage.outbox()]


def outcome(stage: Stage, user: str, participant: str, now: str, requested: Status) -> str:
    """Return the outcome of a request in the table's terms; check the invariants."""
    stage.put("" if now == "not_started" else f"thread task {participant} {now} tutors")
    before = stage.stored(participant)
    opens = requested.is_open and now in ("not_started", "closed")
    try:
        after = stage.update(user, participant, status=requested, **({"helper_group_id": "tutors"} if opens else {}))
    except NotAllowedError:
        assert (stage.stored(participant), log(stage)) == (before, [])
        return "refused"
    assert stage.stored(participant) == after
    if after == before:
        assert log(stage) == []
        return "same"
    assert after.status is requested
    assert after.latest_update_at_ms == NOW_MS
    assert after.closed_at_ms == (None if requested.is_open else NOW_MS)
    was_open = before is not None and before.status.is_open
    if was_open and requested.is_open:
        assert log(stage) == []
        return "changed"
    assert log(stage) == [("thread_opened" if requested.is_open else "thread_closed", stage.world[user])]
    return "opened" if requested.is_open else "closed"


@pytest.mark.parametrize(
    "grid", TABLE["grid"], ids=lambda grid: f"{grid['user']} in the thread of {grid['participant']}"
)
def test_every_status_change_has_the_result_in_the_table(stage: Stage, grid: dict[str, Any]) -> None:
    for now, requested in product(STATES, Status):
        actual_outcome = outcome(stage, grid["user"], grid["participant"], now, requested)
        assert actual_outcome == grid[now][requested], f"{now} -> {requested}"


OPEN = "thread task ann waiting_for_trainer tutors"
CLOSED = "thread task ann closed tutors"

REFUSALS: list[tuple[str, str, str, dict[str, Any], type[ForumError], str]] = [
    ("an empty wish", OPEN, "ann", {}, BadRequestError, "send status"),
    ("both counts", OPEN, "ann", {"message_count": 1, "message_count_increment": 1}, BadRequestError, "not both"),
    ("a negative count", OPEN, "ann", {"message_count": -1}, BadRequestError, "0 to"),
    ("a count beyond 32 bits", OPEN, "ann", {"message_count": MAX_MESSAGE_COUNT + 1}, BadRequestError, "0 to"),
    ("a huge increment", OPEN, "ann", {"message_count_increment": 10**30}, BadRequestError, "must be -"),
    ("opening without a group", "", "ann", {"status": Status.WAITING_FOR_TRAINER}, BadRequestError, "must be sent"),
    (
        "reopening without a group",
        CLOSED,
        "ann",
        {"status": Status.WAITING_FOR_TRAINER},
        BadRequestError,
        "must be sent",
    ),
    (
        "a group with closing",
        OPEN,
        "ann",
        {"status": Status.CLOSED, "helper_group_id": "tutors"},
        BadRequestError,
        "must not",
    ),
    ("a group while closed", CLOSED, "ann", {"helper_group_id": "tutors"}, BadRequestError, "must not"),
    (
        "a group, staying closed",
        CLOSED,
        "ann",
        {"status": Status.CLOSED, "helper_group_id": "tutors"},
        BadRequestError,
        "must not",
    ),
    ("a group before the start", "", "ann", {"helper_group_id": "tutors"}, BadRequestError, "must not"),
    ("a group he may not ask", OPEN, "ann", {"helper_group_id": "everybody"}, NotAllowedError, "request help from"),
    (
        "a group he cannot see",
        OPEN + "\ngroup far group\nhelp ann task far",
        "ann",
        {"helper_group_id": "far"},
        NotAllowedError,
        "can see",
    ),
    (
        "a group only the observer sees",
        "group far group\nmanages tom far",
        "tom",
        {"status": Status.WAITING_FOR_TRAINER, "helper_group_id": "far"},
        NotAllowedError,
        "can see",
    ),
    (
        "a group only the participant sees",
        "group far group\nmanages ann far",
        "tom",
        {"status": Status.WAITING_FOR_TRAINER, "helper_group_id": "far"},
        NotAllowedError,
        "can see",
    ),
    ("a group of nobody", OPEN, "ann", {"helper_group_id": "nobody"}, NotAllowedError, "can see"),
    ("a count while closed", CLOSED, "ann", {"message_count": 4}, NotAllowedError, "may not change"),
    (
        "a count with the status that is",
        CLOSED,
        "bea",
        {"status": Status.CLOSED, "message_count": 4},
        NotAllowedError,
        "may not change",
    ),
    ("a count by a mere viewer", OPEN, "bea", {"message_count": 4}, NotAllowedError, "may not change"),
    ("a count before the start", "", "ann", {"message_count_increment": 1}, NotAllowedError, "may not change"),
    ("anything unseen", OPEN, "eve", {"message_count": 4}, NotAllowedError, "visible to you"),
]


@pytest.mark.parametrize(
    ("facts", "user", "requested", "error", "words"),
    [case[1:] for case in REFUSALS],
    ids=[case[0] for case in REFUSALS],
)
def test_a_change_that_breaks_a_rule_is_rejected_and_stores_nothing(
    stage: Stage, facts: str, user: str, requested: dict[str, Any], error: type[ForumError], words: str
) -> None:
    stage.put(facts)
    before = stage.stored("ann")
    with pytest.raises(error, match=words):
        stage.update(user, "ann", **requested)
    assert (stage.stored("ann"), log(stage)) == (before, [])


def test_a_class_cannot_be_a_participant(stage: Stage) -> None:
    with pytest.raises(BadRequestError, match="neither a user nor a team"):
        stage.put().update("tom", "class", status=Status.WAITING_FOR_TRAINER, helper_group_id="tutors")


def test_an_id_must_consist_of_digits(stage: Stage) -> None:
    stage.put(OPEN)
    update = ThreadUpdate(helper_group_id="12#34")
    with pytest.raises(BadRequestError, match="1 to 19 decimal digits"):
        update_thread(stage.database, stage.clock, stage.world["ann"], stage.world.key("task", "ann"), update)


def test_the_message_count_is_set_incremented_and_never_negative(stage: Stage) -> None:
    stage.put(OPEN)
    assert stage.update("ann", "ann", message_count=5).message_count == 5
    assert stage.update("hal", "ann", message_count_increment=2).message_count == 7
    assert stage.update("hub", "ann", message_count_increment=-3).message_count == 4
    assert stage.update("tom", "ann", message_count_increment=-9).message_count == 0
    assert stage.stored("ann") == stage.update("ann", "ann", message_count=0)
    stage.update("ann", "ann", message_count=MAX_MESSAGE_COUNT)
    assert stage.update("ann", "ann", message_count_increment=1).message_count == MAX_MESSAGE_COUNT


def test_a_status_change_may_include_group_and_count(stage: Stage) -> None:
    stage.put(CLOSED)
    thread = stage.update("ann", "ann", status=Status.WAITING_FOR_TRAINER, helper_group_id="class", message_count=3)
    assert (thread.helper_group_id, thread.message_count) == (stage.world["class"], 3)
    closed = stage.update("ann", "ann", status=Status.CLOSED, message_count_increment=1)
    assert (closed.helper_group_id, closed.message_count) == (stage.world["class"], 4)


def test_the_helper_group_of_an_open_thread_can_be_changed_by_writers(stage: Stage) -> None:
    stage.put(OPEN)
    assert stage.update("ann", "ann", helper_group_id="class").helper_group_id == stage.world["class"]
    with pytest.raises(NotAllowedError):
        stage.update("hal", "ann", helper_group_id="school")  # no longer asked


def test_every_change_has_a_later_time_even_if_the_clock_stands_still_or_goes_back(stage: Stage) -> None:
    stage.put()
    times = []
    for status in (Status.WAITING_FOR_TRAINER, Status.CLOSED, Status.WAITING_FOR_PARTICIPANT):
        helper = {"helper_group_id": "tutors"} if status.is_open else {}
        times.append(stage.update("ann", "ann", status=status, **helper).latest_update_at_ms)
    stage.clock = ManualClock(1.0)
    times.append(stage.update("ann", "ann", status=Status.CLOSED).latest_update_at_ms)
    assert times == [NOW_MS, NOW_MS + 1, NOW_MS + 2, NOW_MS + 3]


def test_setting_the_same_status_again_does_not_change_the_closing_time(stage: Stage) -> None:
    stage.put(CLOSED)
    before = stage.stored("ann")
    stage.clock.advance(3600)
    assert stage.update("bea", "ann", status=Status.CLOSED) == before == stage.stored("ann")


def test_each_opening_and_closing_has_a_separate_key(stage: Stage) -> None:
    stage.put()
    for _ in range(3):
        stage.update("ann", "ann", status=Status.WAITING_FOR_TRAINER, helper_group_id="tutors")
        stage.update("ann", "ann", status=Status.WAITING_FOR_PARTICIPANT)
        stage.update("ann", "ann", status=Status.CLOSED)
    keys = [row.key for row in stage.outbox()]
    task, ann = stage.world["task"], stage.world["ann"]
    kinds = ["opened", "closed"] * 3
    assert keys == [
        f"thread_{kind}-{task}-{ann}-{number}" for kind, number in zip(kinds, (1, 3, 4, 6, 7, 9), strict=True)
    ]
