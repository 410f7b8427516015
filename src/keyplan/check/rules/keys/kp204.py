"""A range of the sort key takes in another entity

`begins_with`, a range or an equality on the sort key returns whatever has such a key, also items of entities
that the pattern does not speak of: `begins_with(SK, "USER")` finds `USERSTATS#...` too. They are read and paid
for, they use up the page, and a program that takes them for its own reads nonsense. Keyplan tells them apart
by their whole keys and drops them; other programs on the table will not.

The condition is compared with the key templates of every entity in the same partition; the finding shows a key
that it captures.

End prefixes with the separator (`USER#`), bound ranges on both sides within the prefix, as `sk.gte(field=...)`
on a template does, or name the other entity in the pattern where both are wanted.

Source: developer guide, "Key condition expressions for the Query operation".
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.captures import captured_by, partition_shared
from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.entities import EntitySpec
from keyplan.design.plan import Plan, SortCondition

RULE = Rule("KP204", "prefix-capture", ("error", "warning"))


def check(subject: Subject) -> Iterator[Finding]:
    """Queries whose sort condition captures keys of entities that they do not return."""
    for _, pattern, plan in subject.patterns:
        if plan.operation != "Query" or plan.key is None or not plan.key.sort:
            continue
        for other in _others(plan):
            bound = other.key_in(plan.index)
            if bound is None or not partition_shared(plan.key.partition, bound.partition):
                continue
            found = captured_by(plan.key.sort, bound.sort)
            if found is not None:
                condition = " and ".join(_told(one) for one in plan.key.sort)
                yield Finding(
                    RULE.code,
                    "error" if found.exact else "warning",
                    pattern.name,
                    f"{pattern.name} reads {plan.entity.name} by {condition}, which also takes in {other.name}"
                    f" ({bound.text}), for example {found.text}",
                    f"end the prefix with its separator, bound the range within it, or name {other.name} in the"
                    " pattern where it is wanted",
                    pattern.place,
                    bound.place,
                )


def _told(condition: SortCondition) -> str:
    """A condition in words: as it is written, or on which template."""
    value = condition.low
    text = value.template.text if value.template is not None else f"{{{', '.join(value.sources)}}}"
    what = f'"{text}"' if value.part == "whole" else f"on {text}"
    return f"{condition.attribute} {condition.op} {what}"


def _others(plan: Plan) -> Iterator[EntitySpec]:
    return (entity for entity in plan.siblings if entity not in plan.entities)
