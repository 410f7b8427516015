"""Rules for the results of queries: their number, order and range."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from uuid import UUID

from keyplan import limits
from keyplan.check.field_names import has_time_ordered_type, is_time_by_type, monotonic_start, words_of
from keyplan.check.finding import Finding, number
from keyplan.check.key_overlap import as_template, overlap, prefix_overlap, template_of
from keyplan.check.rule import design_rule
from keyplan.check.sort_order import order_of
from keyplan.check.subject import Subject
from keyplan.cost.expected import expected
from keyplan.cost.sizes import read_size
from keyplan.design.declaring.patterns import Pattern
from keyplan.design.entities import EntitySpec
from keyplan.design.errors import Place
from keyplan.design.fields.stored import StoredField
from keyplan.design.keys.encodings import MONTH, PERIODS_S
from keyplan.design.keys.entity_keys import BoundKey, BoundKeyAttribute
from keyplan.design.keys.overlaps import Overlap
from keyplan.design.keys.placeholders import BoundPlaceholder
from keyplan.design.keys.templates import BoundTemplate
from keyplan.design.parameters import CALL_SOURCES, Param, Source
from keyplan.design.planning.plan import KeySelection, KeyValue, Plan, SortCondition


@design_rule("KP309", "warning")
def unbounded_query(subject: Subject) -> Iterator[Finding]:
    """Query has no limit

    Finds queries without a limit that read more than a page (1 MB, 128 read units with eventual consistency) according
    to the declared item counts and sizes. Also finds queries without a limit on a constant partition key, or for a
    whole month or year, if the number of items is unknown. A range condition is assumed to match the whole partition
    unless `expected_items=` is declared.

    Why is this bad? A query without a limit reads to the end of its partition: a partition with three items in a test
    can have a thousand pages in production.

    Fix: declare `limit=` or `page_size=` and continue with the cursor, query a range of the sort key, or add a field to
    the partition key that divides the data further, such as the month.

    Source: developer guide, "Paginating table query results"; "Best practices for querying and scanning data".
    """
    for _, pattern, plan in subject.patterns:
        if plan.operation != "Query" or plan.limit or plan.page_size or plan.select == "count" or plan.faults:
            continue
        estimate = expected(pattern)
        read = estimate.evaluated * _average_bytes(plan)
        if estimate.is_counted and read > limits.PAGE_BYTES:
            problem = (
                f"{pattern.name} has no limit and {number(estimate.evaluated)} items to read, {read / 1e6:,.1f} MB for"
                f" {number(estimate.units.read)} read units"
            )
        elif not estimate.is_counted and pattern.facts.expected_items is None and _is_constant_partition(plan):
            problem = (
                f"{pattern.name} reads one partition that all calls share and that grows with each new"
                f" {plan.entity.name}"
            )
        elif not estimate.is_counted and pattern.facts.expected_items is None and (period := _whole_period(plan)):
            problem = (
                f"{pattern.name} reads all {plan.entity.name} items of a {period}, and nothing bounds their number"
            )
        else:
            continue
        yield unbounded_query.finding(
            pattern.name,
            problem,
            "declare limit= or page_size= and continue with the cursor, or "
            + (
                "declare expected_items= with the number of items in the range"
                if _has_sort_range(plan)
                else "query a range of the sort key"
            ),
            pattern.place,
            plan.entity.place,
        )


def _has_sort_range(plan: Plan) -> bool:
    return plan.key is not None and any(condition.op not in {"=", "begins_with"} for condition in plan.key.sort)


def _average_bytes(plan: Plan) -> float:
    sizes = [read_size(entity, plan.index).average for entity in plan.entities]
    return sum(sizes) / len(sizes)


def _is_constant_partition(plan: Plan) -> bool:
    """Return True if every call uses the same partition key and no condition on a sort key field."""
    if plan.key is None:
        return False
    sources = [source for value in plan.key.partition for source in value.sources.values()]
    fixed = not any(isinstance(source, CALL_SOURCES) for source in sources)
    return fixed and not any(condition.low.sources or condition.high is not None for condition in plan.key.sort)


def _whole_period(plan: Plan) -> str:
    """Return "month" or "year" if a query reads all items of the month or year in its partition key. Otherwise, return
    an empty string.
    """
    if plan.key is None or plan.key.sort:
        return ""
    placeholders = [
        placeholder for value in plan.key.partition if value.template for placeholder in value.template.placeholders
    ]
    return next(
        (
            placeholder.spec
            for placeholder in placeholders
            if PERIODS_S.get(placeholder.spec, 0) >= PERIODS_S[MONTH.name]
        ),
        "",
    )


@design_rule("KP311", "error", conflicts=True)
def unsupported_order(subject: Subject) -> Iterator[Finding]:
    """Query cannot return the declared order

    Finds patterns with `ordered_by` (`"due_at"`, or `"-due_at"` for the highest first) if their results are not sorted
    by that field.

    Why is this bad? A query returns items in the order of the sort key, ascending or descending. Words sort
    alphabetically: high, low, medium, urgent. A scan has no order.

    Fix: put the field first in the sort key of an index: numbers with padding, timestamps in a format such as `utc_ms`,
    and words with their rank (`{priority:rank(urgent,high,medium,low)}`). Alternatively, sort the results in the
    program if they fit into one page.

    Source: developer guide, "Query" (order of results and ScanIndexForward).
    """
    for _, pattern, plan in subject.patterns:
        order = pattern.facts.ordered_by
        if not order or plan.operation not in {"Query", "Scan"} or plan.faults:
            continue
        name = order.removeprefix("-")
        if any(name not in entity.fields for entity in plan.entities):
            continue  # KP201 reports unknown names
        problem = next(_order_problems(plan, name, highest_first=order != name), None)
        if problem is not None:
            yield _order_finding(pattern, plan, *problem)


def _order_problems(plan: Plan, name: str, *, highest_first: bool) -> Iterator[tuple[str, str]]:
    """Yield each reason why results are not sorted by a field, with an instruction for fixing it.

    If `highest_first` is True, results must be sorted in descending order.
    """
    if plan.operation == "Scan":
        yield "a scan has no order", f"query an index whose sort key starts with {name}"
        return
    if _is_grouped_by_entity(plan):
        names = " and ".join(entity.name for entity in plan.entities)
        yield (
            f"the sort keys of {names} start differently, so that all items of one come first",
            "sort the results in the program",
        )
    for entity in plan.entities:
        yield from _entity_order_problems(plan, entity, name)
    if highest_first and not plan.descending:
        yield "it reads in ascending order", "declare descending=True"


def _entity_order_problems(plan: Plan, entity: EntitySpec, name: str) -> Iterator[tuple[str, str]]:
    order = list(order_of(plan, entity))
    bound = entity.key_in(plan.index)
    sort = " and ".join(part.attribute for part in bound.sort) if bound is not None else ""
    if not order:
        fixed = (
            {field for condition in plan.key.sort for field in condition.low.sources} if plan.key is not None else set()
        )
        if bound is not None and bound.sort and (name in fixed or name in bound.fields):
            return
        yield f"{sort or 'the key'} does not contain {name}", f"add an index whose sort key starts with {name}"
    elif order[0].field != name:
        yield (
            f"the sort key ({order[0].text}) orders by {order[0].field} first",
            f"add an index whose sort key starts with {name}",
        )
    elif not order[0].in_order and bound is not None:
        yield (
            f"the sort key ({order[0].text}) orders the text of {name}{_stored_order(bound, name)}",
            _order_fix(entity, name),
        )


def _order_fix(entity: EntitySpec, name: str) -> str:
    """Return an instruction for declaring a key that sorts by the values of a field."""
    field = entity.fields[name]
    choices = field.declared.stored_choices
    if choices:
        order = ",".join(map(str, choices))
        return f"write {{{name}:rank({order})}} into the key, in the intended order"
    return f"write {{{name}:010d}}" if field.type_code == "N" else f"write {{{name}:utc_ms}}"


def _stored_order(bound: BoundKey, name: str) -> str:
    """Return text to append to a message about a sort key.

    If the sort key contains the field's choices as text, the appended text lists them in the order of the sort key.
    Otherwise, the appended text says that the sort key does not sort by the field's values.
    """
    for part in bound.sort:
        template = as_template(part)
        for placeholder in template.placeholders if template is not None else ():
            if placeholder.name == name and placeholder.encoding.choices is not None:
                return f": {', '.join(sorted(placeholder.encoding.choices))}"
    return ", which does not sort by its values"


def _is_grouped_by_entity(plan: Plan) -> bool:
    """Return True if the entities that a query returns have different sort key prefixes, so its results are grouped by
    entity.
    """
    starts = set()
    for entity in plan.entities:
        bound = entity.key_in(plan.index)
        template = as_template(bound.sort[0]) if bound is not None and bound.sort else None
        starts.add(template.literal_prefix if template is not None else "")
    return len(starts) > 1


def _order_finding(pattern: Pattern[..., Any], plan: Plan, problem: str, fix: str) -> Finding:
    declared = pattern.facts.ordered_by or ""
    order = declared if not declared.startswith("-") else f"{declared[1:]}, highest first"
    other: Place = plan.index.place if plan.index is not None else plan.entity.key.place
    return unsupported_order.finding(
        pattern.name, f"{pattern.name} cannot return its results by {order}: {problem}", fix, pattern.place, other
    )


_OFFSET_NAMES = frozenset({"offset", "skip", "page", "page_number", "page_no", "page_index"})
_COSTLY_COUNT = 10.0
"""The number of read units per count above which maintaining a counter is nearly always cheaper."""


@design_rule("KP317", "warning", "advice")
def offset_or_count(subject: Subject) -> Iterator[Finding]:
    """Pagination by offset, or count by reading all items

    Finds `count` patterns that use at least ten read units (warning), and queries and scans with a parameter named
    offset, skip or page (advice).

    Why is this bad? DynamoDB does not support offsets: to read page 50, a program must read pages 1 to 49. A `count`
    pattern reads every item, is billed for the size of all items, and needs one request per 1 MB of items.

    Fix: continue with the cursor of the previous page. Store a count in an item that is updated in the same transaction
    as the write (`.add(count=1)`). If a delay is acceptable, a consumer of the stream can update this item.

    Source: developer guide, "Paginating table query results" and "Counting the items in the results".
    """
    for _, pattern, plan in subject.patterns:
        offset = next((name for name in pattern.parameters if words_of(name) in _OFFSET_NAMES), None)
        if plan.operation in {"Query", "Scan"} and offset is not None:
            yield offset_or_count.finding(
                pattern.name,
                f"{pattern.name} reads and pays for all earlier pages: DynamoDB has no offset, so {offset} has"
                " no effect",
                "remove it, and continue with the cursor of the previous page",
                pattern.place,
                severity="advice",
            )
        if plan.select == "count" and not plan.faults:
            estimate = expected(pattern)
            if estimate.is_counted and estimate.units.read >= _COSTLY_COUNT:
                yield offset_or_count.finding(
                    pattern.name,
                    f"{pattern.name} counts by reading {number(estimate.evaluated)} items,"
                    f" {number(estimate.units.read)}"
                    " read units each time",
                    "keep the count in an item, updated with .add(...) in the transaction of the counted item",
                    pattern.place,
                    plan.entity.place,
                )


@design_rule("KP320", "error", "warning")
def range_end_excluded(subject: Subject) -> Iterator[Finding]:
    """Range excludes keys that start with its upper bound

    Finds range conditions on the sort key whose bound is only the start of a key, not a complete key. With BETWEEN and
    <=, keys that start with the upper bound are excluded (error). With >, keys that start with the lower bound are
    included (warning).

    Why is this bad? Ranges compare whole keys. `BETWEEN "DUE#2025-10-01#" AND "DUE#2025-10-31#"` excludes all tasks of
    the 31st, because `DUE#2025-10-31#task-7` is greater than `DUE#2025-10-31#`. Conversely, the condition `>
    "DUE#2025-10-31#"` includes all tasks of the 31st.

    Fix: use an upper bound that is greater than all keys with the prefix, such as `DUE#{end}$` ("$" is the next
    character after "#"). Alternatively, pass field values: `sk.between(due=(start, end))` includes both ends.

    Source: developer guide, "Key condition expressions for the Query operation" and "Supported data types and naming
    rules" (Strings are compared by their UTF-8 bytes).
    """
    for _, pattern, plan in subject.patterns:
        if plan.operation != "Query" or plan.key is None:
            continue
        for condition in plan.key.sort:
            yield from _excluded_end(pattern, plan, condition)


def _excluded_end(pattern: Pattern[..., Any], plan: Plan, condition: SortCondition) -> Iterator[Finding]:
    end = {"BETWEEN": condition.high, "<=": condition.low, ">": condition.low}.get(condition.op)
    if end is None or end.part != "whole" or end.template is None:
        return
    for entity in plan.entities:
        bound = entity.key_in(plan.index)
        part = (
            next((attribute for attribute in bound.sort if attribute.attribute == end.attribute), None)
            if bound is not None
            else None
        )
        overlap = _key_with_prefix(end, part) if part is not None else None
        if bound is None or part is None or overlap is None:
            continue
        text = end.template.text
        includes_keys = condition.op == ">"
        yield range_end_excluded.finding(
            pattern.name,
            f"{pattern.name} {'includes' if includes_keys else 'misses'} all keys such as {overlap.text}: they"
            " sort after the"
            f" bound"
            f' {part.attribute} {condition.op} "{text}", their prefix',
            f'write the bound after them, "{_bound_past(text)}", or give the fields and let the planner'
            " bound the range",
            pattern.place,
            bound.place,
            severity="warning" if includes_keys else "error",
        )


def _key_with_prefix(end: KeyValue, part: BoundKeyAttribute) -> Overlap | None:
    """Return a key that starts with the bound `end` of a range and continues after it.

    Return None if no key starts with the bound, or if a stored key can be equal to the bound.
    """
    query_template, key_template = template_of(end), as_template(part)
    if query_template is None or key_template is None or end.template is part.template:
        return None
    equal = overlap((query_template,), (key_template,))
    if equal is not None and equal.plain:
        return None
    longer = prefix_overlap(query_template, key_template, frozenset(query_template.fields))
    return longer if longer is not None and longer.plain else None


def _bound_past(text: str) -> str:
    if text.endswith("}"):
        return text + "\\uffff"
    return text[:-1] + chr(ord(text[-1]) + 1)


_PERIOD_NAMES = {"date": "day"}


_NEWEST_NAME = re.compile(r"(^|_)(recent|latest|newest|last)($|_)")


@design_rule("KP321", "advice")
def oldest_instead_of_newest(subject: Subject) -> Iterator[Finding]:
    """Query for the newest items returns the oldest

    Finds limited queries that do not return the newest items, although their name contains `recent`, `latest`, `newest`
    or `last`. The sort key of such a query either contains the time of the write and is read in ascending order, or
    starts with a random UUID. Queries with a range that the caller passes, and queries with a declared order
    (`ordered_by=`), are not reported.

    Why is this bad? By default, a query reads in ascending order of the sort key. With a limit, it always returns the
    oldest items. Random IDs are not sorted by time in either direction.

    Fix: declare `descending=True`, and put a timestamp first in the sort key (`{created_at:utc_ms}#{id}`).

    Source: developer guide, "Querying tables in DynamoDB" (ScanIndexForward defaults to true).
    """
    for _, pattern, plan in subject.patterns:
        limit = plan.limit or plan.page_size
        if (
            plan.operation != "Query"
            or plan.descending
            or limit is None
            or not _NEWEST_NAME.search(words_of(pattern.name))
        ):
            continue
        bound = plan.entity.key_in(plan.index)
        field = None if bound is None or _has_range_parameters(plan) else monotonic_start(bound.sort, plan.entity)
        if bound is not None and field is not None:
            yield oldest_instead_of_newest.finding(
                pattern.name,
                f"{pattern.name} returns the {limit} oldest items: it reads {field} in ascending order",
                "declare descending=True",
                pattern.place,
                bound.place,
            )
        elif bound is not None and (random_field := _random_start(plan)) and not pattern.facts.ordered_by:
            yield oldest_instead_of_newest.finding(
                pattern.name,
                f"{pattern.name} returns {limit} items of any age: its sort key orders by {random_field}, a"
                " random UUID",
                "read a sort key that starts with a timestamp, with descending=True",
                pattern.place,
                bound.place,
            )


def _random_start(plan: Plan) -> str:
    """Return the first field by which a query's results are sorted, if it contains random UUIDs. Otherwise, return an
    empty string.

    The result is also empty if the query returns several entities or has a range.
    """
    first = next(iter(order_of(plan, plan.entity)), None) if len(plan.entities) == 1 else None
    field = plan.entity.fields.get(first.field) if first is not None and not _has_range_parameters(plan) else None
    return field.name if field is not None and field.annotation is UUID and not has_time_ordered_type(field) else ""


def _has_range_parameters(plan: Plan) -> bool:
    """Return True if a query has a range on the sort key, or a sort key condition that contains fields."""
    return plan.key is not None and any(
        condition.low.sources or condition.high is not None for condition in plan.key.sort
    )


@design_rule("KP326", "warning")
def descending_by_choice(subject: Subject) -> Iterator[Finding]:
    """Descending query sorts by a field with choices before the time

    Finds queries with `descending=True` whose sort key contains a field with declared choices (`Literal`, `Enum`)
    before a time or a time-ordered ID. Only the types of the fields are considered, not their names. Counts, queries
    with `ordered_by=`, and choices that are stored as ranks (`{status:rank(...)}`) are not reported.

    Why is this bad? The sort key `STATUS#{status}#{created_at:utc_ms}` sorts items by status first. In descending
    order, a query returns all "waiting" items before all "done" items. The latest item can be on the last page, and a
    query with a limit returns items with only one status.

    Fix: query for one choice at a time (`pk(...).sk(status=status)`), or read an index whose sort key starts with the
    timestamp. Suppress the finding if the groups are intended.

    Source: developer guide, "Querying tables in DynamoDB" (results are sorted by the sort key, Strings by their UTF-8
    bytes; ScanIndexForward).
    """
    for _, pattern, plan in subject.patterns:
        is_excluded = plan.operation != "Query" or not plan.descending or plan.select == "count" or plan.faults
        if is_excluded or pattern.facts.ordered_by:
            continue
        pair = next((pair for entity in plan.entities if (pair := _choice_before_time(plan, entity))), None)
        if pair is None:
            continue
        choice_field, time_field = pair
        last, *_, first = sorted(map(str, choice_field.declared.stored_choices), reverse=True)
        yield descending_by_choice.finding(
            pattern.name,
            f"{pattern.name} does not return the latest items first: its sort key orders by {choice_field.name} before"
            f' {time_field.name}, so that all of "{last}" come before "{first}"',
            f"query one {choice_field.name} at a time, or read an index whose sort key starts with {time_field.name}",
            pattern.place,
            plan.index.place if plan.index is not None else plan.entity.key.place,
        )


def _choice_before_time(plan: Plan, entity: EntitySpec) -> tuple[StoredField, StoredField] | None:
    """Return a field with choices and a time field if query results are sorted by these two fields, in this order.
    Otherwise, return None.
    """
    fields = [entity.fields[attribute.field] for attribute in order_of(plan, entity)][:2]
    if len(fields) < 2 or _is_ranked(plan, entity, fields[0].name):
        return None
    choice_field, time_field = fields
    words = choice_field.declared.stored_choices
    by_word = len(words) > 1 and all(isinstance(word, str) for word in words)
    return (
        (choice_field, time_field)
        if by_word and (is_time_by_type(time_field) or has_time_ordered_type(time_field))
        else None
    )


def _is_ranked(plan: Plan, entity: EntitySpec, name: str) -> bool:
    """Return True if a sort key contains the rank of a field's choice instead of the choice."""
    bound = entity.key_in(plan.index)
    templates = [as_template(part) for part in bound.sort] if bound is not None else []
    placeholders = [
        placeholder for template in templates if template is not None for placeholder in template.placeholders
    ]
    return any(placeholder.name == name and placeholder.spec.startswith("rank") for placeholder in placeholders)


