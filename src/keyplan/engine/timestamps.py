"""Converts timestamps in requests and formats timestamps for messages."""

from __future__ import annotations

import math
from datetime import UTC, datetime

from keyplan.dynamodb.messages import requests as messages
from keyplan.errors import SerializationError

_FIRST_S, _LAST_S = -62_135_596_800, 253_402_300_799  # years 1 to 9999, the range of printable timestamps


def epoch_s(timestamp: datetime | float) -> float:
    """Convert a timestamp in a request to epoch seconds. Requests from Python contain datetimes, and JSON requests
    contain numbers.

    Raises SerializationError if the value is not finite or cannot be converted.
    """
    try:
        at_s = timestamp.timestamp() if isinstance(timestamp, datetime) else float(timestamp)
    except (OverflowError, ValueError):  # an int too large for a float, or a time before year 1 in UTC
        at_s = math.nan
    if not math.isfinite(at_s):
        raise SerializationError(messages.not_convertible("DECIMAL_VALUE", "Date"))
    return at_s


def text(at_s: float) -> str:
    """Format a timestamp in UTC with a precision of seconds, as in DynamoDB's messages."""
    time = datetime.fromtimestamp(min(max(at_s, _FIRST_S), _LAST_S), UTC)
    return time.isoformat(timespec="seconds").replace("+00:00", "Z")
