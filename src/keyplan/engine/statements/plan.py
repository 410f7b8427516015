"""Read plans of SELECT statements: queries for the partition keys in the WHERE clause, or a scan.

Each branch of an OR that specifies a partition key becomes a query. If an OR or IN specifies several sort keys for the
same partition key, each of them becomes a separate query. Sources: developer guide, "PartiQL select statements for
DynamoDB", the *condition* parameter; DynamoDB's error messages for overlapping or too many "decomposed read
operations".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise, product
from typing import NamedTuple, TypeAlias, cast

from keyplan import limits
from keyplan.dynamodb.expressions.compiled import KeyRange
from keyplan.dynamodb.expressions.key_condition import SortOperator
from keyplan.dynamodb.messages import items as item_messages
from keyplan.dynamodb.messages import partiql as messages
from keyplan.dynamodb.partiql import nodes, translate
from keyplan.dynamodb.partiql.nodes import (
    BetweenTerm,
    CallTerm,
    Constant,
    Infix,
    InTerm,
    JoinedTerm,
    NotTerm,
    Ordering,
    Parameter,
    PathTerm,
    SelectStatement,
    Term,
)
from keyplan.dynamodb.partiql.values import StatementValues
from keyplan.dynamodb.values.keybytes import scalar_key
from keyplan.dynamodb.values.types import AttributeValue
from keyplan.engine.items import ranges
from keyplan.engine.items.keys import KeyAttribute
from keyplan.engine.tables.catalog import Index, Table
from keyplan.errors import ValidationError

_MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


class ReadStep(NamedTuple):
    """A query or scan: the range of stored keys to read, the filter for the rows, and the partition key (None for a
    scan).
    """

    span: ranges.Span
    filter: translate.StatementCondition | None
    partition: AttributeValue | None


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """The reads of a SELECT statement: queries in the order in which they run, or a single scan."""

    steps: tuple[ReadStep, ...]
    reverse: bool


_Range: TypeAlias = tuple[SortOperator, tuple[AttributeValue, ...]]
"""A sort key condition that selects a range of keys: the operator and its values."""


class _QueryPart(NamedTuple):
    """One query of a WHERE clause: the conditions on the partition key and sort key, and all other conditions of the
    same branch.
    """

    partition: AttributeValue
    sort: _Range | None
    rest: tuple[Term, ...]
    branch: Term
    negated: bool
    """True if the branch of the WHERE clause tests the sort key with NOT or <>."""


def make_plan(table: Table, index: Index | None, select: SelectStatement, values: StatementValues) -> ReadPlan:
    """Return the read plan of a SELECT statement. Raises ValidationError if DynamoDB does not support the statement."""
    schema = ranges.key_schema(table, index)
    partition, sort = schema.partition[0], schema.sort[0] if schema.sort else None
    branches = () if select.where is None else nodes.joined_terms(select.where, "or")
    parts: list[_QueryPart] = []
    for branch in branches:
        matched_parts = _split_branch(branch, partition, sort, values)
        if not matched_parts:
            parts.clear()
            break
        parts += matched_parts
    if not parts:
        _check_order(select, partition, sort, 0)
        condition = None if select.where is None else translate.condition(select.where, values)
        return ReadPlan((ReadStep(ranges.segment_span(None, None), condition, None),), reverse=False)
    grouped: dict[bytes, list[_QueryPart]] = {}
    for part in parts:
        kind, content = next(iter(part.partition.items()))
        grouped.setdefault(scalar_key(kind, content), []).append(part)
    if len(parts) > limits.STATEMENT_READS:
        raise ValidationError(messages.TOO_MANY_READS)
    _check_order(select, partition, sort, len(grouped))
    queries = {key: _steps(index, group, values) for key, group in grouped.items()}
    _check_filter(index, partition, [step for key in sorted(queries) for step in queries[key]])
    steps = [step for key in _order_keys(queries, select, partition) for step in queries[key]]
    reverse = _is_reverse(select, sort)
    if reverse and len(steps) > 1:
        steps = _reverse_within_partitions(steps)
    return ReadPlan(tuple(steps), reverse)


def _split_branch(
    branch: Term, partition: KeyAttribute, sort: KeyAttribute | None, values: StatementValues
) -> list[_QueryPart]:
    """Split a branch of the WHERE clause into parts, each of which becomes one query.

    The result has at least one part for each value that the branch allows for the partition key. It is empty if the
    branch does not specify the partition key.
    """
    terms = nodes.joined_terms(branch, "and")
    key_term = next((term for term in terms if _partition_terms(term, partition.name)), None)
    if key_term is None:
        return []
    values_of_key = [_key_value(term, partition, values) for term in _partition_terms(key_term, partition.name)]
    rest = [term for term in terms if term is not key_term]
    parts: list[tuple[_Range | None, list[Term]]] = [(None, rest)]
    if sort is not None:
        parts = _alternatives(rest, (partition.name, sort), values) or [_split_range(rest, sort, values)]
    reads = islice(product(values_of_key, parts), limits.STATEMENT_READS + 1)  # enough to report an error
    return [
        _QueryPart(
            value, condition, tuple(remaining), branch, any(_is_negated(term, sort and sort.name) for term in remaining)
        )
        for value, (condition, remaining) in reads
    ]


def _split_range(
    terms: Sequence[Term], sort: KeyAttribute, values: StatementValues
) -> tuple[_Range | None, list[Term]]:
    """Return the range of the first condition that selects a range of sort keys, and a list of all other conditions.

    If none of the conditions selects a range, return None and a list of all conditions.
    """
    for term in terms:
        condition = _sort_condition(term, sort, values)
        if condition is not None:
            return condition, [other_term for other_term in terms if other_term is not term]
    return None, list(terms)


def _alternatives(
    terms: Sequence[Term], key: tuple[str, KeyAttribute], values: StatementValues
) -> list[tuple[_Range | None, list[Term]]]:
    """Split an IN or OR condition on the sort key into its alternatives. Each alternative is returned as a sort key
    range and the other conditions.

    `key` consists of the name of the partition key attribute and the sort key attribute. The range is None for an
    alternative without a sort key condition, which selects all sort keys.

    The list is empty if the conditions cannot be split. Only forms for which responses of DynamoDB have been recorded
    can be split: a single IN or OR without another sort key condition, and with at most one range in each alternative.
    """
    partition, sort = key
    sort_terms = [term for term in terms if sort.name in nodes.attributes(term)]
    if len(sort_terms) != 1 or partition in nodes.attributes(sort_terms[0]):
        return []
    other_terms = [term for term in terms if term is not sort_terms[0]]
    alternatives: list[tuple[_Range | None, list[Term]]] = []
    for branch in nodes.joined_terms(sort_terms[0], "or"):
        for branch_part in _equalities(branch, sort.name) or [branch]:
            condition, rest = _split_range(nodes.joined_terms(branch_part, "and"), sort, values)
            if any(sort.name in nodes.attributes(term) for term in rest):
                return []
            alternatives.append((condition, [*other_terms, *rest]))
    return alternatives


def _equalities(term: Term, name: str) -> list[Term]:
    """Convert an IN condition on the attribute `name` to a list of equality conditions.

    The list is empty for any other condition.
    """
    if not isinstance(term, InTerm):
        return []
    return [Infix("=", term.operand, value) for value in _partition_terms(term, name)]


def _partition_terms(term: Term, name: str) -> Sequence[Term]:
    """Return the values that a condition allows for the attribute `name`, as terms.

    An equality, an IN condition, and several of these joined by OR are supported. The result is empty for any other
    condition.
    """
    if isinstance(term, JoinedTerm) and term.operator == "or":
        values_of_branches = [_partition_terms(branch, name) for branch in nodes.joined_terms(term, "or")]
        return tuple(value for values in values_of_branches for value in values) if all(values_of_branches) else ()
    equality = nodes.equality(term)
    if equality is not None and equality[0] == name:
        return equality[1:]
    if isinstance(term, InTerm) and isinstance(term.operand, PathTerm) and term.operand.parts == (name,):
        return nodes.choices_of(term)
    return ()


def _key_value(term: Term, attribute: KeyAttribute, values: StatementValues) -> AttributeValue:
    value = values.evaluate(term)
    if attribute.kind not in value:
        raise ValidationError(messages.key_type(attribute.name))
    if not value[attribute.kind]:
        raise ValidationError(item_messages.empty_key(attribute.name, attribute.kind))
    return value


def _sort_condition(term: Term, sort: KeyAttribute, values: StatementValues) -> _Range | None:
    """Convert a condition on the sort key to a range of sort keys, or return None if it does not select a range."""
    operator, terms = _range_of(term, sort.name)
    if operator is None:
        return None
    return cast("SortOperator", operator), tuple(_key_value(operand, sort, values) for operand in terms)


def _range_of(term: Term, name: str) -> tuple[str | None, Sequence[Term]]:
    match term:
        case Infix(operator=operator, left=PathTerm(parts=parts), right=right) if operator in _MIRRORED and parts == (
            name,
        ):
            return (operator, (right,)) if _is_value(right) else (None, ())
        case Infix(operator=operator, left=left, right=PathTerm(parts=parts)) if operator in _MIRRORED and parts == (
            name,
        ):
            return (_MIRRORED[operator], (left,)) if _is_value(left) else (None, ())
        case BetweenTerm(operand=PathTerm(parts=parts), lower=lower, upper=upper) if parts == (name,):
            return ("BETWEEN", (lower, upper)) if _is_value(lower) and _is_value(upper) else (None, ())
        case CallTerm(function="begins_with", arguments=(PathTerm(parts=parts), prefix)) if parts == (name,):
            return ("begins_with", (prefix,)) if _is_value(prefix) else (None, ())
        case _:
            return None, ()


def _is_value(term: Term) -> bool:
    return isinstance(term, Constant | Parameter)


def _is_negated(term: Term, name: str | None) -> bool:
    """Return True if a condition tests the attribute `name` with NOT or <>."""
    if isinstance(term, NotTerm):
        return name in nodes.attributes(term)
    return isinstance(term, Infix) and term.operator == "<>" and name in nodes.attributes(term)


def _steps(index: Index | None, group: list[_QueryPart], values: StatementValues) -> list[ReadStep]:
    """Return the queries for a group of parts (see `_QueryPart`) that have the same partition key."""
    value = group[0].partition
    if len(group) == 1:
        (part,) = group
        return [ReadStep(_span(index, part), _filter(part.rest, values), value)]
    if any(part.negated for part in group):
        condition = JoinedTerm("or", tuple(dict.fromkeys(part.branch for part in group)))
        return [ReadStep(_span(index, group[0]._replace(sort=None)), translate.condition(condition, values), value)]
    steps = sorted((ReadStep(_span(index, part), _filter(part.rest, values), value) for part in group), key=_start)
    _check_disjoint(step.span for step in steps)
    return steps


def _check_disjoint(spans: Iterable[ranges.Span]) -> None:
    """Raise ValidationError if key ranges overlap. The ranges must be sorted."""
    for earlier, later in pairwise(spans):
        if earlier.high is None or earlier.high > later.low:
            raise ValidationError(messages.OVERLAP)


def _start(step: ReadStep) -> bytes:
    return step.span.low


def _span(index: Index | None, part: _QueryPart) -> ranges.Span:
    operator, terms = part.sort if part.sort is not None else (None, ())
    return ranges.condition_span(index, KeyRange((part.partition,), (), operator, terms))


def _filter(rest: Sequence[Term], values: StatementValues) -> translate.StatementCondition | None:
    term = nodes.join_terms(rest)
    return None if term is None else translate.condition(term, values)


def _check_filter(index: Index | None, partition: KeyAttribute, steps: Sequence[ReadStep]) -> None:
    """Raise ValidationError if the filters of the queries contain attributes that the index does not project.

    As in recorded responses of DynamoDB, one valid filter is sufficient for all filters to be accepted. A filter is
    valid if it contains only projected attributes or also tests the partition key. The error names the attributes of
    the last filter that the index does not project. `steps` must be in partition key order.
    """
    if index is None or index.projection == "ALL":
        return
    missing: list[str] = []
    for step in steps:
        names = () if step.filter is None else step.filter.attributes
        missing = [name for name in names if name not in index.attributes]
        if not missing or partition.name in names:
            return
    raise ValidationError(item_messages.filter_not_projected(index.name, missing))


# ORDER BY


def _ordering_name(ordering: Ordering) -> str | None:
    term = ordering.term
    return str(term.parts[0]) if isinstance(term, PathTerm) and len(term.parts) == 1 else None


def _check_order(select: SelectStatement, partition: KeyAttribute, sort: KeyAttribute | None, partitions: int) -> None:
    if not select.order:
        return
    if select.where is None:
        raise ValidationError(messages.ORDER_NEEDS_WHERE)
    if not partitions:
        raise ValidationError(messages.ORDER_NEEDS_KEY)
    names = [_ordering_name(order_term) for order_term in select.order]
    for ordering, name in zip(select.order, names, strict=True):
        if name is None:
            raise ValidationError(messages.order_operand(type(ordering.term).__name__))
        if name not in (partition.name, sort and sort.name):
            raise ValidationError(messages.order_by(name))
    if partitions > 1 and partition.name not in names:
        raise ValidationError(messages.ORDER_NEEDS_HASH)


def _order_keys(keys: Iterable[bytes], select: SelectStatement, partition: KeyAttribute) -> Iterable[bytes]:
    """Return the partition keys in the order in which they are read.

    This is the order that ORDER BY specifies for the partition key. If ORDER BY does not contain the partition key, it
    is the order of `keys`.
    """
    for ordering in select.order:
        if _ordering_name(ordering) == partition.name:
            return sorted(keys, reverse=ordering.descending)
    return keys


def _is_reverse(select: SelectStatement, sort: KeyAttribute | None) -> bool:
    """Return True if the ORDER BY clause requires reading in descending sort key order."""
    sort_directions = [
        ordering.descending for ordering in select.order if _ordering_name(ordering) == (sort and sort.name)
    ]
    return any(sort_directions) if sort_directions else bool(select.order)


def _reverse_within_partitions(steps: list[ReadStep]) -> list[ReadStep]:
    """Reverse the order of the queries that have the same partition key. The order of the partition keys does not
    change.
    """
    reordered: list[ReadStep] = []
    position = 0
    for number, step in enumerate(steps):
        position = position if number and step.partition == steps[number - 1].partition else number
        reordered.insert(position, step)
    return reordered
