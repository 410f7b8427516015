"""Stream records as events: identified, stored exactly, and refused if malformed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import orjson
import pytest
from tests.systems.todo.lake.record_history import NOON_S, History, key

from keyplan_systems.todo.lake.errors import BadRecordError
from keyplan_systems.todo.lake.events import Event, event_of


def event(record: dict[str, Any], stream: str = "") -> Event:
    actual_event = event_of(record, 0, stream)
    assert actual_event is not None
    return actual_event


def test_users_and_tasks_are_recognized_by_their_keys() -> None:
    history = History()
    user = event(history.put_user("ann"))
    assert (user.entity, user.user_id, user.task_id, user.change) == ("user", "ann", None, "insert")
    task = event(history.put_task("ann", "t#1"))
    assert (task.entity, task.user_id, task.task_id) == ("task", "ann", "t#1")
    assert event(history.put_task("ann", "t#1", status="completed")).change == "modify"


@pytest.mark.parametrize(
    ("pk", "sk", "entity"),
    [
        ("EMAIL#ann@example.org", "METADATA", "email"),
        ("USER#ann", "SETTINGS", "unknown"),
        ("USER#", "METADATA", "unknown"),
        ("TASK#ann", "METADATA", "unknown"),
        ("TASK#ann", "TASK#", "unknown"),
        ("JOB#1", "METADATA", "unknown"),
        ("", "", "unknown"),
    ],
)
def test_other_items_are_stored_and_named_by_their_kind(pk: str, sk: str, entity: str) -> None:
    actual_event = event(History().put(pk, sk, {}))
    assert (actual_event.entity, actual_event.user_id, actual_event.task_id, actual_event.pk, actual_event.sk) == (
        entity,
        None,
        None,
        pk,
        sk,
    )


def test_idempotency_items_are_dropped_because_they_contain_response_bodies() -> None:
    assert event_of(History().put("IDEMPOTENCY#ann:1", "METADATA", {"response_data": "secret"}), 0) is None


@pytest.mark.parametrize(
    "identity",
    [
        {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"},
        {"type": "Service", "principalId": "dynamodb.amazonaws.com"},
    ],
)
def test_an_expiry_is_distinguished_from_a_deletion_in_both_spellings_of_the_service(identity: dict[str, str]) -> None:
    history = History()
    history.put_task("ann", "1")
    record = history.delete_task("ann", "1")
    assert event(record).change == "delete"
    assert event(record | {"userIdentity": identity}).change == "expire"
    assert event(record | {"userIdentity": identity | {"type": "User", "Type": "User"}}).change == "delete"


def test_sequence_numbers_are_padded_to_forty_digits_so_that_text_sorts_like_numbers() -> None:
    record = History(first=10**39).put_user("ann")
    assert event(record).sequence == str(10**39 + 1)
    assert event(History(first=8).put_user("ann")).sequence == "9".zfill(40)


@pytest.mark.parametrize(
    "time",
    [
        1_763_640_000.25,
        Decimal("1763640000.25"),
        datetime(2025, 11, 20, 12, 0, 0, 250_000, tzinfo=UTC),
        datetime(2025, 11, 20, 14, 0, 0, 250_000, tzinfo=timezone(timedelta(hours=2))),
    ],
)
def test_timestamps_may_be_numbers_or_datetimes(time: Any) -> None:
    assert event(History(now_s=time).put("X", "Y", {})).at_us == 1_763_640_000_250_000


def test_numbers_stay_text_and_binary_becomes_base64() -> None:
    digits = "12345678901234567890123456789012345678"
    values = {
        "n": {"N": digits},
        "b": {"B": b"\x00\xff"},
        "s": {"BS": [b"a"]},
        "m": {"M": {"l": {"L": [{"N": "0.1"}]}}},
    }
    image = event(History().put("JOB#1", "METADATA", values)).new_image
    assert image is not None
    stored = orjson.loads(image)
    assert stored["n"] == {"N": digits}
    assert stored["b"] == {"B": "AP8="}
    assert stored["s"] == {"BS": ["YQ=="]}
    assert stored["m"] == {"M": {"l": {"L": [{"N": "0.1"}]}}}


def test_the_same_image_gives_the_same_text_in_any_attribute_order() -> None:
    original = event(History().put("JOB#1", "METADATA", {"a": "1", "b": "2"}))
    other = event(History().put("JOB#1", "METADATA", {"b": "2", "a": "1"}))
    assert original.new_image == other.new_image


def test_the_label_of_the_stream_comes_from_the_record_or_from_the_caller() -> None:
    record = History(stream="2025-11-20T00:00:00.000").put_user("ann")
    assert event(record).stream == "2025-11-20T00:00:00.000"
    assert (
        event(record, "arn:aws:dynamodb:x:1:table/t/stream/2026-01-01T00:00:00.000").stream == "2026-01-01T00:00:00.000"
    )
    assert event(History().put_user("ann")).stream == ""


def bad(**members: Any) -> dict[str, Any]:
    record = History().put_user("ann")
    body = record["dynamodb"] | {name: value for name, value in members.items() if name[0].isupper()}
    return record | {"dynamodb": body} | {name: value for name, value in members.items() if name[0].islower()}


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({}, "no map `dynamodb`"),
        (bad(eventName="UPDATE"), "eventName is 'UPDATE'"),
        (bad(eventID=None), "eventID is None"),
        (bad(Keys={"id": {"S": "1"}}), "does not belong to the to-do table"),
        (bad(Keys={"PK": {"N": "1"}, "SK": {"S": "1"}}), "does not belong to the to-do table"),
        (bad(Keys=key("\ud800", "METADATA")), "surrogate"),
        (bad(SequenceNumber=5), "SequenceNumber is 5"),
        (bad(SequenceNumber="1" * 41), "1 to 40 digits"),
        (bad(SequenceNumber="-1"), "1 to 40 digits"),
        (bad(ApproximateCreationDateTime=None), "ApproximateCreationDateTime is None"),
        (bad(ApproximateCreationDateTime=datetime(2025, 1, 1)), "a datetime with a zone"),
        (bad(ApproximateCreationDateTime=float("nan")), "ApproximateCreationDateTime is nan"),
        (bad(SizeBytes="1"), "SizeBytes is '1'"),
        (bad(NewImage=None), "view type"),
        (bad(NewImage=[]), "an image must be a map"),
        (bad(NewImage={"n": {"N": 1.5}}), "attribute n"),
        (bad(NewImage={"n": 1}), "attribute n"),
        (bad(NewImage={"n": {"X": "1"}}), "attribute n"),
        (bad(NewImage={"n": {"L": [{"N": 1}]}}), "attribute n"),
        (bad(NewImage={"n": {"S": "\udfff"}}), "cannot be written as JSON"),
    ],
)
def test_an_invalid_record_is_rejected_with_its_place_and_the_reason(record: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadRecordError, match=reason) as caught:
        event_of(record, 7)
    assert caught.value.index == 7


def test_the_fixed_time_of_these_tests_is_noon() -> None:
    assert datetime.fromtimestamp(NOON_S, UTC) == datetime(2025, 11, 20, 12, tzinfo=UTC)
