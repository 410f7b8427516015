"""A consumer that counts a change twice

Changes are delivered at least once: after a timeout, a deployment, or a failure late in a batch, the same changes
come again, and those that had already been handled with them. A consumer that sends, adds or appends does it again.

Make it come to the same end: write under a key that is made from the change (its `event_id`, or the item's key and
`sequence_number`) on the condition that it is not there; or set values instead of adding to them. Then
declare `idempotent=True`.

Source: Lambda developer guide, "Using Lambda to process records from Amazon DynamoDB Streams": each event is
processed at least once, and duplicate processing can occur.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject

RULE = Rule("KP711", "consumer-not-idempotent", ("warning",))


def check(subject: Subject) -> Iterator[Finding]:
    """Consumers that do not declare that a change may come twice."""
    for table in subject.tables:
        for consumer in table.consumers:
            if not consumer.idempotent:
                yield Finding(
                    RULE.code,
                    "warning",
                    consumer.name,
                    f"{consumer.name} does not say that a change of table {table.name} may reach it twice, and changes"
                    " are delivered at least once",
                    "write under a key made from the change, if it is not there, and declare idempotent=True",
                    consumer.place,
                    table.schema.place.at("stream="),
                )
