"""Several attributes for expiry in one table

A table has one attribute for expiry. To use another one, expiry is switched off and on again, which takes up to
an hour and changes what expires for every item. A design that names two, one for sessions and one for
archived tasks, gets only one of them.

Give every entity that expires the same attribute; each may compute it in its own way.

Source: API reference, UpdateTimeToLive; developer guide, "Enable time to live (TTL)".
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject

RULE = Rule("KP703", "several-expiry-attributes", ("error",))


def check(subject: Subject) -> Iterator[Finding]:
    """Tables that name more than one attribute for expiry."""
    yield from subject.errors_of(RULE.code)
