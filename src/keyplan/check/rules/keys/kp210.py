"""Items of several entities, and nothing in the key that names theirs

In a table of several entities an item should tell what it is: by a literal prefix in its key (`USER#`,
`TASK#`), or by an attribute that names its entity. Where an entity's key is made of values alone, programs,
stream consumers and people who look at the table can only guess, and a second entity of that form cannot be
added without moving the first.

Begin the key with a prefix, or declare the table with `discriminator="entity_type"`.

Source: developer guide, "Best practices for designing and using partition keys effectively"; NoSQL design,
generic key names.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.entities import EntitySpec
from keyplan.design.template_parse import Text

RULE = Rule("KP210", "no-entity-prefix", ("warning",))


def check(subject: Subject) -> Iterator[Finding]:
    """Entities without literal text in their keys, in tables of several entities."""
    for table in subject.tables:
        if len(table.entities) < 2 or table.schema.discriminator is not None:
            continue
        for entity in table.entities:
            if not _has_literal(entity):
                yield Finding(
                    RULE.code,
                    "warning",
                    entity.name,
                    f"nothing in the key of {entity.name} ({entity.key.text}) says what it is, in table"
                    f" {table.name} with {len(table.entities)} entities",
                    f"write a prefix such as {entity.name.upper()}#, or declare the table with"
                    ' discriminator="entity_type"',
                    entity.key.place,
                    table.schema.place,
                )


def _has_literal(entity: EntitySpec) -> bool:
    """Whether some key attribute holds letters of its own."""
    return any(
        isinstance(part, Text) and any(character.isalnum() for character in part.text)
        for attribute in entity.key.attributes
        if attribute.template is not None
        for part in attribute.template.parts
    )
