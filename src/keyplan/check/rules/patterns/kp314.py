"""A query reads a whole partition in which other entities live

Without a condition on the sort key a query returns everything under the partition key: also items of entities
that the pattern does not name. They are read, billed and dropped, so that pages come back short, and the cost
grows with what others write there. A pattern that names all entities but cannot tell their items apart, because
keys and discriminator say nothing, gives one for the other.

Ask for the entity's own prefix of the sort key, give entities of one partition prefixes, or name the others in
the pattern where they are wanted too.

Source: developer guide, "Best practices for using sort keys to organize data".
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from keyplan.check.captures import partition_shared
from keyplan.check.finding import Finding
from keyplan.check.keyspace import shared
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.plan import Plan

RULE = Rule("KP314", "heterogeneous-result", ("warning",))


def check(subject: Subject) -> Iterator[Finding]:
    """Queries of whole partitions that hold more, and results whose entities cannot be told apart."""
    for _, pattern, plan in subject.patterns:
        if plan.operation != "Query" or plan.key is None or plan.faults:
            continue
        strangers = _strangers(plan) if not plan.key.sort else []
        if strangers:
            yield Finding(
                RULE.code,
                "warning",
                pattern.name,
                f"{pattern.name} reads a whole partition for {', '.join(entity.name for entity in plan.entities)}, in"
                f" which {', '.join(strangers)} can lie too: they are read, paid for and dropped",
                "ask for a prefix of the sort key, or name them in the pattern",
                pattern.place,
                plan.schema.place_of(plan.index),
            )
        yield from _alike(pattern.name, plan)


def _strangers(plan: Plan) -> list[str]:
    assert plan.key is not None, "the caller looked"
    found = []
    for other in plan.siblings:
        bound = other.key_in(plan.index) if other not in plan.entities else None
        if bound is not None and partition_shared(plan.key.partition, bound.partition):
            found.append(f"{other.name} ({bound.text})")
    return found


def _alike(name: str, plan: Plan) -> Iterator[Finding]:
    if plan.schema.discriminator is not None:
        return
    for one, other in combinations(plan.entities, 2):
        found = shared(one.key.attributes, other.key.attributes)
        if found is not None and found.plain:
            yield Finding(
                RULE.code,
                "warning",
                name,
                f"{name} returns {one.name} and {other.name}, and neither their keys nor a discriminator tell which is"
                " which",
                'declare the table with discriminator="entity_type", or give both a prefix',
                other.key.place,
                one.key.place,
            )
