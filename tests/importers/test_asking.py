"""Tables asked for where they are: all of them, page by page, or those that are named."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace, TracebackType
from typing import Any

import pytest
from tests.importers.templates import KEY

from keyplan.engine.engine import Engine
from keyplan.errors import AccessDeniedError, KeyplanError, UnknownOperationError
from keyplan.importers.describe_table import describe_table, described
from keyplan.importers.nodes import ImportSourceError


@pytest.fixture
def database(tmp_path: Path) -> str:
    path = str(tmp_path / "data.db")
    with Engine.open(path, durability="normal") as engine:
        for number in range(103):  # ListTables gives a hundred at a time
            name = f"{'other' if number == 7 else 'mine'}-{number:03d}"
            engine.call("CreateTable", {**KEY, "TableName": name, "BillingMode": "PAY_PER_REQUEST"})
    return path


def names(url: str, *wanted: str) -> list[str]:
    return [table.name for table in describe_table(described(url, wanted)).tables]


def test_all_tables_of_a_prefix_are_found(database: str) -> None:
    assert len(names(database)) == 103
    assert len(names(f"{database}?table_prefix=mine-")) == 102


def test_a_prefix_stands_before_names(database: str) -> None:
    assert names(f"{database}?table_prefix=other-", "007") == ["other-007"]


def test_a_place_without_tables_and_a_table_that_is_not_there_are_refused(database: str) -> None:
    with pytest.raises(KeyplanError, match="there is no table"):
        described(f"{database}?table_prefix=none-", [])
    with pytest.raises(KeyplanError, match="Table: absent not found"):
        described(database, ["absent"])


# What stands in for the service, or is none.

ARN = "arn:aws:dynamodb:eu-west-1:123456789012:table/orders"
EXPIRY = {"TimeToLiveDescription": {"TimeToLiveStatus": "ENABLED", "AttributeName": "gone"}}
BACKUPS = {"ContinuousBackupsDescription": {"PointInTimeRecoveryDescription": {"PointInTimeRecoveryStatus": "ENABLED"}}}
SUMMARY = {"BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"}}
TABLE: dict[str, Any] = {**KEY, **SUMMARY, "TableName": "orders", "TableArn": ARN}
ANSWERS: dict[str, Any] = {
    "ListTables": {"TableNames": ["orders"]},
    "DescribeTable": {"Table": TABLE},
    "DescribeTimeToLive": EXPIRY,
    "DescribeContinuousBackups": BACKUPS,
    "ListTagsOfResource": {"Tags": [{"Key": "team", "Value": "x"}]},
}


class Fake:
    """A connection to what gives these answers, or raises them."""

    def __init__(self, answers: Mapping[str, Any]) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.is_closed = False
        self.transport = SimpleNamespace(call=self.call)
        self._answers = answers

    def call(self, operation: str, request: dict[str, Any]) -> Any:
        self.asked.append((operation, request))
        answer = self._answers[operation]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def __enter__(self) -> Fake:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.is_closed = True


def stand_in(monkeypatch: pytest.MonkeyPatch, answers: Mapping[str, Any]) -> Fake:
    fake = Fake({**ANSWERS, **answers})
    monkeypatch.setattr("keyplan.importers.describe_table.connect", lambda _: fake)
    return fake


def test_everything_is_asked_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = stand_in(monkeypatch, {})
    found = describe_table(described("aws://eu-west-1", []))
    assert fake.asked == [
        ("ListTables", {}),
        ("DescribeTable", {"TableName": "orders"}),
        ("DescribeTimeToLive", {"TableName": "orders"}),
        ("DescribeContinuousBackups", {"TableName": "orders"}),
        ("ListTagsOfResource", {"ResourceArn": ARN}),
    ]
    assert found.title == "aws://eu-west-1, as the service describes them"
    assert (found.tables[0].ttl, found.tables[0].point_in_time_recovery) == ("gone", True)
    assert found.tables[0].gaps == ("Tags: tags are not part of a design",)
    assert fake.is_closed


def test_pages_of_names_are_asked_for_until_there_are_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    pages: Iterator[dict[str, Any]] = iter(
        [{"TableNames": ["orders"], "LastEvaluatedTableName": "orders"}, {"TableNames": []}]
    )
    fake = stand_in(monkeypatch, {})
    answer: Callable[[str, dict[str, Any]], dict[str, Any]] = fake.call

    def call(operation: str, request: dict[str, Any]) -> dict[str, Any]:
        if operation != "ListTables":
            return answer(operation, request)
        fake.asked.append((operation, request))
        return next(pages)

    fake.transport.call = call
    assert len(describe_table(described("aws://eu-west-1", [])).tables) == 1
    assert fake.asked[:2] == [("ListTables", {}), ("ListTables", {"ExclusiveStartTableName": "orders"})]


@pytest.mark.parametrize("operation", ["DescribeTimeToLive", "DescribeContinuousBackups", "ListTagsOfResource"])
def test_what_a_stand_in_does_not_know_is_left_out(operation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, {operation: UnknownOperationError("no")})
    (found,) = describe_table(described("http://localhost:8000", ["orders"])).tables
    assert [found.ttl is None, not found.point_in_time_recovery, not found.gaps] == [
        operation == "DescribeTimeToLive",
        operation == "DescribeContinuousBackups",
        operation == "ListTagsOfResource",
    ]


@pytest.mark.parametrize("operation", ["DescribeTimeToLive", "DescribeTable"])
def test_what_is_not_allowed_is_refused(operation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, {operation: AccessDeniedError("not you")})
    with pytest.raises(AccessDeniedError, match="not you"):
        described("aws://eu-west-1", ["orders"])


def test_a_table_that_is_not_known_by_the_operation_is_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, {"DescribeTable": UnknownOperationError("no")})
    with pytest.raises(UnknownOperationError):
        described("aws://eu-west-1", ["orders"])


def test_what_a_client_fails_with_is_told_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, {"ListTables": RuntimeError("Unable to locate credentials")})
    with pytest.raises(ImportSourceError) as refused:
        described("aws://eu-west-1", [])
    told = "--from aws://eu-west-1: ListTables is not answered: Unable to locate credentials"
    assert str(refused.value) == told


def test_a_fault_of_the_engine_is_not_hidden(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, {"ListTables": RuntimeError("a fault")})
    with pytest.raises(RuntimeError, match="a fault"):
        described(database, [])


def test_an_answer_of_another_service_is_told_with_its_operation(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, {"ListTables": {"Tables": []}})
    with pytest.raises(ImportSourceError, match="--from aws://eu-west-1: ListTables: TableNames is missing"):
        described("aws://eu-west-1", [])


@pytest.mark.parametrize(
    ("url", "called"),
    [("http://localhost:8000", "http://localhost:8000"), ("aws://eu-west-1?table_prefix=or", "aws://eu-west-1")],
)
def test_a_place_is_called_by_its_address(url: str, called: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, {})
    assert described(url, [])[0].name == called
