"""Exports a design as dynamodb_data_model.json, the data model of the AWS DynamoDB MCP server.

The server's `generate_resources` tool generates a CDK app for the tables of the model. Its
`dynamodb_data_model_validation` tool creates these tables, puts the items and runs the commands of the access patterns.

Source: github.com/awslabs/mcp, src/dynamodb-mcp-server, version 2.1.8: prompts/json_generation_guide.md (file format),
cdk_generator/models.py (accepted input), cdk_generator/templates/stack.ts.j2 (output), model_validation_utils.py
(validation requests).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from keyplan.design.declaring.design import Design
from keyplan.design.declaring.patterns import Pattern
from keyplan.design.declaring.tables import Table
from keyplan.design.errors import Fault
from keyplan.export.examples import command, example_item, example_request, plain
from keyplan.export.resources import TableResource, in_json


def model(design: Design, tables: Sequence[TableResource]) -> str:
    """Return the data model of a design as JSON."""
    prefix = tables[0].prefix
    return in_json(
        {
            "tables": [_table(table) for table in tables],
            "items": {table.name: _items(table.table) for table in tables},
            "access_patterns": [_pattern(pattern, prefix) for pattern in design.patterns],
        }
    )


def _table(table: TableResource) -> dict[str, Any]:
    if table.ttl is None:
        return table.request
    return {**table.request, "TimeToLiveSpecification": {"AttributeName": table.ttl, "Enabled": True}}


def _items(table: Table) -> list[dict[str, Any]]:
    """Return an example item for each entity of a table, except items with the same key as an earlier item."""
    items: dict[str, dict[str, Any]] = {}
    for entity in table.entities:
        item = example_item(entity)
        if not isinstance(item, str):
            items.setdefault(repr([item.get(name) for name in table.schema.key]), plain(item))
    return [{"PutRequest": {"Item": item}} for item in items.values()]


def _pattern(pattern: Pattern[..., Any], prefix: str) -> dict[str, Any]:
    plan, call = pattern.plan, example_request(pattern, prefix)
    entry: dict[str, Any] = {"pattern": pattern.name, "description": " ".join(pattern.doc.split()) or pattern.name}
    if isinstance(call, str):
        return {**entry, "reason": call}
    names = {prefix + step.schema.name for step in plan.steps or (plan,)}
    if len(names) == 1:
        (entry["table"],) = names
    if plan.index is not None:
        entry["index"] = plan.index.name
    return {**entry, "dynamodb_operation": call.operation, "implementation": command(call.operation, call.request)}


# Limits of the generator of CDK apps.


def collisions(tables: Sequence[Table]) -> Iterator[Fault]:
    """Yield a fault for each table whose variable in the CDK app would have the same name as the variable of another
    table.

    The generator rejects data models with such tables.
    """
    names: dict[str, Table] = {}
    for table in tables:
        variable = _variable(table.name)
        if variable in names:
            other_table = names[variable]
            yield Fault(
                "KP109",
                f"tables {other_table.name} and {table.name} have the same variable name in the CDK app",
                "rename one of them, or export a CloudFormation template",
                table.schema.place,
                other_table.schema.place,
            )
        names.setdefault(variable, table)


def _variable(name: str) -> str:
    """Return the name of a table's variable in the CDK app, derived in the same way as in
    cdk_generator/generator.py.
    """
    words = re.sub(r"([a-z])([A-Z])", r"\1 \2", re.sub(r"[-_.]", " ", name)).split() or ["table"]
    variable = words[0].lower() + "".join(word.capitalize() for word in words[1:])
    return f"table{variable}" if variable[0].isdigit() else variable


_IGNORED_SETTINGS = {
    "LocalSecondaryIndexes": "local indexes",
    "StreamSpecification": "the stream",
    "ProvisionedThroughput": "provisioned capacity",
    "WarmThroughput": "warm throughput",
    "TableClass": "the table class",
    "DeletionProtectionEnabled": "deletion protection",
}
"""Descriptions of the settings that the generated app ignores, by the name of the setting in the file."""


def ignored_settings(tables: Sequence[TableResource]) -> Iterator[str]:
    """Yield a note for each table with settings that the generator ignores, and for each entity without an example
    item.
    """
    for table in tables:
        yield from (item for item in map(example_item, table.table.entities) if isinstance(item, str))
        ignored = [description for setting, description in _IGNORED_SETTINGS.items() if setting in table.request]
        ignored += ["point-in-time recovery"] if table.recovers else []
        if ignored:
            yield f"the generated CDK app declares table {table.name} without {', '.join(ignored)}"
