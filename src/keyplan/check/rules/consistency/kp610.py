"""A write that is repeated when no answer came, and counts twice

A caller that gets no answer cannot know whether the write happened. Repeating it is right for a write that comes
to the same end: setting a value, creating an item that refuses a second one. Adding to a number or appending to a
list happens twice.

Within one call that is taken care of: a transaction carries a token, and for ten minutes the service repeats the
first answer. A caller that calls again sends another token, and so does one that comes back after ten minutes.

Make the write a part of a transaction that also creates an item for the request (its id as the key, with an
expiry), or state a condition that only the first one meets, such as the version that was read. A bound on what is
counted (`when(F.free >= count)`) is none: while enough is left, the second one meets it too. Nor is a condition on what
the write leaves as it is.

Source: API reference, TransactWriteItems (ClientRequestToken); developer guide, "Programming errors: retries".
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.repeats import counted_in, happens_once
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject

RULE = Rule("KP610", "repeated-write-counts-twice", ("warning",))


def check(subject: Subject) -> Iterator[Finding]:
    """Patterns that callers repeat, and that add or append without a guard."""
    for pattern in subject.design.patterns:
        if not pattern.facts.retried:
            continue
        steps = pattern.plan.steps or (pattern.plan,)
        twice = [name for step in steps for name in counted_in(step)]
        if twice and not any(happens_once(step) for step in steps):
            yield Finding(
                RULE.code,
                "warning",
                pattern.name,
                f"{pattern.name} is repeated when no answer came, and adds to {', '.join(twice)} without a condition"
                " that only the first one meets: a repetition of a write that did happen counts twice",
                "create an item for the request's id in the same transaction, or add at_version(...) or a condition"
                " that only the first one meets",
                pattern.place,
            )
