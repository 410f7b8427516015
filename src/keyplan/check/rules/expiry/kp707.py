"""More than two readers of one stream

A stream's shards serve two readers at a time; with a third, all of them are throttled and fall behind. Each function
that is attached to the stream by itself is a reader, and so is the replication of a global table.

Let one reader take the changes and hand them on: one worker that calls several consumers, or a topic behind a single
function.

Source: developer guide, "Change data capture for DynamoDB Streams": no more than two processes per shard.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject

RULE = Rule("KP707", "too-many-stream-readers", ("warning",))
_READERS = 2


def check(subject: Subject) -> Iterator[Finding]:
    """Tables with more than two consumers."""
    for table in subject.tables:
        if len(table.consumers) > _READERS:
            names = ", ".join(consumer.name for consumer in table.consumers)
            yield Finding(
                RULE.code,
                "warning",
                table.name,
                f"{len(table.consumers)} consumers take changes of table {table.name} ({names}), and a stream serves"
                f" {_READERS} readers: deployed one by one, they throttle each other",
                "run them in one worker, which reads once; accept this where it does",
                table.consumers[_READERS].place,
                table.schema.place.at("stream="),
            )
