"""From what a partial update asks to its plan: what is changed, and what that does to index keys and to the item."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from keyplan.design.asked import Asked
from keyplan.design.conditions_evaluation import holds
from keyplan.design.entities import EntitySpec
from keyplan.design.fields import amount_validator, validator
from keyplan.design.places import DesignError, Fault
from keyplan.design.plan import Plan
from keyplan.design.planning_indexes import index_effects
from keyplan.design.planning_writes import check_conditions, check_fields, plan_key
from keyplan.design.requests_guards import expiry_of
from keyplan.design.symbols import Each, Param
from keyplan.design.terms_writes import Action, Change


def plan_update(asked: Asked, change: Change, draft: Plan) -> Plan:
    """The plan of a partial update, with what it does to every index key."""
    entity = asked.entities[0]
    if change.item is not None:
        raise DesignError(
            f"{asked.name} is an update, and returns a whole item",
            place=asked.place.at("put("),
            fix="use @table.replace for put(item), or set_(...) for some fields of it",
        )
    check_conditions(asked, change)
    check_fields(asked, {name: asked.at(name, change.places) for name in change.known})
    _check_actions(asked, entity, change.actions)
    effects, faults = index_effects(asked, change, creates=draft.exists == "may")
    draft = replace(
        draft,
        actions=change.actions,
        condition=change.condition,
        version=change.version,
        known=change.known,
        effects=effects,
        reads_first=_touches_unique(entity, change) or (draft.exists == "may" and bool(entity.sentinels)),
    )
    planned = plan_key(asked, change, draft)
    return replace(
        planned,
        faults=(*planned.faults, *faults, *_half_an_item(asked, change, draft), *_emptied(asked, change)),
    )


def _touches_unique(entity: EntitySpec, change: Change) -> bool:
    """Whether unique values change, or the expiry that their sentinels share."""
    changed = {action.path.field for action in change.actions}
    expires = any(entity.fields[name].attribute == expiry_of(entity) for name in changed)
    return any(expires or changed.intersection(rule.fields) for rule in entity.sentinels)


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


def _emptied(asked: Asked, change: Change) -> list[Fault]:
    """Required fields that an update takes away."""
    entity = asked.entities[0]
    return [
        Fault(
            "KP607",
            f"{asked.name} removes {path.field}, which every {entity.name} has: what it leaves cannot be read back",
            f"give {path.field} a default, such as None, or set it to a value that says as much",
            asked.at_path(path),
            entity.place,
        )
        for path, gone in ((one.path, one.name == "remove" or one.source is None) for one in change.actions)
        if gone and len(path.parts) == 1 and entity.fields[path.field].is_needed and path.field not in entity.key.fields
    ]


def _makes(action: Action) -> bool:
    """Whether the field is there after the action, on an item that was not."""
    if len(action.path.parts) > 1 or action.name in {"remove", "remove_from_set"}:
        return False
    return action.source is not None


def _check_actions(asked: Asked, entity: EntitySpec, actions: Sequence[Action]) -> None:
    """Refuse actions without meaning: unknown fields, a field twice, an operator that its type has not."""
    check_fields(asked, {action.path.field: asked.at_path(action.path) for action in actions})
    seen: list[tuple[str, ...]] = []
    for action in actions:
        name = action.path.field
        whole = len(action.path.parts) == 1
        place = tuple(map(repr, action.path.parts))
        if any(place[: len(other)] == other[: len(place)] for other in seen):
            raise DesignError(
                f"{asked.name} changes {name} twice", place=asked.at_path(action.path), fix="change it once"
            )
        seen.append(place)
        code = entity.fields[name].type_code
        allowed = _OPERANDS.get(action.name)
        if whole and allowed is not None and code not in allowed:
            fitting = "set_" if action.name == "remove_from_set" else _ADDS_TO.get(code, "set_")
            raise DesignError(
                f"{asked.name} uses {action.word} on {entity.name}.{name}, which is stored as {_CALLED[code]}",
                place=asked.at_path(action.path),
                fix=f"{action.word} works on {_CALLED[min(allowed - {'ANY'})]}; use {fitting}({name}=...)",
            )
        if whole and action.name in _CONSTANTS:
            _check_constant(asked, entity, action)
        if name == entity.version:
            raise DesignError(
                f"{asked.name} changes {name}, which counts the changes of {entity.name} by itself",
                place=asked.at_path(action.path),
                fix="leave it out; at_version(...) asks for a version",
            )


def _check_constant(asked: Asked, entity: EntitySpec, action: Action) -> None:
    """Refuse a value that the entity does not take, and every call would be refused for."""
    if action.source is None or isinstance(action.source, (Param, Each)):
        return
    check = amount_validator if action.name == "add" else validator
    try:
        check(entity.fields[action.path.field])(action.source)
    except ValueError as error:
        raise DesignError(
            f"{asked.name} sets {entity.name}.{action.path.field}: {error}",
            place=asked.at_path(action.path),
            other=entity.place,
            fix=f"set it to what {entity.name}.{action.path.field} may be, or take it as a parameter",
        ) from None


_CONSTANTS = frozenset({"set", "set_if_missing", "add"})
"""Changes whose constant is a value of the field."""
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

_ADDS_TO = {"N": "add", "L": "append", "SS": "add_to_set", "NS": "add_to_set", "BS": "add_to_set"}
"""What adds to a field, by how that is stored."""
_OPERANDS: dict[str, frozenset[str]] = {
    "add": frozenset({"N", "ANY"}),
    "append": frozenset({"L", "ANY"}),
    "add_to_set": frozenset({"SS", "NS", "BS", "ANY"}),
    "remove_from_set": frozenset({"SS", "NS", "BS", "ANY"}),
}
