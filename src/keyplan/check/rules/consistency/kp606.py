"""A whole item is put, whatever is there

`@table.put` writes the item whether or not one is there, and what was there is gone without a word: the
counters that an update had raised, the answer that another request had stored, the event of the same millisecond.

Use `@table.create` for new items: it refuses where one is there, and `replace_when` says when an old one may be
replaced after all. Use `@table.replace` for items that are there, with a version that tells whether they
changed since they were read. Where overwriting is what is meant, as for a cache or the last value of
a sensor, accept the finding and say so.

Source: API reference, PutItem: an existing item with the same key is replaced completely.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from keyplan.check.finding import Finding
from keyplan.check.names import is_moment
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.check.wording import a
from keyplan.design.entities import EntitySpec
from keyplan.design.patterns import Pattern

RULE = Rule("KP606", "unconditional-put", ("warning",))


def check(subject: Subject) -> Iterator[Finding]:
    """Puts without any condition."""
    for _, pattern, plan in subject.patterns:
        if pattern.kind == "put" and plan.condition is None and plan.version is None:
            yield _finding(subject, pattern, plan.entity)


def _finding(subject: Subject, pattern: Pattern[..., Any], entity: EntitySpec) -> Finding:
    updates = [work.pattern for work in subject.writes_of(entity) if work.plan.operation == "UpdateItem"]
    moment = _told_apart_by_time(entity)
    if moment is not None:
        lost = f": two of the same {moment} have one key, and the first is lost"
    elif updates:
        lost = f", and with it what {updates[0].name} changed in the meantime"
    else:
        lost = " without a word"
    return Finding(
        RULE.code,
        "warning",
        pattern.name,
        f"{pattern.name} puts {a(entity.name)} whether or not one is there, and replaces it{lost}",
        (f"add an id to the key after {moment}, and use" if moment is not None else "use")
        + " @table.create for new items and @table.replace for known ones; accept this where overwriting is meant",
        pattern.place,
        entity.key.place if moment is not None else updates[0].place if updates else entity.place,
    )


def _told_apart_by_time(entity: EntitySpec) -> str | None:
    """The moment that alone tells items of one partition apart."""
    names = [name for part in entity.key.sort for name in part.fields]
    return names[-1] if names and all(is_moment(name) for name in names) else None
