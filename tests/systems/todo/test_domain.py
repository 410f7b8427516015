"""Domain rules in isolation."""

from __future__ import annotations

import uuid
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyplan.clock import ManualClock
from keyplan_systems.todo.domain import (
    Policy,
    changed_task,
    completion,
    fingerprint,
    new_task_id,
    stored_email,
    today,
)
from keyplan_systems.todo.entities import Status, Task
from keyplan_systems.todo.refusals import InvalidError

NOW = datetime(2025, 11, 20, 12, tzinfo=UTC)


def task(**values: Any) -> Task:
    return Task.model_validate(
        {"user_id": "ada", "task_id": "1", "title": "t", "created_at": NOW, "updated_at": NOW, "version": 3, **values}
    )


def test_completed_tasks_expire_after_the_retention_and_reopened_ones_never() -> None:
    completed = changed_task(task(), {"status": "completed"}, NOW, Policy(30))
    assert completed.completed_at == NOW
    assert completed.expiration_timestamp == NOW + timedelta(days=30)
    for status in (Status.PENDING, Status.IN_PROGRESS, Status.CANCELLED):
        reopened = changed_task(completed, {"status": status}, NOW, Policy(30))
        assert (reopened.completed_at, reopened.expiration_timestamp) == (None, None)


def test_other_changes_do_not_affect_completion_and_retention() -> None:
    completed = changed_task(task(), {"status": "completed"}, NOW, Policy(30))
    later = changed_task(completed, {"title": "new", "status": "completed"}, NOW + timedelta(days=5), Policy(60))
    assert (later.completed_at, later.expiration_timestamp) == (completed.completed_at, completed.expiration_timestamp)


def test_without_retention_nothing_expires() -> None:
    assert completion(Status.COMPLETED, NOW, Policy()) == {"completed_at": NOW, "expiration_timestamp": None}
    with pytest.raises(ValueError, match="kept for 1 to"):
        Policy(0)


def test_ids_are_version_7_uuids_in_time_order_and_unique_within_a_millisecond() -> None:
    clock, ids = ManualClock(1_763_640_000.0), []
    for _ in range(50):
        ids.append(new_task_id(clock))
        clock.advance(0.01)
    assert ids == sorted(ids)
    parsed = [uuid.UUID(text) for text in ids]
    assert {(parsed_id.version, parsed_id.variant) for parsed_id in parsed} == {(7, uuid.RFC_4122)}
    assert parsed[0].int >> 80 == 1_763_640_000_000
    assert len({new_task_id(clock) for _ in range(1000)}) == 1000


@given(st.dictionaries(st.text(), st.one_of(st.none(), st.integers(-(2**53), 2**53), st.text())))
def test_a_fingerprint_depends_on_the_content_and_not_on_the_order_of_members(body: dict[str, Any]) -> None:
    turned = dict(reversed(body.items()))
    assert fingerprint("POST", "/tasks", body) == fingerprint("POST", "/tasks", turned)
    assert fingerprint("PUT", "/tasks", body) != fingerprint("POST", "/tasks", body)
    assert fingerprint("POST", "/task", body) != fingerprint("POST", "/tasks", body)
    assert fingerprint("POST", "/tasks", {**body, "more": 1}) != fingerprint("POST", "/tasks", {**body, "more": 2})


def test_addresses_are_compared_case_insensitively() -> None:
    assert stored_email(" Ada@EXAMPLE.org") == "ada@example.org"
    assert stored_email("STRASSE@x.org") == stored_email("straße@x.org")


def test_a_domain_is_the_same_in_any_spelling() -> None:
    assert stored_email("a@FAß.example") == stored_email("a@xn--fa-hia.example") == "a@faß.example"
    assert stored_email("a@fass.example") == "a@fass.example"
    assert stored_email("A@ÄPFEL.Example.ORG") == "a@äpfel.example.org"


def test_today_is_utc_unless_a_zone_is_named() -> None:
    clock = ManualClock(datetime(2025, 11, 20, 23, 30, tzinfo=UTC).timestamp())
    assert today(clock) == date(2025, 11, 20)
    assert today(clock, "Europe/Berlin") == date(2025, 11, 21)
    for zone in ("Nowhere", "", "../UTC", "\0"):
        with pytest.raises(InvalidError, match="Unknown time zone"):
            today(clock, zone)
