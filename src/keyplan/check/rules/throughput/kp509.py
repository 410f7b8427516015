"""Numbers that are missing

Hot keys, the cost of a month, pages that never end: these follow from how many items there are, how large they
are and how their fields vary. Where a design declares rates or claims units of a request, but not the numbers
of an entity that these rest on, nothing can be said of them, and silence would look like approval. The same goes
for a query of one key where nothing tells how many such keys there are: its cost is then that of all items.

Declare `items=Items(count=..., bytes=Bytes(...), distinct={...})` of the entities named. Rough figures do. Of a
query, `returns=` tells as much.

Source: developer guide, "Best practices for designing and architecting with DynamoDB": know the size, shape and
velocity of the data before the design.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.claims import units_of
from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.cost.expected import expected
from keyplan.design.tables import Table

RULE = Rule("KP509", "missing-numbers", ("advice",))


def check(subject: Subject) -> Iterator[Finding]:
    """Tables with rates or claims whose entities lack numbers, and queries whose keys do."""
    for table in subject.tables:
        wanted = _resting(table)
        lacking = [entity.name for entity in table.entities if entity.items is None and entity.name in wanted]
        if lacking:
            reasons = list(dict.fromkeys(wanted[name] for name in lacking))
            yield Finding(
                RULE.code,
                "advice",
                table.name,
                f"nothing is declared of the number and size of {', '.join(lacking)}, which rates or claims of"
                f" {', '.join(reasons)} rest on",
                "add items=Items(count=..., bytes=Bytes(...)) to them; rough figures do",
                next(entity.place for entity in table.entities if entity.name == lacking[0]),
                table.schema.place,
            )
        yield from _unbounded(table)


def _unbounded(table: Table) -> Iterator[Finding]:
    """Queries with a rate of which nothing tells how much has the key that they ask for."""
    for pattern in table.patterns:
        plan = pattern.plan
        if pattern.facts.rate is None or plan.operation != "Query" or plan.limit is not None or plan.faults:
            continue
        unsaid = [guess for guess in expected(pattern).guesses if guess.startswith("how many values")]
        if unsaid:
            yield Finding(
                RULE.code,
                "advice",
                pattern.name,
                f"{unsaid[0]}: {pattern.name} is reckoned to read every one of them",
                "add distinct={...} to the entity's items, or returns=... to the pattern; rough figures do",
                pattern.place,
                plan.entity.place,
            )


def _resting(table: Table) -> dict[str, str]:
    """Entities whose numbers a rate or a claim rests on, with the pattern that says it."""
    found: dict[str, str] = {}
    for pattern in table.patterns:
        claimed = any(units_of(claim.text) for claim in pattern.facts.claims)
        if claimed or pattern.facts.rate is not None:
            for entity in pattern.plan.entities:
                found.setdefault(entity.name, pattern.name)
    return found