@design_rule("KP325", "warning")
def range_crosses_period(subject: Subject) -> Iterator[Finding]:
    """Range crosses the period of its partition

    Finds queries for a range of timestamps if the queried partition key contains the month (or another period) of one
    bound of the range. A query is not reported if the caller passes the period as a separate parameter.

    Why is this bad? A key such as `METER#{meter}#{at:month}` stores each month in a separate partition, and a query
    reads one partition. `pk(meter=meter, at=start).sk.between(at=(start, end))` reads the month of `start` and omits
    the rest of the range without an error.

    Fix: read all periods: `pk(meter=meter, at=each(months))` with a list of timestamps, one in each month of the range.
    Suppress the finding if callers never pass a range that extends over several periods.

    Source: developer guide, "Best practices for handling time series data in DynamoDB".
    """
    for _, pattern, plan in subject.patterns:
        if plan.operation != "Query" or plan.key is None:
            continue
        bound = plan.entities[0].key_in(plan.index)
        for value, template, placeholder in _partition_periods(plan.key):
            source = value.sources[placeholder.name]
            if not _is_range_end(source, plan.key, placeholder.name):
                continue
            period = _PERIOD_NAMES.get(placeholder.spec, placeholder.spec)
            yield range_crosses_period.finding(
                pattern.name,
                f"{pattern.name} misses the part of its {placeholder.name} range in other {period}s: it reads the"
                f" {period} of {source!r} alone ({value.attribute} = {template.text})",
                f"query every {period} that the range covers: {placeholder.name}=each({period}s) in"
                " pk(...), with one value for each",
                pattern.place,
                bound.place if bound is not None else None,
            )


def _partition_periods(key: KeySelection) -> Iterator[tuple[KeyValue, BoundTemplate, BoundPlaceholder]]:
    """Yield the placeholders in a partition key that shorten a timestamp parameter to a period, such as a month.

    Each result contains the value of the key condition, its template, and the placeholder.
    """
    for value in key.partition:
        template = value.template
        for placeholder in template.placeholders if template is not None else ():
            shortens = placeholder.encoding.rounds_to is not None and not placeholder.encoding.reversible
            if template is not None and shortens and isinstance(value.sources.get(placeholder.name), Param):
                yield value, template, placeholder


def _is_range_end(source: Source, key: KeySelection, field: str) -> bool:
    """Return True if `source` is the value of only one end of a range over the field, not of both ends."""
    ranges = (condition for condition in key.sort if condition.op not in {"=", "begins_with"})
    ends = [
        repr(end.sources[field])
        for condition in ranges
        for end in (condition.low, condition.high)
        if end and field in end.sources
    ]
    return repr(source) in ends and ends != [repr(source)] * 2
