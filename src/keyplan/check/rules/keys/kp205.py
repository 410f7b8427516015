"""A value in a key may hold the separator that follows it

In `CATEGORY#{category}#{task_id}` a category "a#b" makes keys that `begins_with CATEGORY#a#` finds, and that
can be read back as another category. Keyplan never writes such a key: it refuses the value, so that what the
declaration allows fails when it is written. Where two fields stand side by side with nothing between them,
nothing can be refused, and two different pairs of values make one key: that is an error.

Declare what the value may hold (`Field(pattern=r"^[a-z0-9-]+$")`, a Literal, UUID), or let the template escape
it: `{category:quote}`. For identifiers that programs make this is advice.

Source: developer guide, "Best practices for using sort keys to organize data", composite sort keys.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding, Severity
from keyplan.check.names import is_identifier
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.entities import EntitySpec
from keyplan.design.keys import BoundKey
from keyplan.design.templates import BoundTemplate

RULE = Rule("KP205", "separator-in-value", ("error", "warning", "advice"))


def check(subject: Subject) -> Iterator[Finding]:
    """Fields in templates whose values may hold the text that follows them, once for each entity and field."""
    for _, entity in subject.entities:
        told: set[tuple[str, bool]] = set()
        for bound in (entity.key, *entity.indexes, *(rule.key for rule in entity.sentinels)):
            for part in bound.attributes:
                for name, delimiter in part.template.delimiter_risks() if part.template is not None else ():
                    if (name, bool(delimiter)) not in told:
                        told.add((name, bool(delimiter)))
                        assert part.template is not None, "it has risks"
                        yield _risk(entity, bound, part.template, name, delimiter)


def _risk(entity: EntitySpec, bound: BoundKey, template: BoundTemplate, name: str, delimiter: str) -> Finding:
    place = bound.place.at(f"{{{name}") if f"{{{name}" in template.text else bound.place
    if not delimiter:
        return Finding(
            RULE.code,
            "error",
            entity.name,
            f"nothing in {template.text} tells where {name} ends: two different pairs of values make one key",
            f"write a separator after {{{name}}}, or give it a fixed width",
            place,
            entity.place,
        )
    severity: Severity = "advice" if is_identifier(name) else "warning"
    return Finding(
        RULE.code,
        severity,
        entity.name,
        f"{entity.name}.{name} may hold {delimiter!r}, which follows it in {template.text}: such values are refused"
        " when they are written",
        f"declare what it holds, Field(pattern=...), or escape it: {{{name}:quote}}",
        place,
        entity.place,
    )
