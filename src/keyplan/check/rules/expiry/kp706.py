"""An expiry that lies too far back

A value more than five years in the past is ignored: it protects tables from being emptied by a wrong unit. An
item whose expiry is set to 0 or 1 "so that it goes at once" therefore stays for ever.

Set the expiry to now, or delete the item.

Source: developer guide, "Using time to live (TTL)": items with a timestamp older than five years are not deleted.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.places import Place

RULE = Rule("KP706", "expiry-too-old", ("warning",))
_TTL_BEGAN = datetime(2017, 2, 27, tzinfo=UTC)
"""When tables got an expiry: what is older is no moment that was meant, and was five years ago by 2022."""


def check(subject: Subject) -> Iterator[Finding]:
    """Constants for the expiry that are long past, in updates and as defaults."""
    for table, entity in subject.entities:
        for field in entity.fields.values():
            default = field.info.default
            if field.attribute == table.schema.ttl and _too_old(default):
                what = f"{entity.name}.{field.name} is {default!r} by default"
                yield _finding(what, entity.name, entity.place.at(f"{field.name}:"), table.schema.place)
    for table, pattern, plan in subject.patterns:
        for action in plan.actions:
            field = plan.entity.fields[action.path.field]
            if field.attribute == table.schema.ttl and action.name == "set" and _too_old(action.source):
                what = f"{pattern.name} sets {field.name} to {action.source!r}"
                yield _finding(what, pattern.name, pattern.place, table.schema.place)


def _too_old(value: object) -> bool:
    if isinstance(value, datetime):
        return value.astimezone(UTC) < _TTL_BEGAN
    return isinstance(value, (int, Decimal)) and not isinstance(value, bool) and value < _TTL_BEGAN.timestamp()


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
