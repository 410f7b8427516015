"""What an update does to index keys: set or removed as a whole, or a fault where they would go stale.

An index key is made of fields, and a field that the update does not know may have any value. What must be known
of a key that an update touches: the values of the fields its texts are made of, of those that decide whether the
item is in the index at all, and of the others whether they are there. What the update's condition says of fields that
it leaves alone is known too, and a parameter whose annotation leaves out None is known to be a value. An update of an
item that its condition says is in the index, and that only changes why it is, leaves the key as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod

from keyplan.design.asked import Asked
from keyplan.design.conditions import UNKNOWN, paths_of
from keyplan.design.conditions_evaluation import holds, listed, stated
from keyplan.design.entities import EntitySpec
from keyplan.design.keys import BoundIndexKey, BoundKey
from keyplan.design.places import Fault
from keyplan.design.plan import IndexEffect
from keyplan.design.symbols import Source
from keyplan.design.terms_writes import Change

Effects = tuple[tuple[IndexEffect, ...], list[Fault]]
_Cases = Sequence[Mapping[str, Source]]
_MOST_CASES = 1_000

_MAKES_PRESENT = frozenset({"add", "append"})


def index_effects(asked: Asked, change: Change, *, creates: bool) -> Effects:
    """What an update does to every index key of its entity; `creates` says that the item may not be there yet."""
    entity = asked.entities[0]
    changed = {action.path.field for action in change.actions}
    if entity.version is not None:
        changed.add(entity.version)
    faults = [_moves(asked, entity, name) for name in entity.key.fields if name in changed]
    said = stated(change.condition, entity.fields)
    values = {name: said[name] for name in said.keys() - changed} | _values_after(change)
    if entity.version is not None:
        values[entity.version] = UNKNOWN  # it counts by itself
    choices = listed(change.condition)
    before = _cases(said | change.known | change.key, choices)
    after = _cases(values, {name: choices[name] for name in choices.keys() - changed})
    effects = []
    for bound in entity.indexes:
        touched = changed & _deciding(bound, entity)
        if not touched or (not creates and _stays(bound, entity, touched, before=before, after=after)):
            if creates and (lacking := _left_out(bound, entity, values, change)):
                faults.append(_stale(asked, entity, bound, lacking, "creates"))
            continue
        lacking = _lacking(bound, entity, values, _surely_there(entity, change))
        if lacking:
            faults.append(_stale(asked, entity, bound, lacking, f"changes {', '.join(sorted(touched))} of"))
        else:
            effects.append(IndexEffect(bound, {name: values.get(name, UNKNOWN) for name in bound.depends_on}))
    return tuple(effects), faults


def _made_of(bound: BoundKey, entity: EntitySpec) -> set[str]:
    """Fields whose values are copied or written into such attributes."""
    return {name for part in entity.made_in(bound) for name in part.fields}


def _deciding(bound: BoundKey, entity: EntitySpec) -> set[str]:
    """Fields whose change may change the attributes that only the program sets."""
    if not entity.made_in(bound):
        return set()
    conditions = {path.field for path in paths_of(bound.when)}
    return _made_of(bound, entity) | conditions | {name for name in bound.fields if entity.fields[name].optional}


def _stays(bound: BoundKey, entity: EntitySpec, touched: set[str], *, before: _Cases, after: _Cases) -> bool:
    """Whether an item is in the index before and after, under one key."""
    if bound.when is None or touched & (_made_of(bound, entity) | set(bound.fields)):
        return False
    return all(holds(bound.when, values) is True for values in (*before, *after))


def _cases(values: Mapping[str, Source], choices: Mapping[str, tuple[Source, ...]]) -> _Cases:
    """What fields may be: as is known of them, and of those that have choices each one."""
    open_to = {name: choices[name] for name in choices.keys() - values.keys()}
    if prod(map(len, open_to.values())) > _MOST_CASES:
        return [values]
    return [{**values, **dict(zip(open_to, chosen, strict=True))} for chosen in product(*open_to.values())]


def _values_after(change: Change) -> dict[str, Source]:
    """What is known of fields once the update is done."""
    values: dict[str, Source] = {**change.known, **change.key}
    for action in change.actions:
        if len(action.path.parts) > 1 or action.name not in {"set", "remove"}:
            values[action.path.field] = UNKNOWN
        else:
            values[action.path.field] = action.source if action.name == "set" else None
    return values


def _surely_there(entity: EntitySpec, change: Change) -> set[str]:
    """Fields that have a value after the update, whichever it is."""
    return {name for name, stored in entity.fields.items() if not (stored.optional or stored.is_set)} | _given(change)


def _given(change: Change) -> set[str]:
    """Fields that the update itself gives a value, be it to an item that it creates, without knowing which."""
    return {
        action.path.field
        for action in change.actions
        if action.name in _MAKES_PRESENT and len(action.path.parts) == 1 and action.source is not None
    }


def _lacking(bound: BoundKey, entity: EntitySpec, values: Mapping[str, Source], there: set[str]) -> list[str]:
    """Fields that must be known to tell the index key and are not."""
    inside = holds(bound.when, values)
    if inside is False:
        return []  # out of the index, whatever its key would have been
    if any(values.get(name, UNKNOWN) is None for name in bound.fields):
        return []
    made_of = _made_of(bound, entity)
    needed = [name for name in bound.fields if name in made_of or name not in there]
    if inside is None:
        needed += [path.field for path in paths_of(bound.when)]
    return [name for name in dict.fromkeys(needed) if values.get(name, UNKNOWN) is UNKNOWN]


def _left_out(bound: BoundKey, entity: EntitySpec, values: Mapping[str, Source], change: Change) -> list[str]:
    """Fields by whose defaults an item that the update creates would be in the index, without the update knowing."""
    created = {name: values.get(name, _default(entity, name)) for name in bound.depends_on}
    if holds(bound.when, created) is False or any(created[name] is None for name in bound.fields):
        return []
    enough = _given(change) - _deciding(bound, entity)
    return [name for name in bound.depends_on if values.get(name, UNKNOWN) is UNKNOWN and name not in enough]


def _default(entity: EntitySpec, name: str) -> Source:
    """What a field is read as where its attribute is not there; None for a required one, which cannot be read."""
    info = entity.fields[name].info
    if info.is_required():
        return None
    return info.get_default(call_default_factory=False) if info.default_factory is None else UNKNOWN


# Faults.


def _moves(asked: Asked, entity: EntitySpec, name: str) -> Fault:
    return asked.fault(
        "KP209",
        f"{asked.name} changes {name}, which the primary key of {entity.name} is made of: an update cannot move an"
        " item",
        "delete the item and create the new one in a transaction",
        entity.key.place,
    )


def _stale(asked: Asked, entity: EntitySpec, bound: BoundIndexKey, lacking: Sequence[str], does: str) -> Fault:
    names = ", ".join(lacking)
    fix = f"pass {names} with known({', '.join(f'{name}={name}' for name in lacking)}), or set"
    if does == "creates":
        fix = "set"
    return asked.fault(
        "KP401",
        f"{asked.name} {does} {entity.name}, and its key of index {bound.index.name} ({bound.text}) also needs {names}:"
        " the index would go stale",
        f"{fix} {'it' if len(lacking) == 1 else 'them'} too, or replace the whole item",
        bound.place,
    )
