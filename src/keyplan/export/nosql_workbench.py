"""Exports a design as a NoSQL Workbench data model, with a facet and sample items for each entity.

Source: developer guide, "NoSQL Workbench for DynamoDB" ("Editing an existing data model": DataModel, TableFacets,
KeyAttributeAlias, unique facet names), and the published sample models (BillingMode, ProvisionedCapacitySettings).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from keyplan.design.declaring.design import Design
from keyplan.design.entities import EntitySpec
from keyplan.design.keys.entity_keys import BoundKeyAttribute
from keyplan.design.requests.items import Item
from keyplan.export.examples import Scope, example_item, plain
from keyplan.export.resources import TableResource, in_json

_SCOPES = (Scope(all_fields=True), Scope(all_fields=True, turn=1, prefix="another "))
"""The scopes for generating the two sample items of an entity. The items have different values, to show which parts of
a key vary.
"""
_ACCESS: dict[str, Any] = {"MySql": {}}
_UNKNOWN_TYPE = "S"
"""The type to write for an attribute that can have several types and does not occur in any sample item."""
_OMITTED_SETTINGS = {
    "StreamSpecification": "the stream",
    "WarmThroughput": "warm throughput",
    "TableClass": "the table class",
    "DeletionProtectionEnabled": "deletion protection",
}
"""Descriptions of the settings that a data model cannot contain, by the name of the setting in a
CreateTable request.
"""


def model(design: Design, tables: Sequence[TableResource]) -> str:
    """Return the data model of a design as JSON."""
    facets = _facet_names(tables)
    return in_json(
        {
            "ModelName": design.name,
            "ModelMetadata": {
                "Author": "keyplan",
                "Description": f"Tables of the design {design.name}.",
                "AWSService": "Amazon DynamoDB",
                "Version": "3.0",
            },
            "DataModel": [_table(table, facets) for table in tables],
        }
    )


def _facet_names(tables: Sequence[TableResource]) -> dict[EntitySpec, str]:
    """Return a unique facet name for each entity.

    If several entities have the same name, their facet names contain the table name.
    """
    names = [entity.name for table in tables for entity in table.table.entities]
    return {
        entity: entity.name if names.count(entity.name) == 1 else f"{table.name}.{entity.name}"
        for table in tables
        for entity in table.table.entities
    }


def _table(table: TableResource, names: Mapping[EntitySpec, str]) -> dict[str, Any]:
    request, key = table.request, table.table.schema.key
    types = {definition["AttributeName"]: definition["AttributeType"] for definition in request["AttributeDefinitions"]}
    samples = {entity: _samples(entity) for entity in table.table.entities}
    other_types = {
        name: type_code for entity in table.table.entities for name, type_code in _attributes(entity, samples[entity])
    }
    facets = [_facet(entity, names[entity], samples[entity]) for entity in table.table.entities]
    table_json: dict[str, Any] = {
        "TableName": table.name,
        "KeyAttributes": _key(request["KeySchema"], types),
        "NonKeyAttributes": [
            {"AttributeName": name, "AttributeType": types.get(name, type_code)}
            for name, type_code in other_types.items()
        ],
        "TableFacets": facets,
        "GlobalSecondaryIndexes": [
            _index(index, types) for index in request.get("GlobalSecondaryIndexes", ()) if _is_plain(index)
        ],
        "TableData": list(_unique((item for facet in facets for item in facet["TableData"]), key)),
        "DataAccess": _ACCESS,
        "BillingMode": request["BillingMode"],
    }
    if "ProvisionedThroughput" in request:
        table_json["ProvisionedCapacitySettings"] = {"ProvisionedThroughput": request["ProvisionedThroughput"]}
    if local_indexes := request.get("LocalSecondaryIndexes"):
        table_json["LocalSecondaryIndexes"] = [_index(index, types) for index in local_indexes]
    return table_json


def _key(schema: Sequence[Mapping[str, str]], types: Mapping[str, str]) -> dict[str, dict[str, str]]:
    return {
        part: {"AttributeName": element["AttributeName"], "AttributeType": types[element["AttributeName"]]}
        for part, element in zip(("PartitionKey", "SortKey"), schema, strict=False)
    }


def _is_plain(index: Mapping[str, Any]) -> bool:
    """Return True if an index has one partition key attribute and at most one sort key attribute."""
    key_types = [element["KeyType"] for element in index["KeySchema"]]
    return key_types.count("HASH") == 1 and key_types.count("RANGE") <= 1


def _index(index: Mapping[str, Any], types: Mapping[str, str]) -> dict[str, Any]:
    index_json = {
        "IndexName": index["IndexName"],
        "KeyAttributes": _key(index["KeySchema"], types),
        "Projection": index["Projection"],
    }
    if "ProvisionedThroughput" in index:
        index_json["ProvisionedCapacitySettings"] = {"ProvisionedThroughput": index["ProvisionedThroughput"]}
    return index_json


def _samples(entity: EntitySpec) -> list[dict[str, Any]]:
    """Return the sample items of an entity, preceded by a row that shows the templates of its index keys.

    An item is omitted if no valid example values exist, or if an earlier item has the same key.
    """
    items = [item for scope in _SCOPES if not isinstance(item := example_item(entity, scope), str)]
    return list(_unique(map(plain, [*_template_row(entity, items), *items]), entity.schema.key))


def _template_row(entity: EntitySpec, items: Sequence[Item]) -> Iterator[Item]:
    """Yield an item whose index key attributes contain the templates of the index keys.

    The item is added because a facet itself contains only the template of the table's key. Yield nothing if no index
    key has a template.
    """
    parts = {part.attribute: part for bound in entity.indexes for part in bound.attributes}
    texts = {
        name: text for name, part in parts.items() if (text := _template_text(part)) and name not in entity.schema.key
    }
    if items and any("{" in text for text in texts.values()):
        key = {part.attribute: _template_text(part) for part in entity.key.attributes}
        yield {name: {"S": text} if text else items[0][name] for name, text in (key | texts).items()}


def _template_text(part: BoundKeyAttribute) -> str:
    """Return the template of a key attribute, or `{field}` if the attribute is a copy of a string or UUID field.

    Return an empty string for other attributes.
    """
    if part.template is not None or part.field is None:
        return "" if part.template is None else part.template.text
    is_copy = part.field.attribute != part.attribute and part.field.declared.type in (str, UUID)
    return f"{{{part.field.name}}}" if is_copy else ""


def _unique(items: Iterable[dict[str, Any]], key: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the items, except those with the same key as an earlier item."""
    seen_keys: set[str] = set()
    for item in items:
        key_text = repr([item.get(name) for name in key])
        if key_text not in seen_keys:
            seen_keys.add(key_text)
            yield item


