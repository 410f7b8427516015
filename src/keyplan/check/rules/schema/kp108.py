"""Indexes list too many attributes

An index that projects listed attributes may list twenty, and all indexes of a table together a hundred; the
same attribute in two indexes counts twice. Creating a table that lists more is refused.

Project all where most is needed anyway: the price of an entry is that of its size, not of how it is declared.

Source: developer guide, "Quotas in Amazon DynamoDB", projected attributes; API reference, Projection.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject

RULE = Rule("KP108", "projected-attributes", ("error",))


def check(subject: Subject) -> Iterator[Finding]:
    """Projections with too many attributes."""
    yield from subject.errors_of(RULE.code)
