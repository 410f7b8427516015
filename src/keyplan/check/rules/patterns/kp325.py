"""A range goes on beyond the period of its partition

A partition key that holds the month of a moment (`METER#{meter}#{at:month}`) puts each month into a partition of its
own. A query names one of them: `pk(meter=meter, at=start) & sk.between(at=(start, end))` reads the month of `start`,
and of a range that ends in another month the rest is left out, without an error. The same is true of
`sk.gte(at=since)`, which ends with the month of `since`.

Walk the periods: `pk(meter=meter, at=each(months))` with a list of moments, one in each month that the range touches. A
period that the caller names by a parameter of its own is left alone; accept this where no range crosses a boundary.

Source: developer guide, "Best practices for handling time series data in DynamoDB"; a query reads one partition key.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.plan import KeyCondition, KeyValue
from keyplan.design.symbols import Param, Source
from keyplan.design.template_holes import BoundHole
from keyplan.design.templates import BoundTemplate

RULE = Rule("KP325", "range-beyond-period", ("warning",))
_CALLED = {"date": "day"}


def check(subject: Subject) -> Iterator[Finding]:
    """Ranges of a moment, by one end of which the partition of a period is chosen."""
    for _, pattern, plan in subject.patterns:
        if plan.operation != "Query" or plan.key is None:
            continue
        bound = plan.entities[0].key_in(plan.index)
        for value, template, hole in _periods(plan.key):
            source = value.sources[hole.name]
            if not _is_an_end(source, plan.key, hole.name):
                continue
            period = _CALLED.get(hole.spec, hole.spec)
            yield Finding(
                RULE.code,
                "warning",
                pattern.name,
                f"{pattern.name} asks for a range of {hole.name}, and reads the {period} of {source!r} alone"
                f" ({value.attribute} = {template.text}): what of the range lies in another {period} is left out",
                f"walk the periods, {hole.name}=each({period}s) in pk(...): one of each that the range touches",
                pattern.place,
                bound.place if bound is not None else None,
            )


def _periods(key: KeyCondition) -> Iterator[tuple[KeyValue, BoundTemplate, BoundHole]]:
    """Holes of the partition key that cut a moment or day, given by a parameter, to the period it lies in."""
    for value in key.partition:
        template = value.template
        for hole in template.holes if template is not None else ():
            cuts = hole.encoding.rounds_to is not None and not hole.encoding.reversible
            if template is not None and cuts and isinstance(value.sources.get(hole.name), Param):
                yield value, template, hole


def _is_an_end(source: Source, key: KeyCondition, field: str) -> bool:
    """Whether a parameter is one end of a range of the field, and not both."""
    ranges = (one for one in key.sort if one.op not in {"=", "begins_with"})
    ends = [repr(end.sources[field]) for one in ranges for end in (one.low, one.high) if end and field in end.sources]
    return repr(source) in ends and ends != [repr(source)] * 2
