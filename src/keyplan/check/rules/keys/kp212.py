"""A key does not give its fields back

With `store_key_fields=False` fields that the key holds are not stored a second time; they are read back from
the key's text. That works only as far as the text says everything: `{at:utc_s}` gives back whole seconds of a
moment that had more, so the value changes between write and read. Where a key cannot be read back at all
(`{name:lower}`, `{id:shard(8)}`), the fields stay stored as they are, and the option saves nothing.

Use a hole that keeps the value (`{at:utc_us}`), or store the fields.

Source: keyplan's own rule, about its own encodings.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.entities import EntitySpec
from keyplan.design.keys import KeyAttribute
from keyplan.design.templates import BoundTemplate

RULE = Rule("KP212", "not-reversible", ("warning", "advice"))


def check(subject: Subject) -> Iterator[Finding]:
    """Entities that keep fields in their key only, and whose key rounds them or cannot be read."""
    for _, entity in subject.entities:
        if entity.store_key_fields:
            continue
        for part in entity.key.attributes:
            if part.template is not None:
                yield from _looked_at(entity, part, part.template)


def _looked_at(entity: EntitySpec, part: KeyAttribute, template: BoundTemplate) -> Iterator[Finding]:
    if not template.reversible:
        yield Finding(
            RULE.code,
            "advice",
            entity.name,
            f"{part.attribute} of {entity.name}, {template.text}, cannot be read back, so its fields are stored"
            " although store_key_fields is False",
            "use holes that can be read back, or leave the option out",
            entity.key.place.at(template.text),
            entity.place,
        )
        return
    for hole in template.holes:
        if hole.encoding.rounds_to is not None:
            yield Finding(
                RULE.code,
                "warning",
                entity.name,
                f"{entity.name}.{hole.name} is stored in the key only, as {{{hole.name}:{hole.spec}}}, which rounds it"
                f" to the {hole.encoding.rounds_to}: what is read is not what was written",
                f"write {{{hole.name}:utc_us}}, or store the field with store_key_fields=True",
                entity.key.place.at(template.text),
                entity.place,
            )
