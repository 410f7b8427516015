"""From what a writing pattern asks to its plan: what is written, and under which conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from keyplan.design.asked import Asked, key_value
from keyplan.design.conditions import holds, paths_of
from keyplan.design.entities import EntitySpec
from keyplan.design.keys import no_such_field
from keyplan.design.places import DesignError, Fault, Place
from keyplan.design.plan import KeyCondition, Plan, SortCondition
from keyplan.design.planning_indexes import index_effects
from keyplan.design.planning_reads import walk_of
from keyplan.design.symbols import EveryShard, Source
from keyplan.design.terms import Action, Change

_NOTHING_ELSE = "return key_of(...) and nothing else; a query takes where(...)"


def plan_get(asked: Asked, change: Change, draft: Plan) -> Plan:
    """The plan of a read by key: nothing but the key is said."""
    _only(asked, change, "reads by key, and returns changes", _NOTHING_ELSE)
    if change.condition is not None or change.version is not None:
        raise DesignError(
            f"{asked.name} reads by key, and a read has no condition",
            place=asked.place,
            fix=_NOTHING_ELSE,
        )
    return plan_key(asked, change, draft)


def plan_key(asked: Asked, change: Change, draft: Plan) -> Plan:
    """The plan of something about one item, or with each(...) several: all of the primary key is named."""
    entity, fields = asked.entities[0], change.key
    _known_fields(asked, {name: asked.at(name, change.places) for name in fields})
    needed = entity.key.fields
    missing = [name for name in needed if name not in fields]
    extra = [name for name in fields if name not in needed]
    if missing or extra:
        raise DesignError(
            f"{asked.name} names {', '.join(fields) or 'nothing'}, and the primary key of {entity.name} is made of"
            f" {', '.join(needed)}",
            place=asked.place.at("key_of("),
            other=entity.key.place,
            fix=f"write key_of({', '.join(f'{name}={name}' for name in needed)})",
            code="KP301",
        )
    walk = walk_of(asked, fields)
    if walk is not None and isinstance(walk[1], EveryShard):
        raise DesignError(
            f"{asked.name} names an item of every shard of {walk[0]}",
            place=asked.place.at("every_shard("),
            fix="name the one shard that the item is in; every_shard() is for queries",
        )
    if walk is not None and draft.operation not in {"BatchGetItem", "BatchWriteItem"}:
        raise DesignError(
            f"{asked.name} is about one item, and {walk[0]} takes several values",
            place=asked.place.at("each("),
            fix="use batch_get or batch_delete, or a transaction that repeats the pattern for each(...)",
        )
    return replace(draft, key=primary(entity, fields), walk=walk)


def primary(entity: EntitySpec, fields: Mapping[str, Source]) -> KeyCondition:
    """The primary key of one item."""
    partition = tuple(key_value(part, fields) for part in entity.key.partition)
    return KeyCondition(partition, tuple(SortCondition("=", key_value(part, fields)) for part in entity.key.sort))


def _known_fields(asked: Asked, places: Mapping[str, Place]) -> None:
    entity = asked.entities[0]
    for name, place in places.items():
        if name not in entity.fields:
            raise no_such_field(name, entity.fields, entity.model.__name__, place)


def _only(asked: Asked, change: Change, does: str, fix: str) -> None:
    """Refuse changes, items and known values where a pattern has no use for them."""
    if change.actions or change.item is not None or change.known:
        raise DesignError(f"{asked.name} {does}", place=asked.place, fix=fix)


def plan_put(asked: Asked, change: Change, draft: Plan) -> Plan:
    """The plan of a whole item's write."""
    if change.item is None or change.key or change.actions or change.known:
        raise DesignError(
            f"{asked.name} writes a whole item, and returns something else",
            place=asked.place,
            fix="return put(item), with the item as the pattern's parameter, and when(...) for conditions",
        )
    if change.replace_when is not None and draft.exists != "must_not":
        raise DesignError(
            f"{asked.name} writes over an item anyhow, and replace_when is for a create",
            place=asked.place.at("replace_when"),
            fix="use @table.create, or when(...) for a condition on the item that is there",
        )
    entity = asked.entities[0]
    _condition_fields(asked, change)
    replaces = draft.exists != "must_not" or change.replace_when is not None
    own_version = draft.exists == "must" and entity.version is not None
    return replace(
        draft,
        operation="PutItem",
        item=change.item,
        condition=change.condition,
        replace_when=change.replace_when,
        version=change.version if change.version is not None or not own_version else _field_of(change.item, entity),
        reads_first=bool(entity.sentinels) and replaces,
    )


