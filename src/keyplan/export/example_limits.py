"""Examples brought within what a declaration allows: bounds and multiples of numbers, least lengths of collections."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from math import ceil, floor, isfinite
from typing import Any, TypeVar

from pydantic.fields import FieldInfo

from keyplan.design.field_types import stripped

N = TypeVar("N", int, float, Decimal)
_BOUNDS = ("ge", "gt", "le", "lt", "multiple_of")


def bounds_of(annotation: Any, info: FieldInfo | None = None) -> dict[str, Decimal]:
    """The bounds of a number, and what it is a multiple of, by their names in pydantic."""
    return dict(_bounds([*stripped(annotation)[2], *([info] if info is not None else [])]))


def _bounds(metadata: Iterable[Any]) -> Iterator[tuple[str, Decimal]]:
    for entry in metadata:
        if isinstance(entry, FieldInfo):
            yield from _bounds(entry.metadata)
            continue
        for name in _BOUNDS:
            value = getattr(entry, name, None)
            if isinstance(value, (int, float, Decimal)) and isfinite(value):
                yield name, Decimal(str(value))


def bounded(value: N, bounds: Mapping[str, Decimal]) -> N:
    """The number, or one near a bound that is allowed; the number itself where none is found."""
    kind = type(value)
    return next((kind(one) for one in _near(Decimal(str(value)), bounds, kind) if _fits(one, bounds)), value)


def nth_bounded(value: N, bounds: Mapping[str, Decimal], turn: int) -> N:
    """Return an allowed number, for each turn another as long as the bounds allow it."""
    first = bounded(value, bounds)
    if turn == 0:
        return first
    unit = bounds.get("multiple_of") or Decimal(1)
    return bounded(type(value)(Decimal(str(first)) + turn * unit), bounds)


def _near(value: Decimal, bounds: Mapping[str, Decimal], kind: type) -> Iterator[Decimal]:
    """Numbers that may do, the most like the example first."""
    unit = bounds.get("multiple_of") or Decimal(1)
    ends = [bounds[name] for name in ("ge", "gt", "le", "lt") if name in bounds]
    middle = [sum(ends, Decimal(0)) / len(ends)] if ends else []
    near = [value, *ends, *(end + step for end in ends for step in (unit, -unit)), *middle]
    if kind is not int:
        yield from near
    for one in near:
        yield from (Decimal(ceil(one)), Decimal(floor(one)))
        yield from (ceil(one / unit) * unit, floor(one / unit) * unit)
    yield unit


def _fits(value: Decimal, bounds: Mapping[str, Decimal]) -> bool:
    return (
        value >= bounds.get("ge", value)
        and value <= bounds.get("le", value)
        and ("gt" not in bounds or value > bounds["gt"])
        and ("lt" not in bounds or value < bounds["lt"])
        and (not bounds.get("multiple_of") or value % bounds["multiple_of"] == 0)
    )


def of_least_length(value: Any, least: int) -> Any:
    """A collection or binary with so many members, more of the kind of the one that it has."""
    lacking = least - len(value)
    if lacking <= 0 or not value:
        return value
    if isinstance(value, bytes):
        return value.ljust(least, b">")
    if isinstance(value, (list, tuple)):
        return type(value)([*value, *[value[-1]] * lacking])
    if isinstance(value, dict):
        ((name, one),) = value.items()
        return {**value, **{f"{name}{number}": one for number in range(2, lacking + 2)}}
    (one,) = value
    return type(value)([one, *_others(one, lacking)])


def _others(one: Any, count: int) -> Iterator[Any]:
    """Other members of a set."""
    for number in range(1, count + 1):
        if isinstance(one, str):
            yield f"{one[:-1]}{number}{one[-1:]}"
        elif isinstance(one, (int, float, Decimal)):
            yield one + number
