"""Rules: results."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from keyplan import limits
from keyplan.check.field_names import monotonic_start, words_of
from keyplan.check.finding import Finding, number
from keyplan.check.key_overlap import as_template, begins, overlap, template_of
from keyplan.check.rule import design_rule
from keyplan.check.sort_order import order_of
from keyplan.check.subject import Subject
from keyplan.cost.expected import expected
from keyplan.cost.sizes import read_size
from keyplan.design.declaring.patterns import Pattern
from keyplan.design.entities import EntitySpec
from keyplan.design.errors import Place
from keyplan.design.keys.entity_keys import BoundKey, BoundKeyAttribute
from keyplan.design.keys.holes import BoundHole
from keyplan.design.keys.overlaps import Overlap
from keyplan.design.keys.templates import BoundTemplate
from keyplan.design.parameters import CALL_SOURCES, Param, Source
from keyplan.design.planning.plan import KeyRange, KeyValue, Plan, SortCondition


@design_rule("KP309", "warning")
def unbounded_query(subject: Subject) -> Iterator[Finding]:
    """A query has no end

    A query without a limit goes on to the end of its partition: what was three items in the test is a thousand
    pages in the third year. By the declared numbers there is more than a page to read (1 MB, 128 read units when
    eventually consistent); or it reads a partition that all items share, whose size nothing bounds.

    Give it `limit=` or `page_size=`, and go on with the cursor; ask for a range of the sort key; or split the
    partition by something that grows with the data, such as the month. How much a range holds is not guessed, but taken
    to be all: `returns=` says it.

    Source: developer guide, "Paginating table query results"; "Best practices for querying and scanning data".
    """
    for _, pattern, plan in subject.patterns:
        if plan.operation != "Query" or plan.limit or plan.page_size or plan.select == "count" or plan.faults:
            continue
        told = expected(pattern)
        read = told.evaluated * _average_bytes(plan)
        if told.is_counted and read > limits.PAGE_BYTES:
            problem = (
                f"{pattern.name} has no limit, and {number(told.evaluated)} items to read, {read / 1e6:,.1f} MB for"
                f" {number(told.units.read)} read units to the end"
            )
        elif not told.is_counted and pattern.facts.returns is None and _is_constant_partition(plan):
            problem = f"{pattern.name} reads one partition for every call, however many {plan.entity.name} are in it"
        else:
            continue
        yield unbounded_query.finding(
            pattern.name,
            problem,
            "set limit= or page_size= and go on with the cursor, or "
            + (
                "declare returns= with what the range holds"
                if _has_sort_range(plan)
                else "ask for a range of the sort key"
            ),
            pattern.place,
            plan.entity.place,
        )


def _has_sort_range(plan: Plan) -> bool:
    return plan.key is not None and any(one.op not in {"=", "begins_with"} for one in plan.key.sort)


def _average_bytes(plan: Plan) -> float:
    sizes = [read_size(entity, plan.index).average for entity in plan.entities]
    return sum(sizes) / len(sizes)


def _is_constant_partition(plan: Plan) -> bool:
    """Whether the partition key is one text for every call, and no field of the sort key is given."""
    if plan.key is None:
        return False
    sources = [source for value in plan.key.partition for source in value.sources.values()]
    fixed = not any(isinstance(source, CALL_SOURCES) for source in sources)
    return fixed and not any(one.low.sources or one.high is not None for one in plan.key.sort)


@design_rule("KP311", "error")
def unsupported_order(subject: Subject) -> Iterator[Finding]:
    """Results do not come in the order that is asked for

    A query returns items in the order of the sort key, forwards or backwards; nothing else can be asked for. A
    design that says its results are ordered by a field (`ordered_by="due_at"`, `"-due_at"` for the highest first)
    needs that field at the front of the sort key, in a form that sorts by its values. Words sort by alphabet: high,
    low, medium, urgent; completed, in_progress, pending. A scan has no order at all.

    Put the field first in the sort key of an index, padded or dated; give words a rank
    (`{priority:rank(urgent,high,medium,low)}`); or sort what came back in the program, where it is one page.

    Source: developer guide, "Query", order of results and ScanIndexForward.
    """
    for _, pattern, plan in subject.patterns:
        wanted = pattern.facts.ordered_by
        if not wanted or plan.operation not in {"Query", "Scan"} or plan.faults:
            continue
        name = wanted.removeprefix("-")
        if any(name not in entity.fields for entity in plan.entities):
            continue  # a name that is not there is KP201's
        found = next(_order_problems(plan, name, highest_first=wanted != name), None)
        if found is not None:
            yield _order_finding(pattern, plan, *found)


def _order_problems(plan: Plan, name: str, *, highest_first: bool) -> Iterator[tuple[str, str]]:
    """What is wrong with the order, and what to do."""
    if plan.operation == "Scan":
        yield "a scan returns items in no order", f"query an index whose sort key begins with {name}"
        return
    if _is_grouped_by_entity(plan):
        names = " and ".join(entity.name for entity in plan.entities)
        yield (
            f"the sort keys of {names} begin with texts of their own, so that all of one come first",
            "sort what came back in the program",
        )
    for entity in plan.entities:
        yield from _entity_order_problems(plan, entity, name)
    if highest_first and not plan.descending:
        yield "it reads forwards, the lowest first", "declare it with descending=True"


def _entity_order_problems(plan: Plan, entity: EntitySpec, name: str) -> Iterator[tuple[str, str]]:
    order = list(order_of(plan, entity))
    bound = entity.key_in(plan.index)
    sort = " and ".join(part.attribute for part in bound.sort) if bound is not None else ""
    if not order:
        fixed = {field for one in plan.key.sort for field in one.low.sources} if plan.key is not None else set()
        if bound is not None and bound.sort and (name in fixed or name in bound.fields):
            return
        yield f"{sort or 'the key'} has nothing of {name}", f"add an index whose sort key begins with {name}"
    elif order[0].field != name:
        yield (
            f"the sort key ({order[0].text}) orders by {order[0].field} first",
            f"add an index whose sort key begins with {name}",
        )
    elif not order[0].in_order and bound is not None:
        yield (
            f"the sort key ({order[0].text}) orders the text of {name}{_stored_order(bound, name)}",
            _order_fix(entity, name),
        )


def _order_fix(entity: EntitySpec, name: str) -> str:
    """A hole that sorts by the field's values."""
    stored = entity.fields[name]
    choices = stored.declared.stored_choices
    if choices:
        order = ",".join(map(str, choices))
        return f"write {{{name}:rank({order})}} into the key, in the order that is meant"
    return f"write {{{name}:010d}}" if stored.type_code == "N" else f"write {{{name}:utc_ms}}"


