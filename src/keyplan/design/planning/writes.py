"""Functions that plan reads by key, puts, deletes, condition checks, batches and updates."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_origin

from keyplan.design.conditions.builders import FieldUpdate, ItemWrite
from keyplan.design.conditions.conditions import FieldPath, paths_of
from keyplan.design.conditions.evaluation import holds
from keyplan.design.entities import EntitySpec
from keyplan.design.errors import DesignError, Fault, Place
from keyplan.design.fields.annotations import without_none
from keyplan.design.fields.stored import amount_validator, validator
from keyplan.design.keys.entity_keys import unknown_field_error
from keyplan.design.parameters import WRITE_TIME, Each, EveryShard, Param, Source, annotation_of, attribute_of
from keyplan.design.planning.indexes import index_effects, patch_faults
from keyplan.design.planning.plan import KeySelection, PatternDeclaration, Plan, SortCondition, key_value
from keyplan.design.planning.queries import plan_walk

_NOTHING_ELSE = "return item(...) alone; only queries have filters"


def plan_get(pattern: PatternDeclaration, write: ItemWrite, draft: Plan) -> Plan:
    """Plan a read by key. Raises DesignError if the pattern declares anything other than a key."""
    _refuse_changes(pattern, write, "reads by key, but returns changes", _NOTHING_ELSE)
    if write.required is not None or write.version is not None:
        raise DesignError(
            f"{pattern.name} reads by key, but returns a condition",
            place=pattern.place,
            fix=_NOTHING_ELSE,
        )
    return plan_key(pattern, write, draft)


def plan_key(pattern: PatternDeclaration, write: ItemWrite, draft: Plan) -> Plan:
    """Plan the key of one item or, if a field is each(...), the keys of several items.

    Raises DesignError unless the whole primary key is given.
    """
    entity, fields = pattern.entities[0], write.key
    check_fields(pattern, {name: pattern.place_of(name, write.places) for name in fields})
    key_fields = entity.key.fields
    missing = [name for name in key_fields if name not in fields]
    extra = [name for name in fields if name not in key_fields]
    if missing or extra:
        raise DesignError(
            f"{pattern.name} names {', '.join(fields) or 'no field'}, but the primary key of {entity.name} consists of"
            f" {', '.join(key_fields)}",
            place=pattern.place.at("item("),
            other=entity.key.place,
            fix=f"write item({', '.join(f'{name}={name}' for name in key_fields)})",
            code="KP301",
        )
    walk = plan_walk(pattern, fields)
    if walk is not None and isinstance(walk[1], EveryShard):
        raise DesignError(
            f"{pattern.name} names a single item, but every shard of {walk[0]}",
            place=pattern.place.at("every_shard("),
            fix="name the shard of the item; every_shard() is for queries",
        )
    if walk is not None and draft.operation not in {"BatchGetItem", "BatchWriteItem"}:
        raise DesignError(
            f"{pattern.name} accesses one item, but passes several values for {walk[0]}",
            place=pattern.place.at("each("),
            fix="use batch_get or batch_delete, or a transaction that repeats the pattern for each(...)",
        )
    return replace(draft, key=primary_key(entity, fields), walk=walk)


def primary_key(entity: EntitySpec, fields: Mapping[str, Source]) -> KeySelection:
    """Return the key selection for the primary key of one item, given the parameters and constants for its fields."""
    partition = tuple(key_value(part, fields) for part in entity.key.partition)
    return KeySelection(partition, tuple(SortCondition("=", key_value(part, fields)) for part in entity.key.sort))


def check_fields(pattern: PatternDeclaration, places: Mapping[str, Place]) -> None:
    """Raise DesignError if a pattern names a field that its entity does not have.

    `places` maps field names to source locations.
    """
    entity = pattern.entities[0]
    for name, place in places.items():
        if name not in entity.fields:
            raise unknown_field_error(name, entity.fields, entity.model.__name__, place)


def _refuse_changes(pattern: PatternDeclaration, write: ItemWrite, verb_phrase: str, fix: str) -> None:
    """Raise DesignError if a `delete` or `check` pattern declares changes, a whole item, or `.assuming(...)`."""
    if write.actions or write.item is not None or write.assumed:
        raise DesignError(f"{pattern.name} {verb_phrase}", place=pattern.place, fix=fix)


def plan_put(pattern: PatternDeclaration, write: ItemWrite, draft: Plan) -> Plan:
    """Plan the write of a whole item by a `create`, `put` or `replace` pattern."""
    if write.item is None or write.key or write.actions or write.assumed:
        raise DesignError(
            f"{pattern.name} writes a whole item, but does not return item(new)",
            place=pattern.place,
            fix="return item(new), where new is the pattern's parameter, and .condition(...) for conditions",
        )
    if write.replaceable is not None and draft.exists != "must_not":
        raise DesignError(
            f"{pattern.name} overwrites an existing item anyway: replace_if is only for create",
            place=pattern.place.at("replace_if("),
            fix="use @table.create, or .condition(...) for a condition on the existing item",
        )
    entity = pattern.entities[0]
    _check_item(pattern, write.item, is_batch=False)
    check_conditions(pattern, write)
    replaces = draft.exists != "must_not" or write.replaceable is not None
    compares_version = draft.exists == "must" and entity.version is not None
    return replace(
        draft,
        item=write.item,
        condition=write.required,
        replaceable=write.replaceable,
        version=write.version if write.version is not None or not compares_version else _version_of(write.item, entity),
        reads_first=bool(entity.sentinels) and replaces,
    )


def _check_item(pattern: PatternDeclaration, item: Source, *, is_batch: bool) -> None:
    """Raise DesignError if the annotation of the item to write is not the pattern's entity.

    With `is_batch`, the annotation must be a list or another collection of such items.
    """
    model = pattern.entities[0].model
    expected_type = f"list[{model.__name__}]" if is_batch else model.__name__
    annotation, _ = without_none(annotation_of(item) if isinstance(item, Param) else type(item))
    kind = get_origin(annotation) or annotation
    if not isinstance(kind, type) or kind is Any:
        return
    is_collection = issubclass(kind, Collection) and not issubclass(kind, (str, bytes))
    if is_collection is is_batch and (is_collection or issubclass(model, kind) or issubclass(kind, model)):
        return
    advice = "; to put several items, use @table.batch_put, or a transaction with each(...)" if is_collection else ""
    raise DesignError(
        f"{pattern.name} puts {item!r}, which is {getattr(annotation, '__name__', annotation)}, not {expected_type}",
        place=pattern.place,
        other=pattern.entities[0].place,
        fix=f"annotate the parameter as {expected_type}{advice}",
    )


def _version_of(item: Source, entity: EntitySpec) -> Source:
    return attribute_of(item, entity.version) if entity.version is not None else None


def plan_delete(pattern: PatternDeclaration, write: ItemWrite, draft: Plan) -> Plan:
    """Plan the deletion of an item."""
    _refuse_changes(pattern, write, "deletes an item, but returns changes of it", _KEY_ONLY)
    check_conditions(pattern, write)
    draft = replace(
        draft,
        condition=write.required,
        version=write.version,
        reads_first=bool(pattern.entities[0].sentinels),
    )
    return plan_key(pattern, write, draft)


def plan_check(pattern: PatternDeclaration, write: ItemWrite, draft: Plan) -> Plan:
    """Plan a condition check on an item, for use in a transaction."""
    _refuse_changes(pattern, write, "only checks an item, but returns changes of it", _KEY_ONLY)
    check_conditions(pattern, write)
    draft = replace(draft, condition=write.required, version=write.version)
    return plan_key(pattern, write, draft)


_KEY_ONLY = "return item(...), and .condition(...) for conditions"


def check_conditions(pattern: PatternDeclaration, write: ItemWrite) -> None:
    """Raise DesignError for a condition on an unknown field, or on the version of an entity without a version field."""
    paths = (*paths_of(write.required), *paths_of(write.replaceable))
    check_fields(pattern, {path.field: pattern.place_of_path(path) for path in paths})
    if write.version is not None and pattern.entities[0].version is None:
        raise DesignError(
            f"{pattern.name} uses if_version, but {pattern.entities[0].name} does not have a version",
            place=pattern.place.at("if_version("),
            other=pattern.entities[0].place,
            fix='declare the field that counts changes: @table.entity(..., version="version")',
        )


def plan_batch(pattern: PatternDeclaration, write: ItemWrite, draft: Plan) -> Plan:
    """Plan a batch of puts or deletes. A batch is not atomic and does not support conditions."""
    if write.actions or write.assumed or (write.item is not None and write.key):
        raise DesignError(
            f"{pattern.name} updates items in a batch: a batch only puts whole items, or deletes them",
            place=pattern.place,
            fix="return item(items) or item(...) with one each(...), or use a transaction of updates",
        )
    if write.required is not None or write.version is not None or write.replaceable is not None:
        fault = pattern.fault(
            "KP611",
            f"{pattern.name} states a condition for a batch: BatchWriteItem does not support conditions",
            "use single writes, or a transaction",
        )
        draft = replace(draft, faults=(fault,))
    if pattern.entities[0].sentinels:
        fault = pattern.fault(
            "KP605",
            f"{pattern.name} writes {pattern.entities[0].name} in batches, which cannot keep its unique values",
            "write such items one by one, or in transactions",
            pattern.entities[0].place,
        )
        draft = replace(draft, faults=(*draft.faults, fault))
    if write.item is not None:
        _check_item(pattern, write.item, is_batch=True)
        return replace(draft, item=write.item)
    planned = plan_key(pattern, write, draft)
    if planned.walk is None:
        raise DesignError(
            f"{pattern.name} is a batch, but names one item",
            place=pattern.place,
            fix="pass one field of the key as each(...)",
        )
    return planned


def plan_update(pattern: PatternDeclaration, write: ItemWrite, draft: Plan) -> Plan:
    """Plan a partial update, including its effects on index keys."""
    entity = pattern.entities[0]
    if write.item is not None:
        raise DesignError(
            f"{pattern.name} is an update, but returns a whole item",
            place=pattern.place.at("item("),
            fix="use @table.replace for item(new), or .set(...) for single fields",
        )
    check_conditions(pattern, write)
    check_fields(pattern, {name: pattern.place_of(name, write.places) for name in write.assumed})
    _check_actions(pattern, entity, write.actions)
    creates = draft.exists == "may"
    changes_nothing = write.is_empty_patch and not creates
    if not changes_nothing:
        write = replace(write, actions=(*write.actions, *_write_times(entity, creates=creates)))
    effects, faults = index_effects(pattern, write, creates=creates)
    faults += patch_faults(pattern, write, creates=creates)
    draft = replace(
        draft,
        actions=write.actions,
        changes_nothing=changes_nothing,
        effects=() if changes_nothing else effects,
        condition=write.required,
        version=write.version,
        assumed=write.assumed,
        reads_first=_touches_unique(entity, write) or (draft.exists == "may" and bool(entity.sentinels)),
    )
    planned = plan_key(pattern, write, draft)
    return replace(
        planned,
        faults=(
            *planned.faults,
            *faults,
            *_incomplete_item_faults(pattern, write, draft),
            *_removed_field_faults(pattern, write),
        ),
    )


def _write_times(entity: EntitySpec, *, creates: bool) -> list[FieldUpdate]:
    """Return the changes that set fields declared with Created() and Updated() to the time of the update."""
    created_fields = (
        [name for name in entity.write_times("created") if name not in entity.key.fields] if creates else []
    )
    return [
        *(FieldUpdate("set", FieldPath(name), WRITE_TIME) for name in entity.write_times("updated")),
        *(FieldUpdate("set_if_missing", FieldPath(name), WRITE_TIME) for name in created_fields),
    ]


def _touches_unique(entity: EntitySpec, write: ItemWrite) -> bool:
    """Return True if an update changes unique values, or the expiry time. Both are also stored in the guard items that
    reserve the unique values.
    """
    changed_fields = {action.path.field for action in write.actions}
    expires = any(entity.fields[name].attribute == entity.expiry_attribute for name in changed_fields)
    return any(expires or changed_fields.intersection(rule.fields) for rule in entity.sentinels)


def _incomplete_item_faults(pattern: PatternDeclaration, write: ItemWrite, draft: Plan) -> list[Fault]:
    """Return a list with one fault if an upsert could create an item without a required field. Otherwise, return an
    empty list.
    """
    entity = pattern.entities[0]
    absent = dict.fromkeys(entity.fields)
    if draft.exists != "may" or holds(write.required, absent) is False:
        return []
    created_fields = {action.path.field for action in write.actions if _creates_field(action)} | {
        entity.version,
        *entity.key.fields,
    }
    missing = [name for name, field in entity.fields.items() if field.is_needed and name not in created_fields]
    if not missing:
        return []
    names = ", ".join(missing)
    return [
        Fault(
            "KP607",
            f"{pattern.name} creates a missing {entity.name} without its required {names}: the created item"
            " could not be read",
            f"add .set_if_missing({missing[0]}=...), give {names} a default, or drop upsert=True",
            pattern.place.at("upsert="),
            entity.place,
        )
    ]


def _removed_field_faults(pattern: PatternDeclaration, write: ItemWrite) -> list[Fault]:
    entity = pattern.entities[0]
    return [
        Fault(
            "KP607",
            f"{pattern.name} removes {path.field}, a required field of {entity.name}: the remaining item could not be"
            " read",
            f"give {path.field} a default, such as None, or set it to a value that means it is absent",
            pattern.place_of_path(path),
            entity.place,
        )
        for path, is_removed in (
            (action.path, action.name == "remove" or action.source is None) for action in write.actions
        )
        if is_removed
        and len(path.parts) == 1
        and entity.fields[path.field].is_needed
        and path.field not in entity.key.fields
    ]


def _creates_field(action: FieldUpdate) -> bool:
    if len(action.path.parts) > 1 or action.name in {"remove", "remove_from_set"} or action.optional:
        return False
    return action.source is not None


def _check_actions(pattern: PatternDeclaration, entity: EntitySpec, actions: Sequence[FieldUpdate]) -> None:
    """Raise DesignError if an update changes an unknown field, changes a field twice, or changes a field by an
    operation that its type does not support.
    """
    check_fields(pattern, {action.path.field: pattern.place_of_path(action.path) for action in actions})
    paths: list[tuple[str, ...]] = []
    for action in actions:
        name = action.path.field
        is_top_level = len(action.path.parts) == 1
        path = tuple(map(repr, action.path.parts))
        if any(path[: len(other_path)] == other_path[: len(path)] for other_path in paths):
            raise DesignError(
                f"{pattern.name} changes {name} twice", place=pattern.place_of_path(action.path), fix="change it once"
            )
        paths.append(path)
        code = entity.fields[name].type_code
        allowed_types = _ALLOWED_TYPES.get(action.name)
        if is_top_level and allowed_types is not None and code not in allowed_types:
            method = "set" if action.name == "remove_from_set" else _ADDING_METHODS.get(code, "set")
            raise DesignError(
                f"{pattern.name} uses {action.method} on {entity.name}.{name}, which is stored as {_TYPE_NAMES[code]}",
                place=pattern.place_of_path(action.path),
                fix=f"{action.method} works on {_TYPE_NAMES[min(allowed_types - {'ANY'})]}; use .{method}({name}=...)",
            )
        if is_top_level and action.name in _TYPED_ACTIONS:
            _check_constant(pattern, entity, action)
        event = entity.fields[name].write_time
        if event is not None:
            raise DesignError(
                f"{pattern.name} changes {name}, which writes set to their time because it is {event.capitalize()}()",
                place=pattern.place_of_path(action.path),
                other=entity.place,
                fix=f"leave it out; to store another time, declare {name} without {event.capitalize()}()",
            )
        if name == entity.version:
            raise DesignError(
                f"{pattern.name} changes {name}, which counts the changes of {entity.name} by itself",
                place=pattern.place_of_path(action.path),
                fix="leave it out; .if_version(...) states the expected version",
            )


def _check_constant(pattern: PatternDeclaration, entity: EntitySpec, action: FieldUpdate) -> None:
    if action.source is None or isinstance(action.source, (Param, Each)):
        return
    check = amount_validator if action.name == "add" else validator
    try:
        check(entity.fields[action.path.field])(action.source)
    except ValueError as error:
        raise DesignError(
            f"{pattern.name} sets {entity.name}.{action.path.field}: {error}",
            place=pattern.place_of_path(action.path),
            other=entity.place,
            fix=f"set it to a valid value of {entity.name}.{action.path.field}, or make it a parameter",
        ) from None


_TYPED_ACTIONS = frozenset({"set", "set_if_missing", "add"})
"""The names of builder methods whose argument has the type of the field that they change."""
_TYPE_NAMES = {
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

_ADDING_METHODS = {"N": "add", "L": "append", "SS": "add_to_set", "NS": "add_to_set", "BS": "add_to_set"}
"""Maps the DynamoDB type of a field to the builder method that adds a number to the field, or elements to its list or
set.
"""
_ALLOWED_TYPES: dict[str, frozenset[str]] = {
    "add": frozenset({"N", "ANY"}),
    "append": frozenset({"L", "ANY"}),
    "add_to_set": frozenset({"SS", "NS", "BS", "ANY"}),
    "remove_from_set": frozenset({"SS", "NS", "BS", "ANY"}),
}
