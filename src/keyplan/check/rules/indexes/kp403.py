"""Two indexes serve the same questions

An index whose key is that of another, or the beginning of another's, answers nothing that the other does not:
whoever queries by user and status can also query by user. The same holds of a global index with the table's own
key. Each is written and stored for itself.

Keep the longer one, projecting what both need.

Source: developer guide, "Best practices for using secondary indexes in DynamoDB".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import eq

from keyplan.check.finding import Finding
from keyplan.check.keyspace import as_template
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.algebra import begins_like
from keyplan.design.entities import EntitySpec
from keyplan.design.keys import BoundKey, KeyAttribute
from keyplan.design.schema import Index
from keyplan.design.tables import Table
from keyplan.design.templates import BoundTemplate

RULE = Rule("KP403", "redundant-index", ("advice",))


def check(subject: Subject) -> Iterator[Finding]:
    """Indexes that another index, or the table, makes superfluous."""
    for table in subject.tables:
        gone: set[str] = set()
        for index in table.schema.indexes:
            other = next((one for one in (None, *table.schema.indexes) if _replaces(table, index, one, gone)), index)
            if other is index:
                continue
            gone.add(index.name)
            name = f"index {other.name}" if other is not None else f"table {table.name} itself"
            yield Finding(
                RULE.code,
                "advice",
                index.name,
                f"all that index {index.name} answers, {name} answers too: its key begins the same",
                f"drop {index.name}",
                index.place,
                other.place if other is not None else table.schema.place,
            )


def _replaces(table: Table, index: Index, other: Index | None, gone: set[str]) -> bool:
    """Whether every entity's key of an index is the beginning of its key of another."""
    if other is index or (other is not None and other.name in gone):
        return False
    if other is not None and index.kind == "LSI" and other.kind == "GSI":
        return False  # only local indexes can be read consistently
    members = [(entity, bound) for entity in table.entities if (bound := entity.key_in(index)) is not None]
    return bool(members) and all(_begins(entity, bound, other) for entity, bound in members)


def _begins(entity: EntitySpec, bound: BoundKey, other: Index | None) -> bool:
    theirs = entity.key_in(other)
    if theirs is None or bound.when is not None or theirs.when is not None:
        return False
    if len(bound.partition) != len(theirs.partition) or len(bound.sort) > len(theirs.sort):
        return False
    if not all(_alike(*pair, eq) for pair in zip(bound.partition, theirs.partition, strict=True)):
        return False
    if not bound.sort:
        return not any(entity.fields[name].optional for part in theirs.sort for name in part.fields)
    pairs = list(zip(bound.sort, theirs.sort, strict=False))
    return all(_alike(*pair, eq) for pair in pairs[:-1]) and _alike(*pairs[-1], begins_like)


def _alike(one: KeyAttribute, other: KeyAttribute, templates: Callable[[BoundTemplate, BoundTemplate], bool]) -> bool:
    """Whether two attributes are one field, or texts whose templates are alike."""
    ours, theirs = as_template(one), as_template(other)
    if ours is None or theirs is None:
        return one.field is not None and one.field is other.field
    return templates(ours, theirs)
