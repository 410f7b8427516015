"""Encodings of numbers, UUIDs, dates and times as strings in keys, and the errors that encodings raise.

Dates and times are encoded as strings of fixed length, so that they sort by time. A datetime must have a UTC offset.
Values are rounded down to the unit in the placeholder spec. The units s, ms and us are `reversible`: values with that
precision can be decoded. For a datetime, the units date, month, year, hour and minute are periods, which are not
reversible. Years 0001 to 9999 are supported. Seconds and milliseconds since 1970 are supported until the year 2286, and
values outside this range are rejected.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from keyplan.design.fields.annotations import DeclaredField
from keyplan.design.keys.languages import (
    DIGITS,
    Chain,
    CharSet,
    Language,
    OneOf,
    Run,
    Word,
    bytes_of,
    chars_of,
    first_of,
    lengths_of,
)


class TemplateError(ValueError):
    """Raised for an invalid template: it has a syntax error, an unknown field, or a placeholder spec that does not
    support the type of its field.

    `position` is the offset in `text` of the first invalid character. `fix` describes how to resolve the error.
    """

    def __init__(self, text: str, position: int, problem: str, fix: str) -> None:
        super().__init__(f"{problem} (at {position} of {text!r}): {fix}")
        self.text = text
        self.position = position
        self.problem = problem
        self.fix = fix


class EncodingError(ValueError):
    """Raised if a placeholder spec does not support the type of its field.

    The caller adds the position in the template and raises TemplateError instead.
    """

    def __init__(self, problem: str, fix: str) -> None:
        super().__init__(f"{problem}: {fix}")
        self.problem = problem
        self.fix = fix


class KeyPartError(ValueError):
    """Raised if a value cannot be used in a key.

    `delimiter` is set if the value contains the delimiter that follows it. Such a value could produce the same key as
    other values.
    """

    def __init__(self, field: str, value: Any, problem: str, delimiter: str | None = None) -> None:
        super().__init__(f"{field}={value!r} cannot be part of a key: {problem}")
        self.field = field
        self.value = value
        self.problem = problem
        self.delimiter = delimiter


class MissingField(KeyError):  # noqa: N818  named after the state that it reports
    """Raised if a field in a key has no value."""

    def __init__(self, field: str, template: str = "") -> None:
        super().__init__(field)
        self.field = field
        self.template = template

    def __str__(self) -> str:
        template_text = f" of the key {self.template!r}" if self.template else ""
        return f"the field {self.field!r}{template_text} has no value"


class InlineEncoding(NamedTuple):
    """An encoding as source code, in which `v` stands for the value."""

    condition: str
    """An expression that is true for the values that `text` can encode. All other values are passed to `encode`."""
    text: str
    """The replacement field of an f-string that encodes the value."""
    is_number: bool = False
    """Whether the encoded string is always a number, and therefore ASCII and not empty."""


@dataclass(frozen=True)
class Encoding:
    """Conversion of the values of one field to strings in a key.

    `encode` raises KeyPartError or MissingField. `decode` is the inverse and raises ValueError for a string that no
    value produces. If the encoding is not `reversible`, `decode` returns one of the values that produce the string; for
    a period, this is the first timestamp in UTC. `keeps_order` means that a greater value never produces a smaller
    string. The members of an Enum or Literal are ordered as declared. `rounds_to` is the name of the unit to which more
    precise values are rounded down. `choices` are all possible strings if their number is small, or None. `min_bytes`
    and `max_bytes` are UTF-8 lengths, or None for unlimited.

    `language` contains the strings of all valid values. `pattern` is a regular expression that matches the strings of
    all values of the type, including invalid values, and `reachable` contains the characters of these strings. If
    `declared` is True, `language` is narrowed by declared lengths, a pattern or a range, which rendering does not
    check. `inline` is source code that encodes most values, for the generated functions of templates.
    """

    name: str
    encode: Callable[[Any], str]
    decode: Callable[[str], Any]
    language: Language
    pattern: str
    reversible: bool
    keeps_order: bool
    min_bytes: int
    max_bytes: int | None
    reachable: CharSet
    choices: tuple[str, ...] | None = None
    rounds_to: str | None = None
    may_be_empty: bool = False
    declared: bool = False
    inline: InlineEncoding | None = None

    @property
    def width(self) -> int | None:
        """The length in characters of all encoded strings, or None if it varies. The strings of invalid values are
        included.
        """
        return None if self.declared else self.valid_width

    @property
    def valid_width(self) -> int | None:
        """The length in characters of the encoded strings of all valid values, or None if it varies."""
        low, high = lengths_of(self.language)
        return low if low == high else None

    @property
    def chars(self) -> CharSet:
        """The characters that occur in the encoded strings of valid values."""
        return chars_of(self.language)

    @property
    def first(self) -> CharSet:
        """The characters with which an encoded string can start, including the strings of invalid values."""
        return first_of(self.language) if self.reachable == self.chars else self.reachable

    def is_exact(self, value: Any) -> bool:
        """Return True if no other value is encoded as the same string.

        For example, the result is False for a timestamp that the encoding rounds.
        """
        if self.reversible and self.rounds_to is None:
            return True
        # In UTC, because local times are ambiguous when clocks are set back.
        expected = value.astimezone(UTC) if isinstance(value, datetime) else value
        return bool(self.decode(self.encode(value)) == expected)


def encoding_of(
    name: str,
    encode: Callable[[Any], str],
    decode: Callable[[str], Any],
    language: Language,
    pattern: str,
    *,
    reversible: bool = True,
    keeps_order: bool = True,
    choices: tuple[str, ...] | None = None,
    rounds_to: str | None = None,
) -> Encoding:
    """Return an encoding whose sizes and characters are computed from its language. The other arguments are attributes
    of `Encoding`.
    """
    low, high = bytes_of(language)
    reachable = chars_of(language)
    return Encoding(
        name, encode, decode, language, pattern, reversible, keeps_order, low, high, reachable, choices, rounds_to,
        may_be_empty=low == 0,
    )  # fmt: skip


def wrong_type(field: DeclaredField, value: Any, expected: str) -> Exception:
    """Return the exception for a value of the wrong type: MissingField if the value is None, or
    KeyPartError otherwise.
    """
    if value is None:
        return MissingField(field.name)
    return KeyPartError(field.name, value, f"expected {expected}, got {type(value).__name__}")


_MAX_DIGITS = 38  # the maximum precision of a DynamoDB Number
_NOT_ZERO = CharSet.between("1", "9")
_HEX = DIGITS | CharSet.between("a", "f")
_UUID_PARTS = (8, 4, 4, 4, 12)


def int_encoding(field: DeclaredField) -> Encoding:
    """Return the encoding of an int as a decimal string. The strings do not sort like numbers, because "10" < "9"."""

    def encode(value: Any) -> str:
        if type(value) is not int:
            return str(_int_of(field, value))
        return str(value)

    def decode(text: str) -> int:
        return int(text)

    language = _digits_between(field.minimum, field.maximum)
    encoding = encoding_of("", encode, decode, language, "-?[0-9]+", keeps_order=False)
    inline = InlineEncoding("v.__class__ is int", "{v}", is_number=True)
    return replace(encoding, declared=True, reachable=DIGITS | CharSet.from_text("-"), inline=inline)


def padded_encoding(field: DeclaredField, width: int) -> Encoding:
    """Return the encoding of a non-negative int as a string of `width` digits, padded with zeros. The strings sort like
    the numbers.
    """
    if width > _MAX_DIGITS:
        raise EncodingError(f"0{width}d exceeds the maximum width of a number", f"use at most 0{_MAX_DIGITS}d")
    limit = 10**width

    def encode(value: Any) -> str:
        number = value if type(value) is int and field.choices is None else _int_of(field, value)
        if not 0 <= number < limit:
            problem = "it is negative" if number < 0 else f"it has more than {width} digits"
            raise KeyPartError(field.name, value, problem)
        return str(number).zfill(width)

    def decode(text: str) -> Any:
        return _choice_of_number(field, int(text))

    encoding = encoding_of(f"0{width}d", encode, decode, Run(DIGITS, width, width), f"[0-9]{{{width}}}")
    inline = InlineEncoding(f"v.__class__ is int and -1 < v < {limit}", f"{{v:0{width}d}}", is_number=True)
    return encoding if field.choices is not None else replace(encoding, inline=inline)


def uuid_encoding(field: DeclaredField) -> Encoding:
    """Return the encoding of a UUID as a string of 36 lowercase characters. The strings sort like the UUIDs."""

    def encode(value: Any) -> str:
        if not isinstance(value, UUID):
            raise wrong_type(field, value, "a UUID")
        return str(value)

    runs: list[Language] = []
    for part in _UUID_PARTS:
        runs += [Word("-"), Run(_HEX, part, part)]
    pattern = "-".join(f"[0-9a-f]{{{part}}}" for part in _UUID_PARTS)
    return encoding_of("", encode, UUID, Chain(tuple(runs[1:])), pattern)


def _int_of(field: DeclaredField, value: Any) -> int:
    """Convert an int or IntEnum member to an int. Raises KeyPartError for a bool and for other types."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise wrong_type(field, value, "an int")
    if field.choices is not None and value not in field.choices:
        raise KeyPartError(field.name, value, "it is not one of its choices")
    return int(value)


