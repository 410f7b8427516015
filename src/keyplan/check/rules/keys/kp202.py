"""A primary key is made of an optional field

Every item has all of its primary key. A key that is made of a field which may be None cannot be made for some
items of the declared type, and their writes fail.

Make the field required, or leave it out of the key. Where the value is only known later, key the item by what
is known from the start and put the value into the key of an index: an item without it is not in the index.

Source: developer guide, "Core components of Amazon DynamoDB", primary key.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject

RULE = Rule("KP202", "optional-primary-key", ("error",))


def check(subject: Subject) -> Iterator[Finding]:
    """Optional fields in primary keys."""
    yield from subject.errors_of(RULE.code)
