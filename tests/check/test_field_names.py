"""What field names and types suggest: identifiers, times, tenants, assignees, increasing values."""

from __future__ import annotations

import pytest

from keyplan import Entity, Table
from keyplan.check.field_names import (
    increases_with_time,
    is_assignee_name,
    is_identifier_name,
    is_tenant_name,
    is_time_name,
    words_of,
)
from keyplan.design.entities import spec_of


@pytest.mark.parametrize(
    "name", ["id", "user_id", "userId", "fingerprint_hash", "fcm_token", "idempotency_key", "uuid"]
)
def test_ids_hashes_and_tokens_are_identifiers(name: str) -> None:
    assert is_identifier_name(name)


@pytest.mark.parametrize("name", ["title", "category", "paid", "width", "keyboard", "email"])
def test_other_words_are_not_identifiers(name: str) -> None:
    assert not is_identifier_name(name)


@pytest.mark.parametrize("name", ["created_at", "createdAt", "timestamp", "date", "due_date", "time", "requestedAt"])
def test_timestamps_and_dates_are_recognized_by_name(name: str) -> None:
    assert is_time_name(name)


@pytest.mark.parametrize("name", ["status", "response_time_ms", "runtime", "candidate", "flat", "update"])
def test_other_words_are_not_timestamps(name: str) -> None:
    assert not is_time_name(name)


def test_tenants_are_recognized_by_name() -> None:
    assert is_tenant_name("tenant_id")
    assert is_tenant_name("organisationId")
    assert not is_tenant_name("user_id")


def test_camel_case_becomes_snake_case() -> None:
    assert words_of("attemptId") == "attempt_id"
    assert words_of("attempt_id") == "attempt_id"


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("worker", True),
        ("driverId", True),
        ("locked_by", True),
        ("assigned_to", True),
        ("homeowner", False),
        ("by", False),
    ],
)
def test_assignees_are_recognized_by_name(name: str, is_one: bool) -> None:
    assert is_assignee_name(name) is is_one


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("created_at", True),
        ("timestamp", True),
        ("requestedAt", True),
        ("time", True),
        ("due_date", False),
        ("expires_at", False),
        ("start_at", False),
        ("title", False),
    ],
)
def test_write_timestamps_increase_and_future_timestamps_do_not(name: str, expected: bool) -> None:
    table = Table("t-" + name, pk="id")
    model = type("Thing", (Entity,), {"__annotations__": {"id": str, name: str}, "__module__": __name__})
    table.entity()(model)
    assert increases_with_time(spec_of(model).fields[name]) is expected
