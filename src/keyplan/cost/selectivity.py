"""Selectivity estimates: the share of items that match a condition or are in an index, and the number of
items per key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any
from uuid import UUID

from keyplan.cost.sizes import count_of
from keyplan.design.conditions.conditions import (
    AndCondition,
    CompareCondition,
    Condition,
    FieldPath,
    FunctionCondition,
    InCondition,
    NotCondition,
    OrCondition,
    paths_of,
)
from keyplan.design.conditions.evaluation import MISSING, holds
from keyplan.design.entities import EntitySpec
from keyplan.design.fields.annotations import plain_value
from keyplan.design.fields.stored import StoredField
from keyplan.design.keys.entity_keys import BoundKey, BoundKeyAttribute
from keyplan.design.keys.placeholders import BoundPart, BoundPlaceholder
from keyplan.design.keys.templates import BoundTemplate
from keyplan.design.parameters import Each, EveryShard, Param, Source
from keyplan.design.planning.plan import KeyValue, Plan, SortCondition

ASSUMED = 20.0
"""The assumed number of items that a read returns if the design does not declare how many items the entity has."""


def share_in_index(entity: EntitySpec, bound: BoundKey) -> float:
    """Return the share of an entity's items that are in an index, that is, the items that have all of its key
    fields and satisfy `only_if`.

    A field is assumed to be present if its share is not declared. Optional fields of one key are assumed to be present
    in the same items.
    """
    if entity.volume is None:
        return 1.0
    tested = {path.field for path in paths_of(bound.only_if)}
    share = 1.0
    for name in dict.fromkeys(bound.fields):
        if entity.fields[name].optional and name not in tested:
            share = min(share, entity.volume.present.get(name, 1.0))
    kept_fraction = None if bound.only_if is None else matching_share(bound.only_if, entity)
    return share if kept_fraction is None else share * kept_fraction


def choices_of(field: StoredField) -> int | None:
    """Return the number of values that a field's type allows, or None if the type does not limit the values
    to choices.
    """
    if field.annotation is bool:
        return 2
    choices = field.declared.choices
    return None if choices is None else len(choices)


def shares_of(entity: EntitySpec, name: str, condition: Condition | None) -> Mapping[object, float] | None:
    """Return the share of each value of a field, relative to the items that can satisfy `condition`. The
    shares add up to 1.

    Return None if the design does not declare the shares.
    """
    declared = None if entity.volume is None else entity.volume.distinct.get(name)
    if not isinstance(declared, Mapping):
        return None
    matching_shares = {
        plain_value(value): share for value, share in declared.items() if holds(condition, {name: value}) is not False
    }
    total = sum(matching_shares.values())
    return {value: share / total for value, share in matching_shares.items()} if total else matching_shares


def matching_share(condition: Condition, entity: EntitySpec) -> float | None:
    """Return the share of an entity's items that satisfy a condition, or None if it is unknown.

    The parts of a condition are assumed to be independent. If the share of a part of an AND condition is unknown, this
    part is ignored, so the result is an upper bound.
    """
    if entity.volume is None:
        return None
    exact = _share_by_values(condition, entity)
    if exact is not None:
        return exact
    share_of = _BY_KIND.get(type(condition))
    return None if share_of is None else share_of(condition, entity)


def _share_by_values(condition: Condition, entity: EntitySpec) -> float | None:
    """Return the share of items that satisfy a condition, computed from the declared shares of a field's values.

    Return None if the condition compares several fields or the shares are not declared.
    """
    names = {path.field for path in paths_of(condition)}
    shares = shares_of(entity, next(iter(names)), None) if len(names) == 1 else None
    if entity.volume is None or shares is None:
        return None
    (name,) = names
    verdicts = {value: holds(condition, {name: value}) for value in shares}
    without = holds(condition, {name: MISSING})
    if without is None or None in verdicts.values():
        return None
    present = entity.volume.present.get(name, 1.0)
    return present * sum(share for value, share in shares.items() if verdicts[value]) + (1 - present) * without


def _compare_share(condition: CompareCondition, entity: EntitySpec) -> float | None:
    if not isinstance(condition.left, FieldPath) or condition.op not in {"=", "<>"}:
        return None
    share = _value_share(condition.left, condition.right, entity)
    return share if share is None or condition.op == "=" else 1 - share


def _value_share(path: FieldPath, value: object, entity: EntitySpec) -> float | None:
    items = entity.volume
    if items is None or len(path.parts) > 1 or isinstance(value, Each):
        return None
    present = items.present.get(path.field, 1.0)
    if isinstance(value, Param):
        values = items.values_of(path.field)
        return None if values is None else present / max(1, values.count)
    share = items.share_of(path.field, value)
    return None if share is None else present * share


def _in_share(condition: InCondition, entity: EntitySpec) -> float | None:
    if not isinstance(condition.operand, FieldPath):
        return None
    shares = [_value_share(condition.operand, choice, entity) for choice in condition.choices]
    return _capped_sum(shares)


def _and_share(condition: AndCondition, entity: EntitySpec) -> float | None:
    shares = [share for part in condition.parts if (share := matching_share(part, entity)) is not None]
    share = 1.0
    for partial_share in shares:
        share *= partial_share
    return share if shares else None


def _or_share(condition: OrCondition, entity: EntitySpec) -> float | None:
    return _capped_sum([matching_share(part, entity) for part in condition.parts])


def _capped_sum(shares: list[float | None]) -> float | None:
    known_shares = [share for share in shares if share is not None]
    return min(1.0, sum(known_shares)) if len(known_shares) == len(shares) else None


def _not_share(condition: NotCondition, entity: EntitySpec) -> float | None:
    share = None if isinstance(condition.part, AndCondition) else matching_share(condition.part, entity)
    return None if share is None else 1 - share


def _function_share(condition: FunctionCondition, entity: EntitySpec) -> float | None:
    items = entity.volume
    if items is None or len(condition.path.parts) > 1 or condition.path.field not in items.present:
        return None
    present = items.present[condition.path.field]
    return {"attribute_exists": present, "attribute_not_exists": 1 - present}.get(condition.name)


_BY_KIND: dict[type, Callable[[Any, EntitySpec], float | None]] = {
    CompareCondition: _compare_share,
    InCondition: _in_share,
    AndCondition: _and_share,
    OrCondition: _or_share,
    NotCondition: _not_share,
    FunctionCondition: _function_share,
}


def matching_count(plan: Plan, entity: EntitySpec, guesses: list[str]) -> float:
    """Return how many items of an entity match the key condition of a read.

    A range on the sort key is assumed to contain all items of the partition. Assumptions about numbers that are not
    declared are added to `guesses`.
    """
    items = entity.volume
    if items is None:
        guesses.append(f"the number of {entity.name} items is not declared: {ASSUMED:g} are assumed")
        return ASSUMED
    bound = entity.key_in(plan.index)
    if bound is None:
        return 0.0
    entries = count_of(items) * share_in_index(entity, bound)
    counts: dict[str, ValueCounts] = {}
    for name, text, part in _literal_partitions(plan, bound):
        shares = shares_of(entity, name, bound.only_if)
        if shares is None:
            counts[name] = _value_counts(name, entity, plan, (text,))
        else:
            entries *= sum(share for choice, share in shares.items() if _key_text(part, name, choice) == text)
    for query_name, source, shards in _fixed_fields(plan):
        name = entity_field_name(plan, bound, query_name)
        share = _share(entity, name, source, bound.only_if)
        if shards:
            entries /= shards
        elif share is not None:
            entries *= share
        else:
            counts[name] = _value_counts(name, entity, plan, _constants(source))
    entries /= _combinations(counts, entity, plan, guesses)
    # A query without a partition is rejected: it does not read everything.
    return min(entries, ASSUMED) if any(fault.code in {"KP301", "KP308"} for fault in plan.faults) else entries


def partition_fields(plan: Plan, entity: EntitySpec) -> set[str]:
    """Return the fields whose values a query's partition key contains. A value is a parameter or part of a literal
    text.
    """
    bound, partition = entity.key_in(plan.index), () if plan.key is None else plan.key.partition
    source_names = {name for value in partition for name in value.sources}
    return source_names | _values_written(partition, () if bound is None else bound.partition).keys()


def stated_values(plan: Plan, entity: EntitySpec) -> dict[str, Source]:
    """Return the values that the key condition of a query requires with =, by field name. Each value is a parameter or
    a constant.
    """
    bound = entity.key_in(plan.index)
    if plan.key is None or bound is None:
        return {}
    fixed_values = [(value, set(value.sources)) for value in plan.key.partition]
    fixed_values += [(condition.low, _fixed_by_condition(condition, plan)) for condition in plan.key.sort]
    values_by_field = {
        name: source
        for value, names in fixed_values
        if value.template is None or value.template.reversible
        for name, source in value.sources.items()
        if name in names and name in entity.fields and not _shards(value, name)
    }
    sort_values = [condition.low for condition in plan.key.sort if condition.op == "="]
    return {
        **_values_written(plan.key.partition, bound.partition),
        **_values_written(sort_values, bound.sort),
        **values_by_field,
    }


def _values_written(values: Sequence[KeyValue], parts: Sequence[BoundKeyAttribute]) -> dict[str, Source]:
    """Return the field values in a partition or sort key that a pattern specifies as text, by field name. For example,
    the text STATE#open contains the value "open" of the field `state`.
    """
    sources: dict[str, Source] = {}
    for value, part in zip(values, parts, strict=False):
        if value.template is not None and not value.template.fields:
            text = value.template.render({})
            sources |= {} if part.template is None else part.template.match(text) or {}
            if part.field is not None and part.template is None:
                sources[part.field.name] = text
    return sources


def _fixed_fields(plan: Plan) -> Iterator[tuple[str, Source, int]]:
    """Yield each field for which the key condition requires one value.

    The tuple contains the field's name, the parameter or constant with the value, and the number of hash shards.
    """
    if plan.key is None:
        return
    fixed_values = [(value, set(value.sources)) for value in plan.key.partition]
    fixed_values += [(condition.low, _fixed_by_condition(condition, plan)) for condition in plan.key.sort]
    yielded: set[str] = set()
    for value, names in fixed_values:
        for name, source in value.sources.items():
            if name in names and name not in yielded and not isinstance(source, EveryShard):
                yielded.add(name)
                yield name, source, _shards(value, name)


def _fixed_by_condition(condition: SortCondition, plan: Plan) -> set[str]:
    """Return the fields for which a sort key condition requires exactly one value.

    For BETWEEN, these are the fields with the same value in both bounds. For begins_with, the last field is omitted if
    only a prefix of its value is compared. For other operators except =, the result is empty.
    """
    low, high = condition.low, condition.high
    if condition.op not in {"=", "begins_with"}:
        return (
            set()
            if high is None
            else {name for name, source in low.sources.items() if high.sources.get(name) is source}
        )
    if low.template is None:
        return set(low.sources) if condition.op == "=" else set()
    placeholders = low.template.placeholders
    names = [placeholder.name for placeholder in placeholders if placeholder.name in low.sources]
    # The end of a literal text is also a prefix, unless it is named as a field.
    begins = low.part == "begins" or any(
        placeholder.last and not any(placeholder.name in spec.fields for spec in plan.entities)
        for placeholder in placeholders
    )
    return set(names[:-1] if condition.op == "begins_with" and begins else names)


def entity_field_name(plan: Plan, bound: BoundKey, name: str) -> str:
    """Return the name that an entity uses for a partition key field of a query. `bound` is the entity's key.

    `name` is the name that the query uses for the field, which can be the name of another entity's field. For example,
    `TXN#{id}` and `TXN#{transaction_id}` produce the same partition keys. The position in the template determines the
    field, even if the entity has another field with the name `name`.
    """
    for value, part in zip(() if plan.key is None else plan.key.partition, bound.partition, strict=False):
        if value.template is not None and part.template is not None and same_texts(value.template, part.template):
            for query_placeholder, key_placeholder in zip(
                value.template.placeholders, part.template.placeholders, strict=True
            ):
                if query_placeholder.name == name:
                    return key_placeholder.name
    return name


def same_texts(template: BoundTemplate, other: BoundTemplate) -> bool:
    """Return True if two templates are equal except for the names of their fields."""
    return [_shape(part) for part in template.parts] == [_shape(part) for part in other.parts]


def _shape(part: BoundPart) -> tuple[object, ...]:
    return (part.field.type, part.spec) if isinstance(part, BoundPlaceholder) else (part.text,)


def _shards(value: KeyValue, name: str) -> int:
    placeholders = () if value.template is None else value.template.placeholders
    return min((placeholder.shards for placeholder in placeholders if placeholder.name == name), default=0)


def _literal_partitions(plan: Plan, bound: BoundKey) -> Iterator[tuple[str, str, BoundKeyAttribute]]:
    """Yield each value of a partition key attribute that a query specifies as a literal text, such as STATUS#OPEN. Only
    attributes that contain one field are considered.

    Each result contains the name of the field, the text, and the key attribute.
    """
    for value, part in zip(() if plan.key is None else plan.key.partition, bound.partition, strict=False):
        if value.template is not None and not value.template.fields and len(part.fields) == 1:
            yield part.fields[0], value.template.render({}), part


def _key_text(part: BoundKeyAttribute, name: str, value: object) -> object:
    return value if part.template is None else part.template.render({name: value})


def _constants(source: Source) -> tuple[object, ...] | None:
    """Return the constants with which a pattern compares a field, or None if the caller passes the value."""
    if isinstance(source, Each):
        return source.values if isinstance(source.values, tuple) else None
    return None if isinstance(source, Param) else (source,)


def _share(entity: EntitySpec, name: str, source: Source, condition: Condition | None) -> float | None:
    """Return the share of items that have one of the requested values in a field, or None if the shares of values are
    not declared.

    Only items that can satisfy `condition` are counted. If the caller passes the value, all values are assumed
    to be equally likely.
    """
    shares = shares_of(entity, name, condition)
    if shares is None:
        return None
    values = _constants(source)
    if values is None:
        return 1 / max(1, len(shares))
    return sum(shares.get(plain_value(value), 0.0) for value in values)


@dataclass(frozen=True)
class ValueCounts:
    """The factor by which a condition on one field reduces the number of matching items.

    `number` is the number of distinct values of the field divided by the number of requested values, or None if it is
    unknown. The number of items is divided by it.
    """

    number: float | None
    guess: str
    """The assumption about the number of distinct values if it is not declared, otherwise an empty string."""


def _value_counts(name: str, entity: EntitySpec, plan: Plan, constants: Sequence[object] | None) -> ValueCounts:
    number, guess = _value_count(name, entity, plan)
    if number is None and plan.index is not None:
        number, guess = _id_count(name, entity)
    if number is None:
        return ValueCounts(None, f"the number of values of {entity.name}.{name} is not declared")
    return ValueCounts(max(1.0, number / len(constants or ("",))), guess)


def _value_count(name: str, entity: EntitySpec, plan: Plan) -> tuple[float | None, str]:
    """Return the number of distinct values of a field, and the assumption on which the number is based.

    The number is declared for this entity or derived from other entities, or None if it is unknown. The assumption is
    an empty string if the number is declared or unknown.
    """
    field = entity.fields.get(name)
    if field is None:
        return None, ""
    declared = None if entity.volume is None else entity.volume.values_of(name)
    if declared is not None:
        return declared.count, ""
    if entity.volume is not None and entity.key.fields == (name,):
        return count_of(entity.volume), ""
    siblings = [sibling for sibling in plan.siblings if same_field(sibling, entity, name)]
    for owner in siblings:
        if owner.volume is not None and owner.key.fields == (name,):
            return (
                count_of(owner.volume),
                f"{entity.name}.{name} is assumed to have one value per {owner.name}",
            )
    choices = choices_of(field)
    if choices:
        return choices, f"the {choices} values of {entity.name}.{name} are assumed to be used equally"
    for other in siblings:
        number = other.volume.values_of(name) if other.volume is not None else None
        if number is not None:
            return number.count, f"{entity.name}.{name} is assumed to have as many values as {other.name}.{name}"
    return None, ""


def _id_count(name: str, entity: EntitySpec) -> tuple[float | None, str]:
    """Return the assumed number of distinct values of an ID field, and a description of the assumption.

    An entity's own ID is different in each item. Each value of another ID is assumed to occur in `ASSUMED` items.
    """
    if entity.volume is None or name not in entity.fields:
        return None, ""
    if _is_unique(entity, name):
        return count_of(entity.volume), ""
    if is_own_id(entity, name):
        return count_of(entity.volume), f"{entity.name}.{name} is assumed to be different in each {entity.name}"
    if is_id(entity, name):
        assumed = (
            f"the number of values of {entity.name}.{name} is not declared: {ASSUMED:g} items per value are assumed"
        )
        return max(1.0, count_of(entity.volume) / ASSUMED), assumed
    return None, ""


def is_own_id(entity: EntitySpec, name: str) -> bool:
    """Return True if a field is an ID that is different in each item, because it is declared as unique or named after
    the entity.
    """
    id_names = {"id", "uuid", _normalised_name(f"{entity.name}_id"), _normalised_name(f"{entity.name}_uuid")}
    return _is_unique(entity, name) or _normalised_name(name) in id_names


def _is_unique(entity: EntitySpec, name: str) -> bool:
    return any(rule.fields == (name,) for rule in entity.uniques)


def is_id(entity: EntitySpec, name: str) -> bool:
    """Return True if a field contains identifiers, according to its type or name."""
    return entity.fields[name].annotation is UUID or name.endswith(("_id", "_uuid", "Id", "ID"))


def _normalised_name(name: str) -> str:
    """Return a name in a normalized form, in which order_id, orderId and OrderID are equal."""
    return name.replace("_", "").lower()


def same_field(spec: EntitySpec, other: EntitySpec, name: str) -> bool:
    """Return True if a field has the same name and type in two entities, and is therefore assumed to have the same
    meaning.
    """
    other_field = other.fields.get(name)
    return other_field is not None and name in spec.fields and spec.fields[name].annotation == other_field.annotation


def _combinations(counts: Mapping[str, ValueCounts], entity: EntitySpec, plan: Plan, guesses: list[str]) -> float:
    """Return the number of combinations of the values of several fields.

    `counts` contains the number of values of each field. All combinations are assumed to occur, except for fields that
    form the whole key of an entity: they have at most as many combinations as the entity has items. For example, a
    repository has an owner and a name, and most names occur only once. Assumptions are added to `guesses`.
    """
    remaining, product = dict(counts), 1.0
    for owner in sorted((entity, *plan.siblings), key=lambda spec: -len(spec.key.fields)):
        names = owner.key.fields
        if owner.volume is None or len(names) < 2 or not all(name in remaining for name in names):
            continue
        if not all(same_field(owner, entity, name) for name in names):
            continue
        is_known = not any(remaining[name].guess for name in names)
        if not is_known or prod(remaining[name].number or 1 for name in names) > count_of(owner.volume):
            if not is_known and owner is not entity:
                names_text = ", ".join(names)
                guesses.append(
                    f"{names_text} of {entity.name} are assumed to have one combination of values per {owner.name}"
                )
            product *= max(1, count_of(owner.volume))
            remaining = {name: values for name, values in remaining.items() if name not in names}
    guesses += [values.guess for values in remaining.values() if values.guess]
    return product * prod(values.number or 1 for values in remaining.values())
