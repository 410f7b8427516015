"""Matches the declarations of two designs by name, and converts keys, conditions and plans to a comparable form."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from enum import Enum
from typing import Any, Generic, Protocol, TypeVar

from keyplan.design.conditions.builders import FieldUpdate
from keyplan.design.conditions.conditions import Condition, FieldPath, FieldSize
from keyplan.design.entities import EntitySpec
from keyplan.design.fields.annotations import without_none
from keyplan.design.fields.stored import StoredField
from keyplan.design.keys.entity_keys import BoundKey, BoundKeyAttribute
from keyplan.design.keys.placeholders import BoundPlaceholder
from keyplan.design.parameters import CALL_SOURCES
from keyplan.design.planning.plan import KeySelection, KeyValue, Plan

Form = Hashable
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
"""A regular expression for the memory address in a default repr. The address is removed, because it differs between the
two designs.
"""
KeyForm = tuple[object, ...]
_KINDS: tuple[type, ...] = (bool, datetime, time, timedelta, bytes, float)
"""The types whose encoding in keys differs from that of str, int, date and IDs.

bool is first because it is a subclass of int.
"""


class Named(Protocol):
    """Protocol of an object with a name."""

    @property
    def name(self) -> str:
        """Return the name of the object."""


N = TypeVar("N", bound=Named)


@dataclass(frozen=True)
class DeclarationMatches(Generic[N]):
    """The result of matching the declarations in two designs, such as their tables or entities."""

    same_name: tuple[tuple[N, N], ...]
    """Pairs of an old and a new declaration with the same name."""
    renamed: tuple[tuple[N, N], ...]
    removed: tuple[N, ...]
    added: tuple[N, ...]

    @property
    def pairs(self) -> tuple[tuple[N, N], ...]:
        """Return the matched pairs (old declaration, new declaration), including renamed declarations."""
        return (*self.same_name, *self.renamed)


def match_declarations(
    old: Iterable[N], new: Iterable[N], shape: Callable[[N], Hashable | None] | None = None
) -> DeclarationMatches[N]:
    """Match declarations by name. Also match a removed declaration with an added one if `shape` returns the same value
    for these two and for no others.

    Declarations for which `shape` returns None are matched only by name.
    """
    old_by_name, new_by_name = _by_name(old), _by_name(new)
    same_name = tuple(
        (old_by_name[name], declaration) for name, declaration in new_by_name.items() if name in old_by_name
    )
    removed = [declaration for name, declaration in old_by_name.items() if name not in new_by_name]
    added = [declaration for name, declaration in new_by_name.items() if name not in old_by_name]
    renamed = [] if shape is None else list(_renamed(removed, added, shape))
    old_names = {before.name for before, _ in renamed}
    new_names = {after.name for _, after in renamed}
    return DeclarationMatches(
        same_name,
        tuple(renamed),
        tuple(declaration for declaration in removed if declaration.name not in old_names),
        tuple(declaration for declaration in added if declaration.name not in new_names),
    )


def find_counterparts(old: Sequence[N], new: Sequence[N], shape: Callable[[N], Hashable | None]) -> dict[str, N]:
    """Return a mapping from the name of each added declaration to the removed declaration for which `shape` returns the
    same value.

    A value that `shape` returns for several removed or several added declarations is ignored.
    """
    return {after.name: before for before, after in _renamed(old, new, shape)}


def _by_name(declarations: Iterable[N]) -> dict[str, N]:
    """Return the declarations by name. If several have the same name, only the first is included, because a rule
    reports duplicate names.
    """
    by_name: dict[str, N] = {}
    for declaration in declarations:
        by_name.setdefault(declaration.name, declaration)
    return by_name


def _renamed(removed: Sequence[N], added: Sequence[N], shape: Callable[[N], Hashable | None]) -> Iterable[tuple[N, N]]:
    for before in removed:
        old_shape = shape(before)
        twins = [declaration for declaration in removed if shape(declaration) == old_shape]
        candidates = [declaration for declaration in added if shape(declaration) == old_shape]
        if old_shape is not None and len(twins) == len(candidates) == 1:
            yield before, candidates[0]


def condition_form(condition: Condition | None) -> Form:
    """Return a comparable form of a condition, or None if `condition` is None."""
    if condition is None:
        return None
    op = getattr(condition, "op", None) or getattr(condition, "name", "")
    return (type(condition).__name__, op, *(_operand(operand) for operand in condition.operands()))


def _operand(operand: object) -> Form:
    if isinstance(operand, Condition):
        return condition_form(operand)
    if isinstance(operand, FieldPath):
        return ("path", *(value_form(part) for part in operand.parts))
    if isinstance(operand, FieldSize):
        return ("size", _operand(operand.path))
    return value_form(operand)


def value_form(value: object) -> Form:
    """Return a comparable form of a constant or a parameter."""
    if isinstance(value, CALL_SOURCES):
        return ("given", repr(value))
    if isinstance(value, Enum):
        return value_form(value.value)
    if isinstance(value, (list, tuple)):
        return tuple(value_form(member) for member in value)
    if isinstance(value, (set, frozenset)):
        return frozenset(value_form(member) for member in value)
    if isinstance(value, Mapping):
        return frozenset((value_form(name), value_form(member)) for name, member in value.items())
    return (type(value).__name__, _ADDRESS.sub("", repr(value)))


def plan_form(plan: Plan) -> dict[str, Form]:
    """Return a comparable form of each part of a plan, by the name of the part, such as "filter".

    Messages show these names.
    """
    return {
        "operation": (plan.operation, plan.select),
        "entities": tuple(sorted(spec.name for spec in plan.entities)),
        "index": plan.index.name if plan.index is not None else None,
        "key condition": _key(plan.key),
        "filter": (condition_form(plan.filter), condition_form(plan.residue)),
        "condition": (condition_form(plan.condition), plan.exists, condition_form(plan.replaceable)),
        "changes": tuple(_action(action) for action in plan.actions),
        "known values": _sources(plan.assumed),
        "version": value_form(plan.version),
        "direction": plan.descending,
        "consistency": plan.consistent,
        "expired items": plan.expired,
        "limit": (plan.limit, plan.page_size),
        "view": None if plan.view is None else (plan.view.__name__, tuple(plan.view.model_fields)),
        "hydration": plan.hydrated,
        "answer": plan.returns,
        "steps": tuple(step.pattern for step in plan.steps),
        "repeats": tuple(value_form(repeated) for repeated in plan.repeats),
    }


def partition_form(plan: Plan) -> Form:
    """Return the properties of a plan that must stay the same for its cursors to remain valid.

    These are the index, the direction and the partition key.
    """
    partition = () if plan.key is None else tuple(_value(part) for part in plan.key.partition)
    return (plan.index.name if plan.index is not None else None, plan.descending, partition)


def _key(key: KeySelection | None) -> Form:
    if key is None:
        return None
    sort = tuple((sort.op, _value(sort.low), None if sort.high is None else _value(sort.high)) for sort in key.sort)
    return (tuple(_value(part) for part in key.partition), sort)


def _value(value: KeyValue) -> Form:
    text = None if value.template is None else value.template.text
    return (value.attribute, value.part, text, _sources(value.sources))


def _sources(sources: Mapping[str, Any]) -> Form:
    return tuple(sorted((name, value_form(source)) for name, source in sources.items()))


def _action(action: FieldUpdate) -> Form:
    return (action.method, _operand(action.path), value_form(action.source))


@dataclass(frozen=True)
class Format:
    """The format in which a datetime is stored. `name` is None for values of other types."""

    name: str | None


def same_encoding(first: object, other: object) -> bool:
    """Return True if two comparable forms encode values in the same way.

    The format of a datetime is ignored if it is compared with another type, because a string can have any format.
    """
    if isinstance(first, tuple) and isinstance(other, tuple):
        return len(first) == len(other) and all(same_encoding(*pair) for pair in zip(first, other, strict=True))
    if isinstance(first, Format) and isinstance(other, Format):
        return first == other or None in {first.name, other.name}
    return first == other


def key_form(spec: EntitySpec, bound: BoundKey, names: Mapping[str, str] | None = None) -> KeyForm:
    """Return a comparable form of an entity's key. `names` maps field names of the entity to their names in the other
    design.
    """
    parts = tuple((part.attribute, attribute_form(spec, part, names or {})) for part in bound.attributes)
    return (parts, len(bound.partition))


def attribute_form(spec: EntitySpec, part: BoundKeyAttribute, names: Mapping[str, str]) -> KeyForm:
    """Return a comparable form of one key attribute. `names` maps field names of the entity to their names in the other
    design.
    """
    if part.template is None:
        assert part.field is not None, "a key attribute is made by a template or a field"
        return ("field", names.get(part.field.name, part.field.name), part.type_code, _format(part.field))
    return tuple(
        (names.get(element.name, element.name), element.spec, kind_of(element.field.type))
        if isinstance(element, BoundPlaceholder) and element.name in spec.fields
        else (str(getattr(element, "text", element)),)
        for element in part.template.parts
    )


def _format(field: StoredField) -> Format:
    return Format((field.stored or "iso") if field.annotation is datetime else None)


def kind_of(annotation: Any) -> str:
    """Return the name of the type that determines how values are encoded in keys, or "plain" for types with the default
    encoding, such as str and int.
    """
    bare, _ = without_none(annotation)
    if not isinstance(bare, type):
        return "plain"
    return next((kind.__name__ for kind in _KINDS if issubclass(bare, kind)), "plain")
