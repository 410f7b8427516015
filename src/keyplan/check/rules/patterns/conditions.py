"""Rules for conditions that no item satisfies."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from keyplan.check.finding import Finding
from keyplan.check.key_overlap import as_template, overlap, prefix_overlap, template_of
from keyplan.check.rule import design_rule
from keyplan.check.subject import Subject
from keyplan.design.conditions.conditions import (
    AndCondition,
    BetweenCondition,
    CompareCondition,
    Condition,
    FieldPath,
    FunctionCondition,
    InCondition,
)
from keyplan.design.declaring.patterns import Pattern
from keyplan.design.entities import EntitySpec
from keyplan.design.fields.annotations import UnstorableTypeError, plain_value, type_code
from keyplan.design.fields.stored import StoredField, encode_value
from keyplan.design.keys.entity_keys import BoundKeyAttribute
from keyplan.design.parameters import CALL_SOURCES
from keyplan.design.planning.plan import KeySelection, KeyValue, Plan, SortOp


@design_rule("KP319", "error")
def impossible_condition(subject: Subject) -> Iterator[Finding]:
    """Condition is never true

    Finds key conditions and comparisons that no item satisfies. Examples are a string that no template of the entity
    produces, a prefix with which no key starts, a comparison of a Number with a string, values that a Literal or Enum
    field cannot have, and two different values for one field. Also finds constants that DynamoDB cannot store, such as
    NaN, and ambiguous constants, such as a datetime without a time zone.

    Why is this bad? `SK = "STATUS#open#"` matches no item whose key continues with an ID: `=` compares the whole key.
    The query always returns an empty result, without an error.

    Fix: use `begins_with` for the start of a key, or pass field values, from which keyplan creates the condition:
    `pk(user_id=user_id).sk(status=status)`.

    Source: developer guide, "Key condition expressions for the Query operation".
    """
    for _, pattern, plan in subject.patterns:
        if plan.operation == "Query" and plan.key is not None:
            yield from _key_condition(pattern, plan)
        elif plan.key is not None:
            yield from _item_key(pattern, plan.key)
        for condition in (plan.filter, plan.condition, plan.replaceable):
            for entity, name, value in _impossible_comparisons(condition, plan.entities):
                yield impossible_condition.finding(
                    pattern.name,
                    f"{pattern.name} never matches: it compares {name} with {value!r}, which {entity.name}.{name}"
                    " cannot be",
                    _comparison_fix(entity.fields[name], value),
                    pattern.place,
                    entity.place,
                )
            for name, first, second in _contradictions(condition):
                yield impossible_condition.finding(
                    pattern.name,
                    f"{pattern.name} never matches: it requires {name} to be {first!r} and {second!r} at once",
                    f"join them with |, or write F.{name}.is_in({first!r}, {second!r})",
                    pattern.place,
                    plan.entity.place,
                )
    for _, entity in subject.entities:
        for bound in entity.indexes:
            for _, name, value in _impossible_comparisons(bound.only_if, (entity,)):
                yield impossible_condition.finding(
                    entity.name,
                    f"no {entity.name} is in the index: its condition requires {name} to be {value!r}, which it"
                    " cannot be",
                    _comparison_fix(entity.fields[name], value),
                    bound.place,
                    entity.place,
                )


def _key_condition(pattern: Pattern[..., Any], plan: Plan) -> Iterator[Finding]:
    assert plan.key is not None, "the caller looked"
    conditions: list[tuple[SortOp, KeyValue]] = [("=", value) for value in plan.key.partition]
    conditions += [(condition.op, condition.low) for condition in plan.key.sort]
    for op, value in conditions:
        why = _empty_reason(op, value, plan)
        if why is not None:
            yield impossible_condition.finding(
                pattern.name,
                f'{pattern.name} never finds anything: {value.attribute} {op} "{_value_text(value)}" matches no item,'
                f" because {why}",
                _key_fix(op, value),
                pattern.place,
                plan.index.place if plan.index is not None else plan.entity.key.place,
            )


def _item_key(pattern: Pattern[..., Any], key: KeySelection) -> Iterator[Finding]:
    """Yield a finding for each constant in a pattern's key that no stored item can have in its key."""
    for value in key.values:
        missing = [name for name, source in value.sources.items() if source is None]
        why = f"{missing[0]} is None" if missing else _invalid_constant(value)
        if why is not None:
            yield impossible_condition.finding(
                pattern.name,
                f"every call of {pattern.name} fails: no item can have this {value.attribute}, because {why}",
                "use a value of the field's type, or a parameter",
                pattern.place,
                pattern.plan.entity.key.place,
            )


def _value_text(value: KeyValue) -> str:
    if value.template is not None:
        return value.template.text
    return ", ".join(str(source) for source in value.sources.values())


def _key_fix(op: SortOp, value: KeyValue) -> str:
    if value.field is not None and _choices_text(value.field):
        return f"use one of {_choices_text(value.field)}"
    if op == "=":
        return "use begins_with for the start of a key, or give the fields: .sk(field=value)"
    return "write the prefix in the form of the entity's template, or give the fields: .sk(field=value)"


def _empty_reason(op: SortOp, value: KeyValue, plan: Plan) -> str | None:
    """Return the reason why a key condition with this operator and value matches no stored item of the plan's entities,
    or None if it can match an item of at least one entity.
    """
    reasons = [
        _mismatch_reason(op, value, part) for entity in plan.entities for part in _key_parts(entity, plan, value)
    ]
    known_reasons = [reason for reason in reasons if reason is not None]
    return known_reasons[0] if known_reasons and len(known_reasons) == len(reasons) else None


