"""Moments as they are stored: as text that sorts by time, or as whole units since 1970."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from keyplan.design.field_types import StoredAs

_1970 = datetime(1970, 1, 1, tzinfo=UTC)


def moment_text(value: datetime, timespec: str = "microseconds") -> str:
    """A moment as text of one width that sorts by time: UTC, Z, microseconds unless others are asked for.

    Raises ValueError for one without a time zone.
    """
    _check_zone(value)
    return value.astimezone(UTC).replace(tzinfo=None).isoformat(timespec=timespec) + "Z"


def epoch_text(value: datetime, per_second: int) -> str:
    """The whole units since 1970 that have passed by a moment. Raises ValueError for one without a time zone."""
    _check_zone(value)
    delta = value - _1970
    microseconds = (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds
    return str(microseconds * per_second // 1_000_000)


def from_epoch(number: str, per_second: int) -> datetime:
    """The moment at a number of units since 1970."""
    return _1970 + timedelta(microseconds=int(Decimal(number) * 1_000_000 / per_second))


def _check_zone(value: datetime) -> None:
    if value.tzinfo is None:
        raise ValueError(f"{value.isoformat()} has no time zone: a stored moment must have one")


def rounded_up(stored: StoredAs, value: Any) -> Any:
    """The least moment of whole units that is not before this one."""
    if not isinstance(value, datetime):
        return value
    unit_us = 1_000_000 if stored in {"epoch_s", "iso_s"} else 1_000
    over = value.microsecond % unit_us
    try:
        return value + timedelta(microseconds=unit_us - over) if over else value
    except OverflowError:
        return value  # the last unit that there is
