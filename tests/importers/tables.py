"""Tables for tests of imports: requests that make them, what the service says of them, designs of that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import strategies as st

import keyplan
from keyplan import Design
from keyplan.client.tables import create_request
from keyplan.engine.engine import Engine
from keyplan.importers.schemas import ImportSource
from keyplan.importers.writing import design_text

_TRANSIENT = {
    "CreationDateTime", "IndexArn", "IndexSizeBytes", "IndexStatus", "ItemCount", "LastUpdateToPayPerRequestDateTime",
    "LatestStreamArn", "LatestStreamLabel", "TableArn", "TableId", "TableSizeBytes", "TableStatus",
}  # fmt: skip
NASTY = (
    "pk", "sk", "class", "copy", "model_config", "__class__", "self", "datetime", "str", "Decimal", "item", "a b",
    "a-b", "a.b", "a_b", "1st", "_", "__", '"""', "'''", "\\", '\\"', "'\"", "\n", "\r\nimport os", "#", "{x}", "%s",
    "é", "\ufb01", "\u017f", "\u202e", "\x00", "名", "\U0001d4b3", '"); import os; ("', "match", "type", "None", "key",
    "Attribute", "x" * 255,
)  # fmt: skip
"""Names that a file could be broken with, or that mean something where they would stand."""


def of_design(source: ImportSource, folder: Path) -> tuple[str, Design]:
    """Return the design file of a source, and the design."""
    text = design_text(source)
    path = folder / "made.py"
    path.write_text(text, encoding="utf-8")
    return text, Design.load(str(path))


def described(*requests: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the service's descriptions of tables created by these requests."""
    with Engine.memory() as engine:
        for request in requests:
            engine.call("CreateTable", request)
        return [engine.call("DescribeTable", {"TableName": request["TableName"]}) for request in requests]


def described_of(design: Design) -> list[dict[str, Any]]:
    """Return the service's descriptions of a design's tables."""
    return described(*(create_request(table, table.name) for table in design.tables))


def lasting(value: Any) -> Any:
    """Return a description without values that depend on the time; indexes by name."""
    if isinstance(value, dict):
        return {name: lasting(member) for name, member in value.items() if name not in _TRANSIENT}
    if isinstance(value, list):
        return [lasting(element) for element in value]
    return value


def created(design: Design) -> None:
    """Make a design's tables, as a connection does."""
    with keyplan.connect(":memory:") as db:
        db.create_tables(*design.tables)


attribute_names = st.one_of(
    st.sampled_from(NASTY), st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
).filter(lambda name: len(name.encode()) <= 255)
table_names = st.from_regex(r"[A-Za-z0-9_.-]{3,24}", fullmatch=True)
_types = st.sampled_from(["S", "N", "B"])
_units = st.fixed_dictionaries({"ReadCapacityUnits": st.integers(1, 100), "WriteCapacityUnits": st.integers(1, 100)})


def _schema(hash_names: list[str], range_names: list[str]) -> list[dict[str, str]]:
    parts = [(name, "HASH") for name in hash_names] + [(name, "RANGE") for name in range_names]
    return [{"AttributeName": name, "KeyType": kind} for name, kind in parts]


@st.composite
def create_requests(draw: st.DrawFn) -> dict[str, Any]:
    """CreateTable requests that the service takes, of what a design can say."""
    names = draw(st.lists(attribute_names, min_size=2, max_size=8, unique=True))
    table_key = names[: draw(st.integers(1, 2))]
    indexes = draw(st.lists(table_names, max_size=4, unique=True))
    local = draw(st.integers(0, len(indexes))) if len(table_key) == 2 else 0
    on_demand = draw(st.booleans())
    used = list(table_key)
    request: dict[str, Any] = {
        "TableName": draw(table_names),
        "KeySchema": _schema(table_key[:1], table_key[1:]),
        "BillingMode": "PAY_PER_REQUEST" if on_demand else "PROVISIONED",
    }
    if not on_demand:
        request["ProvisionedThroughput"] = draw(_units)
    members: dict[str, list[dict[str, Any]]] = {"LocalSecondaryIndexes": [], "GlobalSecondaryIndexes": []}
    for number, name in enumerate(indexes):
        index: dict[str, Any] = {"IndexName": name, "Projection": draw(_projections(names))}
        if number < local:
            keys = [table_key[0], draw(st.sampled_from(names[1:]))]
            index["KeySchema"] = _schema(keys[:1], keys[1:])
            members["LocalSecondaryIndexes"].append(index)
        else:
            keys = draw(st.lists(st.sampled_from(names), min_size=1, max_size=4, unique=True))
            hashes = draw(st.integers(1, len(keys)))
            index["KeySchema"] = _schema(keys[:hashes], keys[hashes:])
            index |= {} if on_demand else {"ProvisionedThroughput": draw(_units)}
            members["GlobalSecondaryIndexes"].append(index)
        used += keys
    request |= {member: definitions for member, definitions in members.items() if definitions}
    request["AttributeDefinitions"] = [
        {"AttributeName": name, "AttributeType": draw(_types)} for name in dict.fromkeys(used)
    ]
    if draw(st.booleans()):
        view = draw(st.sampled_from(["KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"]))
        request["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": view}
    if draw(st.booleans()):
        request["TableClass"] = "STANDARD_INFREQUENT_ACCESS"
    if on_demand and draw(st.booleans()):
        warm = {"ReadUnitsPerSecond": 15_000, "WriteUnitsPerSecond": draw(st.sampled_from([4_000, 9_000]))}
        request["WarmThroughput"] = warm
        for index in request.get("GlobalSecondaryIndexes", ()):
            index["WarmThroughput"] = warm
    request["DeletionProtectionEnabled"] = draw(st.booleans())
    return request


@st.composite
def _projections(draw: st.DrawFn, keys: list[str]) -> dict[str, Any]:
    kind = draw(st.sampled_from(["ALL", "KEYS_ONLY", "INCLUDE"]))
    if kind != "INCLUDE":
        return {"ProjectionType": kind}
    attribute_lists = st.lists(attribute_names, min_size=1, max_size=3, unique=True)
    return {"ProjectionType": kind, "NonKeyAttributes": draw(attribute_lists)}
