"""Explain a pattern as SQL's EXPLAIN does: its request, the items it reads, its cost and its conditions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from keyplan.check.finding import Finding
from keyplan.cost.estimate import price_of_call
from keyplan.cost.expected import Expected, expected
from keyplan.cost.prices import PriceBook
from keyplan.design.declaring.patterns import Pattern
from keyplan.design.parameters import EveryShard
from keyplan.design.planning.indexes import all_faults, fetched_attributes, requested_attributes
from keyplan.design.planning.plan import Plan
from keyplan.design.requests.build import build_hydration
from keyplan.export.examples import example_item, example_request


def explain(pattern: Pattern[..., Any], book: PriceBook, findings: Sequence[Finding] = ()) -> str:
    """Return the explanation of a pattern as text."""
    plan = pattern.plan
    expectation = expected(pattern)
    parts = [_head(pattern), _request(pattern), _access(plan), _cost(pattern, expectation, book)]
    notes = [*plan.notes, *(f"assumed: {guess}" for guess in expectation.guesses)]
    if notes:
        parts.append("\n".join(["Holds only if", *(f"  - {note}" for note in notes)]))
    mine = [one for finding in findings for one in (finding, *finding.alike) if one.subject == pattern.name]
    parts += [f"{finding.severity}[{finding.code}]: {finding.problem}\n  fix: {finding.fix}" for finding in mine]
    codes = {(finding.code, finding.problem) for finding in mine}
    parts += [
        f"error[{fault.code}]: {fault.problem}\n  fix: {fault.fix}"
        for fault in all_faults(plan)
        if (fault.code, fault.problem) not in codes
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _head(pattern: Pattern[..., Any]) -> str:
    plan = pattern.plan
    tables = list(dict.fromkeys(part.schema.name for part in plan.steps or (plan,)))
    where = f"table{'s' if len(tables) > 1 else ''} {', '.join(tables)}"
    where = f"index {plan.index.name} of {where}" if plan.index else where
    entities = ", ".join(entity.name for entity in plan.entities)
    then = ", then BatchGetItem on the table" if plan.hydrated else ""
    entities += f", as {plan.view.__name__}" if plan.view is not None else ""
    lines = [f"{pattern.name}: {plan.operation} on {where}{then} ({entities})"]
    if pattern.doc:
        lines.append(f"  {pattern.doc.splitlines()[0]}")
    return "\n".join(lines)


def _request(pattern: Pattern[..., Any]) -> str:
    """Return the request, built from example arguments."""
    if all_faults(pattern.plan):
        return "Request\n  none, because the pattern has a fault (see below)"
    call = example_request(pattern)
    if isinstance(call, str):
        return f"Request\n  not shown: {call}"
    try:
        text = orjson.dumps(_readable(call.request), option=orjson.OPT_INDENT_2).decode()
    except TypeError as error:
        return f"Request\n  not shown: its constants are invalid ({error})"
    shown = "Request, with example arguments\n" + "\n".join(f"  {line}" for line in text.splitlines())
    return shown + _hydration(pattern.plan) if pattern.plan.hydrated else shown


def _hydration(plan: Plan) -> str:
    """Return the request for the items of index entries, with example items."""
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
    lines = list(_access_lines(plan))
    return "\n".join(["Plan", *(f"  {line}" for line in lines)]) if lines else ""


def _access_lines(plan: Plan) -> Iterator[str]:
    for step in plan.steps:
        yield f"{step.pattern}: {step.operation} on {step.schema.name}, {_CONDITIONS[step.exists]}"
    if plan.walk is not None:
        field, source = plan.walk
        walked = f"shard of {field}" if isinstance(source, EveryShard) else field
        yield _WALKS[plan.operation].format(walked)
    absent = fetched_attributes(plan)
    if absent and plan.index is not None:
        yield f"fetches each item from the table, one read each: {plan.index.name} does not project {', '.join(absent)}"
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
        how = "set if the item is new" if effect.only_if_missing else "set if its condition is true, otherwise removed"
        yield f"keeps {names} of index {effect.key.index.name} up to date: {how}"
    patched = [repr(action.path).removeprefix("F.") for action in plan.actions if action.optional]
    if patched:
        yield f"changes {', '.join(patched)} only if the call passes a value"
    timed = _write_times(plan)
    if timed:
        yield f"sets {', '.join(timed)} to the time of the write"
    if plan.operation == "BatchWriteItem":
        yield "written separately, without conditions: some can succeed while others fail"
    else:
        yield _CONDITIONS[plan.exists]
    if plan.version is not None:
        yield "fails unless the version is the expected one"


def _write_times(plan: Plan) -> list[str]:
    """Return the fields that a write sets to its time, with the condition of some."""
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
"""The handling of several values, by operation; other operations concern one item."""
_CONDITIONS = {
    "must": "fails unless the item exists",
    "must_not": "fails if the item exists",
    "may": "succeeds whether or not the item exists",
}


def _cost(pattern: Pattern[..., Any], expectation: Expected, book: PriceBook) -> str:
    units = expectation.units
    lines = []
    if pattern.plan.reading:
        items = f"{expectation.evaluated:,.1f} items read for {expectation.returned:,.1f} returned"
        lines.append(f"{items}, {units.read:,.1f} read units")
    else:
        parts = ", ".join(
            [f"table {units.write:,.1f}", *(f"{name} {part:,.1f}" for name, part in units.indexes.items())]
        )
        read = f", {units.read:,.1f} read units" if units.read else ""
        lines.append(f"{units.written:,.1f} write units ({parts}){read}")
    price = price_of_call(pattern, expectation, book) * 1e6
    lines.append(f"${price:,.2f} per million calls ({book.region}, prices of {book.dated}, on demand)")
    return "\n".join(["Cost, at declared sizes", *(f"  {line}" for line in lines)])
