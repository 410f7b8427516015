"""Units that a pattern is expected to cost, from the declared numbers and sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from keyplan.cost.sizes import entry_size, item_size
from keyplan.cost.units import TRANSACTION, Units, sum_of
from keyplan.design.conditions import paths_of
from keyplan.design.conditions_evaluation import holds
from keyplan.design.entities import EntitySpec
from keyplan.design.keys import BoundKey
from keyplan.design.patterns import Facts, Pattern
from keyplan.design.plan import Plan
from keyplan.design.projections import fetched
from keyplan.design.symbols import EveryShard
from keyplan.design.workload import Items
from keyplan.values.units import read_units, write_units

PAGE_BYTES = 1024 * 1024


@dataclass(frozen=True)
class Expected:
    """What one call of a pattern costs, and what that rests on."""

    units: Units
    evaluated: float
    """Items read, or written."""
    returned: float
    guesses: tuple[str, ...]
    """What the design does not say and was assumed."""


def expected(pattern: Pattern[..., object]) -> Expected:
    """One call at average sizes. Patterns whose plan has faults are reckoned as far as they mean something."""
    return of_plan(pattern.plan, pattern.facts)


def of_plan(plan: Plan, facts: Facts) -> Expected:
    """The same for a plan that stands alone."""
    if plan.operation == "TransactWriteItems":
        return _transaction(plan, facts)
    if plan.operation in {"Query", "Scan"}:
        return _range(plan, facts)
    guesses = _size_guesses(plan)
    if plan.operation in {"GetItem", "BatchGetItem"}:
        times = facts.returns or (1.0 if plan.operation == "GetItem" else _walked(plan, facts))
        one = read_units(item_size(plan.entity).average, consistent=plan.consistent)
        return Expected(Units(read=one * times), times, times, guesses)
    times = facts.returns or 1.0 if plan.operation == "BatchWriteItem" else 1.0
    return Expected(_write(plan) * times, times, times, guesses)


def _size_guesses(plan: Plan) -> tuple[str, ...]:
    return tuple(
        f"sizes of {one.name} are guessed from its fields" for one in plan.entities if not item_size(one).declared
    )


# Reads of a range.


def _range(plan: Plan, facts: Facts) -> Expected:
    guesses = list(_size_guesses(plan))
    told = facts.evaluates or facts.returns
    unsaid: list[str] = guesses if told is None else []  # what is told needs no guess
    found = {entity: _matching(plan, entity, unsaid) for entity in plan.entities}
    others = {entity: _matching(plan, entity, guesses) for entity in _read_in_passing(plan)}
    evaluated = told if told is not None else sum(found.values())
    returned = facts.returns if facts.returns is not None else evaluated
    limit = plan.limit or plan.page_size
    if limit is not None and plan.filter is None:
        evaluated, returned = min(evaluated, limit), min(returned, limit)
    if others and facts.evaluates is None:
        evaluated += sum(others.values()) * (returned / max(returned, sum(found.values())) if limit is not None else 1)
    total_bytes = evaluated * _average_bytes(plan, {**found, **others})
    requests = _walked(plan, facts)
    read = requests * read_units(int(total_bytes / requests), consistent=plan.consistent) + fetches(plan, evaluated)
    return Expected(Units(read=read), evaluated, returned, tuple(dict.fromkeys(guesses)))


def fetches(plan: Plan, evaluated: float) -> float:
    """Read units of the whole items that a local index fetches from the table, because it lacks what is wanted."""
    if not fetched(plan):
        return 0.0
    sizes = [item_size(entity).average for entity in plan.entities]
    return evaluated * read_units(int(sum(sizes) / len(sizes)), consistent=plan.consistent)


def _read_in_passing(plan: Plan) -> list[EntitySpec]:
    """Other entities of the table or index, which a scan reads too, as far as their numbers are declared."""
    if plan.operation != "Scan":
        return []
    return [one for one in plan.siblings if one not in plan.entities and one.items is not None]


def _average_bytes(plan: Plan, found: Mapping[EntitySpec, float]) -> float:
    """Of the items that are read, so many of each entity."""
    sizes = {}
    for entity in found:
        bound = entity.key_in(plan.index.name) if plan.index is not None else None
        sizes[entity] = item_size(entity).average if bound is None else entry_size(entity, bound).average
    total = sum(found.values())
    if not total:
        return sum(sizes.values()) / len(sizes)
    return sum(sizes[entity] * number for entity, number in found.items()) / total


def _walked(plan: Plan, facts: Facts) -> float:
    """How many requests, or keys, a call is made of."""
    if plan.walk is None:
        return 1.0
    source = plan.walk[1]
    if isinstance(source, EveryShard):
        templates = [value.template for value in plan.key.partition] if plan.key else []
        shards = [hole.encoding.choices for one in templates if one for hole in one.holes if hole.encoding.choices]
        return float(len(shards[0])) if shards else 1.0
    values = source.values
    return float(len(values)) if isinstance(values, tuple) else float(facts.returns or 1.0)


def _matching(plan: Plan, entity: EntitySpec, guesses: list[str]) -> float:
    """How many items of an entity a call reads: their number over how many values the key's fields have."""
    items = entity.items
    if items is None:
        guesses.append(f"the number of {entity.name} is not declared: 20 are assumed")
        return 20.0
    found = items.count * _share_in(entity, plan, items)
    for name in _fixed(plan):
        number = _values_of(name, entity, plan, guesses)
        if number is None:
            guesses.append(f"how many values {entity.name}.{name} has is not declared")
        else:
            found /= max(1, number)
    return max(found, 0.0) if _fixed(plan) or plan.operation == "Scan" else min(found, 20.0)


