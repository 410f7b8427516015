"""Rules for definitions of tables, keys and indexes that DynamoDB rejects."""

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
    """Key attribute has an unsupported type

    Finds key attributes of tables and indexes that do not have the type String, Number or Binary.

    Why is this bad? DynamoDB rejects a table whose key has another type, and each write in which a key attribute does
    not have the declared type. For example, with an index on a Boolean `active`, the first `put` fails.

    Fix: store the Boolean as a non-key attribute. As the index key, use a String that exists only while the item
    belongs in the index. The index is then sparse: items without the String are not in the index and cause no index
    writes.

    Source: developer guide, "Supported data types and naming rules"; API reference, AttributeDefinition.
    """,
    conflicts=True,
)


too_many_local_indexes = fault_rule(
    "KP106",
    "too-many-local-indexes",
    """Table has more than five local indexes

    Finds tables with more than five local secondary indexes.

    Why is this bad? DynamoDB rejects the table. Local indexes can only be created together with the table and cannot be
    deleted. They have the same partition key as the table, and limit every item collection to 10 GB.

    Fix: use global indexes, which can be added later, unless reads of the index must be strongly consistent.

    Source: developer guide, "Quotas in Amazon DynamoDB" (secondary indexes per table).
    """,
)


too_many_global_indexes = fault_rule(
    "KP107",
    "too-many-global-indexes",
    """Table has more than twenty global indexes

    Finds tables with more than twenty global secondary indexes.

    Why is this bad? Twenty is the default quota: DynamoDB rejects a table with more indexes unless the account's quota
    is increased. Each write of an item is also applied to every index that contains the item, and each index write is
    billed.

    Fix: remove indexes that no pattern reads, use one index for several entities with generic key names (GSI1PK,
    GSI1SK), or send changes to a search service through the table's stream.

    Source: developer guide, "Quotas in Amazon DynamoDB" (secondary indexes per table).
    """,
)


too_many_projected_attributes = fault_rule(
    "KP108",
    "too-many-projected-attributes",
    """Projections list too many attributes

    Finds indexes that project more than 20 individual attributes (`project=[...]`), and tables whose indexes project
    more than 100 individual attributes in total. An attribute in two indexes counts twice.

    Why is this bad? DynamoDB rejects the table.

    Fix: project all attributes if most of them are needed. The price of an index write depends on the size of the item
    in the index, not on the kind of projection.

    Source: developer guide, "Quotas in Amazon DynamoDB" (projected attributes); API reference, Projection.
    """,
)


@design_rule("KP109", "error")
def invalid_name(subject: Subject) -> Iterator[Finding]:
    """Name is invalid or used twice

    Finds names of tables and indexes that do not consist of 3 to 255 letters, digits, underscores, dots and hyphens.
    Also finds names of key attributes and projected attributes over 255 bytes, and names of other attributes over 64
    KB. Two tables, two indexes of a table, or two patterns of a module with the same name are reported too.

    Why is this bad? DynamoDB rejects invalid names and a second table of the same name in an account and Region. Of two
    patterns with the same name, only the last can be called, but the first is still priced and documented.

    Fix: choose another name. Short attribute names cost less, because names are included in the size of each item.

    Source: developer guide, "Supported data types and naming rules" and "Quotas in Amazon DynamoDB".
    """
    yield from subject.errors_of(invalid_name.code)
    yield from _hidden_patterns(subject)
    names: dict[str, Place] = {}
    for table in subject.tables:
        yield from _long_names(table)
        place = table.schema.place
        if table.name in names:
            yield invalid_name.finding(
                table.name,
                f"creating the second table called {table.name} fails: the design declares two",
                "give one of them another name",
                place.at(f'"{table.name}"'),
                names[table.name],
            )
        names.setdefault(table.name, place)


def _hidden_patterns(subject: Subject) -> Iterator[Finding]:
    """Yield a finding for each pattern that is replaced in its module by another pattern with the same name."""
    places: dict[tuple[str, str], Place] = {}
    for pattern in subject.design.patterns:
        key = (pattern.module, pattern.name)
        if key in places:
            yield invalid_name.finding(
                pattern.name,
                f"nothing can call the first of two patterns called {pattern.name}",
                "give one of them another name",
                pattern.place,
                places[key],
            )
        places.setdefault(key, pattern.place)


def _long_names(table: Table) -> Iterator[Finding]:
    projected = [name for index in table.schema.indexes if isinstance(index.project, tuple) for name in index.project]
    limited_names = {*table.schema.key_attributes(), *projected}
    places = {field.attribute: entity.place for entity in table.entities for field in entity.fields.values()}
    for name in dict.fromkeys([*limited_names, *places]):
        limit = limits.KEY_ATTRIBUTE_NAME_BYTES if name in limited_names else limits.ATTRIBUTE_NAME_BYTES
        if len(name.encode()) > limit:
            yield invalid_name.finding(
                table.name,
                f"writes fail: the attribute name {name[:20]}... of table {table.name} has"
                f" {len(name.encode()):,} bytes, and the limit is {limit:,}",
                "give it a shorter name",
                places.get(name, table.schema.place),
                table.schema.place,
            )


invalid_key_schema = fault_rule(
    "KP113",
    "invalid-key-schema",
    """Key has an invalid number of attributes

    Finds keys of global indexes with more than four partition key attributes or more than four sort key attributes, and
    keys of tables and local indexes with more than one partition key attribute or more than one sort key attribute.
    Also finds local indexes of tables without a sort key. (An attribute that occurs twice in a key raises an error when
    the module is imported.)

    Why is this bad? DynamoDB rejects the table.

    Fix: if four attributes are not sufficient, combine several fields in one attribute with a template.

    Source: developer guide, "Multi-attribute keys" of global secondary indexes; API reference, KeySchemaElement.
    """,
)
