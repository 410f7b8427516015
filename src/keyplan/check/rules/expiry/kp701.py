"""An expiry that is not a Number

The service deletes an item when the attribute named for expiry is a Number of seconds since 1970 that has passed.
Any other type is ignored without a word: a table that stores `expires_at` as ISO 8601 text keeps everything for
ever.

Declare the field as `datetime`, which is stored as seconds when it is the table's expiry, or as `int` seconds.

Source: developer guide, "Using time to live (TTL)": the attribute must be a Number of epoch seconds.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject

RULE = Rule("KP701", "expiry-not-a-number", ("error",))


def check(subject: Subject) -> Iterator[Finding]:
    """Fields stored under the attribute for expiry whose type is not Number."""
    yield from subject.errors_of(RULE.code)
