"""Plan the sort key condition of a query: the range of a partition that holds the requested items.

A condition names leading fields without gaps: equality from the left, then at most one range. If a template makes
the key, the range lies between texts of that template, so that keys of other entities are excluded. A comparison
that key texts cannot decide exactly (a timestamp finer than the unit of its spec) is repeated on returned items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from keyplan.design.conditions.builders import Cond, KeyText, Range
from keyplan.design.conditions.conditions import BetweenCondition, CompareCondition, Condition, FieldPath
from keyplan.design.errors import DesignError, Fault
from keyplan.design.keys.entity_keys import BoundKey, BoundKeyAttribute
from keyplan.design.keys.placeholders import BoundPlaceholder
from keyplan.design.keys.templates import BoundTemplate
from keyplan.design.parameters import Each, EveryShard
from keyplan.design.planning.plan import KeyValue, PatternDeclaration, SortCondition, SortOp, key_value


@dataclass
class SortKeyPlan:
    """What became of the sort key's terms."""

    conditions: tuple[SortCondition, ...] = ()
    faults: list[Fault] = field(default_factory=list)
    residue: Condition | None = None
    """What is left to be compared on what came back."""


def plan_sort(asked: PatternDeclaration, bound: BoundKey, cond: Cond) -> SortKeyPlan:
    """The conditions on the sort key's attributes."""
    if cond.sort_text is not None:
        return _key_text(asked, bound, cond.sort_text)
    if not bound.sort:
        return _no_sort_key(asked, bound, cond)
    _refuse_walk(asked, cond)
    order = list(dict.fromkeys(name for part in bound.sort for name in part.fields))
    given = named_sort_fields(cond)
    leads = set(order[: len(given)]) == set(given) and (cond.range is None or order[len(given) - 1] == cond.range.field)
    if not leads:
        return _not_leading(asked, bound, given, order)
    if given and (unlike := _different_sort_keys(asked, bound)) is not None:
        return unlike
    return _conditions(asked, bound, cond, confined=bool(given) or len(asked.entities) == 1)


def named_sort_fields(cond: Cond) -> list[str]:
    """The fields of the sort key that a query names, the ranged one last."""
    return [*cond.sort, *([cond.range.field] if cond.range else [])]


def _refuse_walk(asked: PatternDeclaration, cond: Cond) -> None:
    bounds = {cond.range.field: cond.range.low} if cond.range is not None else {}
    for name, source in {**cond.sort, **bounds}.items():
        if isinstance(source, (Each, EveryShard)):
            raise DesignError(
                f"{asked.name} varies {name} of the sort key: only the partition key may take several values",
                place=asked.at(name, cond.places),
                fix="ask for each of them by itself, or filter with where(F.field.is_in(each(values)))",
            )


def _key_text(asked: PatternDeclaration, bound: BoundKey, words: KeyText) -> SortKeyPlan:
    if not bound.sort:
        return _no_sort_key(asked, bound, Cond(sort_text=words))
    attribute = bound.sort[0].attribute
    op: SortOp = "BETWEEN" if words.op == "between" else words.op
    high = asked.written(attribute, words.high) if words.high is not None else None
    return SortKeyPlan((SortCondition(op, asked.written(attribute, words.low), high),))


# What no condition can say.


def _no_sort_key(asked: PatternDeclaration, bound: BoundKey, cond: Cond) -> SortKeyPlan:
    given = named_sort_fields(cond)
    if not given and cond.sort_text is None:
        return SortKeyPlan()
    fault = asked.fault(
        "KP301",
        f"{asked.name} says {', '.join(given) or 'a text'} of the sort key, and {asked.schema.where(bound.index)} has"
        " none",
        "add an index with such a sort key, or where(...) to filter what was read",
        bound.place,
    )
    return SortKeyPlan(faults=[fault])


def _not_leading(asked: PatternDeclaration, bound: BoundKey, given: Sequence[str], order: Sequence[str]) -> SortKeyPlan:
    fault = asked.fault(
        "KP308" if len(bound.sort) > 1 else "KP301",
        f"{asked.name} asks for {', '.join(given)} in the sort key of {asked.schema.where(bound.index)}, which is made"
        f" of {', '.join(order) or 'no field'} in this order: a condition names leading fields, without gaps, and a"
        " range comes last",
        f"pass {', '.join(order[: len(given)]) or 'none of them'}, or add an index whose sort key begins with what is"
        " asked",
        bound.place,
    )
    return SortKeyPlan(faults=[fault])


def _different_sort_keys(asked: PatternDeclaration, bound: BoundKey) -> SortKeyPlan | None:
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
            return SortKeyPlan(faults=[fault])
    return None


# Conditions, attribute by attribute.


def _conditions(asked: PatternDeclaration, bound: BoundKey, cond: Cond, *, confined: bool) -> SortKeyPlan:
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
    return SortKeyPlan(tuple(conditions))


def _prefix(part: BoundKeyAttribute, cond: Cond) -> SortKeyPlan:
    """Keys of a template that begin with its leading fields, or with its literal text."""
    template = part.template
    known = [name for name in part.fields if name in cond.sort]
    if template is None or not (known or template.literal_prefix):
        return SortKeyPlan()
    condition = SortCondition("begins_with", key_value(part, cond.sort, "prefix"))
    placeholder = _last_placeholder(template, known)
    # Where a placeholder of any width comes next, the prefix is also that of longer values.
    unclear = placeholder is not None and not placeholder.told_apart
    residue = (
        CompareCondition("=", FieldPath(placeholder.name), cond.sort[placeholder.name])
        if placeholder is not None and unclear
        else None
    )
    return SortKeyPlan((condition,), residue=residue)


