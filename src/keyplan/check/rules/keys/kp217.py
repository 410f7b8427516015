"""A key holds only a shard of what it is asked by

`{game:shard(4)}` writes one of four numbers, so that every fourth game has the same. A primary key that holds nothing
else of the game makes one player's scores in two such games the same item: the second create is refused, an update
of one changes the other. A query by `pk(game=game)` of a key like that gives the items of all games of the shard.

Write the value too: `GAME#{game}#{player:shard(4)}` spreads the players of one game, `every_shard()` reads them all.
A query of an index that groups values by shard on purpose asks all shards, or filters by the field.

Source: developer guide, "Using write sharding to distribute workloads evenly": a suffix is added to the partition key.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.conditions import paths_of
from keyplan.design.keys import KeyAttribute
from keyplan.design.plan import KeyCondition, KeyValue
from keyplan.design.symbols import EveryShard

RULE = Rule("KP217", "identity-by-shard", ("warning",))


def check(subject: Subject) -> Iterator[Finding]:
    """Primary keys that hold a shard of a field and not the field, and queries that ask such a key for one value."""
    for _, entity in subject.entities:
        for name in _shards_only(entity.key.attributes):
            yield Finding(
                RULE.code,
                "warning",
                entity.name,
                f"the primary key of {entity.name} ({entity.key.text}) holds only a shard of {name}: items that differ"
                f" in {name} alone may be one item",
                f"write {{{name}}} in the key too, and spread it by a field that differs within one {name}",
                entity.key.place.at(f"{{{name}:shard"),
                entity.place,
            )
    for _, pattern, plan in subject.patterns:
        if plan.operation != "Query" or plan.key is None:
            continue
        for name in _asked_by_shard(plan.key):
            if name in {path.field for path in paths_of(plan.filter)}:
                continue
            yield Finding(
                RULE.code,
                "warning",
                pattern.name,
                f"{pattern.name} asks for a value of {name}, and {plan.schema.where(plan.index)} holds only its shard"
                " in the key: items of other values in that shard are given too",
                f"write {{{name}}} in the key too, or add where(F.{name} == {name})",
                pattern.place.at(f"{name}="),
                plan.entities[0].place,
            )


def _shards_only(parts: Iterable[KeyAttribute | KeyValue]) -> list[str]:
    """Fields of which these parts of a key hold shards and nothing else."""
    shards: dict[str, bool] = {}
    for part in parts:
        holes = part.template.holes if part.template is not None else ()
        names = part.fields if isinstance(part, KeyAttribute) else part.sources
        for name in names:
            only = [bool(hole.shards) for hole in holes if hole.name == name]
            shards[name] = shards.get(name, True) and bool(only) and all(only)
    return [name for name, only in shards.items() if only]


def _asked_by_shard(condition: KeyCondition) -> list[str]:
    """Fields that a query gives a value of, and whose shard alone it compares."""
    return [
        name
        for name in _shards_only(condition.values)
        if not any(isinstance(part.sources.get(name), EveryShard) for part in condition.values)
    ]
