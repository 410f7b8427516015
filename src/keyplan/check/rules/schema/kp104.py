"""An item can pass 400 KB

An item, names and values together, may have 400 KB (409,600 bytes); the write that passes it is refused. The
declaration tells in three ways: the sizes that the design states (`Items(bytes=Bytes(...))`), the lengths that
its fields allow, and updates that append to a list or set which nothing bounds, so that the item grows until
one day it cannot be written any more. Long before that every change is billed for the whole item.

Declare lengths that fit, put what grows into items of its own in the same item collection, or keep large
content in an object store with its key in the item.

Source: developer guide, "Quotas in Amazon DynamoDB", item size; "Best practices for storing large items".
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan import limits
from keyplan.check.finding import Finding
from keyplan.check.item_bytes import grows_without_end, most_item_bytes
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.entities import EntitySpec

RULE = Rule("KP104", "item-bytes", ("error", "warning"))


def check(subject: Subject) -> Iterator[Finding]:
    """Items whose declared sizes or lengths pass the limit, and fields that grow for ever."""
    for _, entity in subject.entities:
        told = entity.items.bytes if entity.items is not None else None
        if told is not None:
            yield from _declared(entity, max(told.average, told.p99 or 0, told.most or 0))
        if told is None or told.most is None:
            yield from _allowed(entity)
    for _, pattern, plan in subject.patterns:
        for action in plan.actions:
            name = action.path.field
            stored = plan.entity.fields[name]
            if action.name in {"append", "add_to_set"} and grows_without_end(stored, action.path):
                yield Finding(
                    RULE.code,
                    "warning",
                    pattern.name,
                    f"{pattern.name} adds to {plan.entity.name}.{name}, and nothing bounds it: each call rewrites and"
                    " bills the whole item, and at 400 KB the writes are refused",
                    f"write an item for each member, in the item collection of {plan.entity.name}, or declare"
                    f" {name} with a max_length that conditions keep",
                    pattern.place.at(name),
                    plan.entity.place,
                )


def _declared(entity: EntitySpec, most: int) -> Iterator[Finding]:
    if most > limits.ITEM_BYTES:
        yield Finding(
            RULE.code,
            "error",
            entity.name,
            f"items of {entity.name} are declared with up to {most:,} bytes, and an item may have"
            f" {limits.ITEM_BYTES:,}",
            "split the item, or keep its large content in an object store",
            entity.place.at("Bytes("),
        )


def _allowed(entity: EntitySpec) -> Iterator[Finding]:
    most, largest = most_item_bytes(entity)
    if most > limits.ITEM_BYTES:
        yield Finding(
            RULE.code,
            "warning",
            entity.name,
            f"the declared lengths of {entity.name} allow {most:,} bytes, {largest} most of them, and an item may have"
            f" {limits.ITEM_BYTES:,}",
            f"declare {largest} shorter, or say what items have at most: items=Items(..., bytes=Bytes(most=...))",
            entity.place,
        )