def _field_of(item: Source, entity: EntitySpec) -> Source:
    return getattr(item, entity.version) if entity.version is not None else None


def plan_delete(asked: Asked, change: Change, draft: Plan) -> Plan:
    """The plan of a delete."""
    _only(asked, change, "deletes an item, and returns changes of it", _KEY_ONLY)
    _condition_fields(asked, change)
    draft = replace(
        draft,
        operation="DeleteItem",
        condition=change.condition,
        version=change.version,
        reads_first=bool(asked.entities[0].sentinels),
    )
    return plan_key(asked, change, draft)


def plan_check(asked: Asked, change: Change, draft: Plan) -> Plan:
    """The plan of a condition on an item that a transaction does not write."""
    _only(asked, change, "only checks an item, and returns changes of it", _KEY_ONLY)
    _condition_fields(asked, change)
    draft = replace(draft, operation="ConditionCheck", condition=change.condition, version=change.version)
    return plan_key(asked, change, draft)


_KEY_ONLY = "return key_of(...), and when(...) for conditions"


def plan_update(asked: Asked, change: Change, draft: Plan) -> Plan:
    """The plan of a partial update, with what it does to every index key."""
    entity = asked.entities[0]
    if change.item is not None:
        raise DesignError(
            f"{asked.name} is an update, and returns a whole item",
            place=asked.place.at("put("),
            fix="use @table.replace for put(item), or set_(...) for some fields of it",
        )
    _condition_fields(asked, change)
    _known_fields(asked, {name: asked.at(name, change.places) for name in change.known})
    _check_actions(asked, entity, change.actions)
    effects, faults = index_effects(asked, change, creates=draft.exists == "may")
    changed = {action.path.field for action in change.actions}
    draft = replace(
        draft,
        operation="UpdateItem",
        actions=change.actions,
        condition=change.condition,
        version=change.version,
        known=change.known,
        effects=effects,
        reads_first=any(set(rule.fields) & changed for rule in entity.sentinels),
    )
    planned = plan_key(asked, change, draft)
    return replace(planned, faults=(*planned.faults, *faults, *_half_an_item(asked, change, draft)))


def _half_an_item(asked: Asked, change: Change, draft: Plan) -> list[Fault]:
    """Required fields that an upsert leaves out of an item that it creates."""
    entity = asked.entities[0]
    absent = dict.fromkeys(entity.fields)
    if draft.exists != "may" or holds(change.condition, absent) is False:
        return []
    made = {action.path.field for action in change.actions if _makes(action)} | {entity.version, *entity.key.fields}
    lacking = [name for name, stored in entity.fields.items() if stored.is_needed and name not in made]
    if not lacking:
        return []
    names = ", ".join(lacking)
    return [
        Fault(
            "KP607",
            f"{asked.name} creates {entity.name} where none is, and leaves out {names}, which every {entity.name} has:"
            " what it creates cannot be read back",
            f"add set_if_missing({lacking[0]}=...), give {names} a default, or drop upsert=True",
            asked.place.at("upsert="),
            entity.place,
        )
    ]