def _key_parts(entity: EntitySpec, plan: Plan, value: KeyValue) -> list[BoundKeyAttribute]:
    bound = entity.key_in(plan.index)
    return [part for part in bound.attributes if part.attribute == value.attribute] if bound is not None else []


def _mismatch_reason(op: SortOp, value: KeyValue, part: BoundKeyAttribute) -> str | None:
    reason = _invalid_constant(value)
    if reason is not None:
        return reason
    if part.type_code == "N" and (value.type_code == "S" or op == "begins_with"):
        return f"{part.attribute} is a Number"
    if value.template is None or value.template is part.template or op not in {"=", "begins_with"}:
        return None
    query_template, key_template = template_of(value), as_template(part)
    if query_template is None or key_template is None:
        return None
    if op == "=":
        overlapping = overlap((query_template,), (key_template,))
        return None if overlapping is not None and overlapping.plain else f"no key {key_template.text} equals it"
    if value.part != "whole":
        return None
    prefix = prefix_overlap(query_template, key_template, frozenset(query_template.fields))
    return None if prefix is not None and prefix.plain else f"no key {key_template.text} starts with it"


def _invalid_constant(value: KeyValue) -> str | None:
    """Return the reason why a constant in a key condition cannot be part of a key, or None if all constants
    are valid.
    """
    if value.part == "begins":
        return None
    for placeholder in value.template.placeholders if value.template is not None else ():
        constant = value.sources.get(placeholder.name)
        if constant is None or isinstance(constant, CALL_SOURCES):
            continue
        try:
            placeholder.encode(constant)
        except (ValueError, LookupError) as error:
            return str(error)
    if value.field is not None:
        constant = value.sources.get(value.field.name)
        if constant is not None and _cannot_equal(value.field, constant):
            return f"{value.field.name} cannot be {constant!r}"
    return None


def _impossible_comparisons(
    condition: Condition | None, entities: tuple[EntitySpec, ...]
) -> Iterator[tuple[EntitySpec, str, object]]:
    """Yield each comparison of a field with a value that the field cannot have, as the entity, the name of the field,
    and the value.
    """
    for operand in condition.operands() if condition is not None else ():
        if isinstance(operand, Condition):
            yield from _impossible_comparisons(operand, entities)
    for path, value, is_equal in _comparisons(condition):
        candidates = [entity for entity in entities if path.field in entity.fields]
        is_impossible = _cannot_equal if is_equal else _has_other_type
        if (
            len(path.parts) == 1
            and candidates
            and all(is_impossible(entity.fields[path.field], value) for entity in candidates)
        ):
            yield candidates[0], path.field, value


def _contradictions(condition: Condition | None) -> Iterator[tuple[str, object, object]]:
    """Yield the name of each field that must equal two different constants, with the two constants."""
    required: dict[str, object] = {}
    for part in condition.parts if isinstance(condition, AndCondition) else ():
        if not (isinstance(part, CompareCondition) and part.op == "=" and isinstance(part.left, FieldPath)):
            continue
        name, value = part.left.field, part.right
        if len(part.left.parts) > 1 or isinstance(value, (Condition, FieldPath, *CALL_SOURCES)):
            continue
        if required.setdefault(name, value) != value:
            yield name, required[name], value


def _comparisons(condition: Condition | None) -> Iterator[tuple[FieldPath, object, bool]]:
    """Yield each comparison of a field with a value in a condition, as the path of the field, the value, and True if
    the operator is =, <> or IN.
    """
    if isinstance(condition, CompareCondition) and isinstance(condition.left, FieldPath):
        yield condition.left, condition.right, condition.op in {"=", "<>"}
    elif isinstance(condition, InCondition) and isinstance(condition.operand, FieldPath):
        yield from ((condition.operand, choice, True) for choice in condition.choices)
    elif isinstance(condition, BetweenCondition) and isinstance(condition.operand, FieldPath):
        yield from ((condition.operand, end, False) for end in (condition.low, condition.high))
    elif isinstance(condition, FunctionCondition) and condition.name == "begins_with":
        yield condition.path, condition.argument, False


def _cannot_equal(field: StoredField, value: object) -> bool:
    if _has_other_type(field, value):
        return True
    choices = field.declared.choices
    if choices is None or value is None or isinstance(value, (FieldPath, *CALL_SOURCES)):
        return False
    return value not in [*choices, *field.declared.stored_choices]


def _has_other_type(field: StoredField, value: object) -> bool:
    """Return True if a constant and a field have different attribute types, so their values are never equal."""
    if value is None or isinstance(value, (FieldPath, *CALL_SOURCES)):
        return False
    if _is_unstorable(value):
        return True
    if field.stored is not None:
        return False
    try:
        code = type_code(type(plain_value(value)))
    except UnstorableTypeError:
        return False
    return {code, field.type_code} <= _SCALARS and code != field.type_code


def _is_unstorable(value: object) -> bool:
    """Return True if DynamoDB cannot store a constant, such as NaN or a datetime without a time zone."""
    try:
        encode_value(value)
    except (TypeError, ValueError):
        return True
    return False


_SCALARS = {"S", "N", "B", "BOOL"}


def _comparison_fix(field: StoredField, value: object) -> str:
    if isinstance(value, datetime) and value.tzinfo is None:
        return "give it a time zone: datetime(..., tzinfo=UTC)"
    choices = _choices_text(field)
    if choices:
        return f"use one of {choices}"
    return f"compare it with a value of the field's type: {getattr(field.annotation, '__name__', field.annotation)}"


def _choices_text(field: StoredField) -> str:
    return ", ".join(map(repr, field.declared.stored_choices))
