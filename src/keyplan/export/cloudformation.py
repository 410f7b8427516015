"""Exports a design's tables as an AWS CloudFormation template.

Sources: CloudFormation template reference, AWS::DynamoDB::Table (properties, return values, DependsOn); user guide,
"CloudFormation template sections" (logical IDs, length of the description), "DeletionPolicy attribute" and
"UpdateReplacePolicy attribute".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from keyplan.design.declaring.design import Design
from keyplan.export.resources import TableResource, in_json, unique_identifier

_DESCRIPTION_BYTES = 1024
_SUFFIX = "Table"
"""The suffix that is appended to a logical ID if the table name consists of several words."""
_COPIED_MEMBERS = ("TableName", "AttributeDefinitions", "KeySchema", "GlobalSecondaryIndexes", "LocalSecondaryIndexes")
_COPIED_SETTINGS = ("BillingMode", "ProvisionedThroughput", "WarmThroughput", "TableClass", "DeletionProtectionEnabled")
"""The parameters of a CreateTable request that have the same name and format as a property in a template."""


def template(design: Design, tables: Sequence[TableResource]) -> str:
    """Return the CloudFormation template for the tables of a design as JSON."""
    return in_json(
        {
            "AWSTemplateFormatVersion": "2010-09-09",
            "Description": _description(design),
            "Resources": _resources(tables),
            "Outputs": {name: output for table in tables for name, output in _outputs(table).items()},
        }
    )


def logical_id(name: str) -> str:
    """Return the logical ID of a table. A logical ID contains only letters and digits.

    For example, the logical ID of orders is orders, and the ID of todo-app is TodoAppTable.
    """
    return unique_identifier(name, _camel_case, _split)


def _camel_case(name: str) -> str:
    words = re.split(r"[^A-Za-z0-9]+", name)
    return name if len(words) == 1 else "".join(word[:1].upper() + word[1:] for word in words) + _SUFFIX


def _split(candidate: str) -> str:
    """Return the table name that a logical ID was derived from, on the assumption that the name consists of lowercase
    words joined by hyphens.
    """
    if not candidate.endswith(_SUFFIX):
        return candidate
    return re.sub(r"(?<!^)(?=[A-Z])", "-", candidate.removesuffix(_SUFFIX)).lower()


def _description(design: Design) -> str:
    first_paragraph = design.doc.partition("\n\n")[0]
    text = f"Tables of the design {design.name}. {' '.join(first_paragraph.split())}".strip()
    return text.encode("ascii", "replace")[:_DESCRIPTION_BYTES].decode()


def _resources(tables: Sequence[TableResource]) -> dict[str, Any]:
    """Return the resources of the template, by logical ID.

    A table with indexes depends on the previous table with indexes, because DynamoDB limits how many such tables are
    created at the same time.
    """
    entries: dict[str, Any] = {}
    previous_id: str | None = None
    for table in tables:
        resource_id = logical_id(table.table.name)
        entries[resource_id] = {
            "Type": "AWS::DynamoDB::Table",
            "DeletionPolicy": "Retain",
            "UpdateReplacePolicy": "Retain",
        }
        if table.table.schema.indexes:
            if previous_id is not None:
                entries[resource_id]["DependsOn"] = previous_id
            previous_id = resource_id
        entries[resource_id]["Properties"] = properties(table)
    return entries


def properties(table: TableResource) -> dict[str, Any]:
    """Return the CloudFormation properties of a table."""
    request = table.request
    members = {name: request[name] for name in (*_COPIED_MEMBERS, *_COPIED_SETTINGS) if name in request}
    if "StreamSpecification" in request:
        members["StreamSpecification"] = {"StreamViewType": request["StreamSpecification"]["StreamViewType"]}
    if table.ttl is not None:
        members["TimeToLiveSpecification"] = {"AttributeName": table.ttl, "Enabled": True}
    if table.recovers:
        members["PointInTimeRecoverySpecification"] = {"PointInTimeRecoveryEnabled": True}
    return members


def _outputs(table: TableResource) -> dict[str, Any]:
    name, resource_id = table.name, logical_id(table.table.name)
    outputs = {
        f"{resource_id}Name": {"Description": f"Name of table {name}", "Value": {"Ref": resource_id}},
        f"{resource_id}Arn": {"Description": f"ARN of table {name}", "Value": {"Fn::GetAtt": [resource_id, "Arn"]}},
    }
    if table.table.schema.stream is not None:
        stream = {
            "Description": f"ARN of the stream of table {name}",
            "Value": {"Fn::GetAtt": [resource_id, "StreamArn"]},
        }
        outputs[f"{resource_id}Stream"] = stream
    return outputs
