"""What of two designs belongs together: by name, and what was renamed by what it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from enum import Enum
from typing import Any, Generic, Protocol, TypeVar

from keyplan.design.annotations import without_none
from keyplan.design.conditions.builders import UpdateAction
from keyplan.design.conditions.conditions import Condition, FieldPath, FieldSize
from keyplan.design.entities import EntitySpec
from keyplan.design.fields.stored import StoredField
from keyplan.design.keys.entity_keys import BoundKey, BoundKeyAttribute
from keyplan.design.keys.holes import BoundHole
from keyplan.design.parameters import CALL_SOURCES
from keyplan.design.planning.plan import KeyRange, KeyValue, Plan


class Named(Protocol):
    """What has a name."""

    @property
    def name(self) -> str:
        """How it is called."""


N = TypeVar("N", bound=Named)


@dataclass(frozen=True)
class Matched(Generic[N]):
    """Two lists of the same kind, matched."""

    kept: tuple[tuple[N, N], ...]
    """Old and new of one name."""
    renamed: tuple[tuple[N, N], ...]
    removed: tuple[N, ...]
    added: tuple[N, ...]

    @property
    def pairs(self) -> tuple[tuple[N, N], ...]:
        """Old and new, whether or not the name changed."""
        return (*self.kept, *self.renamed)


def matched(old: Iterable[N], new: Iterable[N], shape: Callable[[N], Hashable | None] | None = None) -> Matched[N]:
    """Match by name; of the rest, those whose shape only one of each side has. None is no shape to match by."""
    theirs, ours = _by_name(old), _by_name(new)
    kept = tuple((theirs[name], one) for name, one in ours.items() if name in theirs)
    removed = [one for name, one in theirs.items() if name not in ours]
    added = [one for name, one in ours.items() if name not in theirs]
    renamed = [] if shape is None else list(_renamed(removed, added, shape))
    gone = {before.name for before, _ in renamed}
    come = {after.name for _, after in renamed}
    return Matched(
        kept,
        tuple(renamed),
        tuple(one for one in removed if one.name not in gone),
        tuple(one for one in added if one.name not in come),
    )


def lookalikes(old: Sequence[N], new: Sequence[N], shape: Callable[[N], Hashable | None]) -> dict[str, N]:
    """By the name of what came, what went and may be the same: those whose shape only one of each side has."""
    return {after.name: before for before, after in _renamed(old, new, shape)}


def _by_name(several: Iterable[N]) -> dict[str, N]:
    """By name; of two of one name, which is a finding of its own, the first."""
    found: dict[str, N] = {}
    for one in several:
        found.setdefault(one.name, one)
    return found


def _renamed(removed: Sequence[N], added: Sequence[N], shape: Callable[[N], Hashable | None]) -> Iterable[tuple[N, N]]:
    for before in removed:
        wanted = shape(before)
        twins = [one for one in removed if shape(one) == wanted]
        found = [one for one in added if shape(one) == wanted]
        if wanted is not None and len(twins) == len(found) == 1:
            yield before, found[0]


Form = Hashable
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
"""Where an object without a text of its own lies, which is another place in each design."""


def condition_form(told: Condition | None) -> Form:
    """A condition; None for none."""
    if told is None:
        return None
    op = getattr(told, "op", None) or getattr(told, "name", "")
    return (type(told).__name__, op, *(_operand(one) for one in told.operands()))


def _operand(one: object) -> Form:
    if isinstance(one, Condition):
        return condition_form(one)
    if isinstance(one, FieldPath):
        return ("path", *(value_form(part) for part in one.parts))
    if isinstance(one, FieldSize):
        return ("size", _operand(one.path))
    return value_form(one)


def value_form(value: object) -> Form:
    """A constant by its value, a parameter by its name."""
    if isinstance(value, CALL_SOURCES):
        return ("given", repr(value))
    if isinstance(value, Enum):
        return value_form(value.value)
    if isinstance(value, (list, tuple)):
        return tuple(value_form(one) for one in value)
    if isinstance(value, (set, frozenset)):
        return frozenset(value_form(one) for one in value)
    if isinstance(value, Mapping):
        return frozenset((value_form(name), value_form(one)) for name, one in value.items())
    return (type(value).__name__, _ADDRESS.sub("", repr(value)))


def plan_form(plan: Plan) -> dict[str, Form]:
    """What a plan asks, by what a reader calls it."""
    return {
        "operation": (plan.operation, plan.select),
        "entities": tuple(sorted(spec.name for spec in plan.entities)),
        "index": plan.index.name if plan.index is not None else None,
        "key condition": _key(plan.key),
        "filter": (condition_form(plan.filter), condition_form(plan.residue)),
        "condition": (condition_form(plan.condition), plan.exists, condition_form(plan.replace_when)),
        "changes": tuple(_action(one) for one in plan.actions),
        "known values": _sources(plan.known),
        "version": value_form(plan.version),
        "direction": plan.descending,
        "consistency": plan.consistent,
        "expired items": plan.expired,
        "limit": (plan.limit, plan.page_size),
        "answer": plan.returns,
        "steps": tuple(one.pattern for one in plan.steps),
        "repeats": tuple(value_form(one) for one in plan.repeats),
    }


def partition_form(plan: Plan) -> Form:
    """What cursors of a plan are bound to, beside its name: index, direction, and the partitions that it asks."""
    partition = () if plan.key is None else tuple(_value(one) for one in plan.key.partition)
    return (plan.index.name if plan.index is not None else None, plan.descending, partition)


def _key(told: KeyRange | None) -> Form:
    if told is None:
        return None
    sort = tuple((one.op, _value(one.low), None if one.high is None else _value(one.high)) for one in told.sort)
    return (tuple(_value(one) for one in told.partition), sort)


def _value(told: KeyValue) -> Form:
    text = None if told.template is None else told.template.text
    return (told.attribute, told.part, text, _sources(told.sources))


def _sources(told: Mapping[str, Any]) -> Form:
    return tuple(sorted((name, value_form(one)) for name, one in told.items()))


def _action(told: UpdateAction) -> Form:
    return (told.word, _operand(told.path), value_form(told.source))


KeyForm = tuple[object, ...]
_KINDS: tuple[type, ...] = (bool, datetime, time, timedelta, bytes, float)
"""Types whose text differs from that of a str, an int, a date or an id of the same value. A bool is an int: it comes
before any of these would."""


@dataclass(frozen=True)
class Format:
    """How a moment is stored; None for what is no moment, of which nothing is known."""

    name: str | None


def agree(one: object, other: object) -> bool:
    """Whether two forms make the same of a value, as far as is known: text may be a moment in any format."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(agree(*pair) for pair in zip(one, other, strict=True))
    if isinstance(one, Format) and isinstance(other, Format):
        return one == other or None in {one.name, other.name}
    return one == other


