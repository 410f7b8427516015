"""Answers held against what was meant: too few, too many, others, or in another order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, get_args

from keyplan.design.entities import Entity, EntitySpec
from keyplan.design.field_types import plain
from keyplan.design.patterns import Page, Pattern
from keyplan.design.plan import Plan
from keyplan.design.requests_sources import Arguments
from keyplan.design.symbols import value_of
from keyplan.verify.generating import has_choices
from keyplan.verify.meaning import Meaning, meaning_of
from keyplan.verify.stock import Stock, as_read, place_of

Meant = Sequence[tuple[EntitySpec, Entity]]
_SHOWN = 3


def entities_in(answer: Any) -> list[Entity]:
    """The entities of any pattern's answer."""
    if isinstance(answer, Page):
        return list(answer.items)
    if isinstance(answer, list):
        return [one for one in answer if one is not None]
    return [answer] if isinstance(answer, Entity) else []


def difference(pattern: Pattern[..., Any], stock: Stock, arguments: Arguments, answer: Any, now_s: int) -> str | None:
    """How an answer differs from what was meant; None where it does not, or where that cannot be told."""
    meaning = meaning_of(pattern)
    meant = meaning.all(stock, arguments, now_s)
    if meant is None or meaning.unlike:
        return None
    text = meaning.text(arguments)
    if isinstance(answer, int):
        return None if answer == len(meant) else f"counts {answer}, {len(meant)} have {text}"
    got = entities_in(answer)
    return next(_differences(meaning, text, meant, got, arguments), None) or _out_of_order(pattern, meant, got)


def _differences(
    meaning: Meaning, text: str, meant: Meant, got: Sequence[Entity], arguments: Arguments
) -> Iterator[str]:
    plan = meaning.plan
    wanted = {(spec, place_of(spec, entity)): entity for spec, entity in meant}
    found = {_placed(plan, entity): entity for entity in got}
    most = len(meant) if plan.limit is None else min(plan.limit, len(meant))
    extra = [entity for place, entity in found.items() if place not in wanted]
    missing = [(spec, entity) for (spec, place), entity in wanted.items() if (spec, place) not in found]
    if len(got) < most:
        yield f"returns {len(got)} items, {len(meant)} have {text}{_lacking(meaning, missing, arguments)}"
    if len(found) < len(got):
        yield f"returns {len(got) - len(found)} items twice"
    if extra:
        yield f"returns {_named(plan, extra)}, which is not with {text}"
    if plan.view is not None:
        for place, entity in found.items():
            if place in wanted and any(getattr(wanted[place], name) != held for name, held in entity):
                yield f"returns {entity!r}, and {wanted[place]!r} was stored"
    elif plan.index is None or plan.index.kind == "LSI" or plan.index.project in {"all", None}:
        for place, entity in found.items():
            if place in wanted and wanted[place] != entity and as_read(place[0], wanted[place]) != entity:
                yield f"returns {entity!r}, and {wanted[place]!r} was stored"


def _spec_of(plan: Plan, entity: Entity) -> EntitySpec:
    return next(spec for spec in plan.entities if type(entity) in {spec.model, plan.view})


def _placed(plan: Plan, entity: Entity) -> tuple[EntitySpec, bytes]:
    spec = _spec_of(plan, entity)
    return spec, place_of(spec, entity)


def _named(plan: Plan, entities: Sequence[Entity]) -> str:
    told = []
    for entity in entities[:_SHOWN]:
        spec = _spec_of(plan, entity)
        told.append(_name(spec, entity))
    return ", ".join(told) + (f" and {len(entities) - _SHOWN} more" if len(entities) > _SHOWN else "")


def _name(spec: EntitySpec, entity: Entity) -> str:
    return f"{spec.name}({', '.join(f'{name}={getattr(entity, name)!r}' for name in spec.key.fields)})"


def _lacking(meaning: Meaning, missing: Meant, arguments: Arguments) -> str:
    """What the missing ones have in common, where that says why they are missing."""
    for number, wish in enumerate(meaning.wishes):
        if wish.op != "between" or not missing:
            continue
        high = value_of(wish.high, arguments)
        if all(getattr(entity, meaning.wishes_of(spec)[number].field) == high for spec, entity in missing):
            return f": all that have the last {wish.field} of the range are missing"
    kinds = {spec.name for spec, _ in missing}
    if len(meaning.plan.entities) > 1 and len(kinds) == 1:
        return f": no {kinds.pop()} is returned" if len(missing) > 1 else f": a {kinds.pop()} is missing"
    return ""


def _out_of_order(pattern: Pattern[..., Any], meant: Meant, got: Sequence[Entity]) -> str | None:
    """Whether results come in another order than the pattern says, or a limit leaves others than the first in it."""
    wanted = pattern.facts.ordered_by
    if not wanted:
        return None
    name = wanted.removeprefix("-")
    spec = next((spec for spec in pattern.plan.entities if name in spec.fields), None)
    values = [getattr(one, name) for one in got if getattr(one, name, None) is not None]
    if spec is None:
        return None
    falls = pattern.plan.descending or wanted != name
    there = [getattr(entity, name, None) for _, entity in meant]
    choices = _choices(spec, name) if has_choices(spec.fields[name]) else None
    if choices and (_ranked(spec, pattern.plan, name) or not set(values) | set(there) <= {*choices, None}):
        return None
    rank = choices.index if choices else _itself
    if not _rises([rank(value) for value in (reversed(values) if falls else values)]):
        return _spelled(values, name) if choices else f"does not come in the order of {name}"
    first = [] if None in there else sorted(there, key=rank, reverse=falls)
    late = next((pair for pair in zip(first, values, strict=False) if pair[0] != pair[1]), None)
    return None if late is None else f"returns {plain(late[1])!r} where {name} {plain(late[0])!r} comes first"


def _itself(value: Any) -> Any:
    return value


def _choices(spec: EntitySpec, name: str) -> list[Any]:
    """What a field may be, as its type lists it."""
    kind = spec.fields[name].annotation
    return [False, True] if kind is bool else list(get_args(kind)) or list(kind)


def _ranked(spec: EntitySpec, plan: Plan, name: str) -> bool:
    """Whether the key gives words a rank of its own."""
    bound = spec.key_in(plan.index)
    holes = [hole for part in bound.sort if part.template for hole in part.template.holes] if bound else []
    return any(hole.name == name and hole.spec.startswith("rank") for hole in holes)


def _spelled(values: Sequence[Any], name: str) -> str:
    shown = ", ".join(str(plain(one)) for one in dict.fromkeys(values))
    return f"comes in the order {shown}: the alphabet's, not that of {name}"


def _rises(values: Sequence[Any]) -> bool:
    return all(one <= other for one, other in pairwise(values))
