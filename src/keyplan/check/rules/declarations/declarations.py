"""Rules for suppressions and for declarations that raise an error. The function `check` itself creates the findings of
these rules.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from keyplan.check.finding import Finding, Severity
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject


def _rule(code: str, slug: str, severity: Severity, page: str) -> Rule[Subject]:
    """Return a rule for findings that `check` itself creates. The rule provides their code, severity and page, but does
    not examine designs.
    """
    return Rule(code, slug, (severity,), _no_findings, inspect.cleandoc(page))


def _no_findings(_subject: Subject) -> Iterator[Finding]:
    return iter(())


INVALID_DECLARATION = _rule(
    "KP000",
    "invalid-declaration",
    "error",
    """Declaration is invalid

    Finds declarations that raise an error when the module is imported and whose error no other rule describes. Examples
    are a misspelled option, a pattern body that returns nothing, and an f-string around a parameter. Declarations that
    use the invalid declaration are skipped. The finding cannot be excluded with `--select` or `--ignore`.

    Why is this bad? The module cannot be imported, so a program that uses the design does not start. Findings that may
    depend on the invalid declaration are reported only after it is corrected.

    Fix: correct the declaration as the finding says. The caret marks the argument or the line.

    Source: design language of keyplan (not a limit of DynamoDB).
    """,
)
UNUSED_SUPPRESSION = _rule(
    "KP001",
    "unused-suppression",
    "warning",
    """Suppression has no effect

    Finds suppressions that match no finding: the rule reports nothing there, no rule has this code, or the design
    declares nothing with the name in `on=`. Suppressions are compared with findings only when all rules run, so this
    rule does not apply with `--select` or `--ignore`, or while a declaration is invalid.

    Why is this bad? A suppression that remains after its finding is gone also hides a later finding of the same rule,
    which nobody has examined.

    Fix: delete the suppression, or correct its code or the name in `on=`.

    Source: design language of keyplan (not a limit of DynamoDB).
    """,
)
UNEXPLAINED_SUPPRESSION = _rule(
    "KP002",
    "unexplained-suppression",
    "error",
    """Suppression has no sufficient reason

    Finds suppressions whose `reason=` has fewer than three words. This rule does not apply with `--select` or
    `--ignore`, or while a declaration is invalid.

    Why is this bad? A later reader of the design cannot tell whether the finding was examined, and under which
    conditions it can be ignored.

    Fix: write a reason of at least three words that explains why the finding does not apply, such as
    `reason="an order changes its status three times"`.

    Source: design language of keyplan (not a limit of DynamoDB).
    """,
)
