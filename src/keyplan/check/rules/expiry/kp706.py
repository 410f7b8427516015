"""An expiry that lies too far back

A value more than five years in the past is ignored: it protects tables from being emptied by a wrong unit. An
item whose expiry is set to 0 or 1 "so that it goes at once" therefore stays for ever. So does one whose expiry is
a duration: 7,200 seconds are a moment of 1970.

Set the expiry to now or to a moment ahead, or delete the item. Found are defaults and constants of updates that lie
before November 2021, numbers whose greatest value is, and fields that are durations.

Source: developer guide, "Using time to live (TTL)": items with a timestamp older than five years are not deleted.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.fields import StoredField
from keyplan.design.places import Place

RULE = Rule("KP706", "expiry-too-old", ("warning",))
_LONG_PAST = datetime(2021, 11, 1, tzinfo=UTC)
"""Five years before these rules were written: a constant from before it is ignored now and ever after."""


def check(subject: Subject) -> Iterator[Finding]:
    """Constants for the expiry that are long past, in updates and as defaults, and durations."""
    for table, entity in subject.entities:
        for field in entity.fields.values():
            told = _told(field) if field.attribute == table.schema.ttl else None
            if told is not None:
                what = f"{entity.name}.{field.name} {told}"
                yield _finding(what, entity.name, entity.place.at(f"{field.name}:"), table.schema.place)
    for table, pattern, plan in subject.patterns:
        for action in plan.actions:
            field = plan.entity.fields[action.path.field]
            if field.attribute == table.schema.ttl and action.name == "set" and _too_old(action.source):
                what = f"{pattern.name} sets {field.name} to {action.source!r}"
                yield _finding(what, pattern.name, pattern.place, table.schema.place)


def _told(field: StoredField) -> str | None:
    """What is wrong with every value of a field, or with its default, if anything is."""
    default = field.info.default
    if field.annotation is timedelta:
        return "is a duration, which read as a moment lies near 1970"
    if _too_old(default):
        return f"is {default!r} by default"
    read = field.declared
    return f"is at most {read.maximum}" if read.type is int and _too_old(read.maximum) else None


def _too_old(value: object) -> bool:
    if isinstance(value, datetime):
        return value.astimezone(UTC) < _LONG_PAST
    return isinstance(value, (int, Decimal)) and not isinstance(value, bool) and value < _LONG_PAST.timestamp()


def _finding(what: str, subject: str, place: Place, table: Place) -> Finding:
    return Finding(
        RULE.code,
        "warning",
        subject,
        f"{what}, more than five years ago: the service ignores such an expiry, and the item stays",
        "set it to the present moment, or delete the item",
        place,
        table.at("ttl="),
    )
