"""Attributes are reserved words

Some 570 words, among them status, name, type, date, ttl, count and role, cannot stand in an expression as they
are: the service refuses `SET status = :s` with a syntax error. Keyplan writes placeholders (`#status`) for all
names, so its patterns work; scripts, consoles and other programs that use the table must do the same.

Nothing has to be done. Where other programs write expressions by hand, another name under the same field
(`Annotated[str, Attribute("task_status")]`) spares them the placeholder.

Source: developer guide, "Reserved words in DynamoDB" and "Expression attribute names".
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.dynamodb.expressions.reserved import is_reserved

RULE = Rule("KP114", "reserved-word", ("advice",))


def check(subject: Subject) -> Iterator[Finding]:
    """Attributes of a table that are reserved words, in one finding for each table."""
    for table in subject.tables:
        stored = [field.attribute for entity in table.entities for field in entity.fields.values()]
        names = [name for name in dict.fromkeys([*table.schema.key_attributes(), *stored]) if is_reserved(name)]
        if names:
            yield Finding(
                RULE.code,
                "advice",
                table.name,
                f"table {table.name} stores {', '.join(names)}, reserved {'word' if len(names) == 1 else 'words'} that"
                " expressions cannot name as they are",
                "nothing, within keyplan; other programs need placeholders such as #" + names[0],
                table.schema.place,
            )
