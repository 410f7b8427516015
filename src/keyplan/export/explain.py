"""Explains patterns by their request, plan, cost and findings, similar to EXPLAIN in SQL.

Also explains consumers, and summarizes the patterns of a design.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

import orjson

from keyplan.check.claims import parse_units
from keyplan.check.finding import Finding, count_text, number
from keyplan.cost.estimate import Estimate, PatternCost, price_of_call
from keyplan.cost.expected import Expected, expected
from keyplan.cost.figures import figure_table, wrapped
from keyplan.cost.prices import PriceBook
from keyplan.design.declaring.consumers import Changed, Consumer
from keyplan.design.declaring.design import Design
from keyplan.design.declaring.patterns import Pattern
from keyplan.design.declaring.tables import Table
from keyplan.design.fields.annotations import plain_value
from keyplan.design.parameters import EveryShard
from keyplan.design.planning.indexes import all_faults, fetched_attributes, requested_attributes
from keyplan.design.planning.plan import Plan
from keyplan.design.requests.build import build_hydration
from keyplan.export.conditions import condition, failure
from keyplan.export.examples import example_item, example_request


def explain(pattern: Pattern[..., Any], book: PriceBook, findings: Sequence[Finding] = ()) -> str:
    """Explain a pattern as text: its request, plan, cost, performance claims, assumptions and findings."""
    plan = pattern.plan
    expectation = expected(pattern)
    sections = [_head(pattern), _request(pattern), _access(plan), _cost(pattern, expectation, book)]
    sections.append(_claims(pattern, expectation))
    notes = [*plan.notes, *(f"assumed: {guess}" for guess in expectation.guesses)]
    if notes:
        sections.append("\n".join(["Holds only if", *(f"  - {note}" for note in notes)]))
    pattern_findings = _findings_of(pattern.name, findings)
    sections += _finding_texts(pattern_findings)
    codes = {(finding.code, finding.problem) for finding in pattern_findings}
    sections += [
        f"error[{fault.code}]: {fault.problem}\n  fix: {fault.fix}"
        for fault in all_faults(plan)
        if (fault.code, fault.problem) not in codes
    ]
    return "\n\n".join(part for part in sections if part) + "\n"


def _findings_of(name: str, findings: Sequence[Finding]) -> list[Finding]:
    return [
        similar_finding
        for finding in findings
        for similar_finding in (finding, *finding.alike)
        if similar_finding.subject == name
    ]


def _finding_texts(findings: Sequence[Finding]) -> list[str]:
    return [f"{finding.severity}[{finding.code}]: {finding.problem}\n  fix: {finding.fix}" for finding in findings]


def explain_consumer(consumer: Consumer, table: Table, findings: Sequence[Finding] = ()) -> str:
    """Explain a consumer as text: the changes that it receives, its batches, its failure handling and its findings."""
    entities = ", ".join(entity.name for entity in consumer.entities) or "every entity"
    head = f"{consumer.name}: consumer of the stream of table {table.name} ({entities})"
    doc = inspect.getdoc(consumer.function)
    texts = [f"{head}\n  {doc.splitlines()[0]}" if doc else head]
    sections = (
        ("Starts on", _starts(consumer, table)),
        ("Batch", _batches(consumer)),
        ("Failure", _failures(consumer)),
    )
    texts += ["\n".join([title, *(f"  {line}" for line in lines)]) for title, lines in sections]
    texts += _finding_texts(_findings_of(consumer.name, findings))
    return "\n\n".join(texts) + "\n"


def _starts(consumer: Consumer, table: Table) -> Iterator[str]:
    yield f"{' or '.join(_EVENTS[event] for event in _EVENTS if event in consumer.events)} items of these entities"
    yield f"filter: {_filter_text(consumer)}"
    images = " and ".join(sorted(consumer.needed_images, reverse=True))
    yield f"needs the {images} image; the stream has {table.schema.stream or 'none: the table has no stream'}"


_EVENTS = {"inserted": "new", "modified": "changed", "removed": "deleted", "expired": "expired"}


def _filter_text(consumer: Consumer) -> str:
    if consumer.filter is None:
        return "none, every change starts it"
    if not isinstance(consumer.filter, Changed):
        return condition(consumer.filter)
    becomes = "" if consumer.filter.becomes is None else f" to {plain_value(consumer.filter.becomes)!r}"
    return f"{consumer.filter.field} changes{becomes}"


def _batches(consumer: Consumer) -> Iterator[str]:
    yield f"reads up to {consumer.batch:,} records in a request"
    yield f"is called with {'a list of changes' if consumer.takes_list else 'one change at a time'}"
    yield (
        "may receive a change again: declared idempotent"
        if consumer.idempotent
        else "may receive a change again: not declared idempotent"
    )


def _failures(consumer: Consumer) -> Iterator[str]:
    if consumer.retries is None:
        yield "retries: as long as the stream keeps the record, 24 hours"
    else:
        yield f"retries: {consumer.retries}"
    if consumer.bisect:
        yield "a failing batch is halved until the failing record is alone"
    if consumer.on_failure is not None:
        yield f"destination: {consumer.on_failure}, receives the records that fail permanently"
    else:
        yield "destination: none, the runner stops at a record that fails permanently"


def explain_design(design: Design, month: Estimate, findings: Sequence[Finding] = ()) -> str:
    """Return an overview of a design as text with lines of up to 80 characters.

    It lists each pattern with its operation, table or index, capacity units per call, monthly cost and number of
    findings. Consumers, assumptions and the total number of findings follow.
    """
    costs = {cost.name: cost for cost in month.patterns}
    counts = Counter(subject for finding in findings for subject in finding.subjects)
    patterns_by_heading: dict[str, list[Pattern[..., Any]]] = {}
    for pattern in design.patterns:
        patterns_by_heading.setdefault(_heading(pattern.plan), []).append(pattern)
    prices = f"{month.book.region}, prices of {month.book.dated}"
    unproved = ", unproved: see assumptions" if month.guesses else ""
    count = count_text(len(costs), "pattern", "patterns")
    sections = [wrapped(f"{design.name}: {count}, ${month.total:,.2f} per month ({prices}){unproved}", "")]
    rows = {
        heading: [_row(pattern, costs[pattern.name], counts[pattern.name]) for pattern in heading_patterns]
        for heading, heading_patterns in patterns_by_heading.items()
    }
    if rows:
        sections.append(figure_table(_HEAD, rows, left_aligned=(0, 1)))
    consumers = [(table, consumer) for table in design.tables for consumer in table.consumers]
    if consumers:
        lines = (_consumer_line(consumer, table, counts[consumer.name]) for table, consumer in consumers)
        sections.append("\n".join(["Consumers", *(wrapped(line, "  ") for line in lines)]))
    if month.guesses:
        lines = (wrapped(f"- {guess}", "  ") for guess in _assumptions(design, month))
        sections.append("\n".join(["Assumptions (~)", *lines]))
    sections.append(wrapped(_findings_line(findings), ""))
    return "\n\n".join(sections) + "\n"


def _assumptions(design: Design, month: Estimate) -> Iterator[str]:
    """Yield the assumptions behind an estimate. All patterns without a declared rate are listed together as one
    assumption.
    """
    yield from dict.fromkeys(guess for cost in month.patterns for guess in cost.expected.guesses)
    unrated = [pattern.name for pattern in design.patterns if pattern.facts.rate is None]
    if unrated:
        yield f"no calls, because no rate is declared: {', '.join(unrated)}"


def _heading(plan: Plan) -> str:
    """Return the heading for the table or index that a pattern uses."""
    if plan.index is not None:
        return f"index {plan.index.name} of table {plan.schema.name}"
    tables = list(dict.fromkeys(part.schema.name for part in plan.steps or (plan,)))
    return f"table{'s' if len(tables) > 1 else ''} {', '.join(tables)}"


def _row(pattern: Pattern[..., Any], cost: PatternCost, findings: int) -> tuple[str, ...]:
    units = cost.expected.units
    unit_texts = [f"{units.read:,.1f} R"] if units.read or not units.total_write else []
    unit_texts += [f"{units.total_write:,.1f} W"] if units.total_write else []
    prefix = "~" if cost.expected.guesses else ""
    monthly = "no rate" if pattern.facts.rate is None else f"{prefix}{cost.requests:,.2f}"
    return pattern.name, pattern.plan.operation, prefix + " + ".join(unit_texts), monthly, str(findings or "-")


_HEAD: Final = ("pattern", "operation", "units/call", "$/month", "findings")


def _consumer_line(consumer: Consumer, table: Table, findings: int) -> str:
    entities = ", ".join(entity.name for entity in consumer.entities) or "every entity"
    events = " or ".join(_EVENTS[event] for event in _EVENTS if event in consumer.events)
    findings_text = f", findings: {findings}" if findings else ""
    filtered = "" if consumer.filter is None else f", if {_filter_text(consumer)}"
    return f"{consumer.name}: {events} {entities} of table {table.name}{filtered}{findings_text}"


def _findings_line(findings: Sequence[Finding]) -> str:
    if not findings:
        return "no findings"
    counts: Counter[str] = Counter(finding.severity for finding in findings)
    severities = (("error", "error", "errors"), ("warning", "warning", "warnings"), ("advice", "advice", "advice"))
    texts = [count_text(counts[name], singular, plural) for name, singular, plural in severities if counts[name]]
    return f"findings: {', '.join(texts)}; `keyplan check` shows them"


def _head(pattern: Pattern[..., Any]) -> str:
    plan = pattern.plan
    tables = list(dict.fromkeys(part.schema.name for part in plan.steps or (plan,)))
    target = f"table{'s' if len(tables) > 1 else ''} {', '.join(tables)}"
    target = f"index {plan.index.name} of {target}" if plan.index else target
    entities = ", ".join(entity.name for entity in plan.entities)
    hydration_text = ", then BatchGetItem on the table" if plan.hydrated else ""
    entities += f", as {plan.view.__name__}" if plan.view is not None else ""
    lines = [f"{pattern.name}: {plan.operation} on {target}{hydration_text} ({entities})"]
    if pattern.doc:
        lines.append(f"  {pattern.doc.splitlines()[0]}")
    return "\n".join(lines)


def _request(pattern: Pattern[..., Any]) -> str:
    """Format the request of a pattern with example arguments."""
    if all_faults(pattern.plan):
        return "Request\n  none, because the pattern has a fault (see below)"
    call = example_request(pattern)
    if isinstance(call, str):
        return f"Request\n  not shown: {call}"
    try:
        text = orjson.dumps(_readable(call.request), option=orjson.OPT_INDENT_2).decode()
    except TypeError as error:
        return f"Request\n  not shown: its constants are invalid ({error})"
    request_text = "Request, with example arguments\n" + "\n".join(f"  {line}" for line in text.splitlines())
    return request_text + _hydration(pattern.plan) if pattern.plan.hydrated else request_text


def _hydration(plan: Plan) -> str:
    """Format the request that reads whole items after a query on an index, with the keys of example items."""
    items = [item for item in map(example_item, plan.entities) if not isinstance(item, str)]
    keys = [{name: item[name] for name in plan.schema.key} for item in items]
    text = orjson.dumps(_readable(build_hydration(plan, keys)), option=orjson.OPT_INDENT_2).decode()
    head = "\n\nThen BatchGetItem for the items of the returned entries\n"
    return head + "\n".join(f"  {line}" for line in text.splitlines())


def _readable(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _readable(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_readable(part) for part in value]
    return repr(value) if isinstance(value, bytes) else value


def _access(plan: Plan) -> str:
    lines = list(plan_lines(plan))
    return "\n".join(["Plan", *(f"  {line}" for line in lines)]) if lines else ""


def plan_lines(plan: Plan) -> Iterator[str]:
    """Yield lines of text that describe the steps of a plan, its additional reads and its conditions."""
    for step in plan.steps:
        yield f"{step.pattern}: {step.operation} on {step.schema.name}, {failure(step)}"
    if plan.walk is not None:
        field, source = plan.walk
        walked = f"shard of {field}" if isinstance(source, EveryShard) else field
        yield _WALKS[plan.operation].format(walked)
    missing = fetched_attributes(plan)
    if missing and plan.index is not None:
        missing_text = ", ".join(missing)
        yield f"fetches each item from the table, one read each: {plan.index.name} does not project {missing_text}"
    if plan.view is not None and requested_attributes(plan) is not None:
        yield f"requests only the attributes of {plan.view.__name__}: a smaller response for the same capacity"
    if plan.hydrated:
        yield "reads the item of each returned entry by key, up to 100 in a request; deleted items are left out"
    if plan.filter is not None:
        yield "filters after reading: filtered items are read and billed"
    if plan.residue is not None:
        yield "drops items at the ends of the range that the key condition cannot exclude"
    if not plan.reading and not plan.steps:
        yield from _write_lines(plan)


def _write_lines(plan: Plan) -> Iterator[str]:
    if plan.operation == "PutItem" and plan.entity.sentinels:
        names = ", ".join(name for rule in plan.entity.sentinels for name in rule.fields)
        yield f"puts an item for each unique value ({names}) in the same transaction"
    if plan.reads_first:
        yield (
            "reads the item first: it changes sentinels of unique values in the same transaction, on condition of"
            " the values read"
        )
    for effect in plan.effects:
        names = ", ".join(part.attribute for part in effect.key.attributes)
        effect_text = (
            "set if the item is new" if effect.only_if_missing else "set if its condition is true, otherwise removed"
        )
        yield f"keeps {names} of index {effect.key.index.name} up to date: {effect_text}"
    patched = [repr(action.path).removeprefix("F.") for action in plan.actions if action.optional]
    if patched:
        yield f"changes {', '.join(patched)} only if the call passes a value"
    timed = _write_times(plan)
    if timed:
        yield f"sets {', '.join(timed)} to the time of the write"
    if plan.operation == "BatchWriteItem":
        yield "written separately, without conditions: some can succeed while others fail"
    else:
        yield failure(plan)
    if plan.version is not None:
        yield "fails unless the version is the expected one"


def _write_times(plan: Plan) -> list[str]:
    """Return the fields that a write sets to the current time. A note follows the name of a field that is set only
    under a condition.
    """
    updated, created = (plan.entity.write_times(event) for event in ("updated", "created"))
    if plan.operation == "UpdateItem":
        created = created if plan.exists == "may" else ()
        return [*updated, *(f"{name} (of a new item)" for name in created)]
    if plan.item is None:
        return []
    return [*updated, *(name if plan.exists == "must_not" else f"{name} (if it is None)" for name in created)]


_WALKS = {
    "BatchGetItem": "one key for each {}, up to 100 in a request",
    "BatchWriteItem": "one delete for each {}, up to 25 in a request",
    "Query": "one request for each {}, merged in order of the sort key",
}
"""Descriptions of the requests that a call sends if it receives several values of a field, by operation.