def _stored_order(bound: BoundKey, name: str) -> str:
    """The words in the order in which they sort, where the field has few."""
    for part in bound.sort:
        template = as_template(part)
        for hole in template.holes if template is not None else ():
            if hole.name == name and hole.encoding.choices is not None:
                return f": {', '.join(sorted(hole.encoding.choices))}"
    return ", which sorts unlike its values"


def _is_grouped_by_entity(plan: Plan) -> bool:
    """Whether several entities come one after the other, because their sort keys begin differently."""
    starts = set()
    for entity in plan.entities:
        bound = entity.key_in(plan.index)
        template = as_template(bound.sort[0]) if bound is not None and bound.sort else None
        starts.add(template.literal_prefix if template is not None else "")
    return len(starts) > 1


def _order_finding(pattern: Pattern[..., Any], plan: Plan, problem: str, fix: str) -> Finding:
    wanted = pattern.facts.ordered_by or ""
    order = wanted if not wanted.startswith("-") else f"{wanted[1:]}, highest first"
    other: Place = plan.index.place if plan.index is not None else plan.entity.key.place
    return unsupported_order.finding(
        pattern.name, f"{pattern.name} is to be ordered by {order}, and {problem}", fix, pattern.place, other
    )


_OFFSET_NAMES = frozenset({"offset", "skip", "page", "page_number", "page_no", "page_index"})
_COSTLY_COUNT = 10.0
"""Read units of one count from which a counter is cheaper in nearly every case."""