def _values_of(name: str, entity: EntitySpec, plan: Plan, guesses: list[str]) -> float | None:
    """How many values a field has: as declared, or as many as there are of the entity that it is the whole key of."""
    stored = entity.fields.get(name)
    told = entity.items.values_of(name) if stored is not None and entity.items is not None else None
    if stored is None or told is not None:
        return None if told is None else told.count
    for other in (entity, *plan.siblings):
        if (
            other.items is not None
            and other.key.fields == (name,)
            and other.fields[name].annotation == stored.annotation
        ):
            if other is not entity:
                guesses.append(f"{entity.name}.{name} is taken to have as many values as there are {other.name}")
            return other.items.count
    return None


def _fixed(plan: Plan) -> list[str]:
    """Fields that the key condition pins to one value."""
    if plan.key is None:
        return []
    names = [name for value in plan.key.partition for name in value.sources]
    names += [name for one in plan.key.sort if one.op in {"=", "begins_with"} for name in one.low.sources]
    return list(dict.fromkeys(names))


def _share_in(entity: EntitySpec, plan: Plan, items: Items) -> float:
    """The share of an entity's items that are in the index that is read."""
    if plan.index is None:
        return 1.0
    bound = entity.key_in(plan.index.name)
    return 0.0 if bound is None else share_in_index(entity, bound, items)


def share_in_index(entity: EntitySpec, bound: BoundKey, items: Items) -> float:
    """The share of an entity's items that an index holds: those with all its fields, of which `when` is true."""
    share = 1.0
    for name in bound.fields:
        if entity.fields[name].optional:
            share *= items.present.get(name, 1.0)
    if bound.when is None:
        return share
    for name in dict.fromkeys(path.field for path in paths_of(bound.when)):
        told = items.distinct.get(name)
        if isinstance(told, Mapping):
            inside = sum(part for value, part in told.items() if holds(bound.when, {name: value}) is True)
            return share * inside / sum(told.values())
    return share


# Writes.


def _write(plan: Plan) -> Units:
    entity = plan.entity
    size = item_size(entity).average
    base = write_units(size)
    if plan.operation in {"PutItem", "BatchWriteItem", "DeleteItem"}:
        indexes = {
            name: units for bound in entity.indexes if (name := _name(bound)) and (units := _entry(entity, bound))
        }
        if plan.operation == "PutItem" and plan.exists == "must":
            indexes = {name: 2 * units for name, units in indexes.items()}
    elif plan.operation == "UpdateItem":
        indexes = _updated(plan)
    else:
        indexes = {}
    sentinels = len(entity.sentinels) if plan.operation in {"PutItem", "DeleteItem"} or plan.reads_first else 0
    if sentinels:
        return Units(write=TRANSACTION * (base + sentinels), indexes=indexes)
    return Units(write=base, indexes=indexes)


def _name(bound: BoundKey) -> str:
    return bound.index.name if bound.index is not None else ""


def _entry(entity: EntitySpec, bound: BoundKey) -> float:
    """Units of one entry, by the share of items that are in the index."""
    share = 1.0 if entity.items is None else share_in_index(entity, bound, entity.items)
    return write_units(entry_size(entity, bound).average) * share


def _updated(plan: Plan) -> dict[str, float]:
    """By index: twice where the key changes, once where only what it projects does."""
    entity = plan.entity
    changed = {action.path.field for action in plan.actions}
    if entity.version is not None:
        changed.add(entity.version)
    found = {}
    for bound in entity.indexes:
        assert bound.index is not None, "indexes have one"
        shown = any(bound.index.projects(entity.fields[name].attribute, entity.schema.key) for name in changed)
        if changed & set(bound.depends_on):
            leaves = any(effect.key is bound and holds(bound.when, effect.sources) is False for effect in plan.effects)
            found[bound.index.name] = _entry_units(entity, bound) * (1 if leaves else 2)
        elif shown:
            found[bound.index.name] = _entry(entity, bound)
    return {name: units for name, units in found.items() if units}


def _entry_units(entity: EntitySpec, bound: BoundKey) -> float:
    return write_units(entry_size(entity, bound).average)


def steps_of(plan: Plan, facts: Facts) -> list[tuple[Plan, float, Units]]:
    """The writes of a transaction: each with how often it is repeated and what all of that costs."""
    found = []
    for step, repeated in zip(plan.steps, plan.repeats, strict=True):
        times = 1.0
        if repeated is not None:
            times = float(len(repeated.values)) if isinstance(repeated.values, tuple) else facts.returns or 1.0
        found.append((step, times, _in_transaction(step) * times))
    return found


def _in_transaction(step: Plan) -> Units:
    if step.operation == "ConditionCheck":
        return Units(write=TRANSACTION * write_units(item_size(step.entity).average))
    one = _write(step)
    # A write that keeps unique values is a transaction by itself, and counted as one.
    alone = not step.entity.sentinels
    return Units(write=one.write * TRANSACTION, indexes=one.indexes) if alone else one


def _transaction(plan: Plan, facts: Facts) -> Expected:
    steps = steps_of(plan, facts)
    written = sum(times for _, times, _ in steps)
    guesses = tuple(dict.fromkeys(guess for step in plan.steps for guess in _size_guesses(step)))
    return Expected(sum_of(units for _, _, units in steps), written, written, guesses)
