"""Timestamps in whole milliseconds since the Unix epoch, their stored form, and days and hours in time zones.

Rules use whole milliseconds, because integers compare exactly and float seconds do not. Stored strings have a fixed
form (UTC, three decimals, `Z`), because sort keys are compared as strings.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from email.utils import parsedate_to_datetime
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from keyplan_systems.ask_a_human.domain.refusals import InvalidRequestError

SECOND_MS = 1_000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
DAY_S = 86_400

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def from_seconds(now_s: float) -> int:
    """Convert a clock's seconds to whole milliseconds. They are truncated, so that they are never in the future."""
    return int(now_s * SECOND_MS)


def ceil_seconds(at_ms: int) -> int:
    """Return the first whole second that is not before the timestamp."""
    return -(-at_ms // SECOND_MS)


def as_datetime(at_ms: int) -> datetime:
    """Return the timestamp as an aware UTC datetime."""
    return _EPOCH + timedelta(milliseconds=at_ms)


def iso(at_ms: int) -> str:
    """Return the stored form of the timestamp, such as `2026-02-02T14:00:00.000Z`."""
    return as_datetime(at_ms).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_iso(text: str) -> int:
    """Parse the stored form of a timestamp. Raises ValueError for any other form."""
    if not _ISO.fullmatch(text):
        raise ValueError(f"not a stored timestamp (YYYY-MM-DDTHH:MM:SS.mmmZ): {text!r}")
    return (datetime.fromisoformat(text) - _EPOCH) // timedelta(milliseconds=1)


def zone(name: str | None) -> ZoneInfo:
    """Return the zone with an IANA name, or UTC without a name. Raises InvalidRequestError for an unknown name."""
    if name is None:
        return ZoneInfo("UTC")
    if name not in _zone_names():
        message = "X-Timezone must be an IANA time zone name such as Europe/Berlin"
        raise InvalidRequestError(message, {"field": "X-Timezone", "constraint": "time_zone"})
    return ZoneInfo(name)


@cache
def _zone_names() -> frozenset[str]:
    """Return all valid zone names, so that a client's text is never used as a path on disk."""
    return frozenset(available_timezones() - {"localtime", "Factory"})


def utc_day(at_ms: int) -> date:
    """Return the calendar day in UTC."""
    return as_datetime(at_ms).date()


def local_day(at_ms: int, in_zone: ZoneInfo) -> date:
    """Return the calendar day in the zone."""
    return as_datetime(at_ms).astimezone(in_zone).date()


def local_hour(at_ms: int, in_zone: ZoneInfo) -> int:
    """Return the hour of the day, 0 to 23, in the zone."""
    return as_datetime(at_ms).astimezone(in_zone).hour


def day_before(day: date, in_zone: ZoneInfo) -> date:
    """Return the last calendar day before `day` that existed in the zone.

    It is nearly always the previous day. A zone that moved across the date line skipped a day (Pacific/Apia has no
    2011-12-30), and an answer on a skipped day is impossible.
    """
    starts = datetime.combine(day, time(), tzinfo=in_zone).astimezone(UTC)
    return (starts - timedelta(microseconds=1)).astimezone(in_zone).date()


def week_start(day: date) -> date:
    """Return the Monday of the day's week."""
    return day - timedelta(days=day.weekday())


def retry_after_s(retry_after: str | None, now_s: float) -> float | None:
    """Return the pause in seconds that a Retry-After header requests (in seconds or as a date), or None if invalid."""
    if retry_after is None:
        return None
    if re.fullmatch("[0-9]+", retry_after.strip()):
        return float(retry_after)
    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - now_s)
    except (ValueError, OverflowError):  # OverflowError: a year or an hour with dozens of digits
        return None
