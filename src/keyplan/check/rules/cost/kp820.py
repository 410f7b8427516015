"""A price that is not the price

A claimed price of a million requests is compared with the book of prices that is shipped: on demand, Standard class,
to one per cent. $0.25 and $1.25 for a million reads and writes were right in us-east-1 until 31 October 2024; since
then they are half of that.

A read unit is 4 KB read consistently, an eventually consistent read half of one; a write unit is 1 KB, and each
index adds its own. So "a million reads" says little without the size of what is read.

Name the price with its Region and date, or leave it to `keyplan price`.

Source: the pricing page; AWS announcement of 14 November 2024, "Amazon DynamoDB reduces prices for on-demand
throughput".
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isclose

from keyplan.check.claims import of_all, price_of
from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.places import Place
from keyplan.design.workload import Claim

RULE = Rule("KP820", "claimed-price", ("warning",))
_BEFORE = 2.0
"""How much more a unit was on demand before the cut of 2024-11-01."""


def check(subject: Subject) -> Iterator[Finding]:
    """Claims of prices that differ from the book's."""
    for name, claim, place in of_all(subject):
        yield from _compare(subject, name, claim, place)


def _compare(subject: Subject, name: str, claim: Claim, place: Place) -> Iterator[Finding]:
    said = price_of(claim.text)
    if said is None:
        return
    book = subject.book
    price = book[f"{said.what}_unit"] * 1e6
    if isclose(said.per_million, price, rel_tol=0.01):
        return
    old = isclose(said.per_million, price * _BEFORE, rel_tol=0.01)
    yield Finding(
        RULE.code,
        "warning",
        name,
        f'"{claim.text}": a million {said.what} units cost ${price:g} on demand in {book.region} ({book.dated})'
        + ("; what is claimed was the price until it was halved on 2024-11-01" if old else ""),
        "state the price with its Region and date, for units of 4 KB read or 1 KB written",
        place,
    )
