"""A failing change is retried until it is lost

By default a batch of changes that a consumer fails on is tried again and again, for the 24 hours that the stream
keeps it. Meanwhile nothing behind it in the shard is delivered: one record that can never succeed stops a part of
the table's changes for a day, and is then dropped.

Declare `retries=5` or the like, with `on_failure=` for what still fails. Batches are halved to find the record at
fault unless `bisect=False`.

Source: Lambda developer guide, "Retain discarded records for a DynamoDB event source" and parameters of event
source mappings.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject

RULE = Rule("KP708", "unlimited-retries", ("warning",))


def check(subject: Subject) -> Iterator[Finding]:
    """Consumers that do not say how often a failing batch is retried."""
    for table in subject.tables:
        for consumer in table.consumers:
            if consumer.retries is None:
                yield Finding(
                    RULE.code,
                    "warning",
                    consumer.name,
                    f"{consumer.name} retries a failing change without end: for up to 24 hours nothing behind it in the"
                    " shard is delivered, and then it is lost",
                    "declare retries=5 or the like, and on_failure= for what still fails",
                    consumer.place,
                    table.schema.place.at("stream="),
                )
