"""Reads the columns of users and tasks from item images. Values of a wrong type are reported and never converted.

If an attribute does not have the type of its column, or a number is outside the column's range, the row is kept. In
this case, the column is null, `problems` contains the reason, and `item` contains the whole image.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import ROUND_FLOOR, Context, Decimal, InvalidOperation
from typing import Any

import orjson
import pyarrow as pa

NUMBER = pa.decimal128(38, 9)
"""Column type for exact numbers with 29 digits before the decimal point and nine after it."""

_CONTEXT = Context(prec=140)
_STEP = Decimal(1).scaleb(-9)
_LIMIT = Decimal(10) ** 29
_YEARS_S = (-62_135_596_800, 253_402_300_799)
"""Range of supported times in Unix seconds: the years 1 to 9999."""

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
"""Format of a date. The format is checked, because Python also accepts weeks as dates, such as 2025-W01-1."""

_STATUSES = ("pending", "in_progress", "completed", "cancelled")
_PRIORITIES = ("low", "medium", "high", "urgent")

Problems = list[str]
Reader = Callable[[str, Mapping[str, Any], Problems], Any]


def text(name: str, item: Mapping[str, Any], problems: Problems) -> str | None:
    """Return a string attribute of an item, or None if it is missing or not a string. A wrong type is reported in
    `problems`.
    """
    value: str | None = _content(name, "S", item, problems)
    return value


def number(name: str, item: Mapping[str, Any], problems: Problems) -> Decimal | None:
    """Return a number attribute of an item with its exact value, or None if it is missing or invalid. An invalid value
    is reported in `problems`.
    """
    value = _content(name, "N", item, problems)
    if value is None:
        return None
    try:
        exact = Decimal(value)
        rounded = exact.quantize(_STEP, context=_CONTEXT)
    except InvalidOperation:
        problems.append(f"{name} is not a number: {value}")
        return None
    if not exact.is_finite() or rounded != exact or abs(exact) >= _LIMIT:
        problems.append(f"{name} has more digits than its column: {value}")
        return None
    return rounded


def day(name: str, item: Mapping[str, Any], problems: Problems) -> date | None:
    """Return a date attribute of an item, or None if it is missing or does not have the format YYYY-MM-DD. A wrong
    format is reported in `problems`.
    """
    value = text(name, item, problems)
    if value is None:
        return None
    try:
        if _DAY.fullmatch(value):
            return date.fromisoformat(value)
    except ValueError:
        pass  # reported below, like other formats
    problems.append(f"{name} is not a date of the form YYYY-MM-DD: {value}")
    return None


def one_of(allowed: tuple[str, ...]) -> Reader:
    """Return a reader for a string attribute with a fixed set of values. Other values are kept, but they are reported
    in `problems`.
    """

    def read(name: str, item: Mapping[str, Any], problems: Problems) -> str | None:
        value = text(name, item, problems)
        if value is not None and value not in allowed:
            problems.append(f"{name} is not one of {', '.join(allowed)}: {value}")
        return value

    return read


_READERS: dict[str, dict[str, tuple[Any, Reader]]] = {
    "users": {
        "email": (pa.string(), text),
        "name": (pa.string(), text),
        "created_at": (NUMBER, number),
        "updated_at": (NUMBER, number),
    },
    "tasks": {
        "title": (pa.string(), text),
        "description": (pa.string(), text),
        "status": (pa.string(), one_of(_STATUSES)),
        "priority": (pa.string(), one_of(_PRIORITIES)),
        "category": (pa.string(), text),
        "due_date": (pa.date32(), day),
        "created_at": (NUMBER, number),
        "updated_at": (NUMBER, number),
        "completed_at": (NUMBER, number),
        "expiration_timestamp": (NUMBER, number),
    },
}
_DATES = {"users": {"created_on": "created_at"}, "tasks": {"created_on": "created_at", "completed_on": "completed_at"}}
"""For users and for tasks, a mapping from each column with a UTC date to the column in Unix seconds from which the date
is derived.
"""

FIELDS = {
    kind: [
        *((name, column_type) for name, (column_type, _) in readers.items()),
        *((name, pa.date32()) for name in _DATES[kind]),
    ]
    for kind, readers in _READERS.items()
}
"""Names and types of the columns that are read from the image of a user or a task."""


def read(kind: str, image: str | None) -> dict[str, Any]:
    """Return the columns of an item by name, including `item` and `problems`. Without an image, all columns
    are null.
    """
    row: dict[str, Any] = {name: None for name, _ in FIELDS[kind]}
    row |= {"item": image, "problems": []}
    if image is None:
        return row
    item = orjson.loads(image)
    for name, (_, reader) in _READERS[kind].items():
        row[name] = reader(name, item, row["problems"])
    for name, source in _DATES[kind].items():
        row[name] = date_of(row[source])
        if row[source] is not None and row[name] is None:
            row["problems"].append(f"{source} is not a timestamp of the years 1 to 9999: {item[source]['N']}")
    return row


def expires_s(image: str | None) -> Decimal | None:
    """Return the expiry time, in Unix seconds, that an item image contains. Return None if the item never expires or
    the time is unreadable.
    """
    return None if image is None else number("expiration_timestamp", orjson.loads(image), [])


def date_of(seconds: Decimal | None) -> date | None:
    """Convert Unix seconds to a UTC date. Return None if the date is outside the years 1 to 9999."""
    if seconds is None or not _YEARS_S[0] <= seconds <= _YEARS_S[1]:
        return None
    days = (seconds / 86_400).to_integral_value(ROUND_FLOOR)
    return date.fromordinal(datetime(1970, 1, 1, tzinfo=UTC).toordinal() + int(days))


def _content(name: str, kind: str, item: Mapping[str, Any], problems: Problems) -> Any:
    """Return the value of an attribute without its DynamoDB type descriptor, or None if the attribute is missing, is
    NULL, or does not have the DynamoDB type `kind`. A wrong type is reported in `problems`.
    """
    value = item.get(name)
    if value is None or "NULL" in value:
        return None
    if kind not in value:
        problems.append(f"{name} has type {next(iter(value))} instead of {kind}")
        return None
    return value[kind]
