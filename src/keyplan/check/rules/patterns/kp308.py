"""A multi-attribute key is asked for in a way it does not answer

A query of an index with several partition attributes gives an equal value for every one of them. Of several
sort attributes it names the first ones, without gaps, all equal but the last, which may be a range. The service
refuses anything else: these keys have no way to skip an attribute.

Pass the attributes that lack, or add an index in whose key the attributes that are asked for come first.

Source: developer guide, "Multi-attribute keys" of global secondary indexes, querying.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject

RULE = Rule("KP308", "multi-attribute-rule", ("error",))


def check(subject: Subject) -> Iterator[Finding]:
    """Queries that leave out partition attributes, or sort attributes in front of others."""
    yield from subject.errors_of(RULE.code)
