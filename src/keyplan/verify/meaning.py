"""What a reading pattern says it returns, evaluated on the entities themselves: no keys, no index, no request."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

from keyplan.design.conditions_evaluation import filled
from keyplan.design.entities import Entity, EntitySpec
from keyplan.design.field_types import plain
from keyplan.design.patterns import Pattern
from keyplan.design.plan import KeyValue, Plan
from keyplan.design.requests_guards import expiry_of
from keyplan.design.requests_items import maker_of, stored_as
from keyplan.design.requests_sources import Arguments
from keyplan.design.symbols import CALLED, Each, EveryShard, Param, Source, value_of
from keyplan.design.template_holes import BoundHole
from keyplan.design.terms_reads import Cond
from keyplan.verify.aligning import Pair, align, same_texts
from keyplan.verify.deciding import decided
from keyplan.verify.stock import Stock, index_key

Op = Literal["=", "<", "<=", ">", ">=", "between", "begins_with", "reads"]


@dataclass(frozen=True, eq=False)
class Wish:
    """A field and what its value is to be."""

    field: str
    op: Op
    low: Source
    high: Source = None
    encoded: BoundHole | None = None
    """The hole whose text the value is to make, where the whole value is not what counts."""
    asked: BoundHole | None = None
    """Of the beginning of a text: the hole that makes it."""

    def text(self, arguments: Arguments) -> str:
        """In words, with a call's values."""
        if self.op == "between":
            return f"{self.field} from {_value(self.low, arguments)!r} to {_value(self.high, arguments)!r}"
        op = {"=": "=", "reads": "=", "begins_with": "beginning with"}.get(self.op, self.op)
        value = _value(self.low, arguments)
        if isinstance(self.low, Each):
            return f"{self.field} one of {', '.join(map(repr, value))}"
        return f"{self.field} {op} {value!r}"


@dataclass(frozen=True, eq=False)
class Meaning:
    """What a pattern returns."""

    plan: Plan
    wishes: tuple[Wish, ...]
    unlike: tuple[str, ...]
    """Key texts that no key of the entity can be like, so that nothing is known of what is meant."""

    def wishes_of(self, spec: EntitySpec) -> tuple[Wish, ...]:
        """Return the wishes with the fields as an entity calls them."""
        return _wishes_of(self, spec)

    def of(self, spec: EntitySpec, entity: Entity, arguments: Arguments, now_s: int) -> bool | None:
        """Whether an entity is meant; None where that cannot be told."""
        values = entity.__dict__
        told: list[bool | None] = []
        for wish in self.wishes_of(spec):
            told.append(wish.field in spec.fields and _is_as(wish, values[wish.field], arguments))
            if told[-1] is False:
                return False
        if not self.may_hold(spec, entity, now_s):
            return False
        if self.plan.filter is not None:
            stored = {name: stored_as(value) for name, value in values.items()}
            stored |= {name: stored.get(own) for name, own in _of_others(self.plan, spec).items()}
            told.append(decided(filled(self.plan.filter, arguments), stored))
        return False if False in told else None if None in told else True

    def constants(self, spec: EntitySpec, entities: Sequence[Entity]) -> Sequence[Entity]:
        """Return the entities of a kind that have the values which the pattern itself states."""
        fixed = [wish for wish in self.wishes_of(spec) if not isinstance(wish.low, CALLED) and wish.high is None]
        if not fixed:
            return entities
        return [one for one in entities if all(_is_as(wish, getattr(one, wish.field), {}) for wish in fixed)]

    def may_hold(self, spec: EntitySpec, entity: Entity, now_s: int) -> bool:
        """Whether an entity is in what is read, and has not expired."""
        if self.plan.index is not None:
            bound = spec.key_in(self.plan.index)
            if bound is None or not index_key(bound, spec).holds(entity.__dict__):
                return False
        return self.plan.expired == "keep" or not has_expired(spec, entity, now_s)

    def all(self, stock: Stock, arguments: Arguments, now_s: int) -> list[tuple[EntitySpec, Entity]] | None:
        """Every entity that is meant; None where that cannot be told."""
        found = []
        for spec in self.plan.entities:
            exact = [
                wish
                for wish in self.wishes_of(spec)
                if wish.op == "=" and wish.encoded is None and not isinstance(wish.low, (Each, EveryShard))
            ]
            fields = tuple(dict.fromkeys(wish.field for wish in exact))
            values = {wish.field: _value(wish.low, arguments) for wish in exact}
            if any(name not in spec.fields for name in fields):
                continue
            for entity in stock.having(spec, fields, [values[name] for name in fields]):
                told = self.of(spec, entity, arguments, now_s)
                if told is None:
                    return None
                if told:
                    found.append((spec, entity))
        return found

    def text(self, arguments: Arguments) -> str:
        """In words."""
        return " and ".join(wish.text(arguments) for wish in self.wishes) or "of that kind"


