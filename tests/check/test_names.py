"""What the names of fields say."""

from __future__ import annotations

import pytest

from keyplan.check.field_names import is_assignee_name, is_identifier_name, is_tenant_name, is_time_name, words_of


@pytest.mark.parametrize(
    "name", ["id", "user_id", "userId", "fingerprint_hash", "fcm_token", "idempotency_key", "uuid"]
)
def test_ids_hashes_and_tokens_are_identifiers(name: str) -> None:
    assert is_identifier_name(name)


@pytest.mark.parametrize("name", ["title", "category", "paid", "width", "keyboard", "email"])
def test_words_that_people_write_are_not(name: str) -> None:
    assert not is_identifier_name(name)


@pytest.mark.parametrize("name", ["created_at", "createdAt", "timestamp", "date", "due_date", "time", "requestedAt"])
def test_moments_and_days_are_known_by_their_names(name: str) -> None:
    assert is_time_name(name)


@pytest.mark.parametrize("name", ["status", "response_time_ms", "runtime", "candidate", "flat", "update"])
def test_other_words_are_no_moments(name: str) -> None:
    assert not is_time_name(name)


def test_tenants_are_known_by_few_names() -> None:
    assert is_tenant_name("tenant_id")
    assert is_tenant_name("organisationId")
    assert not is_tenant_name("user_id")


def test_humps_become_words() -> None:
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
def test_who_has_a_thing_is_known_by_the_name_of_its_field(name: str, is_one: bool) -> None:
    assert is_assignee_name(name) is is_one
