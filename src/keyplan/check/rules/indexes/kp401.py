"""An update leaves an index key stale

The key of an index is text made of fields. An update that changes one of them must write the new text in the
same request, and remove it when a field goes away; for that it must know every field that the text is made of.
Where it does not, the item stays under its old key: a finished task among the open ones, for ever. This is the
most frequent fault of designs with composed keys, and no error tells of it.

Pass the fields that lack with `known(...)`: keyplan then writes the key, on condition that the item holds these
values. A condition that keeps the item out of the index says enough, `when(F.due.missing())`; so does one by which it
stays under its key, and a change that takes it out, such as a moment set for an index of `F.left_at.missing()`. Or set
them too, replace the whole item, or let the index read the fields themselves.

Source: developer guide, "Using Global Secondary Indexes in DynamoDB": index keys are plain attributes of items.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject

RULE = Rule("KP401", "stale-index-key", ("error",))


def check(subject: Subject) -> Iterator[Finding]:
    """Updates that cannot tell an index key that they change."""
    yield from subject.errors_of(RULE.code)