@lru_cache(maxsize=4096)
def _wishes_of(meaning: Meaning, spec: EntitySpec) -> tuple[Wish, ...]:
    return tuple(replace(wish, field=_own_name(meaning.plan, spec, wish.field)) for wish in meaning.wishes)


def _own_name(plan: Plan, spec: EntitySpec, name: str) -> str:
    """Return what an entity calls a field of the partition key that another entity of the read calls differently.

    `TXN#{id}` and `TXN#{transaction_id}` are one partition: the place in the template decides, even if the entity has
    another field of that name.
    """
    bound = spec.key_in(plan.index)
    if plan.key is None or bound is None:
        return name
    for value, part in zip(plan.key.partition, bound.partition, strict=False):
        if value.template is not None and part.template is not None and same_texts(value.template, part.template):
            for asked, own in zip(value.template.holes, part.template.holes, strict=True):
                if asked.name == name:
                    return own.name
    return name


@lru_cache(maxsize=4096)
def _of_others(plan: Plan, spec: EntitySpec) -> dict[str, str]:
    """Fields that only other entities of a read have: by which of its own fields an entity has their attribute, if any.

    A condition looks for attributes, and is not true of an item that lacks them.
    """
    own = {stored.attribute: name for name, stored in spec.fields.items()}
    return {
        name: own.get(stored.attribute, "")
        for other in plan.entities
        for name, stored in other.fields.items()
        if name not in spec.fields
    }


def has_expired(spec: EntitySpec, entity: Entity, now_s: int) -> bool:
    """Whether an entity's expiry has passed."""
    ttl = expiry_of(spec)
    if ttl is None:
        return False
    value = maker_of(spec).item(entity).get(ttl)
    return value is not None and "N" in value and float(value["N"]) <= now_s


@lru_cache(maxsize=4096)
def meaning_of(pattern: Pattern[..., Any]) -> Meaning:
    """What a reading pattern means, by its own words."""
    plan = pattern.plan
    terms = pattern._terms
    if not isinstance(terms, Cond):
        return Meaning(plan, tuple(Wish(name, "=", source) for name, source in terms.key.items()), ())
    lossy = _lossy(plan)
    given = {**terms.partition, **terms.sort}
    wishes = [Wish(name, "=", source, encoded=lossy.get(name)) for name, source in given.items()]
    if terms.range is not None:
        of = terms.range
        wishes.append(Wish(of.field, of.op, of.low, of.high, encoded=_ranks(plan).get(of.field)))
    written, unlike = _written(plan, terms)
    return Meaning(plan, (*wishes, *written), tuple(unlike))


def _lossy(plan: Plan) -> dict[str, BoundHole]:
    """By field: the hole of the key condition that holds only a part of it, such as the month of a date."""
    if plan.key is None:
        return {}
    values = [*plan.key.partition, *(sort.low for sort in plan.key.sort if sort.op in {"=", "begins_with"})]
    holes = [
        hole
        for value in values
        if value.template is not None
        for hole in value.template.holes
        if hole.name in value.sources
    ]
    exact = {hole.name for hole in holes if hole.encoding.reversible}
    return {hole.name: hole for hole in holes if hole.name not in exact}


def _ranks(plan: Plan) -> dict[str, BoundHole]:
    """By field: the hole that gives its values another order than their own."""
    values = [value for sort in plan.key.sort for value in (sort.low, sort.high) if value] if plan.key else []
    holes = [hole for value in values if value.template is not None for hole in value.template.holes]
    return {hole.name: hole for hole in holes if hole.spec.startswith("rank")}


