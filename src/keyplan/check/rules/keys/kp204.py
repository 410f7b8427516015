"""A range of the sort key takes in another entity

`begins_with`, a range or an equality on the sort key returns every item with such a key, including items of entities
that the pattern does not name: `begins_with(SK, "USER")` finds `USERSTATS#...` too. They are read and paid
for, they use up the page, and a program that takes them for its own reads nonsense. Keyplan separates them
by their whole keys and drops them; other programs on the table do not.

The condition is compared with the key templates of every entity in the same partition; the finding shows a key
that it captures.

Item types that are mixed on purpose are not reported: a range of the pattern's own fields, where the table's
`discriminator` separates the entities, or where both have a sort key of the same form in an index and their primary
keys separate them. A text that is written out (`sk.text("begins_with", "USER")`) is always compared.

End prefixes with the separator (`USER#`), bound ranges on both sides within the prefix, as `sk.gte(field=...)`
on a template does, or name the other entity in the pattern where both are wanted.

Source: developer guide, "Key condition expressions for the Query operation".
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.captures import captured_by, partition_shared
from keyplan.check.finding import Finding
from keyplan.check.keyspace import shared
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.entities import EntitySpec
from keyplan.design.keys import BoundKey, text_of
from keyplan.design.plan import Plan, SortCondition
from keyplan.design.projections import holds_discriminator

RULE = Rule("KP204", "prefix-capture", ("error", "warning"))


def check(subject: Subject) -> Iterator[Finding]:
    """Return findings for queries whose sort condition captures keys of entities that they do not return."""
    for _, pattern, plan in subject.patterns:
        if plan.operation != "Query" or plan.key is None or not plan.key.sort:
            continue
        for other in _others(plan):
            bound = other.key_in(plan.index)
            if bound is None or not partition_shared(plan.key.partition, bound.partition):
                continue
            if _mixes_on_purpose(plan, other, bound):
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


def _mixes_on_purpose(plan: Plan, other: EntitySpec, bound: BoundKey) -> bool:
    """Return True if a range of the entity's own fields reads item types that the discriminator or keys separate."""
    assert plan.key is not None, "the caller looked"
    if any(_is_written_out(condition, plan) for condition in plan.key.sort):
        return False
    if holds_discriminator(plan):
        return True
    own = plan.entity.key_in(plan.index)
    alike = own is not None and text_of(own.sort) == text_of(bound.sort)
    return alike and shared(plan.entity.key.attributes, other.key.attributes) is None


def _is_written_out(condition: SortCondition, plan: Plan) -> bool:
    """Return True if a condition compares with a text of sk.text(...) and not with one that an entity's key makes."""
    keys = [bound for entity in plan.entities if (bound := entity.key_in(plan.index)) is not None]
    own = [part.template for bound in keys for part in bound.sort]
    return condition.low.template is not None and all(condition.low.template is not template for template in own)


def _told(condition: SortCondition) -> str:
    """Return a condition in words: as it is written, or on which template."""
    value = condition.low
    text = value.template.text if value.template is not None else f"{{{', '.join(value.sources)}}}"
    what = f'"{text}"' if value.part == "whole" else f"on {text}"
    return f"{condition.attribute} {condition.op} {what}"


def _others(plan: Plan) -> Iterator[EntitySpec]:
    return (entity for entity in plan.siblings if entity not in plan.entities)
