"""Something is meant to happen at expiry

Expiry deletes an item, some time after its moment, up to days. It changes no field, sets no state, ends no session
at the second, frees no quota at once. A design that says "expired questions become EXPIRED" or "the token is revoked
by expiry" describes something that does not happen.

Compare the expiry with the clock wherever it matters: reads drop expired items by themselves; put it into the
condition of writes (`when(F.expires_at > now)`); derive a state such as "expired" from it when reading. Where a
state must be stored, let a job set it.

Found are tables whose `TTL(sets=...)` names fields, whose `TTL(means=...)` speaks of access, sessions, tokens or
locks, unless of cleaning up old ones, and reads with `expired=True` that decide something.

Source: developer guide, "Using time to live (TTL)" and "Working with expired items".
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.schema import TTL
from keyplan.design.tables import Table

RULE = Rule("KP705", "expiry-as-an-event", ("error",))
_SECURITY = re.compile(
    r"\b(access|authori\w*|ban\w*|credential\w*|lock\w*|log(?:ged)? ?out|permission\w*|revok\w*|session\w*|token\w*)\b",
    re.IGNORECASE,
)
_OVER = r"(old|stale|past|ended|closed|dead|unused|expired|outdated|abandoned)"
_CLEANING = re.compile(
    r"\b(clean\w*|tid(y|ied)|garbage|housekeeping|purged?|sweep\w*|swept)\b"
    rf"|\b{_OVER} (\w+ )?({_SECURITY.pattern}).*\b(removed?|deleted?|dropped|forgotten|go(es)?)\b",
    re.IGNORECASE,
)


def check(subject: Subject) -> Iterator[Finding]:
    """Expiry that is expected to change fields, to protect something, or to decide."""
    for table in subject.tables:
        for ttl in table.schema.ttls:
            yield from _sets(table, ttl)
            yield from _protects(table, ttl)
    for table, pattern, plan in subject.patterns:
        expires = any(field.attribute == table.schema.ttl for field in plan.entity.fields.values())
        if plan.reading and plan.expired == "keep" and pattern.facts.decides and expires:
            yield Finding(
                RULE.code,
                "error",
                pattern.name,
                f"{pattern.name} decides about {pattern.facts.decides} by items that may have expired: the service"
                f" deletes them up to days after {table.schema.ttl}, so that what should be over still counts",
                "drop expired=True, and compare the expiry in the condition of the write that follows",
                pattern.place,
                table.schema.place.at("ttl="),
            )


def _sets(table: Table, ttl: TTL) -> Iterator[Finding]:
    if ttl.sets:
        names = ", ".join(f"{name} = {value}" for name, value in ttl.sets.items())
        yield Finding(
            RULE.code,
            "error",
            table.name,
            f"expiry by {ttl.attribute} is expected to set {names} in table {table.name}: expiry deletes the item and"
            " changes nothing",
            f"derive it when reading, from {ttl.attribute} and the clock; or let a job set it, and keep the item longer"
            " by another moment for expiry",
            table.schema.place.at("ttl="),
        )


def _protects(table: Table, ttl: TTL) -> Iterator[Finding]:
    found = _SECURITY.search(ttl.means)
    if found is not None and _CLEANING.search(ttl.means) is None:
        yield Finding(
            RULE.code,
            "error",
            table.name,
            f'expiry by {ttl.attribute} of table {table.name} is to mean "{ttl.means}": the item stays readable for up'
            f" to days, so that {found[0]} would last that long",
            f"compare {ttl.attribute} with the clock wherever it counts, and take expiry for cleaning up only",
            table.schema.place.at("ttl="),
        )