def _choice_of_number(field: DeclaredField, number: int) -> Any:
    """Return the number or, for an Enum, the member with that value. Raises ValueError if no member has it."""
    if field.choices is None:
        return number
    for choice in field.choices:
        if choice == number or getattr(choice, "value", None) == number:
            return choice
    raise ValueError(f"{number} is not a choice of {field.name}")


def _digits_between(minimum: int | None, maximum: int | None) -> Language:
    """Return a language that contains every int from `minimum` to `maximum`, in decimal notation.

    It can also contain ints outside this range that have the same number of digits. A bound of None means unlimited.
    """
    options: list[Language] = []
    if (minimum is None or minimum <= 0) and (maximum is None or maximum >= 0):
        options.append(Word("0"))
    if maximum is None or maximum > 0:
        options.append(_digits_of_range(minimum if minimum is not None and minimum > 0 else 1, maximum))
    if minimum is None or minimum < 0:
        low = -maximum if maximum is not None and maximum < 0 else 1
        options.append(Chain((Word("-"), _digits_of_range(low, None if minimum is None else -minimum))))
    return OneOf(tuple(options))


def _digits_of_range(low: int, high: int | None) -> Language:
    longest = None if high is None else len(str(high)) - 1
    return Chain((Run(_NOT_ZERO, 1, 1), Run(DIGITS, len(str(low)) - 1, longest)))


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class TimeUnit:
    """A precision of dates and times, and the string format for values with this precision.

    `write` formats a UTC timestamp or a date, and `read` is the inverse.
    """

    name: str
    rounds_to: str | None
    write: Callable[[Any], str]
    read: Callable[[str], datetime]
    language: Language
    pattern: str
    reversible: bool = True  # whether a timestamp of this precision can be decoded; False for a period