@design_rule("KP317", "warning")
def offset_or_count(subject: Subject) -> Iterator[Finding]:
    """Pages by number, or counting by reading

    The service has no offset: page 50 can only be reached by reading pages 1 to 49, and a parameter called `offset`
    or `page` has no effect on the request. Counting is no cheaper than reading: every item counted is billed by its
    size, and a count of more than a page takes several requests.

    Go on with the cursor that each page returns. Keep counts in an item that the same transaction changes
    (`add(count=1)`), or in a consumer of the stream where a moment's delay is fine.

    Source: developer guide, "Paginating table query results" and "Counting the items in the results".
    """
    for _, pattern, plan in subject.patterns:
        offset = next((name for name in pattern.parameters if words_of(name) in _OFFSET_NAMES), None)
        if plan.operation in {"Query", "Scan"} and offset is not None:
            yield offset_or_count.finding(
                pattern.name,
                f"{pattern.name} takes {offset}, and the service has no offset: pages before it are read and paid for",
                "leave it out, and go on with the cursor of the page before",
                pattern.place,
            )
        if plan.select == "count" and not plan.faults:
            told = expected(pattern)
            if told.is_counted and told.units.read >= _COSTLY_COUNT:
                yield offset_or_count.finding(
                    pattern.name,
                    f"{pattern.name} counts by reading {number(told.evaluated)} items, {number(told.units.read)} read"
                    " units each time",
                    "keep the count in an item, changed with add(...) in the transaction of what is counted",
                    pattern.place,
                    plan.entity.place,
                )


