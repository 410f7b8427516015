"""A name that the service refuses, or that is given twice

Names of tables and indexes have 3 to 255 letters, digits, underscores, points and hyphens. Names of key
attributes, and of attributes that an index lists, have at most 255 bytes; others at most 64 KB. Two tables of
one account and Region cannot have one name, nor can two indexes of one table: the second would be refused when it is
created. Nor can two patterns of one module: a name means the last of them, and the first is priced and documented, but
nothing can call it.

Choose another name. Short names of attributes are cheap, because names count as part of every item.

Source: developer guide, "Supported data types and naming rules" and "Quotas in Amazon DynamoDB".
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan import limits
from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.places import Place
from keyplan.design.tables import Table

RULE = Rule("KP109", "names", ("error",))


def check(subject: Subject) -> Iterator[Finding]:
    """Names of the wrong form or length, and names given twice."""
    yield from subject.errors_of(RULE.code)
    yield from _hidden(subject)
    seen: dict[str, Place] = {}
    for table in subject.tables:
        yield from _long_names(table)
        place = table.schema.place
        if table.name in seen:
            yield Finding(
                RULE.code,
                "error",
                table.name,
                f"the design has two tables called {table.name}",
                "give one of them another name",
                place.at(f'"{table.name}"'),
                seen[table.name],
            )
        seen.setdefault(table.name, place)


def _hidden(subject: Subject) -> Iterator[Finding]:
    """Patterns whose name another one of their module took."""
    seen: dict[tuple[str, str], Place] = {}
    for pattern in subject.design.patterns:
        named = (pattern.module, pattern.name)
        if named in seen:
            yield Finding(
                RULE.code,
                "error",
                pattern.name,
                f"two patterns are called {pattern.name}: nothing can call the first",
                "give one of them another name",
                pattern.place,
                seen[named],
            )
        seen.setdefault(named, pattern.place)


def _long_names(table: Table) -> Iterator[Finding]:
    listed = [name for index in table.schema.indexes if isinstance(index.project, tuple) for name in index.project]
    short = {*table.schema.key_attributes(), *listed}
    stored = {field.attribute: entity.place for entity in table.entities for field in entity.fields.values()}
    for name in dict.fromkeys([*short, *stored]):
        most = limits.KEY_ATTRIBUTE_NAME_BYTES if name in short else limits.ATTRIBUTE_NAME_BYTES
        if len(name.encode()) > most:
            yield Finding(
                RULE.code,
                "error",
                table.name,
                f"the attribute {name[:20]}... of table {table.name} has a name of {len(name.encode()):,} bytes, and it"
                f" may have {most:,}",
                "give it a shorter name",
                stored.get(name, table.schema.place),
                table.schema.place,
            )
