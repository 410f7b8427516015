"""Entities spell one thing differently at the same place of an index

Where two entities share an index and their keys begin alike, a query reads both in one order. If one writes
moments as `utc_ms` and the other as `epoch_s`, or one pads a number and the other does not, all items of the
one come before all of the other, and a range finds only those that are spelled as its bounds are.

Use one spec for the same thing in all entities of an index.

Source: developer guide, "Best practices for using sort keys to organize data".
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from keyplan.check.finding import Finding
from keyplan.check.keyspace import as_template
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.encodings_time import PERIODS_S
from keyplan.design.entities import EntitySpec
from keyplan.design.keys import BoundKey
from keyplan.design.schema import Index
from keyplan.design.tables import Table
from keyplan.design.template_holes import BoundHole
from keyplan.design.template_parse import Text
from keyplan.design.templates import BoundTemplate

RULE = Rule("KP207", "mixed-encodings", ("warning",))
_TIMES = frozenset({"utc_s", "utc_ms", "utc_us", "epoch_s", "epoch_ms", *PERIODS_S})


def check(subject: Subject) -> Iterator[Finding]:
    """Pairs of entities whose keys begin alike and go on with different spellings."""
    for table in subject.tables:
        for index in (None, *table.schema.indexes):
            for (one, ours), (other, theirs) in combinations(_keys(table, index), 2):
                yield from _compared(one, ours, other, theirs, table.schema.where(index))


def _keys(table: Table, index: Index | None) -> list[tuple[EntitySpec, BoundKey]]:
    return [(entity, bound) for entity in table.entities if (bound := entity.key_in(index)) is not None]


def _compared(one: EntitySpec, ours: BoundKey, other: EntitySpec, theirs: BoundKey, where: str) -> Iterator[Finding]:
    for part, its in zip(ours.attributes, theirs.attributes, strict=True):
        left, right = as_template(part), as_template(its)
        pair = _differ(left, right) if left is not None and right is not None else None
        if pair is not None:
            yield Finding(
                RULE.code,
                "warning",
                other.name,
                f"{part.attribute} of {where} holds {one.name} as {part.text} and {other.name} as {its.text}, which"
                f" begin alike: {pair[0].name} is spelled {pair[0].spec or 'as it is'} by one and"
                f" {pair[1].spec or 'as it is'} by the other",
                f"write {{{pair[1].name}{':' + pair[0].spec if pair[0].spec else ''}}} in both",
                theirs.place,
                ours.place,
            )


def _differ(left: BoundTemplate, right: BoundTemplate) -> tuple[BoundHole, BoundHole] | None:
    """The first holes at one place that spell differently what may be the same."""
    for one, other in zip(left.parts, right.parts, strict=False):
        if isinstance(one, Text) or isinstance(other, Text):
            if one != other:
                return None
            continue
        names = one.encoding.name, other.encoding.name
        both_times = set(names) <= _TIMES
        if names[0] != names[1] and (both_times or one.name == other.name):
            return one, other
        if one.field.type is not other.field.type:
            return None
    return None