@design_rule("KP320", "error", "warning")
def range_end_excluded(subject: Subject) -> Iterator[Finding]:
    """A range leaves out keys that begin with its end

    BETWEEN and <= compare whole keys. `BETWEEN "DUE#2025-10-01#" AND "DUE#2025-10-31#"` leaves out every task of the
    31st, because `DUE#2025-10-31#task-7` is greater than its own beginning. The other way round, `> "DUE#2025-10-31#"`
    takes in the whole of the 31st.

    End the range past all that begin so: `DUE#{end}$` ("$" follows "#"), or let the planner bound it:
    `sk.between(due=(start, end))` includes both ends with everything behind them.

    Source: developer guide, "Key condition expressions for the Query operation"; String order by UTF-8 bytes.
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
        part = next((one for one in bound.sort if one.attribute == end.attribute), None) if bound is not None else None
        found = _key_with_prefix(end, part) if part is not None else None
        if bound is None or part is None or found is None:
            continue
        text = end.template.text
        past = condition.op == ">"
        yield range_end_excluded.finding(
            pattern.name,
            f'{pattern.name} asks for {part.attribute} {condition.op} ... "{text}", the beginning of keys such as'
            f" {found.text}: they sort after it and are {'all taken in' if past else 'left out'}",
            f'write the bound past them, "{_bound_past(text)}", or give the fields and let the planner bound the range',
            pattern.place,
            bound.place,
            severity="warning" if past else "error",
        )


def _key_with_prefix(end: KeyValue, part: BoundKeyAttribute) -> Overlap | None:
    """A key that begins with the bound and goes on, where the bound itself is no key."""
    asked, made = template_of(end), as_template(part)
    if asked is None or made is None or end.template is part.template:
        return None
    same = overlap((asked,), (made,))
    if same is not None and same.plain:
        return None
    found = begins(asked, made, frozenset(asked.fields))
    return found if found is not None and found.plain else None


def _bound_past(text: str) -> str:
    if text.endswith("}"):
        return text + "\\uffff"
    return text[:-1] + chr(ord(text[-1]) + 1)


_PERIOD_NAMES = {"date": "day"}


_NEWEST = re.compile(r"(^|_)(recent|latest|newest|last)($|_)")


@design_rule("KP321", "advice")
def oldest_instead_of_newest(subject: Subject) -> Iterator[Finding]:
    """Query for the newest items returns the oldest

    Finds limited queries whose name contains recent, latest, newest or last, and that read a sort key with the time of
    writing in ascending order. A range that the caller passes is left alone.

    Why is this bad? A query reads its range in ascending order of the sort key. With a limit it returns the oldest
    items, always the same ones. A sort key has no direction of its own: each query chooses one.

    Fix: declare `descending=True`.

    Source: developer guide, "Querying tables in DynamoDB" (ScanIndexForward defaults to true).
    """
    for _, pattern, plan in subject.patterns:
        limit = plan.limit or plan.page_size
        if plan.operation != "Query" or plan.descending or limit is None or not _NEWEST.search(words_of(pattern.name)):
            continue
        bound = plan.entity.key_in(plan.index)
        field = None if bound is None or _has_given_range(plan) else monotonic_start(bound.sort, plan.entity)
        if bound is not None and field is not None:
            yield oldest_instead_of_newest.finding(
                pattern.name,
                f"{pattern.name} returns the {limit} oldest items: it reads {field} in ascending order",
                "declare descending=True",
                pattern.place,
                bound.place,
            )


def _has_given_range(plan: Plan) -> bool:
    """Return True if the caller says where in the sort key to read."""
    return plan.key is not None and any(one.low.sources or one.high is not None for one in plan.key.sort)


@design_rule("KP325", "warning")
def range_crosses_period(subject: Subject) -> Iterator[Finding]:
    """A range goes on beyond the period of its partition

    A partition key that holds the month of a moment (`METER#{meter}#{at:month}`) puts each month into a partition of
    its own. A query names one of them: `pk(meter=meter, at=start) & sk.between(at=(start, end))` reads the month of
    `start`, and of a range that ends in another month the rest is left out, without an error. The same is true of
    `sk.gte(at=since)`, which ends with the month of `since`.

    Walk the periods: `pk(meter=meter, at=each(months))` with a list of moments, one in each month that the range
    touches. A period that the caller names by a parameter of its own is left alone; accept this where no range crosses
    a boundary.

    Source: developer guide, "Best practices for handling time series data in DynamoDB".
    """
    for _, pattern, plan in subject.patterns:
        if plan.operation != "Query" or plan.key is None:
            continue
        bound = plan.entities[0].key_in(plan.index)
        for value, template, hole in _partition_periods(plan.key):
            source = value.sources[hole.name]
            if not _is_range_end(source, plan.key, hole.name):
                continue
            period = _PERIOD_NAMES.get(hole.spec, hole.spec)
            yield range_crosses_period.finding(
                pattern.name,
                f"{pattern.name} asks for a range of {hole.name}, and reads the {period} of {source!r} alone"
                f" ({value.attribute} = {template.text}): what of the range lies in another {period} is left out",
                f"walk the periods, {hole.name}=each({period}s) in pk(...): one of each that the range touches",
                pattern.place,
                bound.place if bound is not None else None,
            )


def _partition_periods(key: KeyRange) -> Iterator[tuple[KeyValue, BoundTemplate, BoundHole]]:
    """Holes of the partition key that cut a moment or day, given by a parameter, to the period it lies in."""
    for value in key.partition:
        template = value.template
        for hole in template.holes if template is not None else ():
            cuts = hole.encoding.rounds_to is not None and not hole.encoding.reversible
            if template is not None and cuts and isinstance(value.sources.get(hole.name), Param):
                yield value, template, hole


def _is_range_end(source: Source, key: KeyRange, field: str) -> bool:
    """Whether a parameter is one end of a range of the field, and not both."""
    ranges = (one for one in key.sort if one.op not in {"=", "begins_with"})
    ends = [repr(end.sources[field]) for one in ranges for end in (one.low, one.high) if end and field in end.sources]
    return repr(source) in ends and ends != [repr(source)] * 2
