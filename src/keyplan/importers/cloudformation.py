"""CloudFormation templates, those of SAM and of the CDK among them: their tables.

Source: CloudFormation Template Reference, "AWS::DynamoDB::Table" and "AWS::DynamoDB::GlobalTable"; AWS SAM developer
guide, "AWS::Serverless::SimpleTable".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from keyplan.importers.documents import CLOUDFORMATION, Document, not_a
from keyplan.importers.errors import ImportSourceError
from keyplan.importers.global_tables import global_table, simple_table
from keyplan.importers.intrinsics import Resolver
from keyplan.importers.nodes import Node, Unknown
from keyplan.importers.schemas import source_table
from keyplan.importers.source import Source, SourceTable

Properties = tuple[Node, tuple[str, ...]]
"""Properties as those of AWS::DynamoDB::Table, and what was left out on the way."""
_TABLES: dict[str, Callable[[Node], Properties]] = {
    "AWS::DynamoDB::Table": lambda node: (node, ()),
    "AWS::DynamoDB::GlobalTable": global_table,
    "AWS::Serverless::SimpleTable": simple_table,
}
_NAME = re.compile(r"[A-Za-z0-9_.-]{3,255}")
"""Developer guide, "Supported data types and naming rules"; what is filled in by other tools is still none."""
_SCALING = "AWS::ApplicationAutoScaling::ScalableTarget"
_ELSEWHERE = {
    "AWS::CloudFormation::Stack": "is a stack of its own: import its template too",
    "AWS::Serverless::Application": "is an application of its own: import its template too",
    "Custom::DynamoDBReplica": "makes a replica: replication is not part of a design",
}
"""By kind of resource: what may lie behind it that is not read here."""


def cloudformation(documents: Sequence[Document], given: Mapping[str, str]) -> Source:
    """The tables of templates; `given` are values of their parameters. Raises ImportSourceError."""
    _check_parameters(documents, given)
    tables: list[SourceTable] = []
    gaps: list[str] = []
    for document in documents:
        found = list(_tables(document, Resolver(document.value, given), gaps))
        if not found:
            raise ImportSourceError(f"{document.name} declares no table: {_kinds(document)}")
        tables += found
    names = ", ".join(document.name for document in documents)
    about = next((text for one in documents if isinstance(text := one.member("Description"), str)), "")
    return Source(f"{names}, {CLOUDFORMATION}", tuple(tables), tuple(gaps), about)


def _check_parameters(documents: Sequence[Document], given: Mapping[str, str]) -> None:
    """Every document is a template, and what is given is a parameter of one."""
    known: set[str] = set()
    for document in documents:
        if not isinstance(document.member("Resources"), Mapping):
            raise not_a(CLOUDFORMATION, document)
        declared = document.member("Parameters")
        known |= set(declared) if isinstance(declared, Mapping) else set()
    for name in given:
        if name not in known and not name.startswith("AWS::"):
            listed = ", ".join(sorted(map(str, known))) or "none"
            raise ImportSourceError(f"--parameter {name}: there is no such parameter; known are: {listed}")


def _kinds(document: Document) -> str:
    """What a template without tables has instead."""
    resources = document.member("Resources").values()
    kinds = sorted({str(one["Type"]) for one in resources if isinstance(one, Mapping) and "Type" in one})
    return f"its resources are {', '.join(kinds[:5])}{', ...' if len(kinds) > 5 else ''}" if kinds else "it is empty"


def _tables(document: Document, resolver: Resolver, gaps: list[str]) -> Iterator[SourceTable]:
    shared = document.member("Globals")
    if isinstance(shared, Mapping) and "SimpleTable" in shared:
        gaps.append("Globals.SimpleTable: how tables are encrypted is not part of a design")
    for logical_id, resource in document.member("Resources").items():
        path = f"{document.name}: Resources.{logical_id}"
        if str(logical_id).startswith("Fn::"):
            gaps.append(
                f"{logical_id} is not unfolded: import what `aws cloudformation get-template` gives as Processed"
            )
            continue
        if not isinstance(resource, Mapping):
            raise ImportSourceError(f"{path} is no resource: {resource!r}")
        kind = str(resource.get("Type"))
        if kind == _SCALING and "dynamodb" in str(resource).lower():
            gaps.append(f"{logical_id} scales capacity: a design has the capacity that is bought at first")
        if kind in _ELSEWHERE:
            gaps.append(f"{logical_id} {_ELSEWHERE[kind]}")
        if kind not in _TABLES:
            continue
        if _is_made(resource, path, resolver):
            yield _table(str(logical_id), resource, path, resolver)
        else:
            gaps.append(f"Resources.{logical_id} is not made: its condition {resource['Condition']} does not hold")


def _is_made(resource: Mapping[str, Any], path: str, resolver: Resolver) -> bool:
    """Whether a resource's condition holds."""
    if "Condition" not in resource:
        return True
    holds = resolver.condition(resource["Condition"])
    if isinstance(holds, Unknown):
        raise ImportSourceError(f"{path}: {holds.reason}")
    return bool(holds)


def _table(logical_id: str, resource: Mapping[str, Any], path: str, resolver: Resolver) -> SourceTable:
    whole = Node(resolver.resolve(resource.get("Properties") or {}), f"{path}.Properties")
    properties, gaps = _TABLES[resource["Type"]](whole)
    name, unnamed = _name(logical_id, properties)
    return source_table(properties, name, (*unnamed, *_kept(resource), *gaps))


def _kept(resource: Mapping[str, Any]) -> Iterator[str]:
    """What is to become of the table without its stack."""
    for member in ("DeletionPolicy", "UpdateReplacePolicy"):
        if (policy := resource.get(member, "Delete")) != "Delete":
            yield f"{member} {policy}: what becomes of a table without its stack is not part of a design"


def _name(logical_id: str, properties: Node) -> tuple[str, tuple[str, ...]]:
    """A table's name; where the template leaves it open its logical id."""
    named = properties.get("TableName")
    if named is None:
        return logical_id, ("TableName is not given: CloudFormation makes one, here the logical id stands for it",)
    if isinstance(named.value, Unknown):
        return logical_id, (f"TableName is open, here the logical id stands for it: {named.value.reason}",)
    if not _NAME.fullmatch(named.text()):
        problem = f"{named.text()!r} is no name of a table"
        return logical_id, (f"TableName is open, here the logical id stands for it: {problem}",)
    return named.text(), ()