def _attributes(entity: EntitySpec, samples: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield the name and type of each non-key attribute."""
    stored = [field for field in entity.fields.values() if field.name not in entity.key_only_fields]
    types = {field.attribute: field.type_code for field in stored}
    index_types = {
        part.attribute: part.type_code for bound in entity.indexes for part in entity.index_only_attributes(bound)
    }
    sample_types = {name: type_code for item in samples for name, value in item.items() for type_code in value}
    for name in dict.fromkeys((*types, *index_types, *sample_types)):
        type_code = (types | index_types).get(name, "ANY")
        if name not in entity.schema.key:
            yield name, sample_types.get(name, _UNKNOWN_TYPE) if type_code == "ANY" else type_code


def _facet(entity: EntitySpec, name: str, samples: list[dict[str, Any]]) -> dict[str, Any]:
    parts = zip(("PartitionKeyAlias", "SortKeyAlias"), entity.key.attributes, strict=False)
    return {
        "FacetName": name,
        "KeyAttributeAlias": {alias: _alias(part) for alias, part in parts},
        "NonKeyAttributes": [attribute for attribute, _ in _attributes(entity, samples)],
        "TableData": samples,
        "DataAccess": _ACCESS,
    }


def _alias(part: BoundKeyAttribute) -> str:
    """Return the template of a key attribute, or the name of the field that it stores."""
    return part.template.text if part.template is not None else part.fields[0]


def notes(tables: Sequence[TableResource]) -> Iterator[str]:
    """Yield a note for each table with settings that a data model cannot contain, and each entity without
    sample items.
    """
    for table in tables:
        examples = [example_item(entity, _SCOPES[0]) for entity in table.table.entities]
        yield from (reason for reason in examples if isinstance(reason, str))
        for index in table.request.get("GlobalSecondaryIndexes", ()):
            if not _is_plain(index):
                yield f"index {index['IndexName']} of {table.name} has multi-attribute keys: omitted"
        for index in table.request.get("LocalSecondaryIndexes", ()):
            yield f"index {index['IndexName']} of {table.name} is local: NoSQL Workbench may not display it"
        omitted = [description for setting, description in _OMITTED_SETTINGS.items() if setting in table.request]
        omitted += ["expiry"] if table.ttl is not None else []
        omitted += ["point-in-time recovery"] if table.recovers else []
        if omitted:
            yield f"the model of table {table.name} does not contain {', '.join(omitted)}"