{} is replaced with the name of the field.
"""


def _claims(pattern: Pattern[..., Any], expectation: Expected) -> str:
    lines = list(claim_lines(pattern, expectation))
    return "\n".join(["Claims", *(f"  {line}" for line in lines)]) if lines else ""


def claim_lines(pattern: Pattern[..., Any], expectation: Expected) -> Iterator[str]:
    """Yield a line for each performance claim in a pattern's declaration.

    Claims about capacity units are compared with the estimate.
    """
    for claim in pattern.facts.claims:
        claimed = parse_units(claim.text)
        if claimed is None:
            yield f'"{claim.text}": unproved, an estimate cannot show it'
            continue
        units = expectation.units.read if claimed.kind == "read" else expectation.units.total_write
        units /= max(1.0, expectation.evaluated) if claimed.per_item else 1.0
        verdict = "fails" if units > claimed.high else "holds" if units >= claimed.low else "less than claimed"
        verdict = "unproved, because of an assumption (see below)" if expectation.guesses else verdict
        suffix = " per item" if claimed.per_item else ""
        yield f'"{claim.text}": {verdict}, estimated {number(units)} {claimed.kind} units{suffix}'


def _cost(pattern: Pattern[..., Any], expectation: Expected, book: PriceBook) -> str:
    units = expectation.units
    lines = []
    if pattern.plan.reading:
        items = f"{expectation.evaluated:,.1f} items read for {expectation.returned:,.1f} returned"
        lines.append(f"{items}, {units.read:,.1f} read units")
    else:
        write_parts = ", ".join(
            [
                f"table {units.write:,.1f}",
                *(f"{name} {index_units:,.1f}" for name, index_units in units.indexes.items()),
            ]
        )
        read_text = f", {units.read:,.1f} read units" if units.read else ""
        lines.append(f"{units.total_write:,.1f} write units ({write_parts}){read_text}")
    price = price_of_call(pattern, expectation, book) * 1e6
    lines.append(f"${price:,.2f} per million calls ({book.region}, prices of {book.dated}, on demand)")
    unproved = ", unproved: it rests on an assumption (see below)" if expectation.guesses else ""
    return "\n".join([f"Cost, at declared sizes{unproved}", *(f"  {line}" for line in lines)])
