"""A pattern is dropped that is still used

Who calls a pattern is not said in a design. It is an error where a program is given (`keyplan diff --uses FOLDER`)
that still imports the pattern from the design's module, or takes it from the module as an attribute. Without that
it is a warning, where the old design itself says that the pattern is used: it has a rate of calls, its document
makes a claim of it, or another pattern is to show what it writes.

A pattern that is a step of a transaction cannot be dropped: the design would not be imported.

Remove the calls first and deploy that; drop the pattern with the next version. Cursors that it handed out are of no
use to the pattern that takes its place.

Source: AWS Well-Architected, Operational Excellence Pillar, "Make frequent, small, reversible changes".
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.diff.changes import Change
from keyplan.diff.comparison import Comparison

RULE = Rule("KP910", "used-pattern-dropped", ("error", "warning"))


def check(comparison: Comparison) -> Iterator[Finding]:
    """Patterns that are gone or renamed, as far as anything says that they are used."""
    for change in comparison.of("pattern removed", "pattern renamed"):
        name = str(change.facts["pattern"])
        called = [use for use in comparison.uses if use.name == name]
        for use in called:
            fix = "remove the call, or keep the pattern until the next version"
            yield Finding(
                RULE.code, "error", change.subject, f"{change.what}, and is still used", fix, use.place, change.other
            )
        if not called:
            yield from _told(change)


def _told(change: Change) -> Iterator[Finding]:
    told = change.facts.get("uses")
    if isinstance(told, tuple) and told:
        problem = f"{change.what}, and in the old design {'; '.join(told)}"
        fix = "remove its callers first, and say that it is called no more: rate=Rate(average=0)"
        yield Finding(RULE.code, "warning", change.subject, problem, fix, change.place, change.other)
