"""From what a query says of the sort key to its key condition: which range of a partition holds what is asked.

Conditions name leading fields without gaps: equal from the left, then at most one range. Where a template makes
the key, the range is between texts of that very template, so that keys of other entities stay out; what texts
cannot tell exactly (a moment finer than the unit it is written in) is left to be compared on what came back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from keyplan.design.asked import Asked, key_value
from keyplan.design.conditions import Between, Compare, Condition, Path
from keyplan.design.keys import BoundKey, KeyAttribute
from keyplan.design.places import DesignError, Fault
from keyplan.design.plan import KeyValue, SortCondition, SortOp
from keyplan.design.symbols import Each, EveryShard
from keyplan.design.template_holes import BoundHole
from keyplan.design.templates import BoundTemplate
from keyplan.design.terms_reads import Cond, KeyWords, Range


@dataclass
class Sorted:
    """What became of the sort key's terms."""

    conditions: tuple[SortCondition, ...] = ()
    faults: list[Fault] = field(default_factory=list)
    residue: Condition | None = None
    """What is left to be compared on what came back."""


def plan_sort(asked: Asked, bound: BoundKey, cond: Cond) -> Sorted:
    """The conditions on the sort key's attributes."""
    if cond.sort_text is not None:
        return _written(asked, bound, cond.sort_text)
    if not bound.sort:
        return _no_sort_key(asked, bound, cond)
    _no_walk(asked, cond)
    order = list(dict.fromkeys(name for part in bound.sort for name in part.fields))
    given = given_fields(cond)
    leads = set(order[: len(given)]) == set(given) and (cond.range is None or order[len(given) - 1] == cond.range.field)
    if not leads:
        return _not_leading(asked, bound, given, order)
    if given and (unlike := _unlike(asked, bound)) is not None:
        return unlike
    return _conditions(asked, bound, cond, confined=bool(given) or len(asked.entities) == 1)


def given_fields(cond: Cond) -> list[str]:
    """The fields of the sort key that a query names, the ranged one last."""
    return [*cond.sort, *([cond.range.field] if cond.range else [])]


def _no_walk(asked: Asked, cond: Cond) -> None:
    bounds = {cond.range.field: cond.range.low} if cond.range is not None else {}
    for name, source in {**cond.sort, **bounds}.items():
        if isinstance(source, (Each, EveryShard)):
            raise DesignError(
                f"{asked.name} varies {name} of the sort key: only the partition key may take several values",
                place=asked.at(name, cond.places),
                fix="ask for each of them by itself, or filter with where(F.field.is_in(each(values)))",
            )


def _written(asked: Asked, bound: BoundKey, words: KeyWords) -> Sorted:
    if not bound.sort:
        return _no_sort_key(asked, bound, Cond(sort_text=words))
    attribute = bound.sort[0].attribute
    op: SortOp = "BETWEEN" if words.op == "between" else words.op
    high = asked.written(attribute, words.high) if words.high is not None else None
    return Sorted((SortCondition(op, asked.written(attribute, words.low), high),))


# What no condition can say.


def _no_sort_key(asked: Asked, bound: BoundKey, cond: Cond) -> Sorted:
    given = given_fields(cond)
    if not given and cond.sort_text is None:
        return Sorted()
    fault = asked.fault(
        "KP301",
        f"{asked.name} says {', '.join(given) or 'a text'} of the sort key, and {asked.schema.where(bound.index)} has"
        " none",
        "add an index with such a sort key, or where(...) to filter what was read",
        bound.place,
    )
    return Sorted(faults=[fault])


def _not_leading(asked: Asked, bound: BoundKey, given: Sequence[str], order: Sequence[str]) -> Sorted:
    fault = asked.fault(
        "KP308" if len(bound.sort) > 1 else "KP301",
        f"{asked.name} asks for {', '.join(given)} in the sort key of {asked.schema.where(bound.index)}, which is made"
        f" of {', '.join(order) or 'no field'} in this order: a condition names leading fields, without gaps, and a"
        " range comes last",
        f"pass {', '.join(order[: len(given)]) or 'none of them'}, or add an index whose sort key begins with what is"
        " asked",
        bound.place,
    )
    return Sorted(faults=[fault])


