"""A stream's view is changed, or the stream ends

The view of a stream is never changed. The stream is switched off and a new one on, with another ARN: consumers and
Lambda triggers of the old one do not follow. What changes in between is in no stream, and the old records are gone
after 24 hours.

Let the consumers read the old stream to its end, stop what writes or take down what changes meanwhile from the
table, and start the consumers on the new stream from its beginning.

Source: developer guide, "Change data capture for DynamoDB Streams", enabling a stream; API reference,
StreamSpecification.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.diff.comparison import Comparison

RULE = Rule("KP905", "stream-changed", ("warning",))


def check(comparison: Comparison) -> Iterator[Finding]:
    """Streams that are not what they were; one that is new concerns nobody."""
    old = {table.name: table for table in comparison.old.tables}
    for change in comparison.of("stream changed"):
        before = old.get(change.table)
        if before is None or before.schema.stream is None:
            continue
        readers = ", ".join(consumer.name for consumer in before.consumers) or "its readers"
        problem = f"{change.what}: {readers} must begin anew on another stream, and what changes in between is in none"
        fix = "read the old stream to its end, then start the consumers on the new one from its beginning"
        yield Finding(RULE.code, "warning", change.subject, problem, fix, change.place, change.other)
