"""A filter names a key attribute of what is queried

Filters work on what the key condition found, and the service refuses those that name an attribute of the key
itself: "Filter Expression can only contain non-primary key attributes".

Put the attribute into the key condition, with `pk(...)` or `sk(...)`. Where it must be compared twice, or with
something that key conditions cannot say, store the value a second time under another name.

Source: developer guide, "Filter expressions for the Query operation".
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject

RULE = Rule("KP318", "filter-on-key", ("error",))


def check(subject: Subject) -> Iterator[Finding]:
    """Filters that name key attributes of the table or index that is queried."""
    yield from subject.errors_of(RULE.code)
