"""`when=` of consumers, decided on the entities before they are delivered.

`changed("status")` is true of a modification that changes the field, of an insert that begins with a value and
of a removal that ends one; `changed("status", "done")` only where "done" is what the field becomes. A condition is
decided on the item as it now is, of a removed one as it last was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any

from pydantic import BaseModel

from keyplan.changes.errors import ConsumerSetupError
from keyplan.design.conditions import Condition, Path, Size
from keyplan.design.consumers import Change, Changed, When
from keyplan.design.requests_items import is_true, stored_as
from keyplan.design.symbols import Param

Filter = Callable[[Change[Any]], bool]
Values = Mapping[str, Any]


def filter_of(when: When | None) -> Filter | None:
    """The function that decides whether a change is delivered; None where all are. Raises ConsumerSetupError."""
    if when is None:
        return None
    if isinstance(when, Changed):
        return lambda change: has_changed(when, change)
    computed: dict[str, Callable[[Values], Any]] = {}
    plain = _plain(when, computed)

    def matches(change: Change[Any]) -> bool:
        entity = getattr(change, "new", None) or getattr(change, "old", None)
        values = dict(entity.__dict__)
        for name, compute in computed.items():
            values[name] = compute(values)
        return is_true(plain, values)

    return matches


def has_changed(wanted: Changed, change: Change[Any]) -> bool:
    """Whether a field has another value than before, and the wanted one where one is wanted."""
    old, new = (
        None if entity is None else stored_as(getattr(entity, wanted.field))
        for entity in (getattr(change, "old", None), getattr(change, "new", None))
    )
    return old != new and (wanted.becomes is None or new == wanted.becomes)


def _plain(condition: Condition, computed: dict[str, Callable[[Values], Any]]) -> Condition:
    """A condition in which sizes and nested parts are fields of their own, worked out for each entity."""
    changed: dict[str, Any] = {}
    for field in fields(condition):  # type: ignore[arg-type]  # every condition is a dataclass
        value = getattr(condition, field.name)
        if isinstance(value, tuple):
            changed[field.name] = tuple(_part(one, computed) for one in value)
        else:
            changed[field.name] = _part(value, computed)
    return replace(condition, **changed)  # type: ignore[type-var]  # as above


def _part(part: object, computed: dict[str, Callable[[Values], Any]]) -> object:
    if isinstance(part, Condition):
        return _plain(part, computed)
    if isinstance(part, Param):
        raise ConsumerSetupError(f"a consumer's condition compares with {part.name}, which has no value")
    if isinstance(part, Size):
        path = part.path
        return _computed(f"size of {path!r}", lambda values: _size(_found(path, values)), computed)
    if isinstance(part, Path) and len(part.parts) > 1:
        return _computed(repr(part), lambda values: _found(part, values), computed)
    return part


def _computed(name: str, compute: Callable[[Values], Any], computed: dict[str, Callable[[Values], Any]]) -> Path:
    computed[name] = compute
    return Path(name)


def _found(path: Path, values: Values) -> Any:
    """What lies at a path; None where nothing does."""
    found = values.get(path.field)
    for part in path.parts[1:]:
        if isinstance(found, BaseModel):
            found = getattr(found, str(part), None)
        elif isinstance(found, Mapping):
            found = found.get(part)
        elif isinstance(found, (list, tuple)) and isinstance(part, int) and -1 < part < len(found):
            found = found[part]
        else:
            return None
    return stored_as(found)


def _size(value: Any) -> int | None:
    """As the service's size function counts; None of what has no size."""
    if isinstance(value, BaseModel):
        return sum(part is not None for part in value.__dict__.values())
    return len(value) if isinstance(value, (str, bytes, list, tuple, set, frozenset, dict)) else None
