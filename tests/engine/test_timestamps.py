"""Timestamps in requests and in messages."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.engine import tables_of
from tests.engine.backup_making import Harness

from keyplan.engine import timestamps
from keyplan.errors import SerializationError


def test_a_datetime_equals_its_epoch_seconds() -> None:
    assert timestamps.epoch_s(datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)) == tables_of.NOW
    assert timestamps.epoch_s(int(tables_of.NOW)) == tables_of.NOW


@pytest.mark.parametrize(
    ("at_s", "expected"),
    [
        (tables_of.NOW + 0.9, "2023-11-14T22:13:20Z"),
        (0, "1970-01-01T00:00:00Z"),
        (-1e20, "0001-01-01T00:00:00Z"),
        (1e20, "9999-12-31T23:59:59Z"),
    ],
)
def test_any_timestamp_has_a_text(at_s: float, expected: str) -> None:
    assert timestamps.text(at_s) == expected


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, 10**400])
@pytest.mark.parametrize(
    ("operation", "members"),
    [
        ("ListBackups", {"TimeRangeLowerBound": None, "TimeRangeUpperBound": None}),
        (
            "RestoreTableToPointInTime",
            {"SourceTableName": "things", "TargetTableName": "restored", "RestoreDateTime": None},
        ),
    ],
)
def test_an_invalid_number_is_not_a_timestamp(number: float, operation: str, members: dict[str, Any]) -> None:
    harness = Harness()
    harness.enable_recovery()
    with pytest.raises(SerializationError, match="Date"):
        harness.call(operation, **{name: number if member is None else member for name, member in members.items()})