def _digits(count: int) -> Language:
    return Run(DIGITS, count, count)


def _range(low: str, high: str) -> Language:
    return Run(CharSet.between(low, high), 1, 1)


def _union_of_pairs(*pairs: tuple[Language, Language]) -> Language:
    return OneOf(tuple(Chain(pair) for pair in pairs))


# Every date, and a few that do not exist (30 February).
_NOT_ZERO_DIGIT = _range("1", "9")
_YEAR = OneOf(
    (
        Chain((_NOT_ZERO_DIGIT, _digits(3))),
        Chain((Word("0"), _NOT_ZERO_DIGIT, _digits(2))),
        Chain((Word("00"), _NOT_ZERO_DIGIT, _digits(1))),
        Chain((Word("000"), _NOT_ZERO_DIGIT)),
    )
)
_MONTH = _union_of_pairs((Word("0"), _NOT_ZERO_DIGIT), (Word("1"), _range("0", "2")))
_DAY = _union_of_pairs((Word("0"), _NOT_ZERO_DIGIT), (_range("1", "2"), _digits(1)), (Word("3"), _range("0", "1")))
_HOUR = _union_of_pairs((_range("0", "1"), _digits(1)), (Word("2"), _range("0", "3")))
_SIXTY = Chain((_range("0", "5"), _digits(1)))
_TO_MONTH = Chain((_YEAR, Word("-"), _MONTH))
_TO_DAY = Chain((_TO_MONTH, Word("-"), _DAY))
_TO_HOUR = Chain((_TO_DAY, Word("T"), _HOUR))
_TO_MINUTE = Chain((_TO_HOUR, Word(":"), _SIXTY))
_TO_SECOND = Chain((_TO_MINUTE, Word(":"), _SIXTY))
_DAY_PATTERN = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_SECOND_PATTERN = _DAY_PATTERN + "T[0-9]{2}:[0-9]{2}:[0-9]{2}"


def _iso_unit(decimals: int, name: str, rounds_to: str | None) -> TimeUnit:
    """Return a time unit for ISO 8601 strings with this number of decimal places in the seconds.

    The unit does not format strings with isoformat, because isoformat takes twice as long.
    """
    shape = "%04d-%02d-%02dT%02d:%02d:%02d" + (f".%0{decimals}d" if decimals else "") + "Z"
    unit = 10 ** (6 - decimals)  # microseconds per unit of the last decimal

    def write_seconds(timestamp: datetime) -> str:
        return shape % (
            timestamp.year,
            timestamp.month,
            timestamp.day,
            timestamp.hour,
            timestamp.minute,
            timestamp.second,
        )

    def write(timestamp: datetime) -> str:
        return shape % (
            timestamp.year,
            timestamp.month,
            timestamp.day,
            timestamp.hour,
            timestamp.minute,
            timestamp.second,
            timestamp.microsecond // unit,
        )

    fraction: tuple[Language, ...] = (Word("."), _digits(decimals)) if decimals else ()
    language = Chain((_TO_SECOND, *fraction, Word("Z")))
    pattern = _SECOND_PATTERN + (rf"\.[0-9]{{{decimals}}}" if decimals else "") + "Z"
    return TimeUnit(name, rounds_to, write if decimals else write_seconds, datetime.fromisoformat, language, pattern)


