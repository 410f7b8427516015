"""The permission rules, case by case: on hand-made facts, and on facts loaded from both databases."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.systems.forum.permission_questions import answer
from tests.systems.forum.worlds import NOW_MS, World, clear, store

from keyplan.clock import ManualClock
from keyplan_systems.forum.relational.facts import load_facts
from keyplan_systems.forum.relational.lists import list_threads
from keyplan_systems.forum.relational.session import Database

TABLE = tomllib.loads((Path(__file__).parent / "permission_cases.toml").read_text())
CASES: list[dict[str, Any]] = TABLE["case"]


def world_of(case: dict[str, Any]) -> World:
    return World().add(TABLE["world"]).add(case.get("facts", ""))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['rule']}: {case['why']}")
def test_every_case_has_the_result_in_the_table(case: dict[str, Any]) -> None:
    world = world_of(case)
    assert answer(world, world.facts(), case["ask"]) is case["answer"]


def test_every_case_has_the_same_result_on_facts_loaded_from_the_database(database: Database) -> None:
    for case in CASES:
        world = world_of(case)
        words = {world[word] for word in case["ask"].split()[1:]}
        with database.write() as session:
            clear(session)
            store(session, world)
        helpers = {thread.helper_group_id for thread in world.threads.values()}
        with database.read() as session:
            people = words & world.groups.keys()
            facts = load_facts(session, people, words & set(world.items), words | helpers)
        assert answer(world, facts, case["ask"]) is case["answer"], case["why"]


def test_the_lists_contain_a_thread_exactly_if_the_table_allows_reading_it(database: Database) -> None:
    for case in CASES:
        verb, *names = case["ask"].split()
        world = world_of(case)
        if verb != "read" or world.key(*names[1:]) not in world.threads:
            continue
        with database.write() as session:
            clear(session)
            store(session, world)
        pages = [
            list_threads(database, ManualClock(NOW_MS / 1000), world[names[0]], is_mine=mine) for mine in (True, False)
        ]
        assert sum(len(page.threads) for page in pages) == case["answer"], case["why"]


def test_the_table_has_both_results_for_every_rule() -> None:
    for rule in {case["rule"] for case in CASES}:
        assert {case["answer"] for case in CASES if case["rule"] == rule} == {True, False}
