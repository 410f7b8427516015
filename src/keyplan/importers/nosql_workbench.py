"""Importer for NoSQL Workbench data models: tables, indexes, facets and sample data.

Source: developer guide, "NoSQL Workbench for DynamoDB" (data modeler, facets, sample data), and published models. Older
versions of the format do not contain capacity or facets, so both are optional.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from keyplan.importers.documents import WORKBENCH, Document, wrong_document_error
from keyplan.importers.entities import is_item
from keyplan.importers.key_shapes import item_kinds
from keyplan.importers.nodes import ImportSourceError, Node
from keyplan.importers.schemas import ImportSource, Item, SourceEntity, SourceTable, source_table

_MODEL_MEMBERS = frozenset({"DataModel", "ModelMetadata", "ModelName"})
_TABLE_MEMBERS = frozenset({
    "BillingMode", "DataAccess", "GlobalSecondaryIndexes", "KeyAttributes", "LocalSecondaryIndexes",
    "NonKeyAttributes", "ProvisionedCapacitySettings", "SampleDataFormats", "TableData", "TableFacets", "TableName",
})  # fmt: skip
_INDEX_MEMBERS = frozenset({
    "IndexName", "KeyAttributes", "Projection", "ProvisionedCapacitySettings", "ProvisionedThroughput",
})  # fmt: skip
_FACET_MEMBERS = frozenset({"DataAccess", "FacetName", "KeyAttributeAlias", "NonKeyAttributes", "TableData"})
_INDEXES = ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")
_KEY_TYPES = ("S", "N", "B")
_PLACEHOLDER = re.compile(r"\{[A-Za-z_]\w*(:[^{}]+)?\}")


def nosql_workbench(documents: Sequence[Document]) -> ImportSource:
    """Return the tables of NoSQL Workbench data models. Raises ImportSourceError if a data model is invalid."""
    tables: list[SourceTable] = []
    gaps: list[str] = []
    for document in documents:
        if not isinstance(document.member("DataModel"), list):
            raise wrong_document_error(WORKBENCH, document)
        service = Node(document.member("ModelMetadata") or {}, f"{document.name}: ModelMetadata").get("AWSService")
        if service is not None and "DynamoDB" not in service.text():
            raise service.fail(f"it is a model of {service.text()}, not of Amazon DynamoDB")
        source_tables = [
            _table(model) for model in Node(document.member("DataModel"), f"{document.name}: DataModel").items()
        ]
        if not source_tables:
            raise ImportSourceError(f"{document.name} has no table in its DataModel")
        tables += source_tables
        root = Node(document.value, document.name)
        gaps += _unknown_member_gaps(root, _MODEL_MEMBERS, root)
    names = ", ".join(document.name for document in documents)
    return ImportSource(f"{names}, {WORKBENCH}", tuple(tables), tuple(gaps), _description(documents[0]))


def _description(document: Document) -> str:
    metadata = document.member("ModelMetadata")
    description = metadata.get("Description") if isinstance(metadata, Mapping) else ""
    return ": ".join(str(text) for text in (document.member("ModelName"), description) if text)


def _table(model: Node) -> SourceTable:
    name = model.need("TableName").text()
    node = Node(model.value, f"{model.path.rpartition(': ')[0]}: table {name}")
    other_types = {
        attribute.need("AttributeName").text(): _type(attribute) for attribute in node.elements("NonKeyAttributes")
    }
    types = _key_types(node, other_types)
    facets = list(node.elements("TableFacets"))
    gaps = [
        *_unknown_member_gaps(node, _TABLE_MEMBERS, node),
        *(gap for facet in facets for gap in _unknown_member_gaps(facet, _FACET_MEMBERS, node)),
    ]
    table = source_table(_properties(node, types, gaps), name, gaps)
    guesses: list[str] = []
    entities = tuple(_entities(node, table, other_types, guesses))
    return replace(table, types={**other_types, **table.types}, entities=entities, guesses=tuple(guesses))


def _key_types(table: Node, other_types: Mapping[str, str]) -> dict[str, str]:
    """Return the DynamoDB type of each key attribute.

    The type is declared in the key or in `other_types`, which contains the types of the other attributes.
    """
    keys = [table.need("KeyAttributes")]
    keys += [index.need("KeyAttributes") for type_code in _INDEXES for index in table.elements(type_code)]
    types: dict[str, str] = {}
    for key_part in (part for key in keys for part in _key_attributes(key)):
        attribute = key_part.need("AttributeName").text()
        type_code = _type(key_part) if key_part.get("AttributeType") is not None else other_types.get(attribute, "S")
        if type_code not in _KEY_TYPES:
            raise key_part.fail(f"{attribute!r} is a key attribute of the invalid type {type_code}")
        if types.setdefault(attribute, type_code) != type_code:
            raise key_part.fail(f"{attribute!r} is of type {types[attribute]} in one key and of {type_code} in another")
    return types


def _type(attribute: Node) -> str:
    return attribute.need("AttributeType").one_of("S", "N", "B", "BOOL", "NULL", "M", "L", "SS", "NS", "BS")


def _key_attributes(key: Node) -> Iterator[Node]:
    yield key.need("PartitionKey")
    if (sort := key.get("SortKey")) is not None:
        yield sort


def _properties(table: Node, types: Mapping[str, str], gaps: list[str]) -> Node:
    """Return the properties of a table under the names that CloudFormation uses."""
    properties: dict[str, Any] = {
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": member} for name, member in types.items()],
        "KeySchema": _key_schema(table.need("KeyAttributes")),
    }
    mode, capacity = table.get("BillingMode"), table.at("ProvisionedCapacitySettings", "ProvisionedThroughput")
    on_demand = mode.text() == "PAY_PER_REQUEST" if mode is not None else capacity is None
    if mode is None and on_demand:
        gaps.append("BillingMode is missing: the table is imported as on demand")
    properties["BillingMode"] = "PAY_PER_REQUEST" if on_demand else "PROVISIONED"
    if not on_demand and capacity is not None:
        properties["ProvisionedThroughput"] = capacity.value
    gaps += _scaling_gaps(table, table) if not on_demand else []
    for member in _INDEXES:
        indexes = [_index(index, properties, table, gaps) for index in table.elements(member)]
        if indexes:
            properties[member] = indexes
    return Node(properties, table.path)


def _unknown_member_gaps(holder: Node, known_members: frozenset[str], within: Node) -> Iterator[str]:
    """Yield a sentence for each member of `holder` that is not in `known_members`.

    `holder` is the table `within` or a value in it.
    """
    for member, value in holder.mapping().items():
        if member in known_members:
            continue
        entries = value if isinstance(value, list) and str(member).endswith("Indexes") else []
        names = [entry["IndexName"] for entry in entries if isinstance(entry, Mapping) and "IndexName" in entry]
        for name in names:
            yield f"index {name!r} is omitted: {member} indexes are not part of a design"
        if not names:
            yield f"{_path_in(holder, within)}{member}: unknown member"


def _scaling_gaps(holder: Node, within: Node) -> Iterator[str]:
    """Yield a sentence for each capacity setting of `holder` that uses automatic scaling.

    `holder` is the table `within` or one of its indexes.
    """
    settings = holder.get("ProvisionedCapacitySettings")
    for member in () if settings is None else settings.mapping():
        if str(member).startswith("AutoScaling"):
            yield f"{_path_in(holder, within)}{member}: capacity scales automatically; the initial capacity is imported"


def _path_in(holder: Node, within: Node) -> str:
    """Return the path of `holder` relative to the table `within`."""
    path = holder.path.removeprefix(within.path).removeprefix(".")
    return f"{path}." if path else ""


def _key_schema(key: Node) -> list[dict[str, str]]:
    parts = [part.need("AttributeName").text() for part in _key_attributes(key)]
    return [{"AttributeName": name, "KeyType": kind} for name, kind in zip(parts, ("HASH", "RANGE"), strict=False)]


def _index(index: Node, table_properties: Mapping[str, Any], table: Node, gaps: list[str]) -> dict[str, Any]:
    """Return the properties of an index. If it has no capacity settings, use those of the table.

    Append a sentence to `gaps` for each setting that a design cannot express.
    """
    gaps += _unknown_member_gaps(index, _INDEX_MEMBERS, table)
    index_capacity = index.at("ProvisionedCapacitySettings", "ProvisionedThroughput") or index.get(
        "ProvisionedThroughput"
    )
    projection = index.get("Projection")
    properties: dict[str, Any] = {
        "IndexName": index.need("IndexName").text(),
        "KeySchema": _key_schema(index.need("KeyAttributes")),
        "Projection": {"ProjectionType": "ALL"} if projection is None else projection.value,
    }
    if "ProvisionedThroughput" in table_properties:
        gaps += _scaling_gaps(index, table)
        properties["ProvisionedThroughput"] = (
            table_properties["ProvisionedThroughput"] if index_capacity is None else index_capacity.value
        )
    return properties


def _entities(
    table: Node, source_table: SourceTable, other_types: Mapping[str, str], guesses: list[str]
) -> Iterator[SourceEntity]:
    """Yield an entity for each facet. If a table has no facets, yield an entity for each kind of item in the sample
    data.

    `other_types` contains the types of the non-key attributes. A sentence is added to `guesses` for each assumption.
    """
    facets = list(table.elements("TableFacets"))
    for facet in facets:
        alias = facet.get("KeyAttributeAlias")
        aliases = [None if alias is None else alias.get(f"{part}KeyAlias") for part in ("Partition", "Sort")]
        samples = _samples(facet)
        rows = tuple(item for item in samples if _has_key_templates(item, source_table))
        yield SourceEntity(
            name=facet.need("FacetName").text(),
            attributes=tuple(attribute.text() for attribute in facet.elements("NonKeyAttributes")),
            samples=tuple(item for item in samples if item not in rows),
            template_rows=rows,
            aliases={
                name: alias.text()
                for name, alias in zip(source_table.key, aliases, strict=False)
                if alias is not None and alias.value
            },
        )
    if not facets:
        yield from _kinds(_samples(table), source_table, other_types, guesses)


def _has_key_templates(item: Item, table: SourceTable) -> bool:
    """Return True if an item is an exported row that shows key templates such as USER#{user_id} instead of values."""
    texts = [item.get(name, {}).get("S") for name in table.key_attributes]
    return any(isinstance(text, str) and _PLACEHOLDER.search(text) for text in texts)


