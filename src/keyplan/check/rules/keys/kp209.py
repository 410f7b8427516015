"""An update changes a field of the primary key

The primary key is the item's identity: the service refuses an update that changes one of its attributes, and a
template made of a field that changes would point to another item than the one that holds the value.

Delete the item and create the new one in one transaction, or key the item by an id that stays and put the
field that changes into the key of an index.

Source: API reference, UpdateItem; developer guide, "Update expressions".
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject

RULE = Rule("KP209", "mutable-primary-key", ("error",))


def check(subject: Subject) -> Iterator[Finding]:
    """Updates of fields that primary keys are made of."""
    yield from subject.errors_of(RULE.code)
