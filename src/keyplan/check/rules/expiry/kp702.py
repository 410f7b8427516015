"""An expiry in milliseconds

The expiry is compared as seconds. A value in milliseconds lies some 50,000 years ahead: nothing ever expires, and
nothing says so.

Store the moment in seconds: a `datetime` field of the table's expiry is, unless it is marked
`Attribute(stored="epoch_ms")`. Found are that mark, names such as `until_ms`, and numbers whose default or least
value is no moment in seconds.

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
_NO_SECONDS = 10**11
"""As seconds a moment of the year 5138; as milliseconds one of 1973."""


def check(subject: Subject) -> Iterator[Finding]:
    """Fields stored under the attribute for expiry in milliseconds: by their mark, name, default or least value."""
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
    if field.stored == "epoch_ms":
        return True
    if field.type_code != "N" or field.stored is not None:
        return False
    least = field.declared.minimum
    told = [value for value in (least, field.info.default) if isinstance(value, int)]
    return _MILLIS.search(words_of(field.name)) is not None or any(value >= _NO_SECONDS for value in told)
