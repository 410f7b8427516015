"""Thread as its reader gets it, the list of threads, granting help, and the number of statements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import event
from tests.systems.forum.stage import SCHOOL, Stage, crowd
from tests.systems.forum.worlds import NOW_MS

from keyplan.clock import ManualClock
from keyplan_systems.forum.domain import BadRequestError, NotAllowedError, Status, ThreadKey
from keyplan_systems.forum.permissions import may_read
from keyplan_systems.forum.relational.choices import (
    grants_of,
    help_choices,
    participants_of,
    threads_to_answer,
    watched_groups,
)
from keyplan_systems.forum.relational.facts import load_thread_facts
from keyplan_systems.forum.relational.lists import DEFAULT_PAGE_SIZE, ThreadPage, ThreadPosition, list_threads
from keyplan_systems.forum.relational.rows import threads_of
from keyplan_systems.forum.relational.session import Database
from keyplan_systems.forum.relational.threads import get_thread, grant_help, thread_key
from keyplan_systems.forum.tokens import ThreadTokenIssuer


@pytest.fixture
def stage(database: Database, clock: ManualClock) -> Stage:
    return Stage(database, clock, SCHOOL)


@pytest.fixture
def issuer(clock: ManualClock) -> ThreadTokenIssuer:
    return ThreadTokenIssuer(Ed25519PrivateKey.generate(), clock)


@contextmanager
def statements(database: Database) -> Iterator[list[str]]:
    """Record the SQL statements of the block, except those that begin and end transactions."""
    sent: list[str] = []

    def note(connection: object, cursor: object, statement: str, *rest: object) -> None:
        if not statement.startswith(("BEGIN", "SAVEPOINT", "RELEASE")):
            sent.append(statement)

    event.listen(database.engine, "before_cursor_execute", note)
    yield sent
    event.remove(database.engine, "before_cursor_execute", note)


# --- one thread ------------------------------------------------------------------------------------------------------


def test_a_thread_without_a_row_has_the_status_not_started(stage: Stage, issuer: ThreadTokenIssuer) -> None:
    stage.put()
    view = get_thread(stage.database, stage.clock, issuer, stage.world["ann"], stage.key("ann"))
    assert (view.status, view.thread) == ("not_started", None)
    rights = issuer.checker().check_for(view.token, stage.key("ann"))
    assert (rights.user_id, rights.is_mine, rights.can_watch, rights.can_write) == (
        stage.world["ann"],
        True,
        False,
        False,
    )


@pytest.mark.parametrize(
    ("user", "status", "expected"),
    [
        ("ann", "waiting_for_trainer", (True, False, True)),
        ("ann", "closed", (True, False, False)),
        ("tom", "waiting_for_participant", (False, True, True)),
        ("tom", "closed", (False, True, False)),
        ("hub", "waiting_for_trainer", (False, False, True)),
        ("hub", "closed", (False, False, False)),
    ],
)
def test_the_token_contains_the_permissions_of_the_user(
    stage: Stage, issuer: ThreadTokenIssuer, user: str, status: str, expected: tuple[bool, bool, bool]
) -> None:
    stage.put(f"thread task ann {status} tutors")
    view = get_thread(stage.database, stage.clock, issuer, stage.world[user], stage.key("ann"))
    rights = issuer.checker().check(view.token)
    assert view.status == status
    assert (rights.is_mine, rights.can_watch, rights.can_write) == expected


def test_the_thread_of_a_team_belongs_to_each_member(stage: Stage, issuer: ThreadTokenIssuer) -> None:
    stage.put("group team team\nin ann team\nin team class\nthread task team waiting_for_trainer tutors")
    view = get_thread(stage.database, stage.clock, issuer, stage.world["ann"], stage.key("team"))
    assert (view.rights.is_mine, view.rights.can_watch, view.rights.can_write) == (True, False, True)
    assert issuer.checker().check(view.token) == view.rights


@pytest.mark.parametrize("user", ["bea", "ada", "nobody"])
def test_a_user_who_may_not_read_gets_neither_status_nor_token(
    stage: Stage, issuer: ThreadTokenIssuer, user: str
) -> None:
    stage.put("thread task ann waiting_for_trainer tutors")
    with pytest.raises(NotAllowedError):
        get_thread(stage.database, stage.clock, issuer, stage.world[user], stage.key("ann"))


def test_a_class_or_unknown_user_has_no_thread(stage: Stage, issuer: ThreadTokenIssuer) -> None:
    stage.put()
    for participant in ("class", "nobody"):
        with pytest.raises(BadRequestError, match="neither a user nor a team"):
            get_thread(stage.database, stage.clock, issuer, stage.world["tom"], stage.key(participant))


def test_a_pair_consists_of_digits() -> None:
    assert thread_key("7", "9" * 19) == ThreadKey("7", "9" * 19)
    for item, participant in (("", "1"), ("1", "1" * 20), ("1#2", "1"), ("1", "-1"), ("\u0661", "1"), ("1\n", "1")):
        with pytest.raises(BadRequestError, match="decimal digits"):
            thread_key(item, participant)


# --- granting help ---------------------------------------------------------------------------------------------------


def test_an_authorized_user_grants_help_requests_idempotently(stage: Stage) -> None:
    stage.put("group max user\nin max school\nholds max task grant=content")
    with pytest.raises(NotAllowedError):
        stage.update("bea", "bea", status=Status.WAITING_FOR_TRAINER, helper_group_id="tutors")
    world = stage.world
    for _ in range(2):
        grant_help(stage.database, world["max"], world["bea"], world["task"], world["tutors"])
    thread = stage.update("bea", "bea", status=Status.WAITING_FOR_TRAINER, helper_group_id="tutors")
    assert thread.helper_group_id == world["tutors"]


def test_an_unauthorized_grant_changes_nothing(stage: Stage) -> None:
    world = stage.put().world
    for giver, receiver in (("tom", "bea"), ("nobody", "bea"), ("tom", "nobody")):
        with pytest.raises(NotAllowedError):
            grant_help(stage.database, world[giver], world[receiver], world["task"], world["tutors"])
    with pytest.raises(NotAllowedError):
        stage.open("bea")


# --- lists -----------------------------------------------------------------------------------------------------------


def listed(page: ThreadPage) -> list[str]:
    return [thread.participant_name for thread in page.threads]


THREADS = """
thread task ann waiting_for_trainer tutors 3h
thread task ada closed tutors 2h
thread task bea waiting_for_trainer tutors 1h
"""


def test_own_threads_and_those_of_others_and_of_a_watched_group_are_listed(stage: Stage) -> None:
    world = stage.put(THREADS).world
    of = {name: world[name] for name in ("ann", "tom", "hub", "bea", "class", "school")}
    db, clock = stage.database, stage.clock
    assert listed(list_threads(db, clock, of["ann"], is_mine=True)) == ["ann"]
    assert listed(list_threads(db, clock, of["ann"], is_mine=False)) == []
    assert listed(list_threads(db, clock, of["tom"], is_mine=False)) == ["bea", "ada", "ann"]
    assert listed(list_threads(db, clock, of["hub"], is_mine=False)) == ["bea", "ada", "ann"]
    assert listed(list_threads(db, clock, of["tom"], watched_group_id=of["class"])) == ["ada", "ann"]


def test_a_helper_no_longer_lists_threads_closed_two_weeks_ago(stage: Stage) -> None:
    hub = stage.put(THREADS).world["hub"]
    stage.clock.advance(14 * 86_400 - 2 * 3600)
    assert listed(list_threads(stage.database, stage.clock, hub, is_mine=False)) == ["bea", "ann"]


def test_exactly_one_of_group_and_ownership_is_required(stage: Stage) -> None:
    tom = stage.put().world["tom"]
    for filters in ({}, {"watched_group_id": "1", "is_mine": False}, {"watched_group_id": "1", "is_mine": True}):
        with pytest.raises(BadRequestError, match="exactly one"):
            list_threads(stage.database, stage.clock, tom, **filters)  # type: ignore[arg-type]  # the point of the test
    with pytest.raises(BadRequestError, match="decimal digits"):
        list_threads(stage.database, stage.clock, tom, watched_group_id="class")
    for limit in (0, 101):
        with pytest.raises(BadRequestError, match="limit"):
            list_threads(stage.database, stage.clock, tom, is_mine=True, limit=limit)


def test_a_group_is_listed_only_for_users_who_watch_its_members(stage: Stage) -> None:
    world = stage.put(THREADS).world
    for user, group in (("tom", "school"), ("bea", "class"), ("tom", "nobody")):
        with pytest.raises(NotAllowedError, match="watch the members"):
            list_threads(stage.database, stage.clock, world[user], watched_group_id=world[group])


@pytest.mark.parametrize("limit", [1, 7, 20, 50])
def test_pages_add_up_to_the_whole_list_without_duplicates(stage: Stage, limit: int) -> None:
    tom = stage.put(crowd(50)).world["tom"]
    thread_keys: list[ThreadKey] = []
    after: ThreadPosition | None = None
    while True:
        page = list_threads(stage.database, stage.clock, tom, is_mine=False, limit=limit, after=after)
        thread_keys += [entry.thread.key for entry in page.threads]
        after = page.after
        if after is None:
            break
        assert len(page.threads) == limit
    in_order = sorted(
        stage.world.threads.values(), key=lambda entry: (entry.latest_update_at_ms, entry.key.participant_id)
    )
    assert thread_keys == [thread.key for thread in reversed(in_order)]


def test_a_page_contains_twenty_threads_by_default(stage: Stage) -> None:
    tom = stage.put(crowd(30)).world["tom"]
    assert len(list_threads(stage.database, stage.clock, tom, is_mine=False).threads) == DEFAULT_PAGE_SIZE == 20


def test_a_list_may_filter_by_status_and_start_with_the_longest_wait(stage: Stage) -> None:
    tom = stage.put(THREADS).world["tom"]
    db, clock = stage.database, stage.clock
    waiting = Status.WAITING_FOR_TRAINER
    assert listed(list_threads(db, clock, tom, is_mine=False, status=Status.CLOSED)) == ["ada"]
    first = list_threads(db, clock, tom, is_mine=False, status=waiting, oldest_first=True, limit=1)
    second = list_threads(db, clock, tom, is_mine=False, status=waiting, oldest_first=True, after=first.after)
    assert (listed(first), listed(second), second.after) == (["ann"], ["bea"], None)


# --- choices of pages ------------------------------------------------------------------------------------------------


def choices(stage: Stage, user: str, participant: str) -> list[tuple[str, Status | None, list[str]]]:
    results = help_choices(stage.database, stage.world[user], stage.world[participant])
    return [(choice.item.name, choice.status, [helper.name for helper in choice.helpers]) for choice in results]


def test_a_participant_may_choose_the_granted_groups_and_their_subgroups(stage: Stage) -> None:
    stage.put("group night group public\nin night tutors\nthread task ann closed tutors 2h")
    assert choices(stage, "ann", "ann") == [("task", Status.CLOSED, ["night", "tutors"])]
    assert choices(stage, "ada", "ada") == [("task", None, ["night", "tutors"])]
    assert choices(stage, "bea", "bea") == [], "nobody has granted it"
    assert choices(stage, "ann", "ada") == [], "another pupil"


def test_an_observer_may_choose_what_both_can_see(stage: Stage) -> None:
    stage.put("group secret group")
    assert choices(stage, "tom", "ann")[0][:2] == ("task", None)
    assert "tutors" in choices(stage, "tom", "ann")[0][2]
    assert "secret" not in choices(stage, "tom", "ann")[0][2]
    assert [user.name for user in participants_of(stage.database, stage.world["tom"])] == ["tom", "ada", "ann"]
    assert [user.name for user in participants_of(stage.database, stage.world["ann"])] == ["ann"]


def test_threads_to_answer_are_those_that_the_user_may_write_to(stage: Stage) -> None:
    world = stage.put(THREADS).world
    threads = list(world.threads.values())
    expected = {"tom": {"ann"}, "hub": {"ann", "bea"}, "bea": {"bea"}}
    for user, names in expected.items():
        writable = threads_to_answer(stage.database, world[user], threads)
        assert {key.participant_id for key in writable} == {world[name] for name in names}, user


def test_permissions_are_shown_to_users_who_may_grant_them(stage: Stage) -> None:
    stage.put("group boss user\nin boss everybody\nholds boss task view=content grant=content")
    grants = grants_of(stage.database, stage.world["boss"])
    assert ([item.name for item in grants.items], grants.existing) == (["task"], (("class", "task", "tutors"),))
    assert grants_of(stage.database, stage.world["ann"]).items == ()
    assert [group.name for group in watched_groups(stage.database, stage.world["tom"])] == ["class"]


# --- how many statements ---------------------------------------------------------------------------------------------


def deep(levels: int) -> str:
    """Return a tower of groups over the class, and one of items over the task, with propagating edges only."""
    lines = [f"group g{n} group\nitem i{n}" for n in range(levels)]
    lines += [f"in g{n} g{n + 1}\nbelow i{n} i{n + 1} help" for n in range(levels - 1)]
    return "\n".join([*lines, "in class g0", "below task i0 help"])


def counted(stage: Stage, act: Callable[[], object]) -> int:
    with statements(stage.database) as sent:
        act()
    return len(sent)


def test_facts_for_a_hundred_threads_need_as_many_statements_as_for_one(stage: Stage) -> None:
    stage.put(crowd(100) + "\n" + deep(15))
    keys = list(stage.world.threads)
    tom = stage.world["tom"]

    def readable(keys: list[ThreadKey]) -> int:
        with stage.database.read() as session:
            facts = load_thread_facts(session, tom, keys)
            threads = threads_of(session, keys)
        return sum(may_read(facts, tom, key, threads.get(key), NOW_MS) for key in keys)

    assert readable(keys) == 100
    assert counted(stage, lambda: readable(keys)) == counted(stage, lambda: readable(keys[:1])) == 8


@pytest.mark.parametrize(
    "facts", ["", crowd(60), deep(20), crowd(60) + "\n" + deep(20)], ids=["small", "wide", "deep", "both"]
)
def test_every_service_needs_a_fixed_number_of_statements_for_any_data_size(
    stage: Stage, issuer: ThreadTokenIssuer, facts: str
) -> None:
    world = stage.put(facts).world
    db, clock, tom, ann = stage.database, stage.clock, world["tom"], world["ann"]
    assert counted(stage, lambda: get_thread(db, clock, issuer, ann, stage.key("ann"))) == 8
    assert counted(stage, lambda: stage.open("ann")) == 10  # the row, seven for the facts, the row, the outbox
    assert counted(stage, lambda: stage.close("ann")) == 10
    assert counted(stage, lambda: list_threads(db, clock, tom, is_mine=False, limit=100)) == 1
    assert counted(stage, lambda: list_threads(db, clock, tom, watched_group_id=world["class"], limit=100)) == 8
