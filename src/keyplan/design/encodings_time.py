"""Moments and days as text of one width, so that they sort as they happen.

A datetime must know its offset from UTC. Values finer than a unit are rounded down to it; the units down
from the day are told apart as `reversible` (s, ms, us: a value of that precision comes back) and not
(date, month, year, hour, minute of a datetime: groups of many moments). The proleptic years 0001 to 9999 fit;
seconds and milliseconds since 1970 fit their digits until the year 2286 and are refused outside.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from keyplan.design.encodings_base import Encoding, made, refused
from keyplan.design.encodings_chars import DIGITS, CharSet
from keyplan.design.encodings_language import Chain, Language, OneOf, Run, Word
from keyplan.design.template_errors import KeyValueError
from keyplan.design.template_field import Field

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Unit:
    """A precision and its spelling. `write` takes a moment in UTC (or a date), `read` is its inverse."""

    name: str
    rounds_to: str | None
    write: Callable[[Any], str]
    read: Callable[[str], datetime]
    language: Language
    pattern: str
    moments: bool = True  # whether a moment comes back at this precision; else it names a group of them


def _digits(count: int) -> Language:
    return Run(DIGITS, count, count)


def _range(low: str, high: str) -> Language:
    return Run(CharSet.between(low, high), 1, 1)


def _from_to(*pairs: tuple[Language, Language]) -> Language:
    return OneOf(tuple(Chain(pair) for pair in pairs))


# Every real day, and a few that are none (30 February).
_NOT_ZERO = _range("1", "9")
_YEAR = OneOf(
    (
        Chain((_NOT_ZERO, _digits(3))),
        Chain((Word("0"), _NOT_ZERO, _digits(2))),
        Chain((Word("00"), _NOT_ZERO, _digits(1))),
        Chain((Word("000"), _NOT_ZERO)),
    )
)
_MONTH = _from_to((Word("0"), _NOT_ZERO), (Word("1"), _range("0", "2")))
_DAY = _from_to((Word("0"), _NOT_ZERO), (_range("1", "2"), _digits(1)), (Word("3"), _range("0", "1")))
_HOUR = _from_to((_range("0", "1"), _digits(1)), (Word("2"), _range("0", "3")))
_SIXTY = Chain((_range("0", "5"), _digits(1)))
_TO_MONTH = Chain((_YEAR, Word("-"), _MONTH))
_TO_DAY = Chain((_TO_MONTH, Word("-"), _DAY))
_TO_HOUR = Chain((_TO_DAY, Word("T"), _HOUR))
_TO_MINUTE = Chain((_TO_HOUR, Word(":"), _SIXTY))
_TO_SECOND = Chain((_TO_MINUTE, Word(":"), _SIXTY))
_DAY_PATTERN = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_SECOND_PATTERN = _DAY_PATTERN + "T[0-9]{2}:[0-9]{2}:[0-9]{2}"


def _iso(decimals: int, name: str, rounds_to: str | None) -> Unit:
    """ISO 8601 to the second and so many decimals. Formatted by hand: isoformat asks the time zone, half as fast."""
    shape = "%04d-%02d-%02dT%02d:%02d:%02d" + (f".%0{decimals}d" if decimals else "") + "Z"
    one = 10 ** (6 - decimals)  # microseconds of the last decimal

    def write_seconds(m: datetime) -> str:
        return shape % (m.year, m.month, m.day, m.hour, m.minute, m.second)

    def write(m: datetime) -> str:
        return shape % (m.year, m.month, m.day, m.hour, m.minute, m.second, m.microsecond // one)

    fraction: tuple[Language, ...] = (Word("."), _digits(decimals)) if decimals else ()
    language = Chain((_TO_SECOND, *fraction, Word("Z")))
    pattern = _SECOND_PATTERN + (rf"\.[0-9]{{{decimals}}}" if decimals else "") + "Z"
    return Unit(name, rounds_to, write if decimals else write_seconds, datetime.fromisoformat, language, pattern)


def _since_1970(unit: timedelta, width: int, name: str, rounds_to: str) -> Unit:
    limit = 10**width

    def write(moment: datetime) -> str:
        count = (moment - _EPOCH) // unit
        if not 0 <= count < limit:
            raise ValueError(f"{name} holds the years 1970 to 2286")
        return str(count).zfill(width)

    def read(text: str) -> datetime:
        return _EPOCH + int(text) * unit

    return Unit(name, rounds_to, write, read, _digits(width), f"[0-9]{{{width}}}")


def _group(name: str, length: int, rest: str, language: Language, pattern: str) -> Unit:
    """The first `length` characters of an ISO 8601 moment; `rest` completes them to the first moment of the group."""

    def write(moment: date) -> str:
        return moment.isoformat()[:length]

    def read(text: str) -> datetime:
        return datetime.fromisoformat(text + rest)

    return Unit(name, name, write, read, language, pattern, moments=False)


UTC_S = _iso(0, "utc_s", "second")
UTC_MS = _iso(3, "utc_ms", "millisecond")
UTC_US = _iso(6, "utc_us", None)
EPOCH_S = _since_1970(timedelta(seconds=1), 10, "epoch_s", "second")
EPOCH_MS = _since_1970(timedelta(milliseconds=1), 13, "epoch_ms", "millisecond")
DATE = _group("date", 10, "T00:00:00Z", _TO_DAY, _DAY_PATTERN)
MONTH = _group("month", 7, "-01T00:00:00Z", _TO_MONTH, "[0-9]{4}-[0-9]{2}")
YEAR = _group("year", 4, "-01-01T00:00:00Z", _YEAR, "[0-9]{4}")
HOUR = _group("hour", 13, ":00:00Z", _TO_HOUR, _DAY_PATTERN + "T[0-9]{2}")
MINUTE = _group("minute", 16, ":00Z", _TO_MINUTE, _DAY_PATTERN + "T[0-9]{2}:[0-9]{2}")
PERIODS_S = {YEAR.name: 31_536_000, MONTH.name: 2_592_000, DATE.name: 86_400, HOUR.name: 3_600, MINUTE.name: 60}
"""How long each group of moments is, in seconds: months have 30 days, years 365."""


def encoding(field: Field, unit: Unit) -> Encoding:
    """The encoding of a date or datetime field at a unit."""
    if field.type is date:
        return _of_dates(field, unit)
    return _of_moments(field, unit)


def _of_moments(field: Field, unit: Unit) -> Encoding:
    write, read = unit.write, unit.read

    def encode(value: Any) -> str:
        if not isinstance(value, datetime):
            raise refused(field, value, "a datetime")
        try:
            if value.tzinfo is not UTC:
                value = _in_utc(field, value)
            return write(value)
        except (OverflowError, ValueError) as error:
            raise error if isinstance(error, KeyValueError) else KeyValueError(field.name, value, str(error)) from error

    return made(unit.name, encode, read, unit.language, unit.pattern, reversible=unit.moments, rounds_to=unit.rounds_to)


def _in_utc(field: Field, value: datetime) -> datetime:
    if value.utcoffset() is None:
        raise KeyValueError(field.name, value, "it is a naive datetime, and its offset from UTC is needed")
    return value.astimezone(UTC)


def _of_dates(field: Field, unit: Unit) -> Encoding:
    write, read = unit.write, unit.read

    def encode(value: Any) -> str:
        if not isinstance(value, date) or isinstance(value, datetime):
            raise refused(field, value, "a date")
        return write(value)

    def decode(text: str) -> date:
        return read(text).date()

    days = unit is DATE
    name = "" if days else unit.name
    rounds_to = None if days else unit.rounds_to
    return made(name, encode, decode, unit.language, unit.pattern, reversible=days, rounds_to=rounds_to)
