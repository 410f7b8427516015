"""A partition key can pass 2,048 bytes

The value of a partition key may have 2,048 bytes of UTF-8. A template or field whose declared lengths allow
more makes keys that the service refuses, item by item, in production: the declaration proves it. Text that
people write and that nothing bounds is pointed out as advice; identifiers that programs make are not.

Lengths count characters, and a character has up to four bytes, so `max_length=600` can be 2,400 bytes.
Declare a smaller `max_length`, a `pattern` of plain characters, or put a hash or an id into the key instead.

Source: developer guide, "Quotas in Amazon DynamoDB", partition keys and sort keys.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan import limits
from keyplan.check.finding import Finding
from keyplan.check.key_bytes import too_long, unbounded
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject

RULE = Rule("KP102", "partition-key-bytes", ("error", "advice"))


def check(subject: Subject) -> Iterator[Finding]:
    """Partition key attributes whose declared lengths pass the limit, or that nothing bounds."""
    for _, entity in subject.entities:
        for bound in (entity.key, *entity.indexes):
            for part in bound.partition:
                yield from too_long(RULE.code, entity, bound, part, limits.PARTITION_KEY_BYTES)
                yield from unbounded(RULE.code, entity, bound, part, limits.PARTITION_KEY_BYTES)
