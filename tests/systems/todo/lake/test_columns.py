"""Columns read from images: exact, with problems reported."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyplan_systems.todo.lake import columns


def read(kind: str, **attributes: Any) -> dict[str, Any]:
    return columns.read(kind, orjson.dumps(attributes).decode())


def test_a_task_is_read_into_its_columns() -> None:
    row = read(
        "tasks",
        title={"S": "Buy milk"},
        status={"S": "completed"},
        due_date={"S": "2025-11-30"},
        created_at={"N": "1763640000"},
        completed_at={"N": "1763726399.999999999"},
    )
    assert row["title"] == "Buy milk"
    assert row["due_date"] == date(2025, 11, 30)
    assert row["created_on"] == date(2025, 11, 20)
    assert row["completed_at"] == Decimal("1763726399.999999999")
    assert row["completed_on"] == date(2025, 11, 21)
    assert row["problems"] == []


def test_null_and_missing_attributes_are_null() -> None:
    row = read("tasks", title={"S": "x"}, completed_at={"NULL": True})
    assert row["completed_at"] is None
    assert row["category"] is None
    assert row["problems"] == []


@pytest.mark.parametrize(
    ("name", "value", "problem", "raw"),
    [
        ("created_at", {"S": "now"}, "created_at has type S instead of N", None),
        ("created_at", {"N": "0.0000000001"}, "created_at has more digits than its column: 0.0000000001", None),
        ("created_at", {"N": "1" + "0" * 29}, "more digits", None),
        ("created_at", {"N": "1e125"}, "more digits", None),
        ("created_at", {"N": "NaN"}, "created_at", None),
        ("created_at", {"N": "soon"}, "created_at is not a number: soon", None),
        ("created_at", {"N": "253402300800"}, "not a timestamp of the years 1 to 9999", Decimal(253_402_300_800)),
        ("due_date", {"S": "2025-02-30"}, "due_date is not a date", None),
        ("due_date", {"S": "20251130"}, "due_date is not a date", None),
        ("due_date", {"S": "2025-W01-1"}, "due_date is not a date", None),
        ("due_date", {"S": "none"}, "due_date is not a date", None),
        ("status", {"S": "done"}, "status is not one of pending, in_progress, completed, cancelled: done", "done"),
        ("priority", {"S": "huge"}, "priority is not one of", "huge"),
    ],
)
def test_an_invalid_value_is_reported_and_kept_in_the_image(name: str, value: Any, problem: str, raw: Any) -> None:
    row = read("tasks", **{name: value})
    assert row[name] == raw
    assert len(row["problems"]) == 1
    assert problem in row["problems"][0]
    assert orjson.loads(row["item"])[name] == value


@given(st.decimals(min_value=-(10**28), max_value=10**28, places=9))
def test_a_valid_number_is_stored_exactly(number: Decimal) -> None:
    row = read("users", created_at={"N": f"{number:f}"})
    assert row["created_at"] == number


@given(st.integers(min_value=-62_135_596_800, max_value=253_402_300_799))
def test_dates_are_in_utc(seconds: int) -> None:
    days = (columns.date_of(Decimal(seconds)) or date.min) - date(1970, 1, 1)
    assert days.days == seconds // 86_400
