"""Functions for timestamps in milliseconds since the Unix epoch: their stored format, and their days and hours in time
zones.

The domain rules use whole milliseconds, because integers compare exactly and floating-point seconds do not. Stored
timestamps have a fixed format (UTC, three decimals, `Z`), because sort keys are compared as strings.
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
    """Convert epoch seconds to whole milliseconds. The result is rounded down, so that it is never in the future."""
    return int(now_s * SECOND_MS)


def ceil_seconds(at_ms: int) -> int:
    """Convert milliseconds to seconds, rounded up."""
    return -(-at_ms // SECOND_MS)


def as_datetime(at_ms: int) -> datetime:
    """Convert a timestamp to a time-zone-aware datetime in UTC."""
    return _EPOCH + timedelta(milliseconds=at_ms)


def iso(at_ms: int) -> str:
    """Return the timestamp in its stored format, such as `2026-02-02T14:00:00.000Z`."""
    return as_datetime(at_ms).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_iso(text: str) -> int:
    """Parse a timestamp in its stored format. Raises ValueError for any other format."""
    if not _ISO.fullmatch(text):
        raise ValueError(f"not a stored timestamp (YYYY-MM-DDTHH:MM:SS.mmmZ): {text!r}")
    return (datetime.fromisoformat(text) - _EPOCH) // timedelta(milliseconds=1)


def zone(name: str | None) -> ZoneInfo:
    """Return the time zone with an IANA name, or UTC if `name` is None. Raises InvalidRequestError for an
    unknown name.
    """
    if name is None:
        return ZoneInfo("UTC")
    if name not in _zone_names():
        message = "X-Timezone must be an IANA time zone name such as Europe/Berlin"
        raise InvalidRequestError(message, {"field": "X-Timezone", "constraint": "time_zone"})
    return ZoneInfo(name)


@cache
def _zone_names() -> frozenset[str]:
    """Return all valid time zone names. Names from clients are checked against this set, so that they are never used as
    file paths.
    """
    return frozenset(available_timezones() - {"localtime", "Factory"})


def utc_day(at_ms: int) -> date:
    """Return the calendar day of a timestamp in UTC."""
    return as_datetime(at_ms).date()


def local_day(at_ms: int, zone: ZoneInfo) -> date:
    """Return the calendar day of a timestamp in a time zone."""
    return as_datetime(at_ms).astimezone(zone).date()


def local_hour(at_ms: int, zone: ZoneInfo) -> int:
    """Return the hour of the day (0 to 23) of a timestamp in a time zone."""
    return as_datetime(at_ms).astimezone(zone).hour


def day_before(day: date, zone: ZoneInfo) -> date:
    """Return the last calendar day before `day` that existed in the time zone.

    It is nearly always the previous day. The exceptions are time zones that moved across the date line and skipped a
    day. For example, 2011-12-30 did not exist in Pacific/Apia.
    """
    start = datetime.combine(day, time(), tzinfo=zone).astimezone(UTC)
    return (start - timedelta(microseconds=1)).astimezone(zone).date()


def week_start(day: date) -> date:
    """Return the Monday of the week that contains the day."""
    return day - timedelta(days=day.weekday())


def retry_after_s(retry_after: str | None, now_s: float) -> float | None:
    """Return the pause in seconds that a Retry-After header requests, or None if the header is missing or invalid.

    The header contains a number of seconds, or a date that is compared with the current time, `now_s`.
    """
    if retry_after is None:
        return None
    if re.fullmatch("[0-9]+", retry_after.strip()):
        return float(retry_after)
    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - now_s)
    except (ValueError, OverflowError):  # OverflowError: a year or an hour with dozens of digits
        return None
