"""Common rules of all records: they are immutable, reject unknown fields, have camelCase aliases, and use fixed
formats.

A timestamp is always written in UTC with exactly three decimals (`2026-01-31T09:05:00.000Z`), because strings with
mixed precision do not sort correctly. Because `.` sorts before `Z`, a time with a fraction would sort before the whole
second that precedes it.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer
from pydantic.alias_generators import to_camel

from keyplan import Attribute

SCHEMA_VERSION: Final = "1.0"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Record(BaseModel):
    """Base class of all records. Records are immutable and reject unknown fields. Field names are in `snake_case` in
    Python and in `camelCase` in JSON.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)


def values_of(kind: type[Record], record: Record) -> dict[str, Any]:
    """Return the values of the fields that the record type `kind` defines, by field name. `record` is the record that
    contains the values, and must have all of these fields.
    """
    return {name: getattr(record, name) for name in kind.model_fields}


def instant(value: object) -> datetime:
    """Convert a time-zone-aware datetime, or ISO 8601 text with a UTC offset, to a UTC timestamp truncated to
    milliseconds.

    Raises ValueError for any other value. A time without an offset is rejected because it would be ambiguous.
    """
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    if not isinstance(value, datetime):
        # pydantic converts a ValueError to a validation error of the field, but does not catch a TypeError.
        raise ValueError(f"a timestamp must be ISO 8601 text or a datetime, not {type(value).__name__}")  # noqa: TRY004
    if value.tzinfo is None:
        raise ValueError(f"{value.isoformat()} has no offset from UTC")
    try:
        utc = value.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(f"{value.isoformat()} is outside the years 1 to 9999 in UTC") from error
    return utc.replace(microsecond=utc.microsecond // 1000 * 1000)


def instant_of(epoch_seconds: float) -> datetime:
    """Convert seconds since the Unix epoch to a timestamp that is truncated to milliseconds."""
    return _EPOCH + timedelta(milliseconds=round(epoch_seconds * 1_000_000) // 1000)


def iso(time: datetime) -> str:
    """Return the string form of a timestamp, which has 24 characters and sorts by time."""
    return instant(time).isoformat(timespec="milliseconds").replace("+00:00", "Z")


Instant = Annotated[
    datetime,
    Attribute(stored="iso_ms"),
    BeforeValidator(instant),
    PlainSerializer(iso, return_type=str, when_used="json"),
]
"""Timestamp in UTC. `instant` converts and validates input values. JSON and stored items contain the string that `iso`
returns.
"""

Figure = Annotated[Decimal, PlainSerializer(float, return_type=float, when_used="json")]
"""Number with two decimals. It is a Decimal in Python and in storage, and a number in JSON."""
