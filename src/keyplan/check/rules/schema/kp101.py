"""A key attribute is not a String, a Number or Binary

Keys of tables and indexes hold one String, Number or Binary each. The service refuses to create a table
whose key is declared as anything else, and refuses every write whose key attribute has another type than
the one declared: an index on a Boolean `active` fails at the first `put`.

Keep the Boolean as plain data, and make the index key from a String that is there only while the item
belongs in the index. The index is then sparse: items without the attribute are not in it and cost nothing.

Source: developer guide, "Supported data types and naming rules"; API reference, AttributeDefinition.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject

RULE = Rule("KP101", "key-type", ("error",))


def check(subject: Subject) -> Iterator[Finding]:
    """Key attributes that a field makes a Boolean, a list, a map, a set."""
    yield from subject.errors_of(RULE.code)
