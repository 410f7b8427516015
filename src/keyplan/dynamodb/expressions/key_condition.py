"""Key conditions: the required form, and binding to the key of a table or index.

A key condition is parsed and checked like any other condition. It must also consist of one condition per key attribute.
The conditions are joined by AND, and each one compares its attribute with values. Binding puts the conditions in the
order of the key: equality on every partition key attribute, then equality on sort key attributes from left to right
without a gap, and at most one range condition on the last attribute.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from keyplan.dynamodb.expressions.names import Names
from keyplan.dynamodb.expressions.nodes import And, Between, Call, Compare, Condition, Operand, Path, Value
from keyplan.dynamodb.messages import expressions as messages
from keyplan.dynamodb.values.types import AttributeValue
from keyplan.errors import ValidationError

SortOperator: TypeAlias = Literal["=", "<", "<=", ">", ">=", "BETWEEN", "begins_with"]

_MIRRORED: dict[str, SortOperator] = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_COMPARATORS: dict[str, SortOperator] = {"=": "=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_CLASSIC_KEY_ATTRIBUTES = 2


@dataclass(frozen=True, slots=True)
class KeyTerm:
    """The condition on one key attribute.

    `values` contains the placeholders of the compared values: two for BETWEEN, and one for any other operator.
    """

    attribute: str
    operator: SortOperator
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KeyRange:
    """The range of keys to read in one request.

    `partition` has one value for each partition key attribute. All sort key attributes in the condition except the last
    must equal the values in `sort_equals`. The last one is compared with `sort_values` (two for BETWEEN) by the
    operator `sort_op`, which can be "=". `sort_op` is None if the condition has no sort key attribute.
    """

    partition: tuple[AttributeValue, ...]
    sort_equals: tuple[AttributeValue, ...]
    sort_op: SortOperator | None
    sort_values: tuple[AttributeValue, ...]


def key_terms(condition: Condition, names: Names) -> dict[str, KeyTerm]:
    """Return the condition on each attribute, by attribute name.

    Raises ValidationError if the condition does not have the form of a key condition.
    """
    terms: dict[str, KeyTerm] = {}
    pending: list[Condition] = [condition]
    while pending:
        node = pending.pop()
        if isinstance(node, And):
            pending.extend(reversed(node.conditions))
            continue
        term = _term(node, names)
        if term.attribute in terms:
            raise ValidationError(messages.KEY_CONDITION_TWICE)
        terms[term.attribute] = term
    return terms


def _term(node: Condition, names: Names) -> KeyTerm:
    operator: SortOperator
    operands: tuple[Operand, ...]
    match node:
        case Compare() if node.operator in _COMPARATORS:
            attribute, values = _split((node.left, node.right), names)
            operators = _COMPARATORS if isinstance(node.left, Path) else _MIRRORED
            return KeyTerm(attribute, operators[node.operator], values)
        case Between():
            operator, operands = "BETWEEN", (node.operand, node.lower, node.upper)
        case Call(function="begins_with"):
            operator, operands = "begins_with", node.operands
        case _:
            raise ValidationError(messages.key_operator(_operator_text(node)))
    if not isinstance(operands[0], Path):
        raise ValidationError(messages.key_first_operand(operator))
    attribute, values = _split(operands, names)
    return KeyTerm(attribute, operator, values)


def _operator_text(node: Condition) -> str:
    match node:
        case Compare():
            return node.operator
        case Call():
            return node.function
    return type(node).__name__.upper()


def _split(operands: Sequence[Operand], names: Names) -> tuple[str, tuple[str, ...]]:
    """Return the attribute that a condition compares, and the placeholders of the values, given the operands of the
    condition.

    Raises ValidationError if the operands are not a single attribute and values.
    """
    attribute: str | None = None
    values: list[str] = []
    for operand in operands:
        match operand:
            case Value():
                values.append(operand.name)
            case Call():
                raise ValidationError(messages.KEY_CONDITION_NESTED_OPERATION)
            case Path():
                if attribute is not None:
                    raise ValidationError(messages.KEY_CONDITION_SEVERAL_NAMES)
                if len(operand.parts) > 1:
                    raise ValidationError(messages.KEY_CONDITION_NESTED_ATTRIBUTE)
                attribute = str(names.resolve(operand)[0])
    if attribute is None:
        raise ValidationError(messages.KEY_CONDITION_NO_KEY)
    return attribute, tuple(values)


def bind(
    terms: Mapping[str, tuple[SortOperator, tuple[AttributeValue, ...]]],
    partition: Sequence[str],
    sort: Sequence[str],
) -> KeyRange:
    """Return the key range that the conditions in `terms` select. Raises ValidationError if the conditions do not match
    the key.

    `terms` maps attributes to operators and values, in the order of the expression. `partition` and `sort` are the
    names of the key attributes of the table or index.
    """
    is_classic = len(partition) + len(sort) <= _CLASSIC_KEY_ATTRIBUTES
    if is_classic and not 0 < len(terms) <= _CLASSIC_KEY_ATTRIBUTES:
        raise ValidationError(messages.KEY_CONDITION_COUNT)
    # The service checks a multi-attribute partition key first and lists all attributes, a single attribute last.
    is_composite = len(partition) > 1
    if is_composite:
        _require_equalities(terms, partition)
    _require_named(terms, partition, sort)
    if not is_composite and terms[partition[0]][0] != "=":
        raise ValidationError(messages.KEY_CONDITION_NOT_SUPPORTED)
    sort_names = [attribute for attribute in sort if attribute in terms]
    _require_no_gap(terms, sort_names, sort)
    equals = tuple(terms[attribute][1][0] for attribute in sort_names[:-1])
    partition_values = tuple(terms[attribute][1][0] for attribute in partition)
    if not sort_names:
        return KeyRange(partition_values, (), None, ())
    operator, values = terms[sort_names[-1]]
    return KeyRange(partition_values, equals, operator, values)


def _require_equalities(
    terms: Mapping[str, tuple[SortOperator, tuple[AttributeValue, ...]]], partition: Sequence[str]
) -> None:
    """Raise ValidationError unless every attribute of a multi-attribute partition key has an equality condition."""
    missing = [name for name in partition if name not in terms or terms[name][0] != "="]
    if missing:
        raise ValidationError(messages.key_unequal(missing))


def _require_named(terms: Mapping[str, object], partition: Sequence[str], sort: Sequence[str]) -> None:
    """Raise ValidationError if a partition key attribute has no condition, or if an attribute with a condition is not
    part of the key.
    """
    for attribute in partition:
        if attribute not in terms:
            raise ValidationError(messages.key_missing(attribute))
    if terms.keys() <= {*partition, *sort}:
        return
    missing = next((attribute for attribute in sort if attribute not in terms), None)
    if missing is None:
        raise ValidationError(messages.KEY_CONDITION_NOT_SUPPORTED)
    raise ValidationError(messages.key_missing(missing))


def _require_no_gap(
    terms: Mapping[str, tuple[SortOperator, tuple[AttributeValue, ...]]],
    sort_names: Sequence[str],
    sort: Sequence[str],
) -> None:
    if not sort_names:
        return
    last = sort_names[-1]
    earlier = sort[: sort.index(last)]
    missing = [name for name in earlier if name not in terms or terms[name][0] != "="]
    if missing:
        raise ValidationError(messages.key_gap(missing, last))
