"""The newest are asked for, and the oldest come

A query reads its range in the order of the sort key, from the lowest. With a limit and a sort key that is the time of
writing, that is the oldest ten, for ever the same ten. A declaration cannot make a sort key "descending": each query
says which way it reads.

Declare `descending=True`. Found are limited queries over a time of writing, read in ascending order, whose name or
first line speaks of the recent, latest, newest or last.

Source: developer guide, "Querying tables in DynamoDB" (ScanIndexForward is true unless it is said).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from keyplan.check.finding import Finding
from keyplan.check.names import words_of
from keyplan.check.rising import rising_start
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.patterns import Pattern
from keyplan.design.plan import Plan

RULE = Rule("KP321", "oldest-instead-of-newest", ("warning",))
_NEWEST = re.compile(r"(^|[_\W])(recent|latest|newest|last|most recent)($|[_\W])", re.IGNORECASE)


def check(subject: Subject) -> Iterator[Finding]:
    """Limited queries for the newest that read in ascending order."""
    for _, pattern, plan in subject.patterns:
        limit = plan.limit or plan.page_size
        if plan.operation != "Query" or plan.descending or limit is None or not _wants_newest(pattern):
            continue
        bound = plan.entity.key_in(plan.index)
        field = None if bound is None or _is_asked(plan) else rising_start(bound.sort, plan.entity)
        if bound is not None and field is not None:
            yield Finding(
                RULE.code,
                "warning",
                pattern.name,
                f"{pattern.name} speaks of the newest and reads {limit} by {field} in ascending order: those are the"
                " oldest",
                "declare descending=True",
                pattern.place,
                bound.place,
            )


def _is_asked(plan: Plan) -> bool:
    """Whether the call says where in the sort key to read; what keeps other entities out does not."""
    return plan.key is not None and any(one.low.sources or one.high is not None for one in plan.key.sort)


def _wants_newest(pattern: Pattern[..., Any]) -> bool:
    said = f"{words_of(pattern.name)} {pattern.doc.partition(chr(10))[0]}"
    return _NEWEST.search(said) is not None