def _unlike(asked: Asked, bound: BoundKey) -> Sorted | None:
    """Several entities share one condition only where their sort keys are made alike."""
    text = [part.text for part in bound.sort]
    for entity in asked.entities:
        other = entity.key_in(bound.index)
        if other is not None and [part.text for part in other.sort] != text:
            fault = asked.fault(
                "KP301",
                f"{asked.name} asks for one range of {asked.schema.where(bound.index)}, and its entities' sort keys"
                f" differ there ({', '.join(text)} and {', '.join(part.text for part in other.sort)}): {entity.name}"
                " would be left out",
                "ask for the whole partition, write the range out with sk.text(...), or declare a query for each",
                other.place,
            )
            return Sorted(faults=[fault])
    return None


# Conditions, attribute by attribute.


def _conditions(asked: Asked, bound: BoundKey, cond: Cond, *, confined: bool) -> Sorted:
    """Equal from the left, then one range or prefix; `confined` to keys of this shape even where nothing is given."""
    conditions: list[SortCondition] = []
    for part in bound.sort if confined else ():
        if cond.range is not None and cond.range.field in part.fields:
            last = _range(asked, part, cond)
            return replace(last, conditions=(*conditions, *last.conditions))
        if all(name in cond.sort for name in part.fields):
            conditions.append(SortCondition("=", key_value(part, cond.sort)))
            continue
        last = _prefix(part, cond)
        return replace(last, conditions=(*conditions, *last.conditions))
    return Sorted(tuple(conditions))


def _prefix(part: KeyAttribute, cond: Cond) -> Sorted:
    """Keys of a template that begin with its leading fields, or with its literal text."""
    template = part.template
    known = [name for name in part.fields if name in cond.sort]
    if template is None or not (known or template.literal_prefix):
        return Sorted()
    condition = SortCondition("begins_with", key_value(part, cond.sort, "prefix"))
    hole = _last_hole(template, known)
    # Where a hole of any width comes next, the prefix is also that of longer values.
    unclear = hole is not None and not hole.told_apart
    residue = Compare("=", Path(hole.name), cond.sort[hole.name]) if hole is not None and unclear else None
    return Sorted((condition,), residue=residue)


def _last_hole(template: BoundTemplate, known: Sequence[str]) -> BoundHole | None:
    """The last hole before the first that is not known."""
    last = None
    for hole in template.holes:
        if hole.name not in known:
            break
        last = hole
    return last


def _range(asked: Asked, part: KeyAttribute, cond: Cond) -> Sorted:
    asks = cond.range
    assert asks is not None, "the caller looked"
    if part.template is None:
        return _plain_range(asked, part, asks)
    low = key_value(part, {**cond.sort, asks.field: asks.low}, "lower")
    hole = _last_hole(part.template, [*cond.sort, asks.field])
    assert hole is not None, "the field is in the template"
    if asks.op == "begins_with":
        condition = SortCondition("begins_with", replace(low, part="begins"))
        return Sorted((condition,), _no_text(asked, asks, hole.field.type))
    in_order = part.template.keeps_order_from(asks.field)
    if not in_order and asked.index is None:
        in_order = part.template.ends_in_period(asks.field)
    faults = [] if in_order else [_unordered(asked, asks, part.template, hole)]
    if hole.name != asks.field:
        faults.append(_goes_on(asked, asks, part.template, hole))
    if hole.encoding.reversible and hole.encoding.rounds_to is None:
        condition, residue = _exact(asks, low, part, cond, hole)
    else:
        condition, residue = _rounded(asks, low, part, cond)
    return Sorted((condition,), faults, residue)


def _no_text(asked: Asked, asks: Range, kind: object) -> list[Fault]:
    if kind not in {int, float, bool} and getattr(kind, "__name__", "") != "Decimal":
        return []
    return [
        asked.fault(
            "KP301",
            f"{asked.name} asks for what begins with {asks.field}, which is a number: its first digits say nothing",
            f"ask for a range: sk.between({asks.field}=(low, high))",
            asked.entities[0].place,
        )
    ]


