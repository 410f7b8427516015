"""Importer for the tables in CloudFormation templates, including templates created by SAM and the CDK.

The properties of global tables and SAM simple tables are first converted to those of AWS::DynamoDB::Table.

Source: CloudFormation Template Reference, "AWS::DynamoDB::GlobalTable" and its ReplicaSpecification,
ReadProvisionedThroughputSettings, GlobalReadProvisionedThroughputSettings, WriteProvisionedThroughputSettings and
CapacityAutoScalingSettings; AWS SAM developer guide, "AWS::Serverless::SimpleTable" and "PrimaryKeyObject".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from keyplan.importers.documents import CLOUDFORMATION, Document, wrong_document_error
from keyplan.importers.event_sources import event_sources
from keyplan.importers.intrinsics import Resolver
from keyplan.importers.nodes import ImportSourceError, Node, UnresolvedValue
from keyplan.importers.schemas import ImportSource, SourceTable, source_table

_REPLICA_MEMBERS = frozenset({
    "DeletionProtectionEnabled", "GlobalSecondaryIndexes", "PointInTimeRecoverySpecification",
    "ReadProvisionedThroughputSettings", "Region", "TableClass",
})  # fmt: skip
_REPLICA_INDEX_MEMBERS = frozenset({"IndexName", "ReadProvisionedThroughputSettings"})
_COPIED_FROM_REPLICA = ("DeletionProtectionEnabled", "PointInTimeRecoverySpecification", "TableClass")
_ALL_REPLICA_MEMBERS = frozenset({
    "ReadOnDemandThroughputSettings", "ReadProvisionedThroughputSettings", "Replicas",
    "WriteOnDemandThroughputSettings", "WriteProvisionedThroughputSettings",
})  # fmt: skip
_SAM_TYPES = {"String": "S", "Number": "N", "Binary": "B"}


_NAME = re.compile(r"[A-Za-z0-9_.-]{3,255}")
"""A regular expression for table names without placeholders (developer guide, "Supported data types and
naming rules").
"""
_SCALING = "AWS::ApplicationAutoScaling::ScalableTarget"
_EXTERNAL_RESOURCES = {
    "AWS::CloudFormation::Stack": "is a separate stack: import its template too",
    "AWS::Serverless::Application": "is a separate application: import its template too",
    "Custom::DynamoDBReplica": "creates a replica: replication is not part of a design",
}
"""The end of the message about a resource that can create tables or replicas outside the template, by resource type."""


def global_table(resource: Node) -> tuple[Node, tuple[str, ...]]:
    """Convert a global table to the properties of AWS::DynamoDB::Table.

    The settings of the first replica are used, because a design describes the tables of one Region. The second result
    contains a sentence for each setting that a design cannot express.
    """
    replicas = list(resource.elements("Replicas"))
    first_replica = replicas[0] if replicas else Node({}, f"{resource.path}.Replicas")
    gaps = list(_replica_gaps(resource, replicas))
    properties = {name: value for name, value in resource.mapping().items() if name not in _ALL_REPLICA_MEMBERS}
    for member in _COPIED_FROM_REPLICA:
        if (member_node := first_replica.get(member)) is not None:
            properties[member] = member_node.value
    if (mode := resource.get("BillingMode")) is None or mode.text() == "PROVISIONED":
        properties["ProvisionedThroughput"] = _throughput([resource], [first_replica, resource], gaps)
    replica_indexes = {
        index.need("IndexName").text(): index for index in first_replica.elements("GlobalSecondaryIndexes")
    }
    indexes = [_index(index, replica_indexes, resource, gaps) for index in resource.elements("GlobalSecondaryIndexes")]
    if indexes:
        properties["GlobalSecondaryIndexes"] = indexes
    return Node(properties, resource.path), tuple(gaps)


def _replica_gaps(resource: Node, replicas: list[Node]) -> Iterator[str]:
    """Yield a sentence for each setting of a global table or its replicas that a design cannot express."""
    for member in ("ReadOnDemandThroughputSettings", "WriteOnDemandThroughputSettings"):
        if resource.get(member) is not None:
            yield f"{member}: maximum on-demand throughput is not part of a design"
    for replica in replicas[:1]:
        for member in replica.mapping():
            if member not in _REPLICA_MEMBERS:
                yield f"Replicas[0].{member}: it is not part of a design"
        for number, index in enumerate(replica.elements("GlobalSecondaryIndexes")):
            for member in index.mapping():
                if member not in _REPLICA_INDEX_MEMBERS:
                    yield f"Replicas[0].GlobalSecondaryIndexes[{number}].{member}: it is not part of a design"
    if len(replicas) > 1:
        yield f"Replicas: a design covers one region, here {_region(replicas[0])}; omitted: " + ", ".join(
            map(_region, replicas[1:])
        )


def _region(replica: Node) -> str:
    region = replica.need("Region")
    return "the stack's region" if isinstance(region.value, UnresolvedValue) else region.text()


def _index(index: Node, replica_indexes: dict[str, Node], resource: Node, gaps: list[str]) -> dict[str, Any]:
    settings = ("WriteProvisionedThroughputSettings", "ReadProvisionedThroughputSettings")
    properties = {name: value for name, value in index.mapping().items() if name not in settings}
    mode = resource.get("BillingMode")
    if mode is None or mode.text() == "PROVISIONED":
        name = index.need("IndexName").text()
        reads = [*([replica_indexes[name]] if name in replica_indexes else []), index, resource]
        properties["ProvisionedThroughput"] = _throughput([index, resource], reads, gaps)
    return properties


def _throughput(writes: Sequence[Node], reads: Sequence[Node], gaps: list[str]) -> dict[str, Any]:
    """Return the read and write capacity of a table or index.

    The read capacity is taken from the first node in `reads` that declares a read capacity, and the write capacity from
    the first node in `writes` that declares a write capacity. Callers list the nodes of a replica before those for all
    replicas, and the node of an index before that of the table. If capacity scales automatically, the initial capacity
    is returned, and a sentence is appended to `gaps`.
    """
    throughput = {}
    for kind, nodes in (("Read", reads), ("Write", writes)):
        member = f"{kind}ProvisionedThroughputSettings"
        settings = next((capacity for node in nodes if (capacity := node.get(member)) is not None), None)
        if settings is None:
            raise writes[0].fail(f"{member} is missing, and the table is not PAY_PER_REQUEST")
        fixed = settings.get(f"{kind}CapacityUnits")
        if fixed is None:
            scaling = settings.need(f"{kind}CapacityAutoScalingSettings")
            fixed = scaling.get("SeedCapacity") or scaling.need("MinCapacity")
            path = fixed.path.rpartition("Properties.")[2]
            gaps.append(f"{path}: capacity scales automatically; the initial capacity is imported")
        throughput[f"{kind}CapacityUnits"] = fixed.value
    return throughput


def simple_table(resource: Node) -> tuple[Node, tuple[str, ...]]:
    """Convert a SAM simple table to the properties of AWS::DynamoDB::Table.

    The table has one key attribute (by default `id` of type String). Its billing mode is on-demand unless it declares
    capacity. The second result contains a sentence for each setting that a design cannot express.
    """
    key = resource.get("PrimaryKey")
    name = "id" if key is None else key.need("Name").text()
    key_type = "String" if key is None else key.need("Type").one_of(*_SAM_TYPES)
    properties = {member: value for member, value in resource.mapping().items() if member != "PrimaryKey"}
    properties["AttributeDefinitions"] = [{"AttributeName": name, "AttributeType": _SAM_TYPES[key_type]}]
    properties["KeySchema"] = [{"AttributeName": name, "KeyType": "HASH"}]
    if resource.get("ProvisionedThroughput") is None:
        properties["BillingMode"] = "PAY_PER_REQUEST"
    return Node(properties, resource.path), ()


Properties = tuple[Node, tuple[str, ...]]
"""The properties of a table in the form of AWS::DynamoDB::Table, and a tuple of sentences.

The tuple contains a sentence for each setting that a design cannot express.
"""
_TABLES: dict[str, Callable[[Node], Properties]] = {
    "AWS::DynamoDB::Table": lambda node: (node, ()),
    "AWS::DynamoDB::GlobalTable": global_table,
    "AWS::Serverless::SimpleTable": simple_table,
}


def cloudformation(documents: Sequence[Document], parameters: Mapping[str, str]) -> ImportSource:
    """Return the tables that CloudFormation templates define.

    `parameters` contains the values of template parameters by name. Raises ImportSourceError if a template is invalid.
    """
    _check_parameters(documents, parameters)
    tables: list[SourceTable] = []
    gaps: list[str] = []
    for document in documents:
        resolver = Resolver(document.value, parameters)
        document_tables = dict(_tables(document, resolver, gaps))
        if not document_tables:
            raise ImportSourceError(f"{document.name} declares no table: {_resource_types_text(document)}")
        _add_consumers(document_tables, document, resolver, gaps)
        tables += document_tables.values()
    names = ", ".join(document.name for document in documents)
    description = next((text for document in documents if isinstance(text := document.member("Description"), str)), "")
    return ImportSource(f"{names}, {CLOUDFORMATION}", tuple(tables), tuple(gaps), description)


def _check_parameters(documents: Sequence[Document], parameters: Mapping[str, str]) -> None:
    """Raise ImportSourceError if a document is not a template, or if a parameter is not declared in any template."""
    known_names: set[str] = set()
    for document in documents:
        if not isinstance(document.member("Resources"), Mapping):
            raise wrong_document_error(CLOUDFORMATION, document)
        declared = document.member("Parameters")
        known_names |= set(declared) if isinstance(declared, Mapping) else set()
    for name in parameters:
        if name not in known_names and not name.startswith("AWS::"):
            names_text = ", ".join(sorted(map(str, known_names))) or "none"
            raise ImportSourceError(f"--parameter {name}: unknown parameter; known parameters: {names_text}")


def _resource_types_text(document: Document) -> str:
    """Return a description of the resource types in a template that defines no tables, for an error message."""
    resources = document.member("Resources").values()
    kinds = sorted(
        {str(resource["Type"]) for resource in resources if isinstance(resource, Mapping) and "Type" in resource}
    )
    return f"its resources are {', '.join(kinds[:5])}{', ...' if len(kinds) > 5 else ''}" if kinds else "it is empty"


def _add_consumers(tables: dict[str, SourceTable], document: Document, resolver: Resolver, gaps: list[str]) -> None:
    """Add the functions that read a table's stream to the table. The keys of `tables` are logical IDs.

    For a function that cannot be added, a sentence is appended to `gaps`.
    """
    ids = {table.name: logical_id for logical_id, table in tables.items()}
    for source in event_sources(document.member("Resources"), document.name, resolver):
        logical_id = source.table if source.table in tables else ids.get(source.table)
        if logical_id is None:
            gaps.append(f"{source.consumer.name} reads the stream of a table that {document.name} does not declare")
            continue
        table, consumer = tables[logical_id], source.consumer
        if table.ttl is None:
            consumer = replace(consumer, events=tuple(event for event in consumer.events if event != "Expired"))
        if not consumer.events:
            gaps.append(f"{consumer.name} is omitted: its filters match no change of {table.name}, which has no ttl")
            continue
        tables[logical_id] = replace(table, consumers=(*table.consumers, consumer))


def _tables(document: Document, resolver: Resolver, gaps: list[str]) -> Iterator[tuple[str, SourceTable]]:
    """Yield the logical ID and the table of each table resource."""
    globals_section = document.member("Globals")
    if isinstance(globals_section, Mapping) and "SimpleTable" in globals_section:
        gaps.append("Globals.SimpleTable: encryption is not part of a design")
    for logical_id, resource in document.member("Resources").items():
        path = f"{document.name}: Resources.{logical_id}"
        if str(logical_id).startswith("Fn::"):
            gaps.append(
                f"{logical_id} is not expanded: import the processed template (`aws cloudformation get-template"
                " --template-stage Processed`)"
            )
            continue
        if not isinstance(resource, Mapping):
            raise ImportSourceError(f"{path} is not a resource: {resource!r}")
        resource_type = str(resource.get("Type"))
        if resource_type == _SCALING and "dynamodb" in str(resource).lower():
            gaps.append(f"{logical_id} scales capacity: the initial capacity is imported")
        if resource_type in _EXTERNAL_RESOURCES:
            gaps.append(f"{logical_id} {_EXTERNAL_RESOURCES[resource_type]}")
        if resource_type not in _TABLES:
            continue
        if _is_created(resource, path, resolver):
            yield str(logical_id), _table(str(logical_id), resource, path, resolver)
        else:
            gaps.append(f"Resources.{logical_id} is not created: its condition {resource['Condition']} is false")


def _is_created(resource: Mapping[str, Any], path: str, resolver: Resolver) -> bool:
    """Return True if a resource has no condition, or if its condition is true for the given parameters."""
    if "Condition" not in resource:
        return True
    holds = resolver.condition(resource["Condition"])
    if isinstance(holds, UnresolvedValue):
        raise ImportSourceError(f"{path}: {holds.reason}")
    return bool(holds)


def _table(logical_id: str, resource: Mapping[str, Any], path: str, resolver: Resolver) -> SourceTable:
    resource_node = Node(resolver.resolve(resource.get("Properties") or {}), f"{path}.Properties")
    properties, gaps = _TABLES[resource["Type"]](resource_node)
    name, unnamed = _name(logical_id, properties)
    return source_table(properties, name, (*unnamed, *_deletion_policy_gaps(resource), *gaps))


def _deletion_policy_gaps(resource: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence if a resource has a deletion policy, which a design cannot express."""
    for member in ("DeletionPolicy", "UpdateReplacePolicy"):
        if (policy := resource.get(member, "Delete")) != "Delete":
            yield f"{member} {policy}: deletion policies are not part of a design"


def _name(logical_id: str, properties: Node) -> tuple[str, tuple[str, ...]]:
    """Return the name of a table and an empty tuple.

    If the template does not determine the name, return the logical ID and a tuple with a sentence that explains why.
    """
    table_name = properties.get("TableName")
    if table_name is None:
        return logical_id, ("TableName is missing: CloudFormation generates a name; the logical ID is used here",)
    if isinstance(table_name.value, UnresolvedValue):
        return logical_id, (f"TableName cannot be determined, so the logical ID is used: {table_name.value.reason}",)
    if not _NAME.fullmatch(table_name.text()):
        problem = f"{table_name.text()!r} is not a table name"
        return logical_id, (f"TableName cannot be determined, so the logical ID is used: {problem}",)
    return table_name.text(), ()
