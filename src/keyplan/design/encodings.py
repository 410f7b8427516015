"""How a field's value becomes text in a key: one encoding for each type and each spec of a hole.

An encoding is chosen when a template is bound (`encoding_for`), so everything that cannot work is refused
there: a float, a datetime without a precision, a spec that cannot take the field's type. What remains for
the moment of rendering is refused as a KeyValueError: a naive datetime, a number too wide for its digits,
an empty text. An empty value is refused in every hole but that of a field declared with `min_length=0`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from uuid import UUID

from keyplan.design import encodings_text as text
from keyplan.design import encodings_time as time
from keyplan.design.encodings_base import Encoding
from keyplan.design.encodings_closed import choice_encoding, ranked, sharded
from keyplan.design.encodings_number import padded, signed, uuid_text
from keyplan.design.template_errors import EncodingError
from keyplan.design.template_field import Field

Build = Callable[[Field, "re.Match[str]", str], Encoding]


@dataclass(frozen=True)
class Spec:
    """A spec of a hole: how it is written, which types it takes, and what makes its encoding."""

    written: str
    syntax: re.Pattern[str]
    takes: tuple[type, ...]
    build: Build


def _spec(written: str, syntax: str, takes: tuple[type, ...], build: Build) -> Spec:
    return Spec(written, re.compile(syntax), takes, build)


def _timed(unit: time.Unit) -> Build:
    return lambda field, *_: time.encoding(field, unit)


_MOMENT = (datetime,)
_DAY = (date, datetime)
_TEXT = (str,)

SPECS: tuple[Spec, ...] = (
    _spec("010d", r"0([1-9][0-9]?)d", (int,), lambda field, found, *_: padded(field, int(found[1]))),
    _spec("utc_s", "utc_s", _MOMENT, _timed(time.UTC_S)),
    _spec("utc_ms", "utc_ms", _MOMENT, _timed(time.UTC_MS)),
    _spec("utc_us", "utc_us", _MOMENT, _timed(time.UTC_US)),
    _spec("epoch_s", "epoch_s", _MOMENT, _timed(time.EPOCH_S)),
    _spec("epoch_ms", "epoch_ms", _MOMENT, _timed(time.EPOCH_MS)),
    _spec("date", "date", _DAY, _timed(time.DATE)),
    _spec("month", "month", _DAY, _timed(time.MONTH)),
    _spec("year", "year", _DAY, _timed(time.YEAR)),
    _spec("hour", "hour", _MOMENT, _timed(time.HOUR)),
    _spec("minute", "minute", _MOMENT, _timed(time.MINUTE)),
    _spec("upper", "upper", _TEXT, lambda field, *_: text.folded(field, "upper")),
    _spec("lower", "lower", _TEXT, lambda field, *_: text.folded(field, "lower")),
    _spec("quote", "quote", _TEXT, lambda field, _, after: text.quoted(field, after)),
    _spec("shard(8)", r"shard\(([1-9][0-9]{0,3})\)", (str, int, UUID, date),
          lambda field, found, *_: sharded(field, int(found[1]))),
    _spec("rank(a,b,c)", r"rank\((.*)\)", _TEXT, lambda field, found, *_: ranked(field, found[1])),
)  # fmt: skip

_PLAIN: dict[type, Callable[[Field], Encoding]] = {
    str: text.plain,
    int: signed,
    UUID: uuid_text,
    date: lambda field: time.encoding(field, time.DATE),
}

# Types that no template takes as they are, and what to do about it.
_REFUSED: dict[type, tuple[str, str]] = {
    float: ("a float has no one spelling", "keep the number as an int of its smallest unit and write {%s:010d}"),
    Decimal: ("a Decimal has many spellings (1.0, 1.00)", "keep it as an int of its smallest unit and write {%s:010d}"),
    bool: ("a bool is no good key", 'use a Literal of words, such as Literal["open", "done"], instead of %s'),
    bytes: ("bytes are not text", "make %s a str, such as its hex form"),
    datetime: ("a datetime needs a precision", "write {%s:utc_ms}, {%s:utc_s}, {%s:epoch_ms} or {%s:date}"),
}


def encoding_for(field: Field, spec: str = "", delimiter: str = "") -> Encoding:
    """The encoding of a field under a spec ("" for none), where `delimiter` follows it in the template.

    Raises EncodingError when the spec is unknown or cannot take the field.
    """
    kind = _kind(field)
    if field.minimum is not None and field.maximum is not None and field.minimum > field.maximum:
        raise EncodingError(f"no {field.name} is from {field.minimum} to {field.maximum}", "correct the limits")
    if not spec:
        return _plain_encoding(field, kind)
    for known in SPECS:
        found = known.syntax.fullmatch(spec)
        if found is not None:
            _check_takes(known, spec, field, kind)
            return known.build(field, found, delimiter)
    names = ", ".join(known.written for known in SPECS)
    raise EncodingError(f"unknown spec {spec!r}", f"use one of {names}")


def is_text(field: Field) -> bool:
    """Whether a field's values are text, which may hold a separator and can be quoted."""
    return _kind(field) is str


def _kind(field: Field) -> type | None:
    """The plain type that a field's values have: of an Enum or a Literal, that of its values."""
    if field.choices is not None:
        kinds = set(map(type, field.stored_choices))
        return kinds.pop() if len(kinds) == 1 else None
    return field.type if isinstance(field.type, type) else None


def _plain_encoding(field: Field, kind: type | None) -> Encoding:
    _check_allowed(field, kind)
    if field.choices is not None and kind in {str, int}:
        return choice_encoding(field, "")
    build = _PLAIN.get(kind) if kind is not None else None
    if build is None:
        raise _no_text(field)
    return build(field)


def _check_takes(known: Spec, spec: str, field: Field, kind: type | None) -> None:
    if kind in known.takes:
        return
    if kind is not datetime:
        _check_allowed(field, kind)
    takes = " or ".join(taken.__name__ for taken in known.takes)
    fits = [each.written for each in SPECS if kind in each.takes]
    instead = f"write {{{field.name}}}" if kind in _PLAIN else ""
    instead += f"{' or use' if instead else 'use'} one of {', '.join(fits)}" if fits else ""
    problem = f"{spec} takes {takes}, but {field.name} is {field.type_name}"
    raise EncodingError(problem, instead or _of_which_types(field))


def _check_allowed(field: Field, kind: type | None) -> None:
    reason = _REFUSED.get(kind) if kind is not None else None
    if reason is not None:
        problem, fix = reason
        raise EncodingError(f"{field.name} is {field.type_name}: {problem}", fix.replace("%s", field.name))


def _no_text(field: Field) -> EncodingError:
    return EncodingError(f"{field.name} is {field.type_name}, which has no text for a key", _of_which_types(field))


def _of_which_types(field: Field) -> str:
    return f"make {field.name} a str, int, UUID, date, datetime, Enum or Literal"
