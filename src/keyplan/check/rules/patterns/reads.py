"""Rules: reads."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

from keyplan.check.finding import Finding, number
from keyplan.check.rule import design_rule, fault_rule
from keyplan.check.subject import Subject
from keyplan.cost.expected import expected
from keyplan.cost.selectivity import same_field
from keyplan.design.conditions.conditions import Comparison, Condition, FieldPath, FieldSize, FunctionCondition
from keyplan.design.declaring.patterns import Pattern
from keyplan.design.entities import EntitySpec
from keyplan.design.errors import Place
from keyplan.design.parameters import Each, Param
from keyplan.design.planning.plan import KeyValue, Plan

consistent_read_of_global_index = fault_rule(
    "KP304",
    "consistent-read-of-global-index",
    """A consistent read is asked of a global index

    A global secondary index is filled after the write has been acknowledged, so it has no strongly consistent
    reads: the service refuses `ConsistentRead` on it.

    Read the table by its own key, or a local index, where the answer must show every write. Where it need not,
    leave the option out and let the program live with an answer that is a moment old.

    Source: developer guide, "DynamoDB read consistency".
    """,
)


_DECISION_FIXES = {
    "quota": "count in an item with add(...) and a condition on the count, in the transaction of what is counted",
    "state": "put the state into the condition of the write that depends on it: when(F.status == ...)",
}


@design_rule("KP305", "error", "warning")
def decision_on_stale_read(subject: Subject) -> Iterator[Finding]:
    """A decision rests on a read that may be old

    A global index shows a write a moment after it was acknowledged, and an eventually consistent read of the table
    may miss the last second. A program that decides by such an answer (is the quota used up, is the order still
    open) decides wrongly exactly when two requests come close together.

    Let the write itself decide: a condition on the item or a counter with a condition, in one transaction where
    several items are concerned. A pattern that must show a write just made (`after=`) reads the table, consistently.
    Reads that decide uniqueness, which not even a consistent one can, are KP605's.

    Source: developer guide, "DynamoDB read consistency" and "Condition expressions".
    """
    for _, pattern, plan in subject.patterns:
        if not plan.reading:
            continue
        through_index = plan.index is not None and plan.index.kind == "GSI"
        if pattern.facts.decides not in {"", "uniqueness"}:
            yield from _stale_decision(pattern, plan, through_index=through_index)
        if pattern.facts.after and (through_index or not plan.consistent):
            writes = " and ".join(pattern.facts.after)
            lag = f"index {plan.index.name} lags behind" if plan.index is not None else "it reads eventually consistent"
            yield decision_on_stale_read.finding(
                pattern.name,
                f"{pattern.name} is to show what {writes} wrote at once, and {lag}",
                "read the table by key with consistent=True, or merge the item just written into what is shown",
                pattern.place,
                plan.schema.place_of(plan.index),
                severity="warning",
            )


def _stale_decision(pattern: Pattern[..., Any], plan: Plan, *, through_index: bool) -> Iterator[Finding]:
    what = pattern.facts.decides
    if through_index and plan.index is not None:
        problem = f"{pattern.name} decides {what} by index {plan.index.name}, which shows writes later"
    elif not plan.consistent:
        problem = f"{pattern.name} decides {what} by an eventually consistent read"
    else:
        return
    yield decision_on_stale_read.finding(
        pattern.name,
        f"{problem}: two requests at once both pass",
        _DECISION_FIXES.get(what, "let a condition of the write decide"),
        pattern.place,
        plan.schema.place_of(plan.index),
        severity="error" if through_index else "warning",
    )


_FEWEST_ENTRIES = 5
_RATE_TOLERANCE = 0.2


@design_rule("KP312", "warning")
def n_plus_one_reads(subject: Subject) -> Iterator[Finding]:
    """A list, and then a read for each of its members

    The declared rates say that items are read one by one about as often as a list of them returns entries, and the list
    holds less than the items: an index that projects keys, or entities that only point to them. So the program lists,
    and then gets each. Every get costs at least half a read unit and a round trip, while a query sums sizes before it
    rounds: forty items of 100 bytes cost 0.5 units by one query and 20 by gets. Found of lists of five entries and
    more, where the gets are as often as these, give or take a fifth.

    An entity points to another by a field of the same name and type; one that is only called `id` is its own. Nothing
    is found where nothing tells how many entries are listed, or where a pattern reads the items in batches.

    Project what is shown into the index, keep the items in one collection so that one query returns them, or read
    them in one batch.

    Source: developer guide, "Read and write capacity", and "Best practices for querying and scanning data".
    """
    for table in subject.tables:
        lists = [one for one in table.patterns if one.plan.operation == "Query" and one.plan.select == "all"]
        in_batches = {one.plan.entity for one in table.patterns if one.plan.operation == "BatchGetItem"}
        for one in table.patterns:
            if one.plan.operation != "GetItem" or one.facts.rate is None or one.plan.entity in in_batches:
                continue
            listed = next((many for many in lists if _is_followed_by(many, one, one.facts.rate.average)), None)
            if listed is not None and listed.facts.rate is not None:
                yield n_plus_one_reads.finding(
                    one.name,
                    f"{one.name} is called {number(one.facts.rate.average)} times a second, about once for each of the"
                    f" {number(expected(listed).returned)} entries that {listed.name} lists"
                    f" {number(listed.facts.rate.average)} times a second",
                    "project what is shown into what is listed, or read the members in one batch",
                    one.place,
                    listed.place,
                )


def _is_followed_by(many: Pattern[..., Any], one: Pattern[..., Any], gets: float) -> bool:
    """Whether a list holds too little of what is got, and is called so often that each entry is got once."""
    wanted, rate = one.plan.entity, many.facts.rate
    index = many.plan.index
    if wanted in many.plan.entities:
        points = index is not None and (index.project == "keys" or isinstance(index.project, tuple))
    else:
        needed = set(wanted.key.fields)
        points = not needed <= _partition_fields(many.plan) and any(
            _references(entity, wanted) for entity in many.plan.entities
        )
    if not points or rate is None:
        return False
    told = expected(many)
    listed = rate.average * told.returned
    return told.is_counted and told.returned >= _FEWEST_ENTRIES and abs(gets - listed) <= _RATE_TOLERANCE * listed


def _references(entity: EntitySpec, wanted: EntitySpec) -> bool:
    """Whether an entity names the key of another: a field that is only called id is its own."""
    return all(name != "id" and same_field(entity, wanted, name) for name in wanted.key.fields)


def _partition_fields(plan: Plan) -> set[str]:
    """Fields that are the same in all that a query returns."""
    if plan.key is None:
        return set()
    return {name for value in plan.key.partition for name in value.sources}


@design_rule("KP313", "advice")
def duplicate_pattern(subject: Subject) -> Iterator[Finding]:
    """Two patterns are one

    Both make the same request of the same arguments: the same operation on the same key, filter, order and
    changes. Two names for one thing drift apart, and each is priced, documented and tested for itself.

    Keep one of them. Where the two differ in how often they are called, one pattern with the sum of the rates says
    the same.

    Source: keyplan's own rule: a design says each thing once.
    """
    for table in subject.tables:
        seen: dict[Hashable, tuple[str, Place]] = {}
        for pattern in table.patterns:
            shape = _request_shape(pattern.plan)
            if shape in seen:
                name, place = seen[shape]
                yield duplicate_pattern.finding(
                    pattern.name,
                    f"{pattern.name} asks for exactly what {name} asks for",
                    "keep one of them",
                    pattern.place,
                    place,
                )
            seen.setdefault(shape, (pattern.name, pattern.place))


def _request_shape(plan: Plan) -> Hashable:
    """What a plan asks, without the names of its parameters."""
    key = plan.key
    return (
        plan.operation,
        plan.index.name if plan.index is not None else None,
        tuple(entity.name for entity in plan.entities),
        None if key is None else tuple(_value_shape(value) for value in key.partition),
        None if key is None else tuple((one.op, _value_shape(one.low), _value_shape(one.high)) for one in key.sort),
        _operand_shape(plan.filter),
        _operand_shape(plan.condition),
        _operand_shape(plan.replace_when),
        (plan.exists, plan.version is None, plan.item is None, plan.expired, plan.returns),
        tuple((action.word, _operand_shape(action.path), _operand_shape(action.source)) for action in plan.actions),
        tuple(plan.known),
        (plan.descending, plan.consistent, plan.select, plan.limit, plan.page_size),
    )


def _value_shape(value: KeyValue | None) -> Hashable:
    if value is None:
        return None
    written = value.template.text if value.template is not None else None
    return (
        value.attribute,
        written,
        value.part,
        tuple((name, _operand_shape(one)) for name, one in value.sources.items()),
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
            if isinstance(operand, Comparison)
            else operand.name
            if isinstance(operand, FunctionCondition)
            else ""
        )
        return type(operand).__name__, op, tuple(_operand_shape(one) for one in operand.operands())
    return repr(operand)


_SHOWN_NAMES = 6


@design_rule("KP316", "advice")
def missing_rate(subject: Subject) -> Iterator[Finding]:
    """Patterns do not say how often they are called

    Without a rate a pattern costs nothing in the estimate, and no check of throughput, hot keys or cost can say
    anything about it. An order of magnitude is enough: `rate=Rate(average=20, peak=200)` calls a second, or
    `Rate.monthly(1_000_000)`.

    Steps of transactions need none: they are counted with the transaction.

    Source: keyplan's own rule; developer guide, "NoSQL design": know the questions and their load first.
    """
    steps = {id(step) for transaction in subject.design.transactions for step in transaction.plan.steps}
    for table in subject.tables:
        lacking = [
            pattern
            for pattern in table.patterns
            if pattern.facts.rate is None and pattern.kind != "check" and id(pattern.plan) not in steps
        ]
        if lacking:
            names = ", ".join(pattern.name for pattern in lacking[:_SHOWN_NAMES])
            more = f" and {len(lacking) - _SHOWN_NAMES} more" if len(lacking) > _SHOWN_NAMES else ""
            yield missing_rate.finding(
                table.name,
                f"{len(lacking)} of {len(table.patterns)} patterns of table {table.name} declare no rate:"
                f" {names}{more}",
                "declare one: rate=Rate(average=20, peak=200)",
                lacking[0].place,
                table.schema.place,
            )
