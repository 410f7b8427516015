"""What a pattern does with its parameters: which field each is compared with, set to, or the key of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from keyplan.design.conditions import All, Any_, Between, Compare, Condition, Function, In, Not, Path
from keyplan.design.entities import EntitySpec
from keyplan.design.patterns import Pattern
from keyplan.design.symbols import Each, EveryShard, Param, Source
from keyplan.design.template_holes import BoundHole
from keyplan.design.terms_writes import Change
from keyplan.verify.meaning import meaning_of

Role = Literal[
    "equal", "own", "many", "listed", "low", "high", "above", "below", "prefix", "part", "version", "new", "amount"
]
"""own: what the item has, be it nothing. many: of keys that are asked for; listed: of what a field may be.

low, high: at most and at least the item's own value; above, below: strictly. part: within its text or set."""


@dataclass(frozen=True, eq=False)
class Use:
    """One use of a parameter, or of what lies in it."""

    source: Source
    role: Role
    field: str
    nested: bool = False
    """Whether it is about what lies in the field."""
    within: tuple[object, ...] = ()
    """Of what a condition compares: the names and places that lead to it in the field."""
    certain: bool = False
    """Of a constant: whether every item that is asked for has this value."""
    encoded: BoundHole | None = None
    """Of the beginning of a key's text: the hole that makes it of the field."""


def uses_of(pattern: Pattern[..., Any], spec: EntitySpec | None = None) -> list[Use]:
    """Return every use of a parameter by a pattern that is not a transaction.

    `spec`: the entity of a read whose names the fields of the key have; the names of the pattern if left out.
    """
    terms = pattern._terms
    found = list(_of_change(pattern, terms)) if isinstance(terms, Change) else list(_of_read(pattern, spec))
    found += list(_of_condition(pattern.plan.filter)) + list(_of_condition(pattern.plan.condition))
    return [use for use in found if isinstance(_param(use.source), Param) or use.certain]


def _param(source: Source) -> Source:
    return source.values if isinstance(source, Each) else source


_RANGES: dict[str, Role] = {"<": "above", "<=": "high", ">": "below", ">=": "low", "begins_with": "prefix"}


def _of_read(pattern: Pattern[..., Any], spec: EntitySpec | None) -> Iterator[Use]:
    meaning = meaning_of(pattern)
    for wish in meaning.wishes if spec is None else meaning.wishes_of(spec):
        if wish.op == "reads":
            continue  # a constant: items that are like it are found by trying
        if wish.op == "between":
            yield Use(wish.low, "low", wish.field)
            yield Use(wish.high, "high", wish.field)
        else:
            role = _RANGES.get(wish.op)
            yield (
                _equal(wish.low, wish.field) if role is None else Use(wish.low, role, wish.field, encoded=wish.encoded)
            )


def _equal(source: Source, field: str) -> Use:
    if isinstance(source, Each):
        return Use(source, "many", field)
    return Use(source, "equal", field, certain=not isinstance(source, EveryShard))


def _of_change(pattern: Pattern[..., Any], change: Change) -> Iterator[Use]:
    for field, source in change.key.items():
        yield _equal(source, field)
    for field, source in change.known.items():
        yield Use(source, "own", field)
    if change.version is not None:
        yield Use(change.version, "version", pattern.plan.entity.version or "")
    for action in change.actions:
        nested = len(action.path.parts) > 1
        role: Role = "amount" if action.name == "add" else "new"
        yield Use(action.source, role, action.path.field, nested)
        for part in action.path.parts[1:]:
            yield Use(part, "part", action.path.field, nested=True)


def _of_condition(condition: Condition | None, *, certain: bool = True) -> Iterator[Use]:
    if condition is None:
        return
    if isinstance(condition, (All, Any_)):
        for part in condition.parts:
            yield from _of_condition(part, certain=certain and isinstance(condition, All))
    elif isinstance(condition, Not):
        yield from _of_condition(condition.part, certain=False)
    else:
        yield from _of_comparison(condition, certain=certain)


_COMPARED: dict[str, Role] = {"=": "equal", "<": "above", "<=": "high", ">": "below", ">=": "low", "<>": "new"}


def _of_comparison(condition: Condition, *, certain: bool) -> Iterator[Use]:
    first, *others = condition.operands()
    if not isinstance(first, Path):
        return  # sizes: any number will do
    within = first.parts[1:]
    nested = bool(within)
    for part in within:
        yield Use(part, "part", first.field)
    if isinstance(condition, Compare):
        yield Use(others[0], _COMPARED[condition.op], first.field, nested, within, certain and condition.op == "=")
    elif isinstance(condition, Between):
        yield Use(others[0], "low", first.field, nested, within)
        yield Use(others[1], "high", first.field, nested, within)
    elif isinstance(condition, In):
        yield from (
            Use(one, "listed" if isinstance(one, Each) else "equal", first.field, nested, within) for one in others
        )
    elif isinstance(condition, Function) and others:
        role: Role = "prefix" if condition.name == "begins_with" else "part"
        yield Use(others[0], role, first.field, nested, within)
