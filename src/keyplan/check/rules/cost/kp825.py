"""A statement that the service's documents contradict

Design documents give reasons, and some of them are widespread and wrong: that transactions need one table, that a key
for each user spreads the load evenly, that on demand never throttles, that a sort key is "descending". A decision
that rests on such a reason may still be right, but not because of it.

The statements are a short list in `keyplan/check/statements.py`, each with what is true instead and its source. They
are looked for in the design's `claims` and in those of its patterns. A claim that denies one ("the stream does not
deliver exactly once") is right, and not found.

Correct the statement in the document, and look again at what was decided by it.

Source: named in each finding.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.claims import of_all
from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.statements import STATEMENTS
from keyplan.check.subject import Subject
from keyplan.design.places import Place
from keyplan.design.workload import Claim

RULE = Rule("KP825", "contradicted-statement", ("warning",))


def check(subject: Subject) -> Iterator[Finding]:
    """Claims that are one of the known statements, where the design is one of which it is wrong."""
    for name, claim, place in of_all(subject):
        yield from _look(subject, name, claim, place)


def _look(subject: Subject, name: str, claim: Claim, place: Place) -> Iterator[Finding]:
    for statement in STATEMENTS:
        found = statement.said_by(claim.text)
        if found is not None and statement.holds_of(subject, found):
            yield Finding(
                RULE.code,
                "warning",
                name,
                f'"{claim.text}": {statement.problem} ({statement.source})',
                statement.fix,
                place,
            )
            return