def _epoch_unit(unit: timedelta, width: int, name: str, rounds_to: str) -> TimeUnit:
    limit = 10**width

    def write(timestamp: datetime) -> str:
        count = (timestamp - _EPOCH) // unit
        if not 0 <= count < limit:
            raise ValueError(f"{name} supports the years 1970 to 2286")
        return str(count).zfill(width)

    def read(text: str) -> datetime:
        return _EPOCH + int(text) * unit

    return TimeUnit(name, rounds_to, write, read, _digits(width), f"[0-9]{{{width}}}")


def _period_unit(name: str, length: int, suffix: str, language: Language, pattern: str) -> TimeUnit:
    """Return a time unit whose strings are the first `length` characters of an ISO 8601 timestamp.

    Such a string followed by `suffix` is the timestamp at which the period starts.
    """

    def write(timestamp: date) -> str:
        return timestamp.isoformat()[:length]

    def read(text: str) -> datetime:
        return datetime.fromisoformat(text + suffix)

    return TimeUnit(name, name, write, read, language, pattern, reversible=False)


UTC_S = _iso_unit(0, "utc_s", "second")
UTC_MS = _iso_unit(3, "utc_ms", "millisecond")
UTC_US = _iso_unit(6, "utc_us", None)
EPOCH_S = _epoch_unit(timedelta(seconds=1), 10, "epoch_s", "second")
EPOCH_MS = _epoch_unit(timedelta(milliseconds=1), 13, "epoch_ms", "millisecond")
DATE = _period_unit("date", 10, "T00:00:00Z", _TO_DAY, _DAY_PATTERN)
MONTH = _period_unit("month", 7, "-01T00:00:00Z", _TO_MONTH, "[0-9]{4}-[0-9]{2}")
YEAR = _period_unit("year", 4, "-01-01T00:00:00Z", _YEAR, "[0-9]{4}")
HOUR = _period_unit("hour", 13, ":00:00Z", _TO_HOUR, _DAY_PATTERN + "T[0-9]{2}")
MINUTE = _period_unit("minute", 16, ":00Z", _TO_MINUTE, _DAY_PATTERN + "T[0-9]{2}:[0-9]{2}")
PERIODS_S = {YEAR.name: 31_536_000, MONTH.name: 2_592_000, DATE.name: 86_400, HOUR.name: 3_600, MINUTE.name: 60}
"""The length of each period in seconds. A month is assumed to have 30 days, and a year 365 days."""


def time_encoding(field: DeclaredField, unit: TimeUnit) -> Encoding:
    """Return the encoding of a date or datetime field with the precision of `unit`."""
    if field.type is date:
        return _date_encoding(field, unit)
    return _datetime_encoding(field, unit)


def _datetime_encoding(field: DeclaredField, unit: TimeUnit) -> Encoding:
    write, read = unit.write, unit.read

    def encode(value: Any) -> str:
        if not isinstance(value, datetime):
            raise wrong_type(field, value, "a datetime")
        try:
            if value.tzinfo is not UTC:
                value = _in_utc(field, value)
            return write(value)
        except (OverflowError, ValueError) as error:
            raise error if isinstance(error, KeyPartError) else KeyPartError(field.name, value, str(error)) from error

    return encoding_of(
        unit.name, encode, read, unit.language, unit.pattern, reversible=unit.reversible, rounds_to=unit.rounds_to
    )


def _in_utc(field: DeclaredField, value: datetime) -> datetime:
    if value.utcoffset() is None:
        raise KeyPartError(field.name, value, "it is a naive datetime: a UTC offset is required")
    return value.astimezone(UTC)


def _date_encoding(field: DeclaredField, unit: TimeUnit) -> Encoding:
    write, read = unit.write, unit.read

    def encode(value: Any) -> str:
        if not isinstance(value, date) or isinstance(value, datetime):
            raise wrong_type(field, value, "a date")
        return write(value)

    def decode(text: str) -> date:
        return read(text).date()

    is_full_date = unit is DATE
    name = "" if is_full_date else unit.name
    rounds_to = None if is_full_date else unit.rounds_to
    return encoding_of(name, encode, decode, unit.language, unit.pattern, reversible=is_full_date, rounds_to=rounds_to)
