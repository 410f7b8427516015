"""Which item a write is about, told from where its key comes from: what two writes provably share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from keyplan.design.entities import EntitySpec
from keyplan.design.keys import BoundKey, KeyAttribute
from keyplan.design.plan import Plan
from keyplan.design.symbols import Each, Param, Source, through
from keyplan.design.template_parse import Text
from keyplan.design.transactions import Step, Transaction

Origin = tuple[object, ...]
"""Where a value comes from; equal origins give equal values within one call."""


@dataclass(frozen=True, eq=False)
class Written:
    """A step of a transaction, with the item that it is about."""

    number: int
    """Its place in the transaction, from 1."""
    step: Step
    plan: Plan
    sources: Mapping[str, Source]
    """By key field, in the transaction's own parameters."""

    @property
    def entity(self) -> EntitySpec:
        """Whose item it is."""
        return self.plan.entity

    @property
    def keys(self) -> Iterator[tuple[str, Origin]]:
        """The keys of what it writes: its item's, and with an item's creation those of its sentinels."""
        yield self.entity.name, self._key(self.entity.key)
        if self.plan.operation == "PutItem":
            for rule in self.entity.sentinels:
                yield f"the unique {', '.join(rule.fields)} of {self.entity.name}", self._key(rule.key)

    def _key(self, bound: BoundKey) -> Origin:
        return (self.plan.schema.name, *(_made(part, self.sources) for part in bound.attributes))

    @property
    def varies(self) -> bool:
        """Whether its repetitions are about different items."""
        return any(isinstance(source, Each) for source in self.sources.values())


def written_by(transaction: Transaction[Any]) -> list[Written]:
    """Every step of a transaction with the sources of its key fields, where they can be told."""
    found = []
    for number, step in enumerate(transaction.steps, 1):
        plan = step.call.pattern.plan
        fields = dict.fromkeys(plan.entity.key.fields)
        if plan.operation == "PutItem":
            fields.update(dict.fromkeys(name for rule in plan.entity.sentinels for name in rule.fields))
        own = key_sources(plan)
        sources = {name: through(own[name], step.call.arguments) for name in fields if name in own}
        found.append(Written(number, step, plan, sources))
    return found


def key_sources(plan: Plan) -> dict[str, Source]:
    """Where the fields of the item come from that a write is about, in the write's own parameters."""
    if plan.operation == "PutItem" and isinstance(plan.item, Param):
        return {name: getattr(plan.item, name) for name in plan.entity.fields}
    if plan.key is None:
        return {}
    found: dict[str, Source] = {}
    for value in plan.key.values:
        found.update(value.sources)
    return found


def origin_of(source: Source) -> Origin:
    """A source as something that can be compared."""
    if isinstance(source, Param):
        return ("parameter", source._name, *source._path)
    if isinstance(source, Each):
        return ("each", *(origin_of(source.values) if isinstance(source.values, Param) else source.values))
    return ("constant", repr(source))


def _made(part: KeyAttribute, sources: Mapping[str, Source]) -> Origin:
    if part.template is None:
        return tuple(_of_field(name, sources) for name in part.fields)
    return tuple(
        one.text if isinstance(one, Text) else (one.spec, *_of_field(one.name, sources)) for one in part.template.parts
    )


def _of_field(name: str, sources: Mapping[str, Source]) -> Origin:
    # What is not known is equal to nothing, itself included.
    return origin_of(sources[name]) if name in sources else (object(),)
