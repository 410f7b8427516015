"""What is said of the service is what the engine does: it takes what is online, and refuses what needs a new table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.diff.pairs import BASE, PAIRS, Pair, compared, pair, setting

import keyplan
from keyplan.client.tables import create_request
from keyplan.design.declaring.tables import Table
from keyplan.diff.comparison import Comparison, rollout
from keyplan.engine.engine import Engine
from keyplan.errors import ServiceError

MORE = [
    pair("provisioned with another index", setting("billing=Provisioned(read=5, write=5)"),
         ('GSI("by_state", pk="state")', 'GSI("by_points", pk="points", billing=Provisioned(read=2, write=3))'),
         says=[]),
    pair("much at once", setting("billing=OnDemand(warm_write=8_000), deletion_protection=True"),
         setting('stream="KEYS_ONLY", ttl="until", point_in_time_recovery=True'), says=[]),
]  # fmt: skip
SERVED = [case for case in (*PAIRS, *MORE) if all(verdict != "new table" for _, verdict, _ in case.expected)]
SETTINGS = [
    'stream="NEW_IMAGE"',
    'stream="OLD_IMAGE"',
    'ttl="until"',
    'ttl="points"',
    "billing=Provisioned(read=5, write=5)",
    "billing=Provisioned(read=2, write=9)",
    'table_class="STANDARD_INFREQUENT_ACCESS"',
    "point_in_time_recovery=True",
    "deletion_protection=True",
    "",
]


def created(engine: Engine, tables: Sequence[Table]) -> None:
    keyplan.connect(engine=engine).create_tables(*tables)
    for table in tables:  # on an engine in memory a connection leaves it off
        if table.schema.point_in_time_recovery:
            specification = {"PointInTimeRecoveryEnabled": True}
            engine.call(
                "UpdateContinuousBackups", {"TableName": table.name, "PointInTimeRecoverySpecification": specification}
            )


def rolled_out(engine: Engine, comparison: Comparison) -> None:
    """Take every step that has a request, in its order."""
    for stage in rollout(comparison):
        for step in stage.steps:
            if step.request is not None:
                engine.call(step.operation, dict(step.request))


def described(engine: Engine, name: str) -> dict[str, Any]:
    """Return the declaration of a table in the engine, as CreateTable and later calls state it."""
    table = engine.call("DescribeTable", {"TableName": name})["Table"]
    expiry = engine.call("DescribeTimeToLive", {"TableName": name})["TimeToLiveDescription"]
    backups = engine.call("DescribeContinuousBackups", {"TableName": name})["ContinuousBackupsDescription"]
    units = table.get("ProvisionedThroughput", {})
    is_provisioned = table.get("BillingModeSummary", {}).get("BillingMode", "PROVISIONED") == "PROVISIONED"
    return {
        "key": table["KeySchema"],
        "types": {
            definition["AttributeName"]: definition["AttributeType"] for definition in table["AttributeDefinitions"]
        },
        "indexes": {
            index["IndexName"]: shape(index, is_provisioned) for index in table.get("GlobalSecondaryIndexes", ())
        },
        "units": (units["ReadCapacityUnits"], units["WriteCapacityUnits"]) if is_provisioned else None,
        "stream": table.get("StreamSpecification"),
        "class": table.get("TableClassSummary", {}).get("TableClass", "STANDARD"),
        "protected": table.get("DeletionProtectionEnabled", False),
        "expiry": expiry.get("AttributeName") if expiry["TimeToLiveStatus"] == "ENABLED" else None,
        "recovery": backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"],
        "warm": (table.get("WarmThroughput") or {}).get("WriteUnitsPerSecond") if not is_provisioned else None,
    }


def shape(index: dict[str, Any], is_provisioned: bool) -> tuple[Any, ...]:
    units = index.get("ProvisionedThroughput", {})
    bought = (units.get("ReadCapacityUnits"), units.get("WriteCapacityUnits")) if is_provisioned else None
    return index["KeySchema"], index["Projection"], bought


def fresh(table: Table) -> dict[str, Any]:
    """Return the table as a new table of this declaration."""
    with Engine.memory() as engine:
        created(engine, [table])
        return described(engine, table.name)


@pytest.mark.parametrize("case", SERVED, ids=lambda case: case.name)
def test_rollout_requests_turn_the_old_tables_into_the_new_ones(case: Pair, tmp_path: Path) -> None:
    assert_reached(compared(tmp_path, BASE, case.source))
    assert_reached(compared(tmp_path, case.source, BASE))


@pytest.mark.parametrize("new", SETTINGS)
@pytest.mark.parametrize("old", SETTINGS)
def test_every_setting_can_be_changed_to_every_other(old: str, new: str, tmp_path: Path) -> None:
    sources = [BASE.replace(*setting(option)) if option else BASE for option in (old, new)]
    assert_reached(compared(tmp_path, sources[0], sources[1]))


def assert_reached(comparison: Comparison) -> None:
    in_place = {change.subject for change in comparison.changes_of("index changed in place")}
    with Engine.memory() as engine:
        created(engine, comparison.old.tables)
        old = {table.name: described(engine, table.name) for table in comparison.old.tables}
        rolled_out(engine, comparison)
        for table in comparison.new.tables:
            if table.name in old:
                actual, expected = described(engine, table.name), fresh(table)
                if None not in {expected["warm"], actual["warm"]}:  # which is never less than it was
                    expected["warm"] = max(expected["warm"], old[table.name]["warm"] or 0)
                for name in in_place & expected["indexes"].keys():  # it is there under another name
                    expected["indexes"][f"{name}_2"] = expected["indexes"].pop(name)
                assert actual == expected


NEW_TABLES = [case for case in PAIRS if any(verdict == "new table" for _, verdict, _ in case.expected)]


@pytest.mark.parametrize("case", NEW_TABLES, ids=lambda case: case.name)
def test_changes_that_need_a_new_table_have_no_request(case: Pair, tmp_path: Path) -> None:
    comparison = compared(tmp_path, BASE, case.source)
    names = {change.table for change in comparison.changes if change.verdict == "new table"}
    with Engine.memory() as engine:
        created(engine, comparison.old.tables)
        old = {table.name: described(engine, table.name) for table in comparison.old.tables}
        for table in comparison.new.tables:
            if table.name not in names:
                continue
            request = create_request(table, table.name)
            members = ("KeySchema", "AttributeDefinitions", "LocalSecondaryIndexes")
            settings = {member: request[member] for member in members if member in request}
            with pytest.raises(ServiceError) as refused:
                engine.call("UpdateTable", {"TableName": table.name, **settings})
            assert refused.value.code in {"ValidationException", "ResourceNotFoundException"}
        assert {name: described(engine, name) for name in old} == old


def update(engine: Engine, **change: Any) -> str:
    """Return the error code of an UpdateTable of table app."""
    with pytest.raises(ServiceError) as refused:
        engine.call("UpdateTable", {"TableName": "app", **change})
    return refused.value.code


def test_changes_that_need_several_steps_are_rejected_in_one_request(tmp_path: Path) -> None:
    comparison = compared(tmp_path, BASE.replace(*setting('stream="NEW_IMAGE", ttl="until"')), BASE)
    types = [{"AttributeName": name, "AttributeType": "N"} for name in ("points", "until")]
    result = [
        {
            "Create": {
                "IndexName": f"by_{definition['AttributeName']}",
                "KeySchema": [{"AttributeName": definition["AttributeName"], "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        }
        for definition in types
    ]
    same = {**result[0]["Create"], "IndexName": "by_state"}
    with Engine.memory() as engine:
        created(engine, comparison.old.tables)
        assert (
            update(engine, AttributeDefinitions=types, GlobalSecondaryIndexUpdates=result) == "LimitExceededException"
        )
        again = [{"Create": same}]
        assert update(engine, AttributeDefinitions=types, GlobalSecondaryIndexUpdates=again) == "ValidationException"
        view = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
        assert update(engine, StreamSpecification=view) == "ValidationException"
        other = {"TableName": "app", "TimeToLiveSpecification": {"AttributeName": "points", "Enabled": True}}
        with pytest.raises(ServiceError, match="TimeToLive"):
            engine.call("UpdateTimeToLive", other)


def test_new_and_existing_indexes_are_as_warm_as_their_table(tmp_path: Path) -> None:
    warm = BASE.replace(*setting("billing=OnDemand(warm_write=8_000)"))
    new = warm.replace('GSI("by_state", pk="state")', 'GSI("by_state", pk="state"), GSI("by_points", pk="points")')
    assert warmth(rolled(compared(tmp_path, BASE, new))) == {
        None: 8_000,
        "due": 8_000,
        "by_state": 8_000,
        "by_points": 8_000,
    }
    assert warmth(rolled(compared(tmp_path, warm, new)))["by_points"] == 8_000


def rolled(comparison: Comparison) -> dict[str, Any]:
    with Engine.memory() as engine:
        created(engine, comparison.old.tables)
        rolled_out(engine, comparison)
        table: dict[str, Any] = engine.call("DescribeTable", {"TableName": "app"})["Table"]
        return table


def warmth(table: dict[str, Any]) -> dict[str | None, int]:
    parts = [table, *table["GlobalSecondaryIndexes"]]
    return {part.get("IndexName"): part["WarmThroughput"]["WriteUnitsPerSecond"] for part in parts}
