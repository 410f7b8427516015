"""Rules for reads: consistency, decisions, N+1 reads, duplicate patterns and missing rates."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

from keyplan.check.finding import Finding, number
from keyplan.check.relations import guarded_writes, is_conditional, writes_another_entity
from keyplan.check.rule import design_rule, fault_rule
from keyplan.check.subject import Subject
from keyplan.cost.expected import expected
from keyplan.cost.selectivity import same_field
from keyplan.design.conditions.conditions import CompareCondition, Condition, FieldPath, FieldSize, FunctionCondition
from keyplan.design.declaring.patterns import Pattern
from keyplan.design.entities import EntitySpec
from keyplan.design.errors import Place
from keyplan.design.parameters import Each, Param
from keyplan.design.planning.plan import KeyValue, Plan

consistent_read_of_global_index = fault_rule(
    "KP304",
    "consistent-read-of-global-index",
    """Global index does not support consistent reads

    Finds patterns with `consistent=True` on a global secondary index.

    Why is this bad? DynamoDB rejects `ConsistentRead` on a global index, because a global index is updated
    asynchronously, after the write to the table.

    Fix: read the table by its primary key, or a local index, if the result must include every write. Otherwise, remove
    the option.

    Source: developer guide, "DynamoDB read consistency".
    """,
    conflicts=True,
)


_DECISION_FIXES = {
    "quota": "count in an item with .add(...) and a condition on the count, in the transaction of what is counted",
    "state": "put the state into the condition of the write that depends on it: .condition(F.status == ...)",
}


@design_rule("KP305", "error", "warning")
def decision_on_stale_read(subject: Subject) -> Iterator[Finding]:
    """Decision is based on a stale read

    Finds reads that are used to check a quota or a state (`decides=`), if the write that depends on the read
    (`guards=`) has no condition. The finding is an error for reads of a global index, and a warning for eventually
    consistent reads of a table. Also finds reads that must include an earlier write (`after=`) but can miss it
    (warning). If the result of a read only decides whether a write of another entity is allowed, as with a permission,
    the finding is always a warning. KP605 reports reads that are used to check uniqueness.

    Why is this bad? A global index is updated after the table, and an eventually consistent read can miss writes that
    were made less than a second before. Two concurrent requests then both succeed, or a permission that was just
    revoked is still valid.

    Fix: add a condition to the write, on the item or on a counter. If several items are involved, use a transaction.
    Read a permission from the table with `consistent=True`, or check it with `@table.check` in the transaction of the
    write. Declare `consistent=True` on a pattern with `after=`, and read the table.

    Source: developer guide, "DynamoDB read consistency" and "Condition expressions".
    """
    for _, pattern, plan in subject.patterns:
        if not plan.reading:
            continue
        through_index = plan.index is not None and plan.index.kind == "GSI"
        if pattern.facts.decides not in {"", "uniqueness"}:
            yield from _stale_decision(subject, pattern, plan, through_index=through_index)
        if pattern.facts.after and (through_index or not plan.consistent):
            writes = " and ".join(pattern.facts.after)
            lag = (
                f"index {plan.index.name} lags behind the table"
                if plan.index is not None
                else "it reads with eventual consistency"
            )
            yield decision_on_stale_read.finding(
                pattern.name,
                f"{pattern.name} can miss what {writes} just wrote: {lag}",
                "read the table by key with consistent=True, or merge the item just written into the result",
                pattern.place,
                plan.schema.place_of(plan.index),
                severity="warning",
            )


def _stale_decision(
    subject: Subject, pattern: Pattern[..., Any], plan: Plan, *, through_index: bool
) -> Iterator[Finding]:
    decision = pattern.facts.decides
    unguarded = [write for write in guarded_writes(subject, pattern) if not is_conditional(write, plan)]
    if not unguarded:
        return
    if through_index and plan.index is not None:
        problem = f"{pattern.name} decides {decision} through index {plan.index.name}, which lags behind the table"
    elif not plan.consistent:
        problem = f"{pattern.name} decides {decision} by an eventually consistent read"
    else:
        return
    if decision == "state" and all(writes_another_entity(write, plan) for write in unguarded):
        yield decision_on_stale_read.finding(
            pattern.name,
            f"{problem}, so {unguarded[0].name} can ignore a change of the last second",
            ("read the table by key with" if through_index else "declare")
            + f" consistent=True, or check the {plan.entity.name} with @table.check in the transaction of the write",
            pattern.place,
            plan.schema.place_of(plan.index),
            severity="warning",
        )
        return
    yield decision_on_stale_read.finding(
        pattern.name,
        f"{problem}, and {unguarded[0].name} has no condition: two concurrent requests both pass",
        _DECISION_FIXES.get(decision, "let a condition of the write decide"),
        pattern.place,
        plan.schema.place_of(plan.index),
        severity="error" if through_index else "warning",
    )


_MIN_ENTRIES = 5
_RATE_TOLERANCE = 0.2


@design_rule("KP312", "warning")
def n_plus_one_reads(subject: Subject) -> Iterator[Finding]:
    """N+1 reads

    Finds `get` patterns whose rate is within 20% of the rate at which a query returns items. The query must return at
    least five items per call. It must either read an index that does not project all attributes of these items, or
    return items of another entity that refers to them by a field with the same name and type. A field named `id` is not
    treated as a reference. `get` patterns are not reported if a pattern reads items of the same entity in batches.

    Why is this bad? The program probably calls the query and then gets each item. Every call to the `get` pattern costs
    at least half a read unit and a round trip. A query adds up the sizes of items before rounding: forty items of 100
    bytes use 0.5 read units with one query and 20 read units with separate reads.

    Fix: project the displayed attributes into the index, store the items in one item collection so that one query
    returns them, or read them in one batch.

    Source: developer guide, "Read and write capacity", and "Best practices for querying and scanning data".
    """
    for table in subject.tables:
        queries = [query for query in table.patterns if query.plan.operation == "Query" and query.plan.select == "all"]
        batched_entities = {
            fetch.plan.entity
            for fetch in table.patterns
            if fetch.plan.operation == "BatchGetItem" or fetch.plan.hydrated
        }
        for get in table.patterns:
            if get.plan.operation != "GetItem" or get.facts.rate is None or get.plan.entity in batched_entities:
                continue
            source_query = next(
                (query for query in queries if _is_followed_by(query, get, get.facts.rate.average)), None
            )
            if source_query is not None and source_query.facts.rate is not None:
                yield n_plus_one_reads.finding(
                    get.name,
                    f"{get.name} reads each of the {number(expected(source_query).returned)} entries of"
                    f" {source_query.name}"
                    f" separately: {number(get.facts.rate.average)} calls per second for"
                    f" {number(source_query.facts.rate.average)} lists",
                    f"project the displayed attributes into the index of {source_query.name}, or read the items"
                    " in one batch",
                    get.place,
                    source_query.place,
                )


def _is_followed_by(query: Pattern[..., Any], get: Pattern[..., Any], get_rate: float) -> bool:
    """Return True if the declared rates suggest that a program calls `query` and then calls `get` for each result.

    `query` returns partial items, or items that refer to the items that `get` returns. `get_rate` is the number of
    calls to `get` per second.
    """
    target, rate = get.plan.entity, query.facts.rate
    index = query.plan.index
    if target in query.plan.entities:
        has_references = index is not None and (index.project == "keys" or isinstance(index.project, tuple))
    else:
        needed = set(target.key.fields)
        has_references = not needed <= _partition_fields(query.plan) and any(
            _references(entity, target) for entity in query.plan.entities
        )
    if not has_references or rate is None:
        return False
    estimate = expected(query)
    entry_rate = rate.average * estimate.returned
    return (
        estimate.is_counted
        and estimate.returned >= _MIN_ENTRIES
        and abs(get_rate - entry_rate) <= _RATE_TOLERANCE * entry_rate
    )


def _references(entity: EntitySpec, target: EntitySpec) -> bool:
    """Return True if an entity contains the key fields of another entity. A field named `id` is not treated as a
    reference.
    """
    return all(name != "id" and same_field(entity, target, name) for name in target.key.fields)


def _partition_fields(plan: Plan) -> set[str]:
    """Return the fields that have the same value in all results of a query."""
    if plan.key is None:
        return set()
    return {name for value in plan.key.partition for name in value.sources}


@design_rule("KP313", "advice")
def duplicate_pattern(subject: Subject) -> Iterator[Finding]:
    """Two patterns make the same request

    Finds patterns of one table with the same operation, key, filter, order and changes.

    Why is this bad? A change to one of the patterns can be forgotten in the other, and each is priced, documented and
    tested separately.

    Fix: remove one pattern, and declare the sum of both rates on the other.

    Source: design language of keyplan (not a limit of DynamoDB).
    """
    for table in subject.tables:
        patterns_by_shape: dict[Hashable, tuple[str, Place]] = {}
        for pattern in table.patterns:
            shape = _request_shape(pattern.plan)
            if shape in patterns_by_shape:
                name, place = patterns_by_shape[shape]
                yield duplicate_pattern.finding(
                    pattern.name,
                    f"{pattern.name} and {name} make the same request, and each is priced and tested separately",
                    "keep one of them, with the sum of the rates",
                    pattern.place,
                    place,
                )
            patterns_by_shape.setdefault(shape, (pattern.name, pattern.place))


def _request_shape(plan: Plan) -> Hashable:
    """Return the request of a plan in a comparable form, without the names of the pattern's parameters."""
    key = plan.key
    return (
        plan.operation,
        plan.index.name if plan.index is not None else None,
        tuple(entity.name for entity in plan.entities),
        None if key is None else tuple(_value_shape(value) for value in key.partition),
        None
        if key is None
        else tuple((condition.op, _value_shape(condition.low), _value_shape(condition.high)) for condition in key.sort),
        _operand_shape(plan.filter),
        _operand_shape(plan.condition),
        _operand_shape(plan.replaceable),
        (plan.exists, plan.version is None, plan.item is None, plan.expired, plan.returns),
        tuple((action.method, _operand_shape(action.path), _operand_shape(action.source)) for action in plan.actions),
        tuple(plan.assumed),
        (plan.descending, plan.consistent, plan.select, plan.limit, plan.page_size),
        (plan.view, plan.hydrated),
    )


