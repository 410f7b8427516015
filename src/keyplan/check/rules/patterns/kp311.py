"""Results do not come in the order that is asked for

A query returns items in the order of the sort key, forwards or backwards; nothing else can be asked for. A
design that says its results are ordered by a field (`ordered_by="due_at"`, `"-due_at"` for the highest first)
needs that field at the front of the sort key, in a form that sorts by its values. Words sort by alphabet: high,
low, medium, urgent; completed, in_progress, pending. A scan has no order at all.

Put the field first in the sort key of an index, padded or dated; give words a rank
(`{priority:rank(urgent,high,medium,low)}`); or sort what came back in the program, where it is one page.

Source: developer guide, "Query", order of results and ScanIndexForward.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from keyplan.check.finding import Finding
from keyplan.check.keyspace import as_template
from keyplan.check.ordering import order_of
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.entities import EntitySpec
from keyplan.design.keys import BoundKey
from keyplan.design.patterns import Pattern
from keyplan.design.places import Place
from keyplan.design.plan import Plan

RULE = Rule("KP311", "order-not-given", ("error",))


def check(subject: Subject) -> Iterator[Finding]:
    """Patterns whose results are to be ordered by what the sort key does not order by."""
    for _, pattern, plan in subject.patterns:
        wanted = pattern.facts.ordered_by
        if not wanted or plan.operation not in {"Query", "Scan"} or plan.faults:
            continue
        name = wanted.removeprefix("-")
        if any(name not in entity.fields for entity in plan.entities):
            continue  # a name that is not there is KP201's
        found = next(_problems(plan, name, highest_first=wanted != name), None)
        if found is not None:
            yield _finding(pattern, plan, *found)


def _problems(plan: Plan, name: str, *, highest_first: bool) -> Iterator[tuple[str, str]]:
    """What is wrong with the order, and what to do."""
    if plan.operation == "Scan":
        yield "a scan returns items in no order", f"query an index whose sort key begins with {name}"
        return
    if _grouped(plan):
        names = " and ".join(entity.name for entity in plan.entities)
        yield (
            f"the sort keys of {names} begin with texts of their own, so that all of one come first",
            "sort what came back in the program",
        )
    for entity in plan.entities:
        yield from _of_entity(plan, entity, name)
    if highest_first and not plan.descending:
        yield "it reads forwards, the lowest first", "declare it with descending=True"


def _of_entity(plan: Plan, entity: EntitySpec, name: str) -> Iterator[tuple[str, str]]:
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
            f"the sort key ({order[0].text}) orders the text of {name}{_spelled(bound, name)}",
            _instead(entity, name),
        )


def _instead(entity: EntitySpec, name: str) -> str:
    """A hole that sorts by the field's values."""
    stored = entity.fields[name]
    choices = stored.declared.stored_choices
    if choices:
        order = ",".join(map(str, choices))
        return f"write {{{name}:rank({order})}} into the key, in the order that is meant"
    return f"write {{{name}:010d}}" if stored.type_code == "N" else f"write {{{name}:utc_ms}}"


def _spelled(bound: BoundKey, name: str) -> str:
    """The words in the order in which they sort, where the field has few."""
    for part in bound.sort:
        template = as_template(part)
        for hole in template.holes if template is not None else ():
            if hole.name == name and hole.encoding.choices is not None:
                return f": {', '.join(sorted(hole.encoding.choices))}"
    return ", which sorts unlike its values"


def _grouped(plan: Plan) -> bool:
    """Whether several entities come one after the other, because their sort keys begin differently."""
    starts = set()
    for entity in plan.entities:
        bound = entity.key_in(plan.index)
        template = as_template(bound.sort[0]) if bound is not None and bound.sort else None
        starts.add(template.literal_prefix if template is not None else "")
    return len(starts) > 1


def _finding(pattern: Pattern[..., Any], plan: Plan, problem: str, fix: str) -> Finding:
    wanted = pattern.facts.ordered_by or ""
    order = wanted if not wanted.startswith("-") else f"{wanted[1:]}, highest first"
    other: Place = plan.index.place if plan.index is not None else plan.entity.key.place
    return Finding(
        RULE.code,
        "error",
        pattern.name,
        f"{pattern.name} is to be ordered by {order}, and {problem}",
        fix,
        pattern.place,
        other,
    )
