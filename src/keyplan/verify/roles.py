"""Values for a pattern's parameters, taken from the item that a call is about: by what each parameter is used for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date, datetime
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError

from keyplan.design.entities import Entity, EntitySpec
from keyplan.design.field_types import annotated, without_none
from keyplan.design.patterns import Pattern
from keyplan.design.symbols import Each, Param, annotation_of
from keyplan.verify.binding import Binding, element_of
from keyplan.verify.generating import Maker
from keyplan.verify.samples import Samples
from keyplan.verify.stock import Stock
from keyplan.verify.suiting import beyond
from keyplan.verify.uses import Use

MANY = 10
"""How many keys or items a batch has, where the design does not say."""
_TRIES = 20
"""How many values are made up, of which one may lie in a range."""
_LISTED = 3
"""How many values a field may have of which a call gives a list."""


class Roles:
    """Makes values of parameters."""

    def __init__(self, stock: Stock, makers: Mapping[EntitySpec, Maker], samples: Samples) -> None:
        self._stock, self._makers, self._samples = stock, makers, samples
        self._chance = samples.random

    def bind(
        self, spec: EntitySpec, anchor: Entity, uses: Sequence[Use], binding: Binding, pattern: Pattern[..., Any]
    ) -> None:
        """Give each parameter that is used a value, unless it has one."""
        equal = tuple(dict.fromkeys(use.field for use in uses if use.role == "equal" and not use.nested))
        for use in sorted(uses, key=lambda use: use.role in {"new", "amount"}):
            if use.field in spec.fields:
                value = _ROLES[use.role](self, spec, anchor, use, equal, pattern)
            else:  # a filter by what only another entity of the read has
                value = self.any(annotation_of(use.source), use.field)
            if use.role == "part" and use.nested and value in binding.whole.values():
                value = self.any(str, use.field)  # two names in one map that are the same would overlap
            binding.set(use.source.values if isinstance(use.source, Each) else use.source, value)

    def equal(self, spec: EntitySpec, anchor: Entity, use: Use, *_rest: Any) -> Any:
        """The item's own value."""
        value = _followed(getattr(anchor, use.field), use)
        return self.new(spec, anchor, use) if value is None else value

    def own(self, _spec: EntitySpec, anchor: Entity, use: Use, *_rest: Any) -> Any:
        """What the item has, be it nothing."""
        return getattr(anchor, use.field)

    def many(
        self, spec: EntitySpec, anchor: Entity, use: Use, equal: tuple[str, ...], pattern: Pattern[..., Any]
    ) -> Any:
        """Several values, of items that have the other fields alike; the item's own first."""
        alike = self._stock.alike(spec, equal, anchor)
        values = list(dict.fromkeys([getattr(anchor, use.field), *(getattr(one, use.field) for one in alike)]))
        size = max(1, round(pattern.facts.returns or MANY))
        return [values[0], *self._chance.sample(values[1:], min(size - 1, len(values) - 1))]

    def listed(
        self, spec: EntitySpec, anchor: Entity, use: Use, equal: tuple[str, ...], _pattern: Pattern[..., Any]
    ) -> Any:
        """Some values, the item's own among them."""
        several = (_followed(getattr(one, use.field), use) for one in (anchor, *self._stock.alike(spec, equal, anchor)))
        values = list({repr(value): value for value in several if value is not None}.values())
        return values[:_LISTED] or [self.any(element_of(annotation_of(use.source.values)), use.field)]

    def range(
        self, spec: EntitySpec, anchor: Entity, use: Use, equal: tuple[str, ...], _pattern: Pattern[..., Any]
    ) -> Any:
        """An end of a range that the item lies in, taken from items that have the other fields alike."""
        own = _followed(getattr(anchor, use.field), use)
        if own is None:
            return self.new(spec, anchor, use)
        choices = spec.fields[use.field].declared.choices
        if choices is not None and not use.nested:
            return self._chance.choice(choices)  # there is nothing beyond them; what fits is seen by what it finds
        if use.nested:
            return beyond(own, {"above": 1, "below": -1}.get(use.role, 0))
        alike = [getattr(one, use.field) for one in self._stock.alike(spec, equal, anchor)]
        fits = [value for value in alike if value is not None and _FITS[use.role](value, own)]
        value = self._chance.choice(fits) if fits else beyond(own, {"above": 1, "below": -1}.get(use.role, 0))
        return value if self._is_taken(spec, use, value) else self._within(spec, anchor, use, fits)

    def _within(self, spec: EntitySpec, anchor: Entity, use: Use, fits: Sequence[Any]) -> Any:
        """An end of a range that the parameter's own rules take: where none fits, the item is changed to lie in it."""
        taken = next((value for value in fits if self._is_taken(spec, use, value)), None)
        if taken is not None:
            return taken
        own = getattr(anchor, use.field)
        others = [self.new(spec, anchor, use) for _ in range(_TRIES)]
        return next((value for value in others if _FITS[use.role](value, own)), others[0])

    def _is_taken(self, spec: EntitySpec, use: Use, value: Any) -> bool:
        """Whether the parameter, and the field that it may also be written to, take a value by their own rules."""
        declared = (annotation_of(use.source), annotated(spec.fields[use.field].info))
        return all(_takes(one, value) for one in declared if one is not None)

    def prefix(self, _spec: EntitySpec, anchor: Entity, use: Use, *_rest: Any) -> Any:
        """The beginning of the item's text, or of what a key makes of its value; the day of a moment."""
        value, kind = getattr(anchor, use.field), without_none(annotation_of(use.source))[0]
        if kind is str and use.encoded is not None:
            value = use.encoded.encode(value)
        elif kind is date and isinstance(value, datetime):
            value = value.date()
        return value[: max(1, len(value) // 2)] if isinstance(value, str) else value

    def part(self, _spec: EntitySpec, anchor: Entity, use: Use, *_rest: Any) -> Any:
        """A part of the item's text, a member of its set or list, a name in its map."""
        value = getattr(anchor, use.field)
        if isinstance(value, str):
            return value[:5]
        several = value if isinstance(value, Collection) and not isinstance(value, bytes) else ()
        members = sorted(several, key=repr) if isinstance(value, (set, frozenset)) else list(several)
        return self._chance.choice(members) if members else self.any(str, use.field)

    def version(self, spec: EntitySpec, anchor: Entity, *_rest: Any) -> Any:
        """The version the item has."""
        return getattr(anchor, spec.version or "")

    def new(self, spec: EntitySpec, _anchor: Entity, use: Use, *_rest: Any) -> Any:
        """Another value for the field, of the type that the parameter has."""
        annotation, info = annotation_of(use.source), spec.fields[use.field].info
        same = annotation is None or without_none(annotation)[0] == spec.fields[use.field].annotation
        if get_origin(annotation) is Annotated and list(get_args(annotation)[1:]) != info.metadata:
            same = False  # the parameter has limits of its own
        if same and not use.nested:
            value = self._makers[spec].value(use.field)
            return self._samples.field(spec.model, use.field) if value is None else value
        return self.any(annotation, use.field)

    def amount(self, *_rest: Any) -> Any:
        """What is added to a number."""
        return 1

    def any(self, annotation: Any, name: str) -> Any:
        """A value of a type; a word where nothing is known of it."""
        return self._samples.word() if annotation is None else self._samples.of_type(annotation, name)


def _takes(annotation: Any, value: Any) -> bool:
    try:
        TypeAdapter(annotation).validate_python(value)
    except ValidationError:
        return False
    return True


def _followed(value: Any, use: Use) -> Any:
    """What lies in a field at the place that a condition compares; None where nothing does.

    Where a parameter leads to it, it is any: the parameter gets the name of one.
    """
    for part in use.within:
        if isinstance(value, BaseModel):
            value = getattr(value, str(part), None)
        elif isinstance(value, Mapping):
            value = next(iter(value.values()), None) if isinstance(part, Param) else value.get(part)
        elif isinstance(value, (list, tuple)):
            place = 0 if isinstance(part, Param) else part
            value = value[place] if isinstance(place, int) and place < len(value) else None
    return value


_Draw = Callable[..., Any]
_ROLES: dict[str, _Draw] = {
    "equal": Roles.equal,
    "own": Roles.own,
    "many": Roles.many,
    "listed": Roles.listed,
    "low": Roles.range,
    "high": Roles.range,
    "above": Roles.range,
    "below": Roles.range,
    "prefix": Roles.prefix,
    "part": Roles.part,
    "version": Roles.version,
    "new": Roles.new,
    "amount": Roles.amount,
}
_FITS: dict[str, Callable[[Any, Any], bool]] = {
    "low": lambda value, own: bool(value <= own),
    "high": lambda value, own: bool(value >= own),
    "below": lambda value, own: bool(value < own),
    "above": lambda value, own: bool(value > own),
}
