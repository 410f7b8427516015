"""A key has the wrong shape

Keys of global indexes may have up to four partition and four sort attributes; keys of tables and of local
indexes have one of each. A local index needs a table with a sort key. Creating anything else is refused. (An
attribute that occurs twice in one key is refused when the module is imported.)

Where four attributes are not enough, join some of them in one attribute made by a template.

Source: developer guide, "Multi-attribute keys" of global secondary indexes; API reference, KeySchemaElement.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject

RULE = Rule("KP113", "key-shape", ("error",))


def check(subject: Subject) -> Iterator[Finding]:
    """Keys with too many attributes, and local indexes of tables without a sort key."""
    yield from subject.errors_of(RULE.code)