def _makes(action: Action) -> bool:
    """Whether the field is there after the action, on an item that was not."""
    if len(action.path.parts) > 1 or action.name in {"remove", "remove_from_set"}:
        return False
    return action.source is not None


def _condition_fields(asked: Asked, change: Change) -> None:
    paths = (*paths_of(change.condition), *paths_of(change.replace_when))
    _known_fields(asked, {path.field: asked.at_path(path) for path in paths})
    if change.version is not None and asked.entities[0].version is None:
        raise DesignError(
            f"{asked.name} asks for a version, and {asked.entities[0].name} has none",
            place=asked.place.at("at_version("),
            other=asked.entities[0].place,
            fix='declare the field that counts changes: @table.entity(..., version="version")',
        )


def _check_actions(asked: Asked, entity: EntitySpec, actions: Sequence[Action]) -> None:
    """Refuse actions without meaning: unknown fields, a field twice, an operator that its type has not."""
    _known_fields(asked, {action.path.field: asked.at_path(action.path) for action in actions})
    seen: set[str] = set()
    for action in actions:
        name = action.path.field
        whole = len(action.path.parts) == 1
        if whole and name in seen:
            raise DesignError(
                f"{asked.name} changes {name} twice", place=asked.at_path(action.path), fix="change it once"
            )
        seen.add(name)
        code = entity.fields[name].type_code
        allowed = _OPERANDS.get(action.name)
        if whole and allowed is not None and code not in allowed:
            raise DesignError(
                f"{asked.name} uses {action.name} on {entity.name}.{name}, which is stored as {_CALLED[code]}",
                place=asked.at_path(action.path),
                fix=f"{action.name} works on {_CALLED[min(allowed - {'ANY'})]}; use set_({name}=...)",
            )
        if name == entity.version:
            raise DesignError(
                f"{asked.name} changes {name}, which counts the changes of {entity.name} by itself",
                place=asked.at_path(action.path),
                fix="leave it out; at_version(...) asks for a version",
            )


_CALLED = {
    "S": "a String",
    "N": "a Number",
    "B": "Binary",
    "BOOL": "a Boolean",
    "L": "a list",
    "M": "a map",
    "SS": "a set",
    "NS": "a set",
    "BS": "a set",
}

_OPERANDS: dict[str, frozenset[str]] = {
    "add": frozenset({"N", "ANY"}),
    "append": frozenset({"L", "ANY"}),
    "add_to_set": frozenset({"SS", "NS", "BS", "ANY"}),
    "remove_from_set": frozenset({"SS", "NS", "BS", "ANY"}),
}


def plan_batch(asked: Asked, change: Change, draft: Plan) -> Plan:
    """The plan of a batch of puts or of deletes: neither atomic nor conditional."""
    draft = replace(draft, operation="BatchWriteItem")
    if change.actions or change.known or (change.item is not None and change.key):
        raise DesignError(
            f"{asked.name} writes whole items or deletes them: a batch has no partial update",
            place=asked.place,
            fix="return put(items) or key_of(...) with one each(...), or use a transaction of updates",
        )
    if change.condition is not None or change.version is not None or change.replace_when is not None:
        fault = asked.fault(
            "KP611",
            f"{asked.name} sets a condition on a batch: BatchWriteItem has none, and is not atomic",
            "use single writes or a transaction where a condition decides",
        )
        draft = replace(draft, faults=(fault,))
    if asked.entities[0].sentinels:
        fault = asked.fault(
            "KP605",
            f"{asked.name} writes {asked.entities[0].name} in batches, which cannot keep its unique values",
            "write such items one by one, or in transactions",
            asked.entities[0].place,
        )
        draft = replace(draft, faults=(*draft.faults, fault))
    if change.item is not None:
        return replace(draft, item=change.item)
    planned = plan_key(asked, change, draft)
    if planned.walk is None:
        raise DesignError(
            f"{asked.name} names one item", place=asked.place, fix="give one field of the key as each(...)"
        )
    return planned
