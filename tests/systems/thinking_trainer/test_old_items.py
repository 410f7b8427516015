"""Items of version 0.9 are read, through every connection and pattern, in the current form."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import pytest
from tests.systems.served_engine import ServedEngine, connected
from tests.systems.thinking_trainer.builders import attempt_id, completed
from tests.systems.thinking_trainer.old_items import old_attempt, old_profile, old_scenario, raw

from keyplan.client.connection import Connection
from keyplan.client.errors import UnreadableItemError
from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan_systems.thinking_trainer import design
from keyplan_systems.thinking_trainer.domain.attempts import Status
from keyplan_systems.thinking_trainer.domain.errors import ItemUnreadable
from keyplan_systems.thinking_trainer.domain.records import iso
from keyplan_systems.thinking_trainer.evaluation.rubric_evaluator import RubricEvaluator
from keyplan_systems.thinking_trainer.profile_consumer import ProfileConsumer
from keyplan_systems.thinking_trainer.service import Service, to_stored

USER = "us-east-1:0000"


@pytest.fixture
def db(engine: Engine | ServedEngine, clock: ManualClock) -> Iterator[Connection]:
    with connected(engine, clock) as connection:
        connection.create_tables(design.attempts, design.profiles, design.scenarios)
        yield connection


@pytest.fixture
def service(db: Connection) -> Service:
    return Service(db, db.context.clock, RubricEvaluator())


def put(db: Connection, table: str, item: dict[str, object]) -> None:
    db.transport.call("PutItem", {"TableName": table, "Item": raw(item)})


def test_an_old_attempt_is_read_by_id_and_in_its_users_list(db: Connection, service: Service) -> None:
    put(db, "Attempts", old_attempt())
    attempt = service.attempt(USER, attempt_id(5))
    assert attempt.evaluation is not None
    assert (attempt.schema_version, attempt.evaluation.overall_score, attempt.version) == ("1.0", 75, 0)
    assert (attempt.answers[0].word_count, iso(attempt.started_at)) == (9, "2025-12-22T10:00:00.000Z")
    assert list(service.submitted_attempts(USER, 10, None)) == [attempt]


@pytest.mark.parametrize("status", [Status.IN_PROGRESS, Status.ABANDONED])
def test_old_attempts_that_were_never_submitted_are_not_listed_despite_their_index_entry(
    db: Connection, service: Service, status: Status
) -> None:
    put(db, "Attempts", old_attempt(status=status.value))
    assert list(service.submitted_attempts(USER, 10, None)) == []
    assert service.attempt(USER, attempt_id(5)).status is status


def test_an_old_draft_is_saved_in_the_current_version(db: Connection, service: Service) -> None:
    put(db, "Attempts", old_attempt(status="in-progress", scenarioId="late-ferry"))
    put(db, "Scenarios", old_scenario())
    saved = service.save(USER, attempt_id(5), {"q1": "I do not know yet."})
    assert saved.version == 1
    item = db.transport.call("GetItem", {"TableName": "Attempts", "Key": {"attemptId": {"S": attempt_id(5)}}})["Item"]
    assert (item["schemaVersion"], "timestamp" in item, item["draftOf"]) == ({"S": "1.0"}, False, {"S": USER})
    assert [attempt.attempt_id for attempt in service.attempts_in_progress(USER, 20, None)] == [attempt_id(5)]


def test_an_old_attempt_is_added_to_a_profile_once(db: Connection) -> None:
    put(db, "Attempts", old_attempt())
    result = db.run(design.attempt_by_id(attempt_id(5)))
    assert result is not None
    profiler = ProfileConsumer(db, db.context.clock)
    assert [profiler.add(result), profiler.add(result)] == [True, False]


def test_an_old_scenario_is_read_with_its_tags_as_a_set_and_can_be_activated(db: Connection, service: Service) -> None:
    put(db, "Scenarios", old_scenario())
    assert service.scenario("late-ferry").tags == {"tides", "boats"}
    assert service.active_scenarios(None) == []  # it never had the key of the index
    assert service.set_active("late-ferry", active=True).tags == {"tides", "boats"}
    assert [scenario.scenario_id for scenario in service.active_scenarios(None)] == ["late-ferry"]


def test_old_and_new_profiles_form_one_history(db: Connection, service: Service) -> None:
    put(db, "Profiles", old_profile())
    put(db, "Profiles", old_profile(timestamp="2025-12-21T10:35:00.000Z", attemptCount=Decimal(14)))
    latest = service.profile(USER)
    assert latest is not None
    assert (latest.attempt_count, latest.source_attempt_id) == (15, "unrecorded")
    assert {str(entry.moving_average) for entry in latest.dimensions} == {"2.60"}
    attempt = completed(7).model_copy(update={"user_id": USER})
    ProfileConsumer(db, db.context.clock).add(db.run(design.start_attempt(to_stored(attempt))))
    first = service.history(USER, 2, None)
    rest = service.history(USER, 2, first.cursor)
    assert [profile.source_attempt_id for profile in (*first, *rest)] == [attempt_id(7), "unrecorded", "unrecorded"]
    assert [profile.attempt_count for profile in service.progress(USER)] == [14, 15, 1]


def test_an_item_of_a_future_version_is_rejected_by_name(db: Connection, service: Service) -> None:
    put(db, "Attempts", old_attempt(schemaVersion="2.0"))
    with pytest.raises(UnreadableItemError, match=r"attemptId='00000000.*version '2\.0'"):
        service.attempt(USER, attempt_id(5))


def test_an_old_profile_of_three_dimensions_is_rejected_with_the_reason(db: Connection, service: Service) -> None:
    put(db, "Profiles", old_profile(dimensions=old_profile()["dimensions"][:3]))
    with pytest.raises(ItemUnreadable, match=r"profile of version '0\.9' has no"):
        service.profile(USER)


def test_lists_omit_unreadable_items(db: Connection, service: Service, caplog: pytest.LogCaptureFixture) -> None:
    attempt = completed(7).model_copy(update={"user_id": USER})
    ProfileConsumer(db, db.context.clock).add(db.run(design.start_attempt(to_stored(attempt))))
    put(db, "Attempts", old_attempt(schemaVersion="2.0"))
    put(db, "Profiles", old_profile(dimensions=old_profile()["dimensions"][:3]))
    put(db, "Profiles", {**old_profile(), "timestamp": "2020-01-01T10:35:00Z", "dimensions": "none"})
    put(db, "Scenarios", old_scenario(schemaVersion="2.0", activeKey="ACTIVE", difficultyKey="1#beginner"))
    assert [submitted.attempt_id for submitted in service.submitted_attempts(USER, 10, None)] == [attempt_id(7)]
    assert [profile.source_attempt_id for profile in service.history(USER, 10, None)] == [attempt_id(7)]
    assert len(service.progress(USER)) == 1
    assert service.active_scenarios(None) == []
    assert sum("cannot read" in record.message for record in caplog.records) == 6
