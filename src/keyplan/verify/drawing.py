"""Arguments drawn from the data: an item is picked, and a call is made that is about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass, replace
from typing import Any

from pydantic import BaseModel, ValidationError

from keyplan.design.conditions import holds
from keyplan.design.entities import Entity, EntitySpec
from keyplan.design.fields import without_none
from keyplan.design.patterns import Pattern, WriteCall
from keyplan.design.plan import Plan
from keyplan.design.requests_items import stored_as
from keyplan.design.symbols import Each, Param, Source, annotation_of
from keyplan.design.transactions import Transaction
from keyplan.errors import KeyplanError
from keyplan.verify.binding import Binding, element_of, through
from keyplan.verify.generating import Maker
from keyplan.verify.meaning import Meaning, filled, has_expired, meaning_of
from keyplan.verify.samples import Samples
from keyplan.verify.stock import Stock
from keyplan.verify.suiting import beyond, suited
from keyplan.verify.uses import Use, uses_of

_TRIES = 60
MANY = 10
"""How many keys or items a batch has, where the design does not say."""
_REPEATS = 3


class NothingFitsError(KeyplanError):
    """No arguments were found for a pattern among the generated items."""


class Drawer:
    """Draws the arguments of calls."""

    def __init__(
        self,
        stock: Stock,
        makers: Mapping[EntitySpec, Maker],
        samples: Samples,
        add: Callable[[EntitySpec, Entity], None],
    ) -> None:
        """`add` stores an entity more, for calls about several items that must belong together."""
        self._stock, self._makers, self._samples, self._add = stock, makers, samples, add
        self._chance = samples.random
        self._parameters: Mapping[str, Param] = {}

    def draw(self, pattern: Pattern[..., Any]) -> dict[str, Any]:
        """The arguments of a call. Raises NothingFitsError, SampleError."""
        binding = Binding()
        self._parameters = pattern.parameters
        for _ in range(_TRIES):
            binding = Binding()
            if isinstance(pattern, Transaction):
                fits = all(self._step(step.call, step.repeated, binding) for step in pattern.steps)
            elif pattern.plan.reading:
                fits = self._read(pattern, binding)
            else:
                fits = self._write(pattern, {}, binding)
            if fits:
                return self._arguments(pattern, binding)
        if pattern.plan.reading:
            return self._arguments(pattern, binding)  # a read that finds nothing is a result too
        raise NothingFitsError(f"no arguments of {pattern.name} were found that fit the generated items")

    # Reads.

    def _read(self, pattern: Pattern[..., Any], binding: Binding) -> bool:
        meaning, uses = meaning_of(pattern), uses_of(pattern)
        found = self._pick(meaning)
        if found is None:
            return not uses  # a read without parameters needs no item
        spec, anchor = found
        self._bind(spec, anchor, uses, binding, pattern)
        arguments = self._arguments(pattern, binding)
        told = meaning.of(spec, anchor, arguments, int(self._samples.now_s))
        return told is not False or not meaning.wishes

    def _pick(self, meaning: Meaning) -> tuple[EntitySpec, Entity] | None:
        """An item that a read may return."""
        specs = [
            spec
            for spec in meaning.plan.entities
            if self._stock.all(spec) and all(wish.field in spec.fields for wish in meaning.wishes)
        ]
        if not specs:
            return None
        spec = self._chance.choice(specs)
        likely = meaning.constants(self._stock.all(spec)) or self._stock.all(spec)
        for _ in range(_TRIES):
            entity = self._chance.choice(likely)
            if meaning.may_hold(spec, entity, int(self._samples.now_s)):
                return spec, entity
        return None

    # Writes.

    def _step(self, call: WriteCall[Any], repeated: Each | None, binding: Binding) -> bool:
        """The arguments of one step of a transaction, in terms of the transaction's own."""
        pattern = call.pattern
        if repeated is None:
            return self._write(pattern, call.arguments, binding)
        if not isinstance(repeated.values, Param):
            return self._write(pattern, call.arguments, binding)
        known, _ = binding.find(repeated.values)
        if known:
            return True
        values = []
        (name,) = [name for name, source in call.arguments.items() if isinstance(source, Each)]
        for _ in range(_REPEATS):
            one = binding.copy()
            element = Param(f"*{name}*", element_of(annotation_of(repeated.values)))
            if not self._write(pattern, {**call.arguments, name: element}, one):
                return False
            values.append(self._value(element, one))
        binding.set(repeated.values, values)
        return len({repr(value) for value in values}) == len(values)

    def _write(self, pattern: Pattern[..., Any], given: Mapping[str, Source], binding: Binding) -> bool:
        """Bind the parameters of a writing pattern. `given`: what a transaction gives it for each."""
        plan = pattern.plan
        spec = plan.entity
        if plan.item is not None:
            return self._put(plan, through(plan.item, given), binding)
        uses = [Use(through(use.source, given), use.role, use.field, use.nested) for use in uses_of(pattern)]
        anchor = self._anchor(plan, uses, binding)
        if anchor is None:
            return False
        self._bind(spec, anchor, uses, binding, pattern)
        for name, source in given.items():
            if isinstance(source, Param) and not source._path and not binding.touches(source):
                binding.set(source, self._any(annotation_of(source) or annotation_of(pattern.parameters[name]), name))
        return self._allowed(plan, anchor, self._known(pattern, given, binding))

    def _anchor(self, plan: Plan, uses: Sequence[Use], binding: Binding) -> Entity | None:
        """The item that a write is about: one that has all that is known already."""
        spec = plan.entity
        if plan.exists == "must_not":
            return self._makers[spec].make()
        known = [
            (use.field, binding.find(use.source)[1])
            for use in uses
            if use.role in {"equal", "own"} and not use.nested and binding.find(use.source)[0]
        ]
        now_s = int(self._samples.now_s)
        every = self._stock.all(spec)
        if known:
            every = [one for one in every if all(getattr(one, field) == value for field, value in known)]
        live = [one for one in self._some(every) if not has_expired(spec, one, now_s)]
        if live:
            return live[0]
        if plan.exists == "may" and plan.operation == "UpdateItem":
            return self._makers[spec].make()
        return self._added(spec, dict(known)) if known else None

    def _added(self, spec: EntitySpec, fields: Mapping[str, Any]) -> Entity | None:
        """An item more, with these values; None where there is one with its key."""
        made = self._makers[spec].make()
        try:
            entity = spec.model.model_validate({**made.__dict__, **fields}, by_name=True)
        except ValidationError:
            return None
        if self._stock.is_there(spec, entity):
            return None
        self._add(spec, entity)
        return entity

    def _some(self, entities: Sequence[Entity]) -> Sequence[Entity]:
        return self._chance.sample(entities, min(len(entities), _REPEATS)) if entities else ()

    def _allowed(self, plan: Plan, anchor: Entity, arguments: Mapping[str, Any]) -> bool:
        """Whether the pattern's own condition is true of the item, or of the item as it is changed to suit."""
        if plan.condition is None:
            return True
        condition = filled(plan.condition, arguments)
        if holds(condition, _stored(anchor)) is not False:
            return True
        spec = plan.entity
        changes = suited(condition, spec, _stored(anchor), self._makers[spec].value)
        fixed = {*spec.key.fields, spec.version, *(name for rule in spec.uniques for name in rule.fields)}
        if plan.exists == "must_not" or fixed.intersection(changes):
            return False
        try:
            entity = spec.model.model_validate({**anchor.__dict__, **changes}, by_name=True)
        except ValidationError:
            return False
        if holds(condition, _stored(entity)) is False:
            return False
        self._add(spec, entity)
        return True

    def _known(self, pattern: Pattern[..., Any], given: Mapping[str, Source], binding: Binding) -> dict[str, Any]:
        """The arguments that a pattern would now be called with, without deciding what is not decided."""
        trial = binding.copy()
        return {name: self._source(through(param, given), trial) for name, param in pattern.parameters.items()}

    def _source(self, source: Source, binding: Binding) -> Any:
        if not isinstance(source, Param):
            return source
        declared = self._parameters.get(source._name)
        value = self._value(Param(source._name, source._annotation) if declared is None else declared, binding)
        for part in source._path:
            value = getattr(value, part)
        return value

    def _put(self, plan: Plan, source: Source, binding: Binding) -> bool:
        """A whole item, or a list of them."""
        if binding.find(source)[0]:
            return True
        if plan.operation == "BatchWriteItem":
            binding.set(source, [self._item(plan, changes=number % 2 == 0) for number in range(MANY)])
            return True
        item = self._item(plan, changes=plan.exists == "must")
        if isinstance(source, Param) and not source._path:
            told = {path[0]: value for path, value in binding.parts.get(source._name, {}).items() if len(path) == 1}
            item = item.model_copy(update=told)  # what other steps of the transaction take from it
        binding.set(source, item)
        return plan.exists != "must" or bool(self._stock.all(plan.entity))

    def _item(self, plan: Plan, *, changes: bool) -> Entity:
        """A new item, or one that is there with some fields changed."""
        spec, maker = plan.entity, self._makers[plan.entity]
        there = self._some(self._stock.all(spec)) if changes else ()
        if not there:
            return maker.make()
        unique = {name for rule in spec.uniques for name in rule.fields}
        free = [name for name in spec.fields if name not in {*spec.key.fields, spec.version, *unique}]
        update = {name: maker.value(name) for name in self._chance.sample(free, min(2, len(free)))}
        return there[0].model_copy(update=update)

    # Values.

    def _bind(
        self, spec: EntitySpec, anchor: Entity, uses: Sequence[Use], binding: Binding, pattern: Pattern[..., Any]
    ) -> None:
        equal = tuple(dict.fromkeys(use.field for use in uses if use.role == "equal" and not use.nested))
        for use in sorted(uses, key=lambda use: use.role in {"new", "amount"}):
            value = _ROLES[use.role](self, spec, anchor, use, equal, pattern)
            if use.role == "part" and use.nested and value in binding.whole.values():
                value = self._any(str, use.field)  # two names in one map that are the same would overlap
            binding.set(use.source.values if isinstance(use.source, Each) else use.source, value)

    def equal(self, spec: EntitySpec, anchor: Entity, use: Use, *_rest: Any) -> Any:
        """The item's own value."""
        value = getattr(anchor, use.field)
        if value is None:
            return self.new(spec, anchor, use)
        return self._inner(value) if use.nested else value

    def own(self, _spec: EntitySpec, anchor: Entity, use: Use, *_rest: Any) -> Any:
        """What the item has, be it nothing."""
        return getattr(anchor, use.field)

    def _inner(self, value: Any) -> Any:
        if isinstance(value, Mapping) and value:
            return next(iter(value.values()))
        return value[0] if isinstance(value, (list, tuple)) and value else value

    def many(
        self, spec: EntitySpec, anchor: Entity, use: Use, equal: tuple[str, ...], pattern: Pattern[..., Any]
    ) -> Any:
        """Several values, of items that have the other fields alike; the item's own first."""
        alike = self._stock.alike(spec, equal, anchor)
        values = list(dict.fromkeys([getattr(anchor, use.field), *(getattr(one, use.field) for one in alike)]))
        size = max(1, round(pattern.facts.returns or MANY))
        return [values[0], *self._chance.sample(values[1:], min(size - 1, len(values) - 1))]

    def range(
        self, spec: EntitySpec, anchor: Entity, use: Use, equal: tuple[str, ...], _pattern: Pattern[..., Any]
    ) -> Any:
        """An end of a range that the item lies in, taken from items that have the other fields alike."""
        own = getattr(anchor, use.field)
        if own is None:
            return self.new(spec, anchor, use)
        if use.nested:
            return self._inner(own)
        alike = [getattr(one, use.field) for one in self._stock.alike(spec, equal, anchor)]
        fits = [value for value in alike if value is not None and _FITS[use.role](value, own)]
        return self._chance.choice(fits) if fits else beyond(own, {"above": 1, "below": -1}.get(use.role, 0))

    def prefix(self, _spec: EntitySpec, anchor: Entity, use: Use, *_rest: Any) -> Any:
        """The beginning of the item's text."""
        value = getattr(anchor, use.field)
        return value[: max(1, len(value) // 2)] if isinstance(value, str) else value

    def part(self, _spec: EntitySpec, anchor: Entity, use: Use, *_rest: Any) -> Any:
        """A part of the item's text, a member of its set or list, a name in its map."""
        value = getattr(anchor, use.field)
        if isinstance(value, str):
            return value[:5]
        members = sorted(value, key=repr) if isinstance(value, (set, frozenset)) else list(value or ())
        return self._chance.choice(members) if members else self._any(str, use.field)

    def version(self, spec: EntitySpec, anchor: Entity, *_rest: Any) -> Any:
        """The version the item has."""
        return getattr(anchor, spec.version or "")

    def new(self, spec: EntitySpec, _anchor: Entity, use: Use, *_rest: Any) -> Any:
        """Another value for the field, of the type that the parameter has."""
        annotation = annotation_of(use.source)
        same = annotation is None or without_none(annotation)[0] == spec.fields[use.field].annotation
        if same and not use.nested:
            value = self._makers[spec].value(use.field)
            return self._samples.field(spec.model, use.field) if value is None else value
        return self._any(annotation, use.field)

    def amount(self, *_rest: Any) -> Any:
        """What is added to a number."""
        return 1

    def _any(self, annotation: Any, name: str) -> Any:
        return self._samples.word() if annotation is None else self._samples.of_type(annotation, name)

    # Arguments.

    def _arguments(self, pattern: Pattern[..., Any], binding: Binding) -> dict[str, Any]:
        return {name: self._value(param, binding) for name, param in pattern.parameters.items()}

    def _value(self, param: Param, binding: Binding) -> Any:
        name, annotation = param._name, annotation_of(param)
        if name in binding.whole:
            return binding.whole[name]
        parts = {path[0]: value for path, value in binding.parts.get(name, {}).items() if len(path) == 1}
        kind = without_none(annotation)[0] if annotation is not None else None
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            made: Any = self._samples.model(kind, parts)
        else:
            made = self._any(annotation, name)
            if parts and is_dataclass(made) and not isinstance(made, type):
                made = replace(made, **parts)
        binding.whole[name] = made
        return made


_Draw = Callable[..., Any]
_ROLES: dict[str, _Draw] = {
    "equal": Drawer.equal,
    "own": Drawer.own,
    "many": Drawer.many,
    "low": Drawer.range,
    "high": Drawer.range,
    "above": Drawer.range,
    "below": Drawer.range,
    "prefix": Drawer.prefix,
    "part": Drawer.part,
    "version": Drawer.version,
    "new": Drawer.new,
    "amount": Drawer.amount,
}
_FITS: dict[str, Callable[[Any, Any], bool]] = {
    "low": lambda value, own: bool(value <= own),
    "high": lambda value, own: bool(value >= own),
    "below": lambda value, own: bool(value < own),
    "above": lambda value, own: bool(value > own),
}


def _stored(entity: Entity) -> dict[str, Any]:
    return {name: stored_as(value) for name, value in entity.__dict__.items()}
