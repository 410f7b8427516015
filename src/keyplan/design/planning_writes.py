"""From what a pattern about items asks to its plan: which key, which whole item, under which conditions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, get_origin

from keyplan.design.asked import Asked, key_value
from keyplan.design.conditions import paths_of
from keyplan.design.entities import EntitySpec
from keyplan.design.field_types import without_none
from keyplan.design.keys import no_such_field
from keyplan.design.places import DesignError, Place
from keyplan.design.plan import KeyCondition, Plan, SortCondition
from keyplan.design.planning_reads import walk_of
from keyplan.design.symbols import EveryShard, Param, Source, annotation_of
from keyplan.design.terms_writes import Change

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
    check_fields(asked, {name: asked.at(name, change.places) for name in fields})
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


def check_fields(asked: Asked, places: Mapping[str, Place]) -> None:
    """Refuse fields that the entity does not have; `places` says where each is named."""
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
    _check_item(asked, change.item, of_many=False)
    check_conditions(asked, change)
    replaces = draft.exists != "must_not" or change.replace_when is not None
    own_version = draft.exists == "must" and entity.version is not None
    return replace(
        draft,
        item=change.item,
        condition=change.condition,
        replace_when=change.replace_when,
        version=change.version if change.version is not None or not own_version else _field_of(change.item, entity),
        reads_first=bool(entity.sentinels) and replaces,
    )


def _check_item(asked: Asked, item: Source, *, of_many: bool) -> None:
    """Refuse a parameter that is no item of the entity, or for a batch no list of them, by its annotation."""
    model = asked.entities[0].model
    wanted = f"list[{model.__name__}]" if of_many else model.__name__
    given, _ = without_none(annotation_of(item) if isinstance(item, Param) else type(item))
    kind = get_origin(given) or given
    if not isinstance(kind, type) or kind is Any:
        return
    many = issubclass(kind, Collection) and not issubclass(kind, (str, bytes))
    if many is of_many and (many or issubclass(model, kind) or issubclass(kind, model)):
        return
    more = "; several items are for @table.batch_put, or for a transaction with each(...)" if many else ""
    raise DesignError(
        f"{asked.name} puts {item!r}, which is {getattr(given, '__name__', given)} and not {wanted}",
        place=asked.place,
        other=asked.entities[0].place,
        fix=f"take {wanted} as its parameter{more}",
    )


def _field_of(item: Source, entity: EntitySpec) -> Source:
    return getattr(item, entity.version) if entity.version is not None else None


def plan_delete(asked: Asked, change: Change, draft: Plan) -> Plan:
    """The plan of a delete."""
    _only(asked, change, "deletes an item, and returns changes of it", _KEY_ONLY)
    check_conditions(asked, change)
    draft = replace(
        draft,
        condition=change.condition,
        version=change.version,
        reads_first=bool(asked.entities[0].sentinels),
    )
    return plan_key(asked, change, draft)


def plan_check(asked: Asked, change: Change, draft: Plan) -> Plan:
    """The plan of a condition on an item that a transaction does not write."""
    _only(asked, change, "only checks an item, and returns changes of it", _KEY_ONLY)
    check_conditions(asked, change)
    draft = replace(draft, condition=change.condition, version=change.version)
    return plan_key(asked, change, draft)


_KEY_ONLY = "return key_of(...), and when(...) for conditions"


def check_conditions(asked: Asked, change: Change) -> None:
    """Refuse conditions on fields that there are not, and a version where none is counted."""
    paths = (*paths_of(change.condition), *paths_of(change.replace_when))
    check_fields(asked, {path.field: asked.at_path(path) for path in paths})
    if change.version is not None and asked.entities[0].version is None:
        raise DesignError(
            f"{asked.name} asks for a version, and {asked.entities[0].name} has none",
            place=asked.place.at("at_version("),
            other=asked.entities[0].place,
            fix='declare the field that counts changes: @table.entity(..., version="version")',
        )


def plan_batch(asked: Asked, change: Change, draft: Plan) -> Plan:
    """The plan of a batch of puts or of deletes: neither atomic nor conditional."""
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
        _check_item(asked, change.item, of_many=True)
        return replace(draft, item=change.item)
    planned = plan_key(asked, change, draft)
    if planned.walk is None:
        raise DesignError(
            f"{asked.name} names one item", place=asked.place, fix="give one field of the key as each(...)"
        )
    return planned