def _kinds(
    samples: Sequence[Item], source_table: SourceTable, other_types: Mapping[str, str], guesses: list[str]
) -> Iterator[SourceEntity]:
    """Yield an entity for each distinct form of the keys in the sample items.

    Add a sentence to `guesses` for each assumption. If all keys have the same form, yield a single entity without a
    name.
    """
    if not samples:
        guesses.append(
            "no facets and no sample items: all items are one entity with plain keys;"
            " add sample items to the model, or write the keys of each entity"
        )
    kinds = item_kinds(samples, source_table.key)
    if len(kinds) < 2:
        yield SourceEntity(name="", attributes=tuple(other_types), samples=tuple(samples))
        return
    guesses.append(f"no facets: {len(kinds)} entities are guessed from the keys of {len(samples)} sample items")
    attributes = {name for item in samples for name in item}
    guesses += [
        f"attribute {name!r} is omitted because no sample item has it" for name in other_types if name not in attributes
    ]
    for kind in kinds:
        yield SourceEntity(
            name=kind.name, attributes=(), samples=kind.samples, templates=kind.templates, is_guessed=True
        )


def _samples(holder: Node) -> tuple[Item, ...]:
    return tuple(_sample(item) for item in holder.elements("TableData"))


def _sample(node: Node) -> Item:
    if not is_item(node.value):
        raise node.fail("it is not an item: give each attribute as its type and value, such as {'S': 'text'}")
    return node.mapping()
