"""Users of a participant, on both databases."""

from __future__ import annotations

import pytest
from tests.systems.forum.stage import SCHOOL, Stage

from keyplan.clock import ManualClock
from keyplan_systems.forum.relational.people import people_of
from keyplan_systems.forum.relational.session import Database


@pytest.fixture
def stage(database: Database, clock: ManualClock) -> Stage:
    return Stage(database, clock, SCHOOL).put(
        "group team team\nin ann team\nin ada team\nin tutors team\nin team class"
    )


def test_a_team_has_its_members_and_a_user_only_that_user(stage: Stage) -> None:
    ids = stage.world
    assert people_of(stage.database, ids["team"]) == {ids["ann"], ids["ada"]}
    assert people_of(stage.database, ids["ann"]) == {ids["ann"]}
    assert people_of(stage.database, ids["class"]) == frozenset()
    assert people_of(stage.database, "999999") == frozenset()
