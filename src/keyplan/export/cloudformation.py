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
from keyplan.export.resources import TableResource, in_json, named

_DESCRIPTION_BYTES = 1024
_JOINED = "Table"
"""The suffix that is appended to a logical ID if the table name consists of several words."""
_SAME = ("TableName", "AttributeDefinitions", "KeySchema", "GlobalSecondaryIndexes", "LocalSecondaryIndexes")
_SAME_SETTINGS = ("BillingMode", "ProvisionedThroughput", "WarmThroughput", "TableClass", "DeletionProtectionEnabled")
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
    """Return the logical ID of a table, which contains only letters and digits.

    For example, the logical ID of orders is orders, and the ID of todo-app is TodoAppTable.
    """
    return named(name, _joined, _split)


def _joined(name: str) -> str:
    words = re.split(r"[^A-Za-z0-9]+", name)
    return name if len(words) == 1 else "".join(word[:1].upper() + word[1:] for word in words) + _JOINED


def _split(candidate: str) -> str:
    """Return the table name from which a logical ID was derived. The name is assumed to consist of lowercase words
    joined by hyphens.
    """
    if not candidate.endswith(_JOINED):
        return candidate
    return re.sub(r"(?<!^)(?=[A-Z])", "-", candidate.removesuffix(_JOINED)).lower()


def _description(design: Design) -> str:
    first = design.doc.partition("\n\n")[0]
    text = f"Tables of the design {design.name}. {' '.join(first.split())}".strip()
    return text.encode("ascii", "replace")[:_DESCRIPTION_BYTES].decode()


def _resources(tables: Sequence[TableResource]) -> dict[str, Any]:
    """Return the resources of the template, by logical ID.

    A table with indexes depends on the previous table with indexes, because DynamoDB limits how many such tables are
    created at the same time.
    """
    entries: dict[str, Any] = {}
    before: str | None = None
    for table in tables:
        own = logical_id(table.table.name)
        entries[own] = {"Type": "AWS::DynamoDB::Table", "DeletionPolicy": "Retain", "UpdateReplacePolicy": "Retain"}
        if table.table.schema.indexes:
            if before is not None:
                entries[own]["DependsOn"] = before
            before = own
        entries[own]["Properties"] = properties(table)
    return entries


def properties(table: TableResource) -> dict[str, Any]:
    """Return the CloudFormation properties of a table."""
    request = table.request
    members = {name: request[name] for name in (*_SAME, *_SAME_SETTINGS) if name in request}
    if "StreamSpecification" in request:
        members["StreamSpecification"] = {"StreamViewType": request["StreamSpecification"]["StreamViewType"]}
    if table.ttl is not None:
        members["TimeToLiveSpecification"] = {"AttributeName": table.ttl, "Enabled": True}
    if table.recovers:
        members["PointInTimeRecoverySpecification"] = {"PointInTimeRecoveryEnabled": True}
    return members


def _outputs(table: TableResource) -> dict[str, Any]:
    name, own = table.name, logical_id(table.table.name)
    outputs = {
        f"{own}Name": {"Description": f"Name of table {name}", "Value": {"Ref": own}},
        f"{own}Arn": {"Description": f"ARN of table {name}", "Value": {"Fn::GetAtt": [own, "Arn"]}},
    }
    if table.table.schema.stream is not None:
        stream = {"Description": f"ARN of the stream of table {name}", "Value": {"Fn::GetAtt": [own, "StreamArn"]}}
        outputs[f"{own}Stream"] = stream
    return outputs
