"""Only a moment tells items apart

A primary key of a partition and a time makes the time the item's identity. Two events of one thread in the same
millisecond are then one item: a put of the second silently replaces the first, and a create of it is refused.
Clocks tick more coarsely than one thinks, imports carry past times, and retries carry the same one.

Put something of the item's own behind the moment, such as its id: `{at:utc_ms}#{event_id}`. Lists stay in the
order of time, and a repeat of the same write is a repeat.

Source: developer guide, "Core components of Amazon DynamoDB", primary key; API reference, PutItem.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from keyplan.check.finding import Finding
from keyplan.check.names import words_of
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.encodings_time import PERIODS_S
from keyplan.design.entities import EntitySpec
from keyplan.design.keys import KeyAttribute

RULE = Rule("KP216", "identity-by-time", ("warning",))
_TIME = re.compile(r"(^|_)(at|time|timestamp|datetime|moment)$")


def check(subject: Subject) -> Iterator[Finding]:
    """Primary keys whose sort key holds moments and nothing else."""
    for table, entity in subject.entities:
        for part in entity.key.sort:
            names = list(part.fields)
            if names and all(_is_moment(entity, part, name) for name in names):
                yield Finding(
                    RULE.code,
                    "warning",
                    entity.name,
                    f"only {' and '.join(names)} tells items of {entity.name} in one partition apart"
                    f" ({entity.key.text}): two of the same moment are one item",
                    f"put an id of the item behind {names[-1]} in the sort key",
                    entity.key.place,
                    table.schema.place,
                )


def _is_moment(entity: EntitySpec, part: KeyAttribute, name: str) -> bool:
    """Whether a field of the key is a point in time, not a day or an hour that is meant as a group."""
    holes = [hole for hole in part.template.holes if hole.name == name] if part.template is not None else []
    if any(hole.spec in PERIODS_S for hole in holes):
        return not all(hole.spec in PERIODS_S for hole in holes)
    stored = entity.fields[name]
    if stored.annotation is datetime:
        return True
    return stored.annotation in {str, int, float} and _TIME.search(words_of(name)) is not None
