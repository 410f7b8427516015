"""Rules: definitions."""

from __future__ import annotations

from collections.abc import Iterator

from keyplan import limits
from keyplan.check.finding import Finding
from keyplan.check.rule import design_rule, fault_rule
from keyplan.check.subject import Subject
from keyplan.design.declaring.tables import Table
from keyplan.design.errors import Place

key_attribute_type = fault_rule(
    "KP101",
    "key-attribute-type",
    """A key attribute is not a String, a Number or Binary

    Keys of tables and indexes hold one String, Number or Binary each. The service refuses to create a table
    whose key is declared as anything else, and refuses every write whose key attribute has another type than
    the one declared: an index on a Boolean `active` fails at the first `put`.

    Keep the Boolean as plain data, and make the index key from a String that is there only while the item
    belongs in the index. The index is then sparse: items without the attribute are not in it and cost nothing.

    Source: developer guide, "Supported data types and naming rules"; API reference, AttributeDefinition.
    """,
)


too_many_local_indexes = fault_rule(
    "KP106",
    "too-many-local-indexes",
    """A table has more than five local indexes

    A table may have five local secondary indexes. They can only be created with the table and never be removed,
    share its partition key, and bind every item collection to 10 GB, so five is a number to stay far below.

    Use global indexes, which can be added to a living table, unless reads of the index must be strongly consistent.

    Source: developer guide, "Quotas in Amazon DynamoDB", secondary indexes per table.
    """,
)


too_many_global_indexes = fault_rule(
    "KP107",
    "too-many-global-indexes",
    """A table has more than twenty global indexes

    Twenty global secondary indexes a table is the default quota; creating a table with more is refused until the
    account's quota is raised. Every index is another write for each item in it, so a design that needs more than
    twenty usually asks one table to be a search engine.

    Drop indexes that no pattern reads, let entities share an index with general names (GSI1PK, GSI1SK), or send
    changes to a search service by the table's stream.

    Source: developer guide, "Quotas in Amazon DynamoDB", secondary indexes per table.
    """,
)


too_many_projected_attributes = fault_rule(
    "KP108",
    "too-many-projected-attributes",
    """Indexes list too many attributes

    An index that projects listed attributes may list twenty, and all indexes of a table together a hundred; the
    same attribute in two indexes counts twice. Creating a table that lists more is refused.

    Project all where most is needed anyway: the price of an entry is that of its size, not of how it is declared.

    Source: developer guide, "Quotas in Amazon DynamoDB", projected attributes; API reference, Projection.
    """,
)


@design_rule("KP109", "error")
def invalid_name(subject: Subject) -> Iterator[Finding]:
    """A name that the service refuses, or that is given twice

    Names of tables and indexes have 3 to 255 letters, digits, underscores, points and hyphens. Names of key attributes,
    and of attributes that an index lists, have at most 255 bytes; others at most 64 KB. Two tables of one account and
    Region cannot have one name, nor can two indexes of one table: the second would be refused when it is created. Nor
    can two patterns of one module: a name means the last of them, and the first is priced and documented, but nothing
    can call it.

    Choose another name. Short names of attributes are cheap, because names count as part of every item.

    Source: developer guide, "Supported data types and naming rules" and "Quotas in Amazon DynamoDB".
    """
    yield from subject.errors_of(invalid_name.code)
    yield from _hidden_patterns(subject)
    seen: dict[str, Place] = {}
    for table in subject.tables:
        yield from _long_names(table)
        place = table.schema.place
        if table.name in seen:
            yield invalid_name.finding(
                table.name,
                f"the design has two tables called {table.name}",
                "give one of them another name",
                place.at(f'"{table.name}"'),
                seen[table.name],
            )
        seen.setdefault(table.name, place)


def _hidden_patterns(subject: Subject) -> Iterator[Finding]:
    """Patterns whose name another one of their module took."""
    seen: dict[tuple[str, str], Place] = {}
    for pattern in subject.design.patterns:
        named = (pattern.module, pattern.name)
        if named in seen:
            yield invalid_name.finding(
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
            yield invalid_name.finding(
                table.name,
                f"the attribute {name[:20]}... of table {table.name} has a name of {len(name.encode()):,} bytes, and it"
                f" may have {most:,}",
                "give it a shorter name",
                stored.get(name, table.schema.place),
                table.schema.place,
            )


invalid_key_schema = fault_rule(
    "KP113",
    "invalid-key-schema",
    """A key has the wrong shape

    Keys of global indexes may have up to four partition and four sort attributes; keys of tables and of local
    indexes have one of each. A local index needs a table with a sort key. Creating anything else is refused. (An
    attribute that occurs twice in one key is refused when the module is imported.)

    Where four attributes are not enough, join some of them in one attribute made by a template.

    Source: developer guide, "Multi-attribute keys" of global secondary indexes; API reference, KeySchemaElement.
    """,
)
