"""The access patterns of the guide's device status monitoring, on the guide's sample items."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

import pytest
from examples.guide.device_status import DeviceLog

from examples.guide import device_status as guide
from keyplan.client.connection import Connection


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def log(device: str, state: Any, date: str, operator: str, escalated_to: str | None = None) -> DeviceLog:
    return DeviceLog(device_id=device, state=state, date=at(date), operator=operator, escalated_to=escalated_to)


LOGS = [
    log("12345", "WARNING1", "2020-04-24T14:40:00", "Liz"),
    log("12345", "WARNING1", "2020-04-24T14:45:00", "Liz"),
    log("12345", "WARNING1", "2020-04-24T14:50:00", "Liz"),
    log("12345", "NORMAL", "2020-04-24T14:55:00", "Liz"),
    log("54321", "WARNING2", "2020-04-11T09:25:00", "Sue"),
    log("54321", "NORMAL", "2020-04-11T09:30:00", "Sue"),
    log("54321", "WARNING3", "2020-04-11T05:50:00", "Sue"),
    log("54321", "WARNING3", "2020-04-11T05:55:00", "Liz"),
    log("54321", "NORMAL", "2020-04-11T06:00:00", "Liz"),
    log("11223", "WARNING4", "2020-04-27T16:10:00", "Sue"),
    log("11223", "WARNING4", "2020-04-27T16:15:00", "Sue", "Sara"),
]


@pytest.fixture(autouse=True)
def logged(db: Connection) -> None:
    for entry in LOGS:
        db.run(guide.log_state(entry))


def test_1_a_log_entry_is_stored_under_the_guides_keys(stored: Callable[..., list[dict[str, Any]]]) -> None:
    assert len(stored(guide.logs)) == len(LOGS)
    assert {
        "DeviceID": "d#11223",
        "State#Date": "WARNING4#2020-04-27T16:15:00Z",
        "Operator": "Sue",
        "Date": "2020-04-27T16:15:00Z",
        "State": "WARNING4",
        "EscalatedTo": "Sara",
    }.items() <= stored(guide.logs, "GSI2")[0].items()


def test_2_logs_of_a_device_and_state_come_newest_first(db: Connection) -> None:
    assert db.run(guide.logs_of_device("12345", "WARNING1")).items == (LOGS[2], LOGS[1], LOGS[0])


def test_3_warnings_of_a_device_leave_out_the_normal_state(db: Connection) -> None:
    assert db.run(guide.warnings_of_device("54321")).items == (LOGS[4], LOGS[6], LOGS[7])


def test_4_logs_of_an_operator_between_two_dates_come_from_several_devices(db: Connection) -> None:
    page = db.run(guide.logs_of_operator("Liz", at("2020-04-11T05:58:00"), at("2020-04-24T14:50:00")))
    assert page.items == (LOGS[8], LOGS[0], LOGS[1], LOGS[2])


def test_5_only_escalated_logs_are_in_the_supervisors_index(
    db: Connection, stored: Callable[..., list[dict[str, Any]]]
) -> None:
    assert db.run(guide.escalated_logs("Sara")).items == (LOGS[10],)
    assert len(stored(guide.logs, "GSI2")) == 1


def test_6_escalated_logs_are_found_by_their_state(db: Connection) -> None:
    assert db.run(guide.escalated_logs_with_state("Sara", "WARNING4")).items == (LOGS[10],)
    assert not db.run(guide.escalated_logs_with_state("Sara", "WARNING1")).items


def test_7_escalated_logs_are_found_by_their_state_and_day(db: Connection) -> None:
    assert db.run(guide.escalated_logs_on_day("Sara", "WARNING4", date(2020, 4, 27))).items == (LOGS[10],)
    assert not db.run(guide.escalated_logs_on_day("Sara", "WARNING4", date(2020, 4, 28))).items
