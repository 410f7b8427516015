"""Global tables and SAM's simple tables, brought to the properties of AWS::DynamoDB::Table.

Source: CloudFormation Template Reference, "AWS::DynamoDB::GlobalTable" and its ReplicaSpecification,
ReadProvisionedThroughputSettings, GlobalReadProvisionedThroughputSettings, WriteProvisionedThroughputSettings and
CapacityAutoScalingSettings; AWS SAM developer guide, "AWS::Serverless::SimpleTable" and "PrimaryKeyObject".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from keyplan.importers.nodes import Node, Unknown

_OF_REPLICA = frozenset({
    "DeletionProtectionEnabled", "GlobalSecondaryIndexes", "PointInTimeRecoverySpecification",
    "ReadProvisionedThroughputSettings", "Region", "TableClass",
})  # fmt: skip
_OF_REPLICA_INDEX = frozenset({"IndexName", "ReadProvisionedThroughputSettings"})
_TAKEN_FROM_REPLICA = ("DeletionProtectionEnabled", "PointInTimeRecoverySpecification", "TableClass")
_OF_ALL_REPLICAS = frozenset({
    "ReadOnDemandThroughputSettings", "ReadProvisionedThroughputSettings", "Replicas",
    "WriteOnDemandThroughputSettings", "WriteProvisionedThroughputSettings",
})  # fmt: skip
_SAM_TYPES = {"String": "S", "Number": "N", "Binary": "B"}


def global_table(whole: Node) -> tuple[Node, tuple[str, ...]]:
    """The properties of a global table as those of its first replica: a design is of one region."""
    replicas = list(whole.each("Replicas"))
    first = replicas[0] if replicas else Node({}, f"{whole.path}.Replicas")
    gaps = list(_replica_gaps(whole, replicas))
    made = {name: value for name, value in whole.mapping().items() if name not in _OF_ALL_REPLICAS}
    for member in _TAKEN_FROM_REPLICA:
        if (found := first.get(member)) is not None:
            made[member] = found.value
    if (mode := whole.get("BillingMode")) is None or mode.text() == "PROVISIONED":
        made["ProvisionedThroughput"] = _throughput([whole], [first, whole], gaps)
    own = {one.need("IndexName").text(): one for one in first.each("GlobalSecondaryIndexes")}
    indexes = [_index(one, own, whole, gaps) for one in whole.each("GlobalSecondaryIndexes")]
    if indexes:
        made["GlobalSecondaryIndexes"] = indexes
    return Node(made, whole.path), tuple(gaps)


def _replica_gaps(whole: Node, replicas: list[Node]) -> Iterator[str]:
    """What is left out of the replicas, and of what all of them share."""
    for member in ("ReadOnDemandThroughputSettings", "WriteOnDemandThroughputSettings"):
        if whole.get(member) is not None:
            yield f"{member}: a design sets no maximum of on-demand throughput"
    for replica in replicas[:1]:
        for member in replica.mapping():
            if member not in _OF_REPLICA:
                yield f"Replicas[0].{member}: it is not part of a design"
        for number, index in enumerate(replica.each("GlobalSecondaryIndexes")):
            for member in index.mapping():
                if member not in _OF_REPLICA_INDEX:
                    yield f"Replicas[0].GlobalSecondaryIndexes[{number}].{member}: it is not part of a design"
    if len(replicas) > 1:
        yield f"Replicas: a design is of one region, here {_region(replicas[0])}; left out are " + ", ".join(
            map(_region, replicas[1:])
        )


def _region(replica: Node) -> str:
    region = replica.need("Region")
    return "the stack's region" if isinstance(region.value, Unknown) else region.text()


def _index(index: Node, of_replica: dict[str, Node], whole: Node, gaps: list[str]) -> dict[str, Any]:
    settings = ("WriteProvisionedThroughputSettings", "ReadProvisionedThroughputSettings")
    made = {name: value for name, value in index.mapping().items() if name not in settings}
    mode = whole.get("BillingMode")
    if mode is None or mode.text() == "PROVISIONED":
        name = index.need("IndexName").text()
        reads = [*([of_replica[name]] if name in of_replica else []), index, whole]
        made["ProvisionedThroughput"] = _throughput([index, whole], reads, gaps)
    return made


def _throughput(writes: Sequence[Node], reads: Sequence[Node], gaps: list[str]) -> dict[str, Any]:
    """Both capacities, as the first says that says any: a replica, then what all share; an index, then its table."""
    found = {}
    for kind, holders in (("Read", reads), ("Write", writes)):
        member = f"{kind}ProvisionedThroughputSettings"
        settings = next((one for holder in holders if (one := holder.get(member)) is not None), None)
        if settings is None:
            raise writes[0].fail(f"{member} is missing, and the table is not PAY_PER_REQUEST")
        fixed = settings.get(f"{kind}CapacityUnits")
        if fixed is None:
            scaling = settings.need(f"{kind}CapacityAutoScalingSettings")
            fixed = scaling.get("SeedCapacity") or scaling.need("MinCapacity")
            gaps.append(
                f"{fixed.path.rpartition('Properties.')[2]}: capacity scales, here it is what is bought at first"
            )
        found[f"{kind}CapacityUnits"] = fixed.value
    return found


def simple_table(whole: Node) -> tuple[Node, tuple[str, ...]]:
    """SAM's table of one key attribute: `id` of type String where it does not say, on demand without capacity."""
    key = whole.get("PrimaryKey")
    name = "id" if key is None else key.need("Name").text()
    kind = "String" if key is None else key.need("Type").one_of(*_SAM_TYPES)
    made = {member: value for member, value in whole.mapping().items() if member != "PrimaryKey"}
    made["AttributeDefinitions"] = [{"AttributeName": name, "AttributeType": _SAM_TYPES[kind]}]
    made["KeySchema"] = [{"AttributeName": name, "KeyType": "HASH"}]
    if whole.get("ProvisionedThroughput") is None:
        made["BillingMode"] = "PAY_PER_REQUEST"
    return Node(made, whole.path), ()
