"""A parameter that nothing is made of

The body of a pattern takes a parameter and says nothing with it: neither in the key, nor in a filter, a condition or
a change. Often a line is missing, so that the pattern gives the items of everybody, or writes whatever the caller had
on condition of.

Say what it is for, or leave it out.

Source: keyplan's own rule: a design has no words without meaning.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.parameters import unused_parameters

RULE = Rule("KP324", "unused-parameter", ("warning",))


def check(subject: Subject) -> Iterator[Finding]:
    """Parameters that do not come up in what a body returns."""
    for pattern in subject.design.patterns:
        for name in unused_parameters(pattern):
            yield Finding(
                RULE.code,
                "warning",
                pattern.name,
                f"{pattern.name} takes {name}, and makes no use of it",
                f"say what {name} is for, or leave it out",
                pattern.place.at(name),
            )
