"""Conditions, filters and updates that are longer than the service takes, refused where they are declared.

Source: developer guide, "Quotas in Amazon DynamoDB", expression parameters: 4 KB, and 300 operators and functions.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from keyplan import limits
from keyplan.design.asked import Asked
from keyplan.design.places import DesignError
from keyplan.design.plan import Plan
from keyplan.design.requests_guards import Guards
from keyplan.design.requests_reads import RangeRequest
from keyplan.design.requests_text import Placeholders
from keyplan.design.requests_updates import Update
from keyplan.dynamodb.expressions.tokens import WORD, tokenize

_OPERATORS = frozenset({"AND", "OR", "NOT", "IN", "BETWEEN", "=", "<>", "<", "<=", ">", ">="})
_FEWER_CHANGES = "change fewer fields at once, or keep fields that change together in one, as a model of their own"
_FEWER_QUESTIONS = (
    "compare with a range or a list of values, F.x.is_in(...), or keep what is asked in a field of its own"
)


def check_lengths(asked: Asked, plan: Plan) -> None:
    """Refuse a condition, a filter or an update that no call could send.

    A plan with faults cannot be sent anyway, and its keys may not be made: the faults are what there is to tell.
    """
    if plan.faults:
        return
    for what, text in _expressions(plan):
        operators, size = 0 if what == "update" else operators_in(text), len(text.encode())
        if operators > limits.EXPRESSION_OPERATORS:
            found = f"{operators} operators and functions, and the service takes {limits.EXPRESSION_OPERATORS}"
        elif size > limits.EXPRESSION_BYTES:
            found = f"{size:,} bytes, and the service takes {limits.EXPRESSION_BYTES:,}"
        else:
            continue
        raise DesignError(
            f"the {what} of {asked.name} has {found}",
            place=asked.place,
            fix=_FEWER_CHANGES if what == "update" else _FEWER_QUESTIONS,
        )


def _expressions(plan: Plan) -> Iterator[tuple[str, str]]:
    if plan.filter is not None:
        yield "filter", RangeRequest(plan).filter
    placeholders = Placeholders()
    if plan.operation == "UpdateItem" or plan.condition is not None or plan.replace_when is not None or plan.known:
        guards = Guards(plan, placeholders)
        if guards.longest:
            yield "condition", guards.longest
    if plan.operation == "UpdateItem":
        yield "update", Update(plan, placeholders).longest


def operators_in(text: str) -> int:
    """How many operators and functions the service counts in a condition; the AND of a BETWEEN is none."""
    tokens = tokenize(text)
    found = [one.kind for one, after in pairwise(tokens) if _counts(one.kind, after.kind)]
    return len(found) - found.count("BETWEEN")


def _counts(kind: str, after: str) -> bool:
    return kind in _OPERATORS or (kind == WORD and after == "(")
