"""The permission rules agree with a naive evaluator, and facts loaded by SQL give the same answers, on any world."""

from __future__ import annotations

from itertools import product

from hypothesis import HealthCheck, given, settings
from tests.laws import examples
from tests.systems.forum.naive import Naive
from tests.systems.forum.strategies import GROUPS, ITEMS, PARTICIPANTS, USERS, worlds
from tests.systems.forum.worlds import NOW_MS, World, clear, store

from keyplan.clock import ManualClock
from keyplan_systems.forum.domain import ThreadKey
from keyplan_systems.forum.domain_facts import Facts
from keyplan_systems.forum.permissions import (
    is_visible,
    may_grant_help,
    may_read,
    may_request_help,
    may_write,
    watches_members,
)
from keyplan_systems.forum.relational.facts import load_facts, load_thread_facts
from keyplan_systems.forum.relational.lists import list_threads
from keyplan_systems.forum.relational.rows import threads_of
from keyplan_systems.forum.relational.session import Database

on_a_database = settings(
    max_examples=examples(40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@given(world=worlds())
@settings(max_examples=examples(150), deadline=None)
def test_the_rules_agree_with_the_naive_evaluator(world: World) -> None:
    facts, naive = world.facts(), Naive(world)
    for user, item, group in product(USERS, ITEMS, GROUPS):
        assert may_request_help(facts, user, item, group) == naive.may_request(user, item, group)
        assert is_visible(facts, group, user) == naive.sees(user, group)
    for giver, receiver, item, group in product(USERS[:1], PARTICIPANTS, ITEMS[:1], GROUPS):
        assert may_grant_help(facts, giver, receiver, item, group) == naive.may_grant(giver, receiver, item, group)
    for user, item, participant in product(USERS, ITEMS, PARTICIPANTS):
        _check_thread(facts, naive, user, ThreadKey(item, participant))


def _check_thread(facts: Facts, naive: Naive, user: str, key: ThreadKey) -> None:
    thread = naive.world.threads.get(key)
    assert may_write(facts, user, key, thread) == naive.may_write(user, key.item_id, key.participant_id)
    assert may_read(facts, user, key, thread, NOW_MS) == naive.may_read(user, key.item_id, key.participant_id)


@given(world=worlds())
@on_a_database
def test_facts_loaded_by_sql_give_the_same_result_as_all_facts(database: Database, world: World) -> None:
    with database.write() as session:
        clear(session)
        store(session, world)
    naive = Naive(world)
    keys = [ThreadKey(item, participant) for item, participant in product(ITEMS, PARTICIPANTS)]
    with database.read() as session:
        assert threads_of(session, keys) == world.threads
        for user in USERS:
            facts = load_thread_facts(session, user, keys)
            for key in keys:
                _check_thread(facts, naive, user, key)
        facts = load_facts(session, {USERS[0], USERS[1]}, {"1"}, {GROUPS[-2]})
    assert may_request_help(facts, USERS[0], "1", GROUPS[-2]) == naive.may_request(USERS[0], "1", GROUPS[-2])
    granted = may_grant_help(facts, USERS[0], USERS[1], "1", GROUPS[-2])
    assert granted == naive.may_grant(USERS[0], USERS[1], "1", GROUPS[-2])


@given(world=worlds())
@on_a_database
def test_a_list_contains_exactly_the_threads_that_the_read_rule_allows(database: Database, world: World) -> None:
    with database.write() as session:
        clear(session)
        store(session, world)
    facts, naive, clock = world.facts(), Naive(world), ManualClock(NOW_MS / 1000)
    for user in USERS:
        readable = {key for key in world.threads if naive.may_read(user, key.item_id, key.participant_id)}
        mine = {key for key in readable if naive.speaks_for(user, key.participant_id)}
        assert _listed(database, clock, user, is_mine=True) == mine
        assert _listed(database, clock, user, is_mine=False) == readable - mine
        for group in GROUPS:
            if watches_members(facts, user, group):
                inside = {key for key in readable if (key.participant_id, group) in naive.inside}
                assert _listed(database, clock, user, watched_group_id=group) == inside


def _listed(
    database: Database,
    clock: ManualClock,
    user: str,
    *,
    is_mine: bool | None = None,
    watched_group_id: str | None = None,
) -> set[ThreadKey]:
    page = list_threads(database, clock, user, is_mine=is_mine, watched_group_id=watched_group_id, limit=100)
    assert page.after is None
    return {listed.thread.key for listed in page.threads}
