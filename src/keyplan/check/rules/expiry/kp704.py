"""A read that shows what has expired

Expired items are deleted in the background, within a few days. Until then they come back from every read, count in
every page, and can be updated. A pattern with `expired=True` hands them to the program as if nothing had
happened: closed sessions, past offers, connections that are long gone.

Leave `expired=True` out: items whose expiry has passed are then dropped from what is read. Keep it, and accept the
finding, where the program means to see them, for example to clean up.

Source: developer guide, "Working with expired items and time to live (TTL)".
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject

RULE = Rule("KP704", "expired-items-read", ("warning",))


def check(subject: Subject) -> Iterator[Finding]:
    """Reads with expired=True of entities that expire."""
    for table, pattern, plan in subject.patterns:
        if not plan.reading or plan.expired != "keep":
            continue
        names = {ttl.attribute for ttl in table.schema.ttls}
        expiring = [
            (entity.name, field.attribute)
            for entity in plan.entities
            for field in entity.fields.values()
            if field.attribute in names
        ]
        if expiring:
            entity_name, attribute = expiring[0]
            yield Finding(
                RULE.code,
                "warning",
                pattern.name,
                f"{pattern.name} also reads each {entity_name} whose {attribute} has passed: the service"
                " deletes them up to some days later, and until then they look alive",
                "drop expired=True; accept this where the program wants to see them",
                pattern.place,
                table.schema.place.at("ttl="),
            )
