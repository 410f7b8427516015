"""A transaction that many callers want on one item

While a transaction is prepared and committed, a second one on any of its items is refused with a conflict, and
so are single writes. Retries sort that out while conflicts are rare. An item that is in more than ten transactions
a second, such as a global counter or the account of the largest customer, makes conflicts the rule.

It is reckoned from the transaction's peak rate and the share of the most used item of each step.

Take the shared item out of the transaction (count from the stream, or with a single atomic `add`), or keep it in
several items of which each transaction takes one.

Source: developer guide, "Managing complex workflows with DynamoDB transactions" (transaction conflict handling).
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.identity import written_by
from keyplan.check.key_shares import key_share
from keyplan.check.load import number
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject

RULE = Rule("KP604", "contended-transaction", ("warning",))
_A_SECOND = 10


def check(subject: Subject) -> Iterator[Finding]:
    """Transactions with an item that is in more than ten of them a second."""
    for transaction in subject.design.transactions:
        rate = transaction.facts.rate
        if rate is None:
            continue
        for one in written_by(transaction):
            share = key_share(one.entity.key.attributes, one.entity, one.sources)
            if share is None or rate.highest * share <= _A_SECOND:
                continue
            item = f"the most used {one.entity.name}" if share < 1 else f"the one {one.entity.name}"
            yield Finding(
                RULE.code,
                "warning",
                transaction.name,
                f"{transaction.name} runs {number(rate.highest)} times a second at the peak, and {item} is in"
                f" {number(rate.highest * share)} of these (step {one.number}, {one.step.call.pattern.name}): they"
                " conflict with each other and are refused",
                "take the shared item out of the transaction, and keep it by a single atomic add or from the stream;"
                " or divide it into several items",
                transaction.place,
                one.step.call.pattern.place,
            )