def _written(plan: Plan, terms: Cond) -> tuple[list[Wish], list[str]]:
    """What key texts mean, that are written out."""
    wishes: list[Wish] = []
    unlike: list[str] = []
    if plan.key is None:
        return wishes, unlike
    if terms.partition_text is not None:
        pairs = _aligned(plan, plan.key.partition[0])
        unlike += [terms.partition_text] if pairs is None else []
        wishes += [_equal(pair) for pair in pairs or ()]
    if terms.sort_text is not None and plan.key.sort:
        (condition,) = plan.key.sort
        low = _aligned(plan, condition.low)
        high = None if condition.high is None else _aligned(plan, condition.high)
        if low is None or (condition.high is not None and (high is None or len(high) != len(low))):
            unlike.append(terms.sort_text.low)
        elif low:
            wishes += [_equal(pair) for pair in low[:-1]]
            wishes.append(_last(terms.sort_text.op, low[-1], None if high is None else high[-1]))
    return wishes, unlike


def _aligned(plan: Plan, written: KeyValue) -> list[Pair] | None:
    bound = next((bound for spec in plan.entities if (bound := spec.key_in(plan.index)) is not None), None)
    assert bound is not None, "a plan with a key has an entity there"
    part = next(part for part in bound.attributes if part.attribute == written.attribute)
    return None if part.template is None else align(part.template, written)


def _equal(pair: Pair) -> Wish:
    if pair.literal is not None:
        return Wish(pair.field, "reads", pair.literal, encoded=pair.encoded)
    return Wish(pair.field, "=", pair.source)


def _last(op: str, low: Pair, high: Pair | None) -> Wish:
    if low.literal is not None or op == "=":
        return _equal(low)
    if op == "begins_with":
        whole = low.closed or (isinstance(low.source, Param) and repr(low.source) == low.field)
        if whole and not low.is_part:
            return Wish(low.field, "=", low.source)
        return Wish(low.field, "begins_with", low.source, encoded=low.encoded, asked=low.asked)
    if high is not None:
        return Wish(low.field, "between", low.source, high.source)
    return Wish(low.field, op, low.source)  # type: ignore[arg-type]  # what is left of the operators


def _value(source: Source, arguments: Arguments) -> Any:
    return source if isinstance(source, EveryShard) else value_of(source, arguments)


def _is_as(wish: Wish, value: Any, arguments: Arguments) -> bool | None:
    if isinstance(wish.low, EveryShard):
        return True
    if value is None:
        return False
    if wish.op == "reads" and wish.encoded is not None:
        return bool(wish.encoded.encode(value) == wish.low)
    low = _value(wish.low, arguments)
    if wish.encoded is not None:
        return _makes(wish, wish.encoded.encode, value, low, arguments)
    if isinstance(wish.low, Each):
        return plain(value) in [plain(one) for one in low]
    try:
        return _OPS[wish.op](plain(value), plain(low), plain(_value(wish.high, arguments)))
    except TypeError:
        return None  # of other types than the field: what is meant is not known


def _makes(wish: Wish, encode: Callable[[Any], str], value: Any, low: Any, arguments: Arguments) -> bool | None:
    """Whether a value makes a text like that of what is asked for."""
    if wish.op in _ORDERING:
        high = None if wish.high is None else encode(_value(wish.high, arguments))
        return _OPS[wish.op](encode(value), encode(low), high)
    if wish.asked is not None:
        return encode(value).startswith(wish.asked.encode(low))
    return encode(value) in [encode(one) for one in (low if isinstance(wish.low, Each) else (low,))]


def _begins(value: Any, low: Any, _high: Any) -> bool | None:
    return value.startswith(low) if isinstance(value, str) and isinstance(low, str) else None


_ORDERING = frozenset({"<", "<=", ">", ">=", "between"})
_OPS: dict[str, Callable[[Any, Any, Any], bool | None]] = {
    "=": lambda value, low, _high: bool(value == low),
    "<": lambda value, low, _high: bool(value < low),
    "<=": lambda value, low, _high: bool(value <= low),
    ">": lambda value, low, _high: bool(value > low),
    ">=": lambda value, low, _high: bool(value >= low),
    "between": lambda value, low, high: bool(low <= value <= high),
    "begins_with": _begins,
}
