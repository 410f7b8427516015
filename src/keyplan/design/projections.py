"""What an index holds of an item, and what follows: fetches from the table, and whether it can be told whose it is.

A local index gives what it lacks too: the service fetches the whole item from the table, at the price of reading
it. A global index cannot. No index is filtered by what it lacks: the service refuses such a query, and a scan
finds the attribute absent. Source: developer guide, "Local Secondary Indexes" and "Using Global Secondary Indexes".
"""

from __future__ import annotations

from collections.abc import Sequence

from keyplan.design.algebra import can_equal
from keyplan.design.entities import EntitySpec
from keyplan.design.keys import KeyAttribute
from keyplan.design.places import Fault
from keyplan.design.plan import KeyValue, Plan
from keyplan.design.schema import Index


def lacking(index: Index, spec: EntitySpec) -> list[str]:
    """Fields of an entity that entries of an index neither hold nor give back from their keys."""
    bound = spec.key_in(index)
    if bound is None:
        return []
    templates = [part.template for part in (*spec.key.attributes, *bound.attributes)]
    in_keys = {name for one in templates if one is not None and one.reversible for name in one.fields}
    return [
        name
        for name, stored in spec.fields.items()
        if not index.projects(stored.attribute, spec.schema.key) and name not in in_keys
    ]


def absent(plan: Plan, entity: EntitySpec) -> list[str]:
    """Return the fields that a range is to return of an entity and its index lacks."""
    read = set(plan.fields_read(entity))
    return [] if plan.index is None else [name for name in lacking(plan.index, entity) if name in read]


def to_hold(index: Index, attributes: Sequence[str]) -> str:
    """What to do about attributes that an index lacks."""
    if isinstance(index.project, tuple):
        return f"add {', '.join(attributes)} to the index's project=[...], or project all"
    listed = ", ".join(f'"{name}"' for name in attributes)
    return f'write project=[{listed}] instead of project="keys", or project all'


def wants_whole(plan: Plan) -> bool:
    """Whether a range of a local index asks for whole items, because entities are made of more than it holds."""
    if plan.index is None or plan.index.kind != "LSI" or (plan.select == "count" and plan.residue is None):
        return False
    return any(absent(plan, spec) for spec in plan.entities)


def fetched(plan: Plan) -> tuple[str, ...]:
    """Attributes for which each item that a range of a local index reads is fetched from the table; mostly none."""
    index = plan.index
    if index is None or index.kind != "LSI":
        return ()
    wanted: list[str] = []
    if wants_whole(plan):
        wanted += [spec.fields[name].attribute for spec in plan.entities for name in absent(plan, spec)]
    if plan.select == "count":  # counted without what has expired, and without other entities
        wanted += [plan.schema.ttl] if drops_expired(plan) and plan.schema.ttl is not None else []
        wanted += [plan.schema.discriminator] if plan.schema.discriminator is not None else []
    return tuple(dict.fromkeys(name for name in wanted if not index.projects(name, plan.schema.key)))


def drops_expired(plan: Plan) -> bool:
    """Whether a range leaves out items by their expiry."""
    return plan.expired == "drop" and any(
        stored.attribute == plan.schema.ttl for spec in plan.entities for stored in spec.fields.values()
    )


def holds_attribute(plan: Plan, attribute: str | None) -> bool:
    """Whether what a range reads, the table or an index, holds an attribute: the service can filter by it."""
    return attribute is not None and (plan.index is None or plan.index.projects(attribute, plan.schema.key))


# Whose item an entry is.


def holds_discriminator(plan: Plan) -> bool:
    """Whether what a range reads says whose item it is; a local index fetches that if it must."""
    name, index = plan.schema.discriminator, plan.index
    return holds_attribute(plan, name) or (name is not None and index is not None and index.kind == "LSI")


def neighbours(plan: Plan) -> Sequence[EntitySpec]:
    """The entities of the table whose items may lie in a plan's range, its own among them."""
    declared = plan.siblings or plan.entities
    if plan.index is None:
        return declared
    return [spec for spec in declared if spec in plan.entities or _may_be_in(plan, plan.index, spec)]


def _may_be_in(plan: Plan, index: Index, spec: EntitySpec) -> bool:
    bound = spec.key_in(index)
    if bound is None:
        return False
    return plan.key is None or all(_can_meet(*pair) for pair in zip(plan.key.partition, bound.partition, strict=True))


def _can_meet(one: KeyValue | KeyAttribute, other: KeyAttribute) -> bool:
    if one.type_code != other.type_code:
        return False
    return one.template is None or other.template is None or can_equal(one.template, other.template) is not None


def range_faults(plan: Plan) -> list[Fault]:
    """What keeps a range from being read as entities, which shows only when all entities of the table are declared."""
    index, name = plan.index, plan.schema.discriminator
    if index is None or name is None or holds_discriminator(plan):
        return []
    pairs = ((spec, other) for spec in plan.entities for other in neighbours(plan) if other is not spec)
    for spec, other in pairs:
        if all(_can_meet(*pair) for pair in zip(spec.key.attributes, other.key.attributes, strict=True)):
            problem = (
                f"{plan.pattern} reads {spec.name} from index {index.name}, which lacks {name}: nothing in it tells"
                f" {spec.name} from {other.name}"
            )
            fix = f"{to_hold(index, [name])}, or give the two keys that differ"
            return [Fault("KP306", problem, fix, index.place, other.place)]
    return []


def all_faults(plan: Plan) -> tuple[Fault, ...]:
    """Everything that keeps a plan from working, of a whole design."""
    return (*plan.faults, *range_faults(plan))
