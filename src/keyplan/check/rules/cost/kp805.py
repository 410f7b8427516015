"""One pattern is most of the bill

Where one of several patterns makes more than half of what requests cost, it is where thinking about cost pays: a
smaller projection, a cache, fewer items per page, a narrower key.

It is said for designs whose requests cost a hundred dollars a month and more at the declared rates and on-demand
prices, unless nothing tells how many items that pattern reads (KP509).

Source: developer guide, "Cost optimization on DynamoDB tables"; prices from the book that is shipped.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.load import number
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject

RULE = Rule("KP805", "top-cost-pattern", ("advice",))
_SHARE, _DOLLARS, _SEVERAL = 0.5, 100.0, 3


def check(subject: Subject) -> Iterator[Finding]:
    """The one pattern with more than half of the cost."""
    pairs = zip(subject.design.patterns, subject.month.patterns, strict=True)
    costs = [(cost, pattern) for pattern, cost in pairs if cost.requests]
    total = sum(cost.requests for cost, _ in costs)
    if total < _DOLLARS or len(costs) < _SEVERAL:
        return
    top, pattern = max(costs, key=lambda pair: pair[0].requests)
    if top.requests <= total * _SHARE or not top.expected.is_counted:
        return
    units = top.expected.units
    yield Finding(
        RULE.code,
        "advice",
        top.name,
        f"{top.name} makes ${top.requests:,.0f} of the ${total:,.0f} that requests cost a month:"
        f" {number(units.read + units.written)} units a call, {number(top.calls)} calls (prices of"
        f" {subject.book.region}, {subject.book.dated})",
        "read fewer or smaller items per call, cache it, or drop indexes that its writes pay for",
        pattern.place,
    )
