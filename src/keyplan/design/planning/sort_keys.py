"""Functions that plan sort key conditions: they compute the range of sort keys that contains the requested items.

A condition names the leading fields of the sort key without gaps. Every field is compared for equality, except the last
one, which may be compared with a range. If a template produces the key, the bounds are strings of that template, so
keys of other entities are excluded. If a key string is less precise than the field, such as a date for a timestamp, the
comparison is repeated on the returned items.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from keyplan.design.conditions.builders import KeyCondition, KeyText, Range
from keyplan.design.conditions.conditions import BetweenCondition, CompareCondition, Condition, FieldPath
from keyplan.design.errors import DesignError, Fault
from keyplan.design.fields.annotations import without_none
from keyplan.design.keys.entity_keys import BoundKey, BoundKeyAttribute
from keyplan.design.keys.placeholders import BoundPlaceholder, Text
from keyplan.design.keys.templates import BoundTemplate
from keyplan.design.parameters import Each, EveryShard, Param, Source, annotation_of
from keyplan.design.planning.plan import KeyValue, PatternDeclaration, Plan, SortCondition, SortOp, key_value


@dataclass
class SortKeyPlan:
    """The planned condition on the sort key."""

    conditions: tuple[SortCondition, ...] = ()
    faults: list[Fault] = field(default_factory=list)
    residue: Condition | None = None
    """The part of the condition that must be evaluated on the returned items, because the key range does not express
    it.
    """


def plan_sort(pattern: PatternDeclaration, bound_key: BoundKey, key_condition: KeyCondition) -> SortKeyPlan:
    """Plan a condition on the attributes of the sort key."""
    if key_condition.sort_text is not None:
        return _plan_key_text(pattern, bound_key, key_condition.sort_text)
    if not bound_key.sort:
        return _no_sort_key(pattern, bound_key, key_condition)
    _refuse_walk(pattern, key_condition)
    order = list(dict.fromkeys(name for part in bound_key.sort for name in part.fields))
    stated_fields = named_sort_fields(key_condition)
    is_leading = set(order[: len(stated_fields)]) == set(stated_fields) and (
        key_condition.range is None or order[len(stated_fields) - 1] == key_condition.range.field
    )
    if not is_leading:
        return _not_leading(pattern, bound_key, stated_fields, order)
    if stated_fields and (fault_plan := _different_sort_keys(pattern, bound_key, key_condition)) is not None:
        return fault_plan
    is_restricted = bool(stated_fields) or (len(pattern.entities) == 1 and not pattern.schema.literal)
    return _plan_conditions(pattern, bound_key, key_condition, is_restricted=is_restricted)


def name_range(pattern: PatternDeclaration, key_condition: KeyCondition) -> KeyCondition:
    """Return the condition with its unnamed range assigned to the first sort key field without a value.

    Raises DesignError if the sort key has no such field.
    """
    if key_condition.range is None or key_condition.range.field:
        return key_condition
    bound_key = next((key for entity in pattern.entities if (key := entity.key_in(pattern.index)) is not None), None)
    fields = (
        []
        if bound_key is None
        else [name for part in bound_key.sort for name in part.fields if name not in key_condition.sort]
    )
    if not fields:
        owner = pattern.schema.name if pattern.index is None else f"{pattern.schema.name}/{pattern.index}"
        raise DesignError(
            f"{pattern.name} states a range of the sort key of {owner}, which has no field"
            f"{' left' if key_condition.sort else ''} to compare",
            place=pattern.place.at(".sk"),
            other=None if bound_key is None else bound_key.place,
            fix="use an index whose sort key has such a field, or .filter(...) to filter the items read",
            code="KP301",
        )
    return replace(key_condition, range=replace(key_condition.range, field=fields[0]))


def optional_parameters(key_condition: KeyCondition) -> frozenset[str]:
    """Return the names of the parameters that can be None and occur in the sort key condition, but not in the partition
    key.
    """
    sources = [
        *key_condition.sort.values(),
        *((key_condition.range.low, key_condition.range.high) if key_condition.range is not None else ()),
    ]
    partition_names = {source._name for source in key_condition.partition.values() if isinstance(source, Param)}
    return frozenset(
        source._name
        for source in sources
        if isinstance(source, Param) and not source._path and without_none(annotation_of(source))[1]
    ).difference(partition_names)


def without_absent(call: str, plan: Plan, key_condition: KeyCondition, absent: Collection[str]) -> KeyCondition:
    """Return the condition without the sort key fields whose parameters are None in a call.

    `absent` are the names of these parameters. Raises TypeError if the call provides a later field, because only
    trailing fields of a sort key can be omitted.
    """
    sort = {name: source for name, source in key_condition.sort.items() if not _is_absent(source, absent)}
    shorter = replace(key_condition, sort=sort, range=_without_absent_bounds(key_condition.range, absent))
    passed_fields, stated_fields = named_sort_fields(shorter), named_sort_fields(key_condition)
    bound_key = next((key for entity in plan.entities if (key := entity.key_in(plan.index)) is not None), None)
    order = [
        name for part in (() if bound_key is None else bound_key.sort) for name in part.fields if name in stated_fields
    ]
    for name, next_name in pairwise(dict.fromkeys(order)):
        if next_name in passed_fields and name not in passed_fields:
            raise TypeError(
                f"{call} expects {name} with {next_name}, got None: the sort key contains {', '.join(order)} in this"
                " order, and only its end can be left out"
            )
    return shorter


def _is_absent(source: Source, absent: Collection[str]) -> bool:
    return isinstance(source, Param) and not source._path and source._name in absent


def _without_absent_bounds(range_: Range | None, absent: Collection[str]) -> Range | None:
    """Return a range without the bounds that are None in a call, or None if both bounds are None."""
    if range_ is None:
        return None
    if range_.op != "between":
        return None if _is_absent(range_.low, absent) else range_
    if _is_absent(range_.high, absent):
        return None if _is_absent(range_.low, absent) else Range(">=", range_.field, range_.low)
    return Range("<=", range_.field, range_.high) if _is_absent(range_.low, absent) else range_


def named_sort_fields(key_condition: KeyCondition) -> list[str]:
    """Return the sort key fields that a condition names. The field of the range comes last."""
    return [
        *key_condition.sort,
        *([key_condition.range.field] if key_condition.range and key_condition.range.field else []),
    ]


def _refuse_walk(pattern: PatternDeclaration, key_condition: KeyCondition) -> None:
    bounds = {key_condition.range.field: key_condition.range.low} if key_condition.range is not None else {}
    for name, source in {**key_condition.sort, **bounds}.items():
        if isinstance(source, (Each, EveryShard)):
            raise DesignError(
                f"{pattern.name} passes several values for {name} of the sort key: only the partition key accepts"
                " several",
                place=pattern.place_of(name, key_condition.places),
                fix="query each value separately, or filter with .filter(F.field.is_in(each(values)))",
            )


def _plan_key_text(pattern: PatternDeclaration, bound_key: BoundKey, key_text: KeyText) -> SortKeyPlan:
    if not bound_key.sort:
        return _no_sort_key(pattern, bound_key, KeyCondition(sort_text=key_text))
    attribute = bound_key.sort[0].attribute
    op: SortOp = "BETWEEN" if key_text.op == "between" else key_text.op
    high = pattern.text_value(attribute, key_text.high) if key_text.high is not None else None
    return SortKeyPlan((SortCondition(op, pattern.text_value(attribute, key_text.low), high),))


# Faults.


def _no_sort_key(pattern: PatternDeclaration, bound_key: BoundKey, key_condition: KeyCondition) -> SortKeyPlan:
    stated_fields = named_sort_fields(key_condition)
    if not stated_fields and key_condition.sort_text is None:
        return SortKeyPlan()
    fault = pattern.fault(
        "KP301",
        f"{pattern.name} states {', '.join(stated_fields) or 'a text'} of the sort key, and"
        f" {pattern.schema.label_of(bound_key.index)}"
        " does not have one",
        "add an index with such a sort key, or .filter(...) to filter the items read",
        bound_key.place,
    )
    return SortKeyPlan(faults=[fault])


def _not_leading(
    pattern: PatternDeclaration, bound_key: BoundKey, fields: Sequence[str], order: Sequence[str]
) -> SortKeyPlan:
    fault = pattern.fault(
        "KP308" if len(bound_key.sort) > 1 else "KP301",
        f"{pattern.name} states {', '.join(fields)} of the sort key of {pattern.schema.label_of(bound_key.index)},"
        f" which contains {', '.join(order) or 'no field'} in this order: a condition states leading fields without"
        " gaps, and a range last",
        f"pass {', '.join(order[: len(fields)]) or 'none of them'}, or add an index whose sort key starts with the"
        " stated fields",
        bound_key.place,
    )
    return SortKeyPlan(faults=[fault])


def _different_sort_keys(
    pattern: PatternDeclaration, bound_key: BoundKey, key_condition: KeyCondition
) -> SortKeyPlan | None:
    """Return a plan with a fault if the sort keys of the pattern's entities differ in such a way that the condition
    would select a different range for each entity.

    Otherwise, return None.
    """
    templates = [part.text for part in bound_key.sort]
    for entity in pattern.entities:
        other_key = entity.key_in(bound_key.index)
        if (
            other_key is not None
            and [part.text for part in other_key.sort] != templates
            and not _have_same_prefix(bound_key, other_key, key_condition)
        ):
            fault = pattern.fault(
                "KP301",
                f"{pattern.name} queries one range of {pattern.schema.label_of(bound_key.index)}, and its entities'"
                f" sort keys differ there ({', '.join(templates)} and {', '.join(part.text for part in other_key.sort)}"
                f"): {entity.name} would be left out",
                "query the whole partition, write the range out with .sk.text(...), or declare a query for each",
                other_key.place,
            )
            return SortKeyPlan(faults=[fault])
    return None


def _have_same_prefix(first: BoundKey, second: BoundKey, key_condition: KeyCondition) -> bool:
    """Return True if the condition selects the same key prefix for both entities, for example if one of the sort keys
    extends the other.
    """
    if key_condition.range is not None or len(first.sort) != 1 or len(second.sort) != 1:
        return False
    start = _known_start(first.sort[0].template, key_condition)
    return start is not None and start == _known_start(second.sort[0].template, key_condition)


def _known_start(template: BoundTemplate | None, key_condition: KeyCondition) -> tuple[str, ...] | None:
    """Return the text of each template part before the first field for which the condition has no value.

    Return None if the condition has a value for every field.
    """
    start: list[str] = []
    for part in template.parts if template is not None else ():
        if isinstance(part, Text):
            start.append(part.text)
        elif part.name in key_condition.sort:
            start.append(f"{{{part.name}:{part.spec}}}")
        else:
            return tuple(start)
    return None


# Conditions, attribute by attribute.


def _plan_conditions(
    pattern: PatternDeclaration, bound_key: BoundKey, key_condition: KeyCondition, *, is_restricted: bool
) -> SortKeyPlan:
    """Plan the conditions on the sort key attributes. Equality conditions on leading attributes are followed by at most
    one range or prefix condition.

    If `is_restricted` is False, do not plan any condition. The query then reads the whole partition.
    """
    conditions: list[SortCondition] = []
    for part in bound_key.sort if is_restricted else ():
        if key_condition.range is not None and key_condition.range.field in part.fields:
            last = _plan_range(pattern, part, key_condition)
            return replace(last, conditions=(*conditions, *last.conditions))
        if all(name in key_condition.sort for name in part.fields):
            conditions.append(SortCondition("=", key_value(part, key_condition.sort)))
            continue
        last = _plan_prefix(part, key_condition)
        return replace(last, conditions=(*conditions, *last.conditions))
    return SortKeyPlan(tuple(conditions))


def _plan_prefix(part: BoundKeyAttribute, key_condition: KeyCondition) -> SortKeyPlan:
    """Plan a prefix condition on the leading fields of a template, or on the literal text at its start."""
    template = part.template
    fields = [name for name in part.fields if name in key_condition.sort]
    if template is None or not (fields or template.literal_prefix):
        return SortKeyPlan()
    condition = SortCondition("begins_with", key_value(part, key_condition.sort, "prefix"))
    placeholder = _last_placeholder(template, fields)
    # Before a placeholder of varying width, the prefix also matches longer values.
    is_ambiguous = placeholder is not None and not placeholder.is_delimited
    residue = (
        CompareCondition("=", FieldPath(placeholder.name), key_condition.sort[placeholder.name])
        if placeholder is not None and is_ambiguous
        else None
    )
    return SortKeyPlan((condition,), residue=residue)


def _last_placeholder(template: BoundTemplate, known_fields: Sequence[str]) -> BoundPlaceholder | None:
    """Return the last of the leading placeholders whose fields are all known, or None if the field of the first
    placeholder is unknown.
    """
    last = None
    for placeholder in template.placeholders:
        if placeholder.name not in known_fields:
            break
        last = placeholder
    return last


def _plan_range(pattern: PatternDeclaration, part: BoundKeyAttribute, key_condition: KeyCondition) -> SortKeyPlan:
    range_ = key_condition.range
    assert range_ is not None, "the caller looked"
    if part.template is None:
        return _stored_range(pattern, part, range_)
    low = key_value(part, {**key_condition.sort, range_.field: range_.low}, "lower")
    placeholder = _last_placeholder(part.template, [*key_condition.sort, range_.field])
    assert placeholder is not None, "the field is in the template"
    if range_.op == "begins_with":
        condition = SortCondition("begins_with", replace(low, part="begins"))
        return SortKeyPlan((condition,), _number_prefix_faults(pattern, range_, placeholder.field.type))
    in_order = part.template.keeps_order_from(range_.field)
    if not in_order and pattern.index is None:
        in_order = part.template.ends_in_period(range_.field)
    faults = [] if in_order else [_unordered_fault(pattern, range_, part.template, placeholder)]
    if placeholder.name != range_.field:
        faults.append(_trailing_field_fault(pattern, range_, part.template, placeholder))
    if placeholder.encoding.reversible and placeholder.encoding.rounds_to is None:
        condition, residue = _exact_range(range_, low, part, key_condition, placeholder)
    else:
        condition, residue = _rounded_range(range_, low, part, key_condition)
    return SortKeyPlan((condition,), faults, residue)


def _number_prefix_faults(pattern: PatternDeclaration, range_: Range, kind: object) -> list[Fault]:
    if kind not in {int, float, bool} and getattr(kind, "__name__", "") != "Decimal":
        return []
    return [
        pattern.fault(
            "KP301",
            f"{pattern.name} uses begins_with on {range_.field}, which is a number: its first digits do not define a"
            " range",
            f"use a range: .sk.between({range_.field}=(low, high))",
            pattern.entities[0].place,
        )
    ]


def _unordered_fault(
    pattern: PatternDeclaration, range_: Range, template: BoundTemplate, placeholder: BoundPlaceholder
) -> Fault:
    group = None if placeholder.encoding.reversible else placeholder.encoding.rounds_to
    order_text = f"of which {template.text} contains only the {group}: within one, keys are not in its order"
    return pattern.fault(
        "KP206",
        f"{pattern.name} queries a range of {range_.field}, "
        + (f"whose text in {template.text} does not sort in the order of its values" if group is None else order_text),
        f"write a placeholder that keeps the order, such as {{{range_.field}:010d}} for numbers or"
        f" {{{range_.field}:utc_ms}} for timestamps",
        pattern.entities[0].place,
    )


def _trailing_field_fault(
    pattern: PatternDeclaration, range_: Range, template: BoundTemplate, placeholder: BoundPlaceholder
) -> Fault:
    return pattern.fault(
        "KP206",
        f"{pattern.name} queries a range of {range_.field} and states {placeholder.name}, which follows it in"
        f" {template.text}: different values can have the same combined text",
        f"state {range_.field} as a value, or use a key in which {placeholder.name} only precedes it",
        pattern.entities[0].place,
    )


Planned = tuple[SortCondition, Condition | None]


def _is_open(part: BoundKeyAttribute, key_condition: KeyCondition) -> bool:
    """Return True if the sort key starts with the field to which the condition applies a range.

    For such a range, one bound is sufficient.
    """
    assert part.template is not None, "the caller looked"
    return not part.template.literal_prefix and not any(name in key_condition.sort for name in part.fields)


def _exact_range(
    range_: Range, low: KeyValue, part: BoundKeyAttribute, key_condition: KeyCondition, placeholder: BoundPlaceholder
) -> Planned:
    """Plan a range over a field for which each key string represents a single value.

    The conditions on the key are exact, so the comparison is usually not repeated on the returned items.
    """
    upper = replace(low, part="upper")
    if range_.op == "between":
        return SortCondition(
            "BETWEEN", low, key_value(part, {**key_condition.sort, range_.field: range_.high}, "upper")
        ), None
    if _is_open(part, key_condition):
        conditions: dict[str, tuple[SortOp, KeyValue]] = {
            "<": ("<", low),
            "<=": ("<=", upper),
            ">": (">", upper),
            ">=": (">=", low),
        }
        return SortCondition(*conditions[range_.op]), None
    floor, ceiling = key_value(part, key_condition.sort, "lower"), key_value(part, key_condition.sort, "upper")
    if range_.op == "<" and placeholder.last and placeholder.encoding.width is None:
        # BETWEEN includes its bounds, and the string just below a bound of variable width would be as long as a key can
        # be.
        return SortCondition("BETWEEN", floor, upper), CompareCondition("<", FieldPath(range_.field), range_.low)
    bounds = {
        "<": (floor, replace(low, part="before")),
        "<=": (floor, upper),
        ">": (replace(low, part="after"), ceiling),
        ">=": (low, ceiling),
    }
    return SortCondition("BETWEEN", *bounds[range_.op]), None


def _rounded_range(range_: Range, low: KeyValue, part: BoundKeyAttribute, key_condition: KeyCondition) -> Planned:
    """Plan a range over a field for which a key string represents several values, such as all timestamps of a day.

    The key range includes the bounds, and the comparison is repeated on the returned items.
    """
    upper = replace(low, part="upper")
    path = FieldPath(range_.field)
    if range_.op == "between":
        high = key_value(part, {**key_condition.sort, range_.field: range_.high}, "upper")
        return SortCondition("BETWEEN", low, high), BetweenCondition(path, range_.low, range_.high)
    assert range_.op != "begins_with", "the caller looked"
    residue = CompareCondition(range_.op, path, range_.low)
    is_upper_bound = range_.op in {"<", "<="}
    if _is_open(part, key_condition):
        return (SortCondition("<=", upper) if is_upper_bound else SortCondition(">=", low)), residue
    floor, ceiling = key_value(part, key_condition.sort, "lower"), key_value(part, key_condition.sort, "upper")
    return SortCondition("BETWEEN", *((floor, upper) if is_upper_bound else (low, ceiling))), residue


def _stored_range(pattern: PatternDeclaration, part: BoundKeyAttribute, range_: Range) -> SortKeyPlan:
    op: SortOp = "BETWEEN" if range_.op == "between" else range_.op
    high = key_value(part, {range_.field: range_.high}) if range_.op == "between" else None
    is_number_prefix = range_.op == "begins_with" and part.type_code == "N"
    faults = _number_prefix_faults(pattern, range_, int) if is_number_prefix else []
    # Stored values are whole units, so values that are not below a more precise timestamp start at the next unit.
    rounds = part.field is not None and part.field.stored is not None and op in {"<", ">=", "BETWEEN"}
    low = key_value(part, {range_.field: range_.low}, "rounded_up" if rounds else "whole")
    return SortKeyPlan((SortCondition(op, low, high),), faults)
