"""An update that leaves half an item

`upsert=True` lets an update create the item where none is. What it creates has only the fields that the update
sets: a required field that it does not set is missing, and the item cannot be read back as its entity. It also
happens when an update arrives late, after the item was deleted: a ghost with a counter and no name. The same comes
of an update that removes a required field, or sets it to None, which is stored as nothing.

Such a pattern is refused when it is run. Set every required field with `set_if_missing(...)`, give the fields
defaults, or leave `upsert` out: then the update is refused where no item is. Fields of the key, counts that `add`
begins and lists that `append` begins are there, and so is what may be None. Do not remove what every item has.

Source: API reference, UpdateItem: adds a new item to the table if it does not already exist.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject

RULE = Rule("KP607", "half-an-item", ("error",))


def check(subject: Subject) -> Iterator[Finding]:
    """Upserts that leave required fields out, and updates that take them away."""
    yield from subject.errors_of(RULE.code)
