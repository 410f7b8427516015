"""A sort key can pass 1,024 bytes

The value of a sort key may have 1,024 bytes of UTF-8, half of what a partition key may have. Composed sort
keys grow quietly: `CATEGORY#{category}#{task_id}` with a category of 300 characters may take 1,200 bytes, and
the write that does so is refused. Text that people write and that nothing bounds is pointed out as advice.

Declare a smaller `max_length` (a character has up to four bytes), a `pattern` of plain characters, or keep the
text out of the key.

Source: developer guide, "Quotas in Amazon DynamoDB", partition keys and sort keys.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan import limits
from keyplan.check.finding import Finding
from keyplan.check.key_bytes import too_long, unbounded
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject

RULE = Rule("KP103", "sort-key-bytes", ("error", "advice"))


def check(subject: Subject) -> Iterator[Finding]:
    """Sort key attributes whose declared lengths pass the limit, or that nothing bounds."""
    for _, entity in subject.entities:
        for bound in (entity.key, *entity.indexes):
            for part in bound.sort:
                yield from too_long(RULE.code, entity, bound, part, limits.SORT_KEY_BYTES)
                yield from unbounded(RULE.code, entity, bound, part, limits.SORT_KEY_BYTES)
