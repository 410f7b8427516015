"""A made-up index key could be the fields themselves

Global indexes take up to four attributes for each part of their key, so `GSI1SK = "{status}#{due_at:utc_ms}"`
can be `sk=("status", "due_at")`: the index reads the fields, nothing has to be joined, escaped, or kept in step
by updates, and the entry is smaller. A query then gives equal values for the first attributes and one range.

That holds where one entity is in the index, always, and its key adds nothing but separators. Mind that many
emulators and older libraries do not know multi-attribute keys yet; keyplan's engine does.

Source: developer guide, "Multi-attribute keys" of global secondary indexes (November 2025).
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.entities import EntitySpec
from keyplan.design.keys import BoundKey, KeyAttribute

RULE = Rule("KP213", "synthetic-key", ("advice",))
_ADDS_NOTHING = frozenset({"", "utc_us", "date"})


def check(subject: Subject) -> Iterator[Finding]:
    """Index keys of one entity that only join fields."""
    for table, index in subject.indexes:
        keys = [(entity, bound) for entity in table.entities if (bound := entity.key_in(index)) is not None]
        if len(keys) != 1 or index.kind != "GSI":
            continue
        entity, bound = keys[0]
        if bound.when is None and _only_joins(entity, bound):
            written = ", ".join(
                f"{role}=({', '.join(repr(name) for part in parts for name in part.fields)},)"
                for role, parts in (("pk", bound.partition), ("sk", bound.sort))
                if parts
            )
            yield Finding(
                RULE.code,
                "advice",
                index.name,
                f"only {entity.name} is in index {index.name}, and its key only joins fields:"
                f" {' and '.join(part.text for part in bound.attributes)}",
                f"let the index read the fields: GSI({index.name!r}, {written})",
                index.place,
                bound.place,
            )


def _only_joins(entity: EntitySpec, bound: BoundKey) -> bool:
    parts = [part for part in bound.attributes if part.template is not None]
    fields = [name for part in bound.attributes for name in part.fields]
    return (
        any(len(part.fields) > 1 for part in parts)
        and all(part.fields and len(part.fields) <= _MOST for part in bound.attributes)
        and all(_is_plain(part) for part in parts)
        and len(fields) == len(set(fields))
        and entity.store_key_fields
    )


_MOST = 4


def _is_plain(part: KeyAttribute) -> bool:
    assert part.template is not None, "the caller looked"
    return all(hole.spec in _ADDS_NOTHING for hole in part.template.holes)
