"""An expiry in milliseconds

The expiry is compared as seconds. A value in milliseconds lies some 50,000 years ahead: nothing ever expires, and
nothing says so.

Store the moment in seconds: a `datetime` field of the table's expiry is, unless it is marked
`Attribute(stored="epoch_ms")`.

Source: developer guide, "Using time to live (TTL)": seconds, not milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.names import words_of
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.fields import StoredField

RULE = Rule("KP702", "expiry-in-milliseconds", ("error",))
_MILLIS = re.compile(r"_(ms|millis|milliseconds)$")


def check(subject: Subject) -> Iterator[Finding]:
    """Fields stored under the attribute for expiry in milliseconds, by their mark or their name."""
    for table, entity in subject.entities:
        for field in entity.fields.values():
            if field.attribute != table.schema.ttl or not _in_milliseconds(field):
                continue
            yield Finding(
                RULE.code,
                "error",
                entity.name,
                f"{entity.name}.{field.name} is the expiry of table {table.name} and is stored in milliseconds: read as"
                " seconds, that is tens of thousands of years ahead, and nothing expires",
                "store seconds: declare it as datetime without stored=, or as int seconds",
                entity.place.at(f"{field.name}:"),
                table.schema.place.at("ttl="),
            )


def _in_milliseconds(field: StoredField) -> bool:
    return field.stored == "epoch_ms" or (field.type_code == "N" and _MILLIS.search(words_of(field.name)) is not None)
