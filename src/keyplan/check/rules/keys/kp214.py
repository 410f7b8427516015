"""Newest first is asked of a key that ends in a random id

`descending=True` gives the highest sort key first. Where the first part of the key that differs between the
results is a UUID or another random id, the highest is not the newest: the order is that of random digits, and
the first page is any page.

Put the moment before the id (`BOOKING#{created_at:utc_ms}#{booking_id}`), or use ids that rise with time, and say so
by the type (pydantic's `UUID7`, a pattern of the letters of a ULID) or by `ordered_by="booking_id"`.

Source: developer guide, "Query" (results are in the order of the sort key), ScanIndexForward.
"""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from keyplan.check.finding import Finding
from keyplan.check.names import is_identifier
from keyplan.check.ordering import order_of
from keyplan.check.rising import is_made_by_time
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject

RULE = Rule("KP214", "order-by-random-id", ("warning",))


def check(subject: Subject) -> Iterator[Finding]:
    """Descending queries whose results differ first in an identifier."""
    for _, pattern, plan in subject.patterns:
        if plan.operation != "Query" or not plan.descending or pattern.facts.ordered_by or plan.select == "count":
            continue
        for entity in plan.entities:
            first = next(iter(order_of(plan, entity)), None)
            stored = entity.fields.get(first.field) if first is not None else None
            if stored is None or is_made_by_time(stored):
                continue
            if not (stored.annotation is UUID or (stored.annotation is str and is_identifier(stored.name))):
                continue
            yield Finding(
                RULE.code,
                "warning",
                pattern.name,
                f"{pattern.name} asks for the highest first, and the sort key of {entity.name} orders by {stored.name},"
                " an id: unless ids rise with time, that is no order",
                f"put a moment before {stored.name} in the sort key, or say ordered_by={stored.name!r} where ids rise",
                pattern.place,
                entity.place,
            )
