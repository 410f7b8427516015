"""A change that failed for good goes nowhere

When a consumer's retries are used up, or the stream no longer keeps the record, the change is dropped. Without a
destination for failures nobody sees which one it was, and what the consumer keeps (an aggregate, a search index, a
lake) is wrong from then on.

Name a destination with `on_failure="..."`: a queue, a topic, a folder. Records that are there can be delivered again.

Source: Lambda developer guide, "Retain discarded records for a DynamoDB event source".
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject

RULE = Rule("KP709", "no-failure-destination", ("warning",))


def check(subject: Subject) -> Iterator[Finding]:
    """Consumers without a destination for changes that failed for good."""
    for table in subject.tables:
        for consumer in table.consumers:
            if consumer.on_failure is None:
                yield Finding(
                    RULE.code,
                    "warning",
                    consumer.name,
                    f"{consumer.name} names no destination for changes of table {table.name} that fail for good: they"
                    " are dropped, and nobody knows which",
                    'declare on_failure="..." with the name of a queue, a topic or a folder',
                    consumer.place,
                    table.schema.place.at("stream="),
                )
