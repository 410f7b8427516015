"""A price that was looked up long ago

Prices change: on-demand requests were halved on 1 November 2024. A price in a document whose source is dated more
than a year before the prices that are shipped should be looked up again, even if the number still happens to be right.

Put the date of the look-up into the claim's source: `Claim("$0.625 per million writes", "pricing page, 2026-08")`.

Source: the pricing page; the date of the price book that is shipped.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.claims import of_all, price_of, year_and_month_of
from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.places import Place
from keyplan.design.workload import Claim

RULE = Rule("KP811", "old-price", ("advice",))
_MONTHS = 12


def check(subject: Subject) -> Iterator[Finding]:
    """Price claims with a source that bears an old date."""
    for name, claim, place in of_all(subject):
        yield from _look(subject, name, claim, place)


def _look(subject: Subject, name: str, claim: Claim, place: Place) -> Iterator[Finding]:
    dated = year_and_month_of(claim.source)
    if dated is None or price_of(claim.text) is None:
        return
    book = subject.book.dated
    months = (book.year - dated[0]) * 12 + book.month - dated[1]
    if months > _MONTHS:
        yield Finding(
            RULE.code,
            "advice",
            name,
            f'"{claim.text}" is from {claim.source}, {months} months before the prices of {book} that are shipped',
            "look the price up again, and put the new date into the claim's source",
            place,
        )