def _value_shape(value: KeyValue | None) -> Hashable:
    if value is None:
        return None
    text = value.template.text if value.template is not None else None
    return (
        value.attribute,
        text,
        value.part,
        tuple((name, _operand_shape(source)) for name, source in value.sources.items()),
    )


def _operand_shape(operand: object) -> Hashable:
    if isinstance(operand, Param):
        return "parameter"
    if isinstance(operand, Each):
        return "each", _operand_shape(operand.values)
    if isinstance(operand, FieldPath):
        return tuple(_operand_shape(part) for part in operand.parts)
    if isinstance(operand, FieldSize):
        return "size", _operand_shape(operand.path)
    if isinstance(operand, Condition):
        op = (
            operand.op
            if isinstance(operand, CompareCondition)
            else operand.name
            if isinstance(operand, FunctionCondition)
            else ""
        )
        return type(operand).__name__, op, tuple(_operand_shape(part) for part in operand.operands())
    return repr(operand)


@design_rule("KP316", "advice", of_absence=True)
def missing_rate(subject: Subject) -> Iterator[Finding]:
    """Pattern has no rate

    Finds patterns without `rate=` in designs in which at least half of the patterns declare a rate. All such patterns
    are reported in one finding. Patterns that are steps of transactions do not require a rate.

    Why is this bad? A pattern without a rate adds no cost to estimates, and rules for throughput, hot keys and cost
    ignore it.

    Fix: declare at least the order of magnitude. For example, `rate=Rate(average=20, peak=200)` declares calls per
    second, and `rate=Rate.monthly(1_000_000)` declares calls per month.

    Source: design language of keyplan; developer guide, "NoSQL design": know the access patterns first.
    """
    steps = {id(step) for transaction in subject.design.transactions for step in transaction.plan.steps}
    relevant = [
        candidate
        for candidate in subject.design.patterns
        if candidate.kind != "check" and id(candidate.plan) not in steps
    ]
    missing = [pattern for pattern in relevant if pattern.facts.rate is None]
    if len(missing) <= len(relevant) / 2:
        for pattern in missing:
            yield missing_rate.finding(
                pattern.name,
                f"estimates and load checks ignore patterns without a rate: {pattern.name}",
                "declare one: rate=Rate(average=20, peak=200)",
                pattern.place,
                item=pattern.name,
            )
