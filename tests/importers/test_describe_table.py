"""Tables imported from the service's descriptions, in files or from a running service."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace, TracebackType
from typing import Any

import pytest
from tests.importers.templates import KEY

from keyplan.design.workload import OnDemand, Provisioned
from keyplan.engine.engine import Engine
from keyplan.errors import AccessDeniedError, KeyplanError, UnknownOperationError
from keyplan.importers.describe_table import describe_table, fetch_descriptions
from keyplan.importers.documents import Document, documents
from keyplan.importers.nodes import ImportSourceError
from keyplan.importers.schemas import ImportSource, SourceTable, TableStatistics
from keyplan.importers.writing import design_text

TABLE: dict[str, Any] = {
    "AttributeDefinitions": [
        {"AttributeName": "id", "AttributeType": "S"},
        {"AttributeName": "state", "AttributeType": "S"},
    ],
    "TableName": "orders",
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "TableStatus": "ACTIVE",
    "ProvisionedThroughput": {"NumberOfDecreasesToday": 0, "ReadCapacityUnits": 3, "WriteCapacityUnits": 4},
    "TableSizeBytes": 1000,
    "ItemCount": 8,
    "TableArn": "arn:aws:dynamodb:eu-west-1:123456789012:table/orders",
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by_state",
            "KeySchema": [{"AttributeName": "state", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
            "IndexStatus": "ACTIVE",
            "ProvisionedThroughput": {"NumberOfDecreasesToday": 0, "ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
            "IndexSizeBytes": 100,
            "ItemCount": 2,
        }
    ],
}


def tables(*values: Any) -> tuple[SourceTable, ...]:
    return describe_table([Document("t.json", value) for value in values]).tables


@pytest.mark.parametrize(
    "value", [{"Table": TABLE}, TABLE, {"TableDescription": TABLE}, [TABLE], [{"Table": TABLE}]], ids=str
)
def test_a_description_is_accepted_in_every_form(value: Any) -> None:
    (table,) = tables(value)
    assert (table.name, table.key, table.billing) == ("orders", ("id",), Provisioned(read=3, write=4))
    assert table.figures == TableStatistics(8, 125, {"by_state": 2})
    assert table.gaps == ()


def test_several_tables_of_one_file_stay_in_order() -> None:
    text = "\n".join(json.dumps({"Table": {**TABLE, "TableName": name}}) for name in ("one", "two"))
    assert [table.name for table in describe_table(documents("t.json", text)).tables] == ["one", "two"]


def test_expiry_backups_and_tags_belong_to_the_preceding_table() -> None:
    expiry = {"TimeToLiveDescription": {"TimeToLiveStatus": "ENABLED", "AttributeName": "gone"}}
    backups = {"PointInTimeRecoveryDescription": {"PointInTimeRecoveryStatus": "ENABLED", "RecoveryPeriodInDays": 35}}
    more = [expiry, {"ContinuousBackupsDescription": {"ContinuousBackupsStatus": "ENABLED", **backups}}]
    first, second = tables(
        TABLE, *more, {"Tags": [{"Key": "a", "Value": "b"}]}, {**TABLE, "TableName": "two"}, {"Tags": []}
    )
    assert (first.ttl, first.point_in_time_recovery) == ("gone", True)
    assert first.gaps == ("Tags: tags are not part of a design",)
    assert (second.ttl, second.point_in_time_recovery, second.gaps) == (None, False, ())


@pytest.mark.parametrize("message", [{"TimeToLiveStatus": "DISABLED"}, {}])
def test_disabled_expiry_is_none(message: dict[str, str]) -> None:
    assert tables(TABLE, {"TimeToLiveDescription": message})[0].ttl is None


@pytest.mark.parametrize(
    ("status", "expected"), [("ENABLED", "gone"), ("ENABLING", "gone"), ("DISABLING", None), ("DISABLED", None)]
)
def test_expiry_in_transition_has_its_target_state(status: str, expected: str | None) -> None:
    expiry = {"TimeToLiveDescription": {"TimeToLiveStatus": status, "AttributeName": "gone"}}
    (table,) = tables(TABLE, expiry)
    actual = () if expected else ("TimeToLiveSpecification names 'gone' but is not enabled: items do not expire",)
    assert (table.ttl, table.gaps) == (expected, actual)


@pytest.mark.parametrize(
    ("recovery", "expected", "gaps"),
    [
        ({"PointInTimeRecoveryStatus": "DISABLED"}, False, 0),
        ({"PointInTimeRecoveryStatus": "ENABLED"}, True, 0),
        ({"PointInTimeRecoveryStatus": "ENABLED", "RecoveryPeriodInDays": 35}, True, 0),
        ({"PointInTimeRecoveryStatus": "ENABLED", "RecoveryPeriodInDays": 7}, True, 1),
        ({}, False, 0),
        (None, False, 0),
    ],
)
def test_point_in_time_recovery_is_imported_only_if_enabled(recovery: Any, expected: bool, gaps: int) -> None:
    described = {"ContinuousBackupsStatus": "ENABLED", "PointInTimeRecoveryDescription": recovery}
    (table,) = tables(TABLE, {"ContinuousBackupsDescription": described})
    assert table.point_in_time_recovery is expected
    assert [gap.partition(":")[0] for gap in table.gaps] == ["RecoveryPeriodInDays"] * gaps


def test_the_current_table_class_and_billing_mode_are_imported() -> None:
    summaries = {
        "BillingModeSummary": {"BillingMode": "PROVISIONED"},
        "TableThroughputModeSummary": {"TableThroughputMode": "PROVISIONED"},
        "TableClassSummary": {"TableClass": "STANDARD_INFREQUENT_ACCESS", "LastUpdateDateTime": 1.5},
    }
    (table,) = tables({**TABLE, **summaries})
    assert table.billing == Provisioned(read=3, write=4)
    assert table.table_class == "STANDARD_INFREQUENT_ACCESS"
    assert table.gaps == ()


TRANSIENT = {
    "ArchivalSummary": {}, "CreationDateTime": 1.5, "GlobalTableVersion": "2019.11.21", "LatestStreamArn": "arn",
    "LatestStreamLabel": "now", "RestoreSummary": {}, "TableId": "id",
}  # fmt: skip


@pytest.mark.parametrize("member", TRANSIENT)
def test_temporary_state_is_not_noted(member: str) -> None:
    assert tables({**TABLE, member: TRANSIENT[member]})[0].gaps == ()


@pytest.mark.parametrize("member", ["Backfilling", "IndexArn"])
def test_temporary_state_of_indexes_is_not_noted(member: str) -> None:
    (index,) = TABLE["GlobalSecondaryIndexes"]
    assert tables({**TABLE, "GlobalSecondaryIndexes": [{**index, member: True}]})[0].gaps == ()


def test_local_indexes_are_counted_too() -> None:
    local = {
        "IndexName": "by_time",
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}, {"AttributeName": "state", "KeyType": "RANGE"}],
        "Projection": {"ProjectionType": "ALL"},
        "IndexArn": "arn",
        "IndexSizeBytes": 10,
        "ItemCount": 0,
    }
    (table,) = tables({**TABLE, "LocalSecondaryIndexes": [local]})
    assert table.figures == TableStatistics(8, 125, {"by_state": 2, "by_time": 0})
    assert table.gaps == ()


def test_an_index_being_filled_has_no_item_count() -> None:
    index = {**TABLE["GlobalSecondaryIndexes"][0], "IndexStatus": "CREATING", "Backfilling": True, "ItemCount": 0}
    (table,) = tables({**TABLE, "GlobalSecondaryIndexes": [index]})
    assert table.figures == TableStatistics(8, 125, {})


@pytest.mark.parametrize("member", ["ItemCount", "TableSizeBytes"])
def test_a_table_without_counts_has_no_statistics(member: str) -> None:
    assert tables({name: value for name, value in TABLE.items() if name != member})[0].figures is None


def test_a_create_table_request_has_its_billing_mode() -> None:
    request = {name: TABLE[name] for name in ("TableName", "AttributeDefinitions", "KeySchema")}
    index = {name: TABLE["GlobalSecondaryIndexes"][0][name] for name in ("IndexName", "KeySchema", "Projection")}
    (table,) = tables({**request, "BillingMode": "PAY_PER_REQUEST", "GlobalSecondaryIndexes": [index]})
    assert table.billing == OnDemand()
    assert table.gaps == ()


def test_zeros_of_on_demand_tables_are_ignored() -> None:
    summary = {"BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"}}
    zeros = {"ProvisionedThroughput": {"ReadCapacityUnits": 0, "WriteCapacityUnits": 0}}
    index = {**TABLE["GlobalSecondaryIndexes"][0], **zeros}
    (table,) = tables({**TABLE, **summary, **zeros, "GlobalSecondaryIndexes": [index]})
    assert table.billing == OnDemand()
    assert table.indexes[0].billing is None


def test_settings_that_are_not_part_of_a_design_are_noted() -> None:
    (table,) = tables({**TABLE, "SSEDescription": {"Status": "ENABLED"}, "Replicas": [{"RegionName": "eu-west-1"}]})
    assert table.gaps == (
        "SSEDescription: encryption is not part of a design",
        "Replicas: replication is not part of a design",
    )


def test_warm_throughput_above_the_provisioned_capacity_is_noted() -> None:
    cold, warm = ({"ReadUnitsPerSecond": units, "WriteUnitsPerSecond": 4, "Status": "ACTIVE"} for units in (3, 900))
    assert tables({**TABLE, "WarmThroughput": cold})[0].gaps == ()
    assert tables({**TABLE, "WarmThroughput": warm})[0].gaps == (
        "WarmThroughput: a design sets it only for on-demand tables",
    )


def test_counts_and_shares_become_the_workload() -> None:
    text = "".join(design_text(ImportSource("orders", tables(TABLE))).split())
    assert 'volume=Volume(count=8,bytes=Bytes(average=125),present={"state":0.25})' in text


@pytest.mark.parametrize(
    ("count", "attributes", "present"),
    [
        (2, ("state",), ', present={"state": 0.25}'),
        (3, ("state",), ', present={"state": 0.375}'),
        (8, ("state",), ""),
        (9, ("state",), ""),
        (2, ("state", "id"), ', present={"state": 0.25}'),
        (2, ("state", "at"), ""),
    ],
)
def test_the_share_of_a_sparse_index_belongs_to_its_single_attribute(
    count: int, attributes: tuple[str, ...], present: str
) -> None:
    types = ("HASH", "RANGE")
    keys = [{"AttributeName": name, "KeyType": kind} for name, kind in zip(attributes, types, strict=False)]
    index = {"IndexName": "by", "KeySchema": keys, "Projection": {"ProjectionType": "ALL"}, "ItemCount": count}
    defined = [{"AttributeName": name, "AttributeType": "S"} for name in dict.fromkeys(("id", *attributes))]
    described = {
        "TableName": "orders",
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "AttributeDefinitions": defined,
        "ItemCount": 8,
        "TableSizeBytes": 1000,
        "GlobalSecondaryIndexes": [index],
        "BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"},
    }
    text = "".join(design_text(ImportSource("orders", tables(described))).split())
    assert f"volume=Volume(count=8,bytes=Bytes(average=125){present.replace(' ', '')})" in text


def test_shares_have_four_decimals() -> None:
    (index,) = TABLE["GlobalSecondaryIndexes"]
    counted = {**TABLE, "ItemCount": 3, "GlobalSecondaryIndexes": [{**index, "ItemCount": 1}]}
    assert 'present={"state": 0.3333}' in design_text(ImportSource("orders", tables(counted)))


def test_an_empty_table_has_no_statistics() -> None:
    assert tables({**TABLE, "ItemCount": 0, "TableSizeBytes": 0})[0].figures is None


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ([], "the input has no table"),
        ([[]], "the input has no table"),
        ([{"Tags": []}], "t.json does not name its table: put it after the table's description"),
        ([{"TableNames": ["a"]}], "t.json is not output of aws dynamodb describe-table: it looks like output of aws"),
        (["TableName, KeySchema"], "t.json is not output of aws dynamodb describe-table: it is only the text 'TableN"),
        ([{"Table": {"KeySchema": []}}], "t.json is not output of aws dynamodb describe-table: "),
        ([{"Table": {"TableName": "x"}}], "t.json is not output of aws dynamodb describe-table: "),
        ([{**TABLE, "AttributeDefinitions": []}], "t.json: orders.KeySchema[0]: 'id' is part of the key"),
        ([{**TABLE, "TableName": ""}], "t.json: .TableName: expected a text, got ''"),
        ([{**TABLE, "ItemCount": "many"}], "t.json: orders.ItemCount: expected a whole number from 0, got 'many'"),
        ([{**TABLE, "GlobalSecondaryIndexes": [{}]}], "t.json: orders.GlobalSecondaryIndexes[0]: IndexName is missing"),
    ],
)
def test_a_document_that_describes_no_table_is_rejected(values: list[Any], problem: str) -> None:
    with pytest.raises(ImportSourceError) as refused:
        tables(*values)
    assert str(refused.value).startswith(problem)


@pytest.fixture
def database(tmp_path: Path) -> str:
    path = str(tmp_path / "data.db")
    with Engine.open(path, durability="normal") as engine:
        for number in range(103):  # ListTables gives a hundred at a time
            name = f"{'other' if number == 7 else 'mine'}-{number:03d}"
            engine.call("CreateTable", {**KEY, "TableName": name, "BillingMode": "PAY_PER_REQUEST"})
    return path


def names(url: str, *requested: str) -> list[str]:
    return [table.name for table in describe_table(fetch_descriptions(url, requested)).tables]


def test_all_tables_with_a_prefix_are_found(database: str) -> None:
    assert len(names(database)) == 103
    assert len(names(f"{database}?table_prefix=mine-")) == 102


def test_a_prefix_is_added_to_names(database: str) -> None:
    assert names(f"{database}?table_prefix=other-", "007") == ["other-007"]


def test_an_endpoint_without_tables_and_a_missing_table_are_rejected(database: str) -> None:
    with pytest.raises(KeyplanError, match="no tables found"):
        fetch_descriptions(f"{database}?table_prefix=none-", [])
    with pytest.raises(KeyplanError, match="Table: absent not found"):
        fetch_descriptions(database, ["absent"])


# What stands in for the service, or is none.

ARN = "arn:aws:dynamodb:eu-west-1:123456789012:table/orders"
EXPIRY = {"TimeToLiveDescription": {"TimeToLiveStatus": "ENABLED", "AttributeName": "gone"}}
BACKUPS = {"ContinuousBackupsDescription": {"PointInTimeRecoveryDescription": {"PointInTimeRecoveryStatus": "ENABLED"}}}
SUMMARY = {"BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"}}
SERVICE_TABLE: dict[str, Any] = {**KEY, **SUMMARY, "TableName": "orders", "TableArn": ARN}
ANSWERS: dict[str, Any] = {
    "ListTables": {"TableNames": ["orders"]},
    "DescribeTable": {"Table": SERVICE_TABLE},
    "DescribeTimeToLive": EXPIRY,
    "DescribeContinuousBackups": BACKUPS,
    "ListTagsOfResource": {"Tags": [{"Key": "team", "Value": "x"}]},
}


class Fake:
    """A connection to what gives these answers, or raises them."""

    def __init__(self, responses: Mapping[str, Any]) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.is_closed = False
        self.transport = SimpleNamespace(call=self.call)
        self._answers = responses

    def call(self, operation: str, request: dict[str, Any]) -> Any:
        self.asked.append((operation, request))
        response = self._answers[operation]
        if isinstance(response, Exception):
            raise response
        return response

    def __enter__(self) -> Fake:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.is_closed = True


def stand_in(monkeypatch: pytest.MonkeyPatch, responses: Mapping[str, Any]) -> Fake:
    fake = Fake({**ANSWERS, **responses})
    monkeypatch.setattr("keyplan.importers.describe_table.connect", lambda _: fake)
    return fake


def test_every_description_of_a_table_is_requested(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = stand_in(monkeypatch, {})
    response = describe_table(fetch_descriptions("aws://eu-west-1", []))
    assert fake.asked == [
        ("ListTables", {}),
        ("DescribeTable", {"TableName": "orders"}),
        ("DescribeTimeToLive", {"TableName": "orders"}),
        ("DescribeContinuousBackups", {"TableName": "orders"}),
        ("ListTagsOfResource", {"ResourceArn": ARN}),
    ]
    assert response.title == "aws://eu-west-1, in the form of DescribeTable"
    assert (response.tables[0].ttl, response.tables[0].point_in_time_recovery) == ("gone", True)
    assert response.tables[0].gaps == ("Tags: tags are not part of a design",)
    assert fake.is_closed


def test_pages_of_names_are_requested_until_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    pages: Iterator[dict[str, Any]] = iter(
        [{"TableNames": ["orders"], "LastEvaluatedTableName": "orders"}, {"TableNames": []}]
    )
    fake = stand_in(monkeypatch, {})
    real_call: Callable[[str, dict[str, Any]], dict[str, Any]] = fake.call

    def call(operation: str, request: dict[str, Any]) -> dict[str, Any]:
        if operation != "ListTables":
            return real_call(operation, request)
        fake.asked.append((operation, request))
        return next(pages)

    fake.transport.call = call
    assert len(describe_table(fetch_descriptions("aws://eu-west-1", [])).tables) == 1
    assert fake.asked[:2] == [("ListTables", {}), ("ListTables", {"ExclusiveStartTableName": "orders"})]


@pytest.mark.parametrize("operation", ["DescribeTimeToLive", "DescribeContinuousBackups", "ListTagsOfResource"])
def test_operations_that_an_emulator_does_not_support_are_skipped(
    operation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(monkeypatch, {operation: UnknownOperationError("no")})
    (table,) = describe_table(fetch_descriptions("http://localhost:8000", ["orders"])).tables
    assert [table.ttl is None, not table.point_in_time_recovery, not table.gaps] == [
        operation == "DescribeTimeToLive",
        operation == "DescribeContinuousBackups",
        operation == "ListTagsOfResource",
    ]


@pytest.mark.parametrize("operation", ["DescribeTimeToLive", "DescribeTable"])
def test_a_forbidden_operation_is_rejected(operation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, {operation: AccessDeniedError("not you")})
    with pytest.raises(AccessDeniedError, match="not you"):
        fetch_descriptions("aws://eu-west-1", ["orders"])


def test_an_emulator_without_describe_table_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, {"DescribeTable": UnknownOperationError("no")})
    with pytest.raises(UnknownOperationError):
        fetch_descriptions("aws://eu-west-1", ["orders"])


def test_a_client_failure_is_reported_on_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, {"ListTables": RuntimeError("Unable to locate credentials")})
    with pytest.raises(ImportSourceError) as refused:
        fetch_descriptions("aws://eu-west-1", [])
    expected = "--from aws://eu-west-1: ListTables failed: Unable to locate credentials"
    assert str(refused.value) == expected


def test_an_engine_failure_is_raised_unchanged(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, {"ListTables": RuntimeError("a fault")})
    with pytest.raises(RuntimeError, match="a fault"):
        fetch_descriptions(database, [])


def test_a_response_of_another_service_is_reported_with_its_operation(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, {"ListTables": {"Tables": []}})
    with pytest.raises(ImportSourceError, match="--from aws://eu-west-1: ListTables: TableNames is missing"):
        fetch_descriptions("aws://eu-west-1", [])


@pytest.mark.parametrize(
    ("url", "called"),
    [("http://localhost:8000", "http://localhost:8000"), ("aws://eu-west-1?table_prefix=or", "aws://eu-west-1")],
)
def test_a_source_is_named_by_its_address(url: str, called: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, {})
    assert fetch_descriptions(url, [])[0].name == called
