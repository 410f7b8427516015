"""An item expires, and its guard stays

An item such as `EMAIL#{email}` keeps a value from being used twice. If the item that it stands for expires and the
guard does not, the value is taken for ever. If the guard expires first, the value can be taken while it is in use.

Give both the same expiry in the same transaction. The sentinels of `unique=` expire with their items.

Source: developer guide, "Using time to live (TTL)": expiry is per item; AWS blog, "Simulating Amazon DynamoDB
unique constraints using transactions".
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.guards import guards_of
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.requests_guards import expiry_of

RULE = Rule("KP714", "guard-without-expiry", ("warning",))


def check(subject: Subject) -> Iterator[Finding]:
    """Guards written by hand of which only one side expires."""
    for pair in guards_of(subject):
        guarded, guard = (expiry_of(one) is not None for one in (pair.guarded, pair.guard))
        if guarded == guard:
            continue
        stays, goes = (pair.guard, pair.guarded) if guarded else (pair.guarded, pair.guard)
        harm = "the value stays taken for ever" if guarded else "the value can be taken while it is in use"
        yield Finding(
            RULE.code,
            "warning",
            pair.guard.name,
            f"{goes.name} expires by {goes.schema.ttl}, and {stays.name} does not, although {pair.guard.name} keeps"
            f" {', '.join(pair.fields)} of {pair.guarded.name} unique: {harm}",
            "give both the same expiry in the same transaction, or declare unique=(...)",
            pair.guard.place,
            pair.guarded.place,
        )