def key_form(spec: EntitySpec, bound: BoundKey, names: Mapping[str, str] | None = None) -> KeyForm:
    """What a key of an entity makes; `names`: what fields are called in the other design."""
    parts = tuple((part.attribute, attribute_form(spec, part, names or {})) for part in bound.attributes)
    return (parts, len(bound.partition))


def attribute_form(spec: EntitySpec, part: BoundKeyAttribute, names: Mapping[str, str]) -> KeyForm:
    """What one key attribute is made of."""
    if part.template is None:
        assert part.field is not None, "a key attribute is made by a template or a field"
        return ("field", names.get(part.field.name, part.field.name), part.type_code, _format(part.field))
    return tuple(
        (names.get(one.name, one.name), one.spec, kind_of(one.field.type))
        if isinstance(one, BoundHole) and one.name in spec.fields
        else (str(getattr(one, "text", one)),)
        for one in part.template.parts
    )


def _format(field: StoredField) -> Format:
    return Format((field.stored or "iso") if field.annotation is datetime else None)


def kind_of(annotation: Any) -> str:
    """What of a type shows in the text it makes."""
    bare, _ = without_none(annotation)
    if not isinstance(bare, type):
        return "plain"
    return next((kind.__name__ for kind in _KINDS if issubclass(bare, kind)), "plain")
