"""Deletions by expiry are overlooked

Expired items leave the table through the stream too, as deletions by the service. A consumer that is told of
`Removed` items and not of `Expired` ones never learns of them: its copy keeps sessions that are over and tasks that
were archived. If both were taken for the same, archived items would look deleted by their owners.

Take `Expired[...]` beside `Removed[...]`, and decide what each means.

Source: developer guide, "DynamoDB Streams and time to live": records of expiry carry the service's own identity.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.check.wording import a

RULE = Rule("KP713", "expiry-overlooked", ("warning",))


def check(subject: Subject) -> Iterator[Finding]:
    """Consumers of removals, but not of expiries, of entities that expire."""
    for table in subject.tables:
        names = {ttl.attribute for ttl in table.schema.ttls}
        for consumer in table.consumers:
            if "removed" not in consumer.events or "expired" in consumer.events:
                continue
            expiring = [
                entity.name
                for entity in consumer.entities
                if any(field.attribute in names for field in entity.fields.values())
            ]
            if expiring:
                yield Finding(
                    RULE.code,
                    "warning",
                    consumer.name,
                    f"{consumer.name} is told when {' or '.join(map(a, expiring))} is removed, and not when one expires"
                    f" by {', '.join(sorted(names))}: its copy keeps what is gone",
                    f"take Expired[{expiring[0]}] too, and decide how it differs from a deletion",
                    consumer.place,
                    table.schema.place.at("ttl="),
                )