def _unordered(asked: Asked, asks: Range, template: BoundTemplate, hole: BoundHole) -> Fault:
    group = None if hole.encoding.reversible else hole.encoding.rounds_to
    sorts = f"of which {template.text} holds only the {group}: within one, keys are not in its order"
    return asked.fault(
        "KP206",
        f"{asked.name} asks for a range of {asks.field}, "
        + (f"whose text in {template.text} sorts unlike its values" if group is None else sorts),
        f"write a hole that keeps the order, such as {{{asks.field}:010d}} for numbers or"
        f" {{{asks.field}:utc_ms}} for moments",
        asked.entities[0].place,
    )


def _goes_on(asked: Asked, asks: Range, template: BoundTemplate, hole: BoundHole) -> Fault:
    return asked.fault(
        "KP206",
        f"{asked.name} asks for a range of {asks.field}, behind which {template.text} goes on with {hole.name}, which"
        " is given: keys of one text of both cannot be told from their neighbours",
        f"ask for {asks.field} as a value, or use a key in which {hole.name} stands before it only",
        asked.entities[0].place,
    )


Planned = tuple[SortCondition, Condition | None]


def _open(part: KeyAttribute, cond: Cond) -> bool:
    """Whether nothing comes before the ranged field in its key, so that one end is enough."""
    assert part.template is not None, "the caller looked"
    return not part.template.literal_prefix and not any(name in cond.sort for name in part.fields)


def _exact(asks: Range, low: KeyValue, part: KeyAttribute, cond: Cond, hole: BoundHole) -> Planned:
    """A range of a field whose text stands for one value: the texts decide."""
    upper = replace(low, part="upper")
    if asks.op == "between":
        return SortCondition("BETWEEN", low, key_value(part, {**cond.sort, asks.field: asks.high}, "upper")), None
    if _open(part, cond):
        ends: dict[str, tuple[SortOp, KeyValue]] = {
            "<": ("<", low),
            "<=": ("<=", upper),
            ">": (">", upper),
            ">=": (">=", low),
        }
        return SortCondition(*ends[asks.op]), None
    floor, ceiling = key_value(part, cond.sort, "lower"), key_value(part, cond.sort, "upper")
    if asks.op == "<" and hole.last and hole.encoding.width is None:
        # BETWEEN includes its ends, and the text just below one without a width is as long as a key may be.
        return SortCondition("BETWEEN", floor, upper), Compare("<", Path(asks.field), asks.low)
    between = {
        "<": (floor, replace(low, part="before")),
        "<=": (floor, upper),
        ">": (replace(low, part="after"), ceiling),
        ">=": (low, ceiling),
    }
    return SortCondition("BETWEEN", *between[asks.op]), None


def _rounded(asks: Range, low: KeyValue, part: KeyAttribute, cond: Cond) -> Planned:
    """A range of a field whose text stands for several values: all of those at the ends, and the rest compared."""
    upper = replace(low, part="upper")
    path = Path(asks.field)
    if asks.op == "between":
        high = key_value(part, {**cond.sort, asks.field: asks.high}, "upper")
        return SortCondition("BETWEEN", low, high), Between(path, asks.low, asks.high)
    assert asks.op != "begins_with", "the caller looked"
    residue = Compare(asks.op, path, asks.low)
    below = asks.op in {"<", "<="}
    if _open(part, cond):
        return (SortCondition("<=", upper) if below else SortCondition(">=", low)), residue
    floor, ceiling = key_value(part, cond.sort, "lower"), key_value(part, cond.sort, "upper")
    return SortCondition("BETWEEN", *((floor, upper) if below else (low, ceiling))), residue


def _plain_range(asked: Asked, part: KeyAttribute, asks: Range) -> Sorted:
    """A range of an attribute that holds a field as it is stored."""
    op: SortOp = "BETWEEN" if asks.op == "between" else asks.op
    high = key_value(part, {asks.field: asks.high}) if asks.op == "between" else None
    numeric = asks.op == "begins_with" and part.type_code == "N"
    faults = _no_text(asked, asks, int) if numeric else []
    # What is stored is whole units: of those, the ones from a finer moment on begin with the next.
    rounds = part.field is not None and part.field.stored is not None and op in {"<", ">=", "BETWEEN"}
    low = key_value(part, {asks.field: asks.low}, "rounded_up" if rounds else "whole")
    return Sorted((SortCondition(op, low, high),), faults)