def _last_placeholder(template: BoundTemplate, known: Sequence[str]) -> BoundPlaceholder | None:
    """The last placeholder before the first that is not known."""
    last = None
    for placeholder in template.placeholders:
        if placeholder.name not in known:
            break
        last = placeholder
    return last


def _range(asked: PatternDeclaration, part: BoundKeyAttribute, cond: Cond) -> SortKeyPlan:
    asks = cond.range
    assert asks is not None, "the caller looked"
    if part.template is None:
        return _stored_range(asked, part, asks)
    low = key_value(part, {**cond.sort, asks.field: asks.low}, "lower")
    placeholder = _last_placeholder(part.template, [*cond.sort, asks.field])
    assert placeholder is not None, "the field is in the template"
    if asks.op == "begins_with":
        condition = SortCondition("begins_with", replace(low, part="begins"))
        return SortKeyPlan((condition,), _number_prefix(asked, asks, placeholder.field.type))
    in_order = part.template.keeps_order_from(asks.field)
    if not in_order and asked.index is None:
        in_order = part.template.ends_in_period(asks.field)
    faults = [] if in_order else [_unordered(asked, asks, part.template, placeholder)]
    if placeholder.name != asks.field:
        faults.append(_trailing_field(asked, asks, part.template, placeholder))
    if placeholder.encoding.reversible and placeholder.encoding.rounds_to is None:
        condition, residue = _exact(asks, low, part, cond, placeholder)
    else:
        condition, residue = _rounded(asks, low, part, cond)
    return SortKeyPlan((condition,), faults, residue)


def _number_prefix(asked: PatternDeclaration, asks: Range, kind: object) -> list[Fault]:
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


def _unordered(asked: PatternDeclaration, asks: Range, template: BoundTemplate, placeholder: BoundPlaceholder) -> Fault:
    group = None if placeholder.encoding.reversible else placeholder.encoding.rounds_to
    sorts = f"of which {template.text} holds only the {group}: within one, keys are not in its order"
    return asked.fault(
        "KP206",
        f"{asked.name} asks for a range of {asks.field}, "
        + (f"whose text in {template.text} sorts unlike its values" if group is None else sorts),
        f"write a placeholder that keeps the order, such as {{{asks.field}:010d}} for numbers or"
        f" {{{asks.field}:utc_ms}} for moments",
        asked.entities[0].place,
    )


def _trailing_field(
    asked: PatternDeclaration, asks: Range, template: BoundTemplate, placeholder: BoundPlaceholder
) -> Fault:
    return asked.fault(
        "KP206",
        f"{asked.name} asks for a range of {asks.field}, behind which {template.text} goes on with {placeholder.name},"
        " which is given: keys of one text of both cannot be told from their neighbours",
        f"ask for {asks.field} as a value, or use a key in which {placeholder.name} stands before it only",
        asked.entities[0].place,
    )


Planned = tuple[SortCondition, Condition | None]


def _open(part: BoundKeyAttribute, cond: Cond) -> bool:
    """Whether nothing comes before the ranged field in its key, so that one end is enough."""
    assert part.template is not None, "the caller looked"
    return not part.template.literal_prefix and not any(name in cond.sort for name in part.fields)


def _exact(asks: Range, low: KeyValue, part: BoundKeyAttribute, cond: Cond, placeholder: BoundPlaceholder) -> Planned:
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
    if asks.op == "<" and placeholder.last and placeholder.encoding.width is None:
        # BETWEEN includes its ends, and the text just below one without a width is as long as a key may be.
        return SortCondition("BETWEEN", floor, upper), CompareCondition("<", FieldPath(asks.field), asks.low)
    between = {
        "<": (floor, replace(low, part="before")),
        "<=": (floor, upper),
        ">": (replace(low, part="after"), ceiling),
        ">=": (low, ceiling),
    }
    return SortCondition("BETWEEN", *between[asks.op]), None


def _rounded(asks: Range, low: KeyValue, part: BoundKeyAttribute, cond: Cond) -> Planned:
    """A range of a field whose text stands for several values: all of those at the ends, and the rest compared."""
    upper = replace(low, part="upper")
    path = FieldPath(asks.field)
    if asks.op == "between":
        high = key_value(part, {**cond.sort, asks.field: asks.high}, "upper")
        return SortCondition("BETWEEN", low, high), BetweenCondition(path, asks.low, asks.high)
    assert asks.op != "begins_with", "the caller looked"
    residue = CompareCondition(asks.op, path, asks.low)
    below = asks.op in {"<", "<="}
    if _open(part, cond):
        return (SortCondition("<=", upper) if below else SortCondition(">=", low)), residue
    floor, ceiling = key_value(part, cond.sort, "lower"), key_value(part, cond.sort, "upper")
    return SortCondition("BETWEEN", *((floor, upper) if below else (low, ceiling))), residue


def _stored_range(asked: PatternDeclaration, part: BoundKeyAttribute, asks: Range) -> SortKeyPlan:
    """A range of an attribute that holds a field as it is stored."""
    op: SortOp = "BETWEEN" if asks.op == "between" else asks.op
    high = key_value(part, {asks.field: asks.high}) if asks.op == "between" else None
    numeric = asks.op == "begins_with" and part.type_code == "N"
    faults = _number_prefix(asked, asks, int) if numeric else []
    # What is stored is whole units: of those, the ones from a finer moment on begin with the next.
    rounds = part.field is not None and part.field.stored is not None and op in {"<", ">=", "BETWEEN"}
    low = key_value(part, {asks.field: asks.low}, "rounded_up" if rounds else "whole")
    return SortKeyPlan((SortCondition(op, low, high),), faults)
