"""Design: tables, patterns, capacity and cost of the document, and its corrections."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from tests.systems.readme_parts import readme_of
from tests.systems.served_engine import ServedEngine, connected
from tests.systems.thinking_trainer import units
from tests.systems.thinking_trainer.builders import attempt_id, completed
from tests.systems.thinking_trainer.stage import with_tables

from keyplan.check.checking import check
from keyplan.client.connection import Connection
from keyplan.clock import ManualClock
from keyplan.design.declaring.design import Design
from keyplan.dynamodb.expressions.names import RESERVED_WORDS
from keyplan.engine.engine import Engine
from keyplan.errors import ValidationError
from keyplan_systems.thinking_trainer import design
from keyplan_systems.thinking_trainer.domain.scenarios import Difficulty
from keyplan_systems.thinking_trainer.evaluation.rubric_evaluator import RubricEvaluator
from keyplan_systems.thinking_trainer.profile_consumer import ProfileConsumer
from keyplan_systems.thinking_trainer.service import Service, to_stored


class Recording:
    """Transport that records its requests."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.sent = inner, list[tuple[str, Mapping[str, Any]]]()
        self.used = list[tuple[str, Any]]()
        """Consumed capacity of each answer."""

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        self.sent.append((operation, request))
        response: dict[str, Any] = self.inner.call(operation, {**request, "ReturnConsumedCapacity": "INDEXES"})
        self.used.append((operation, response.get("ConsumedCapacity")))
        return response

    def close(self) -> None:
        self.inner.close()


@pytest.fixture
def db(engine: Engine | ServedEngine, clock: ManualClock) -> Iterator[Connection]:
    with connected(engine, clock) as db:
        yield with_tables(db)


@pytest.fixture
def recorded(db: Connection) -> tuple[Service, Recording]:
    recording = Recording(db.transport)
    connection = Connection(recording, db.context)
    return Service(connection, db.context.clock, RubricEvaluator()), recording


def test_the_design_has_no_findings() -> None:
    report = check(units.design())
    assert [finding for finding in report.findings if finding.severity in {"error", "warning", "advice"}] == []
    assert not report.failed


def test_the_tables_are_the_three_published_ones_with_their_keys(db: Connection) -> None:
    keys = {}
    for table in (design.attempts, design.profiles, design.scenarios):
        described = db.describe(table)
        assert described is not None
        keys[described["TableName"]] = [part["AttributeName"] for part in described["KeySchema"]]
        for index in described.get("GlobalSecondaryIndexes", []):
            keys[index["IndexName"]] = [part["AttributeName"] for part in index["KeySchema"]]
            assert index["Projection"]["ProjectionType"] == "ALL"
    assert keys == {
        "Attempts": ["attemptId"],
        "UserAttempts": ["userId", "timestamp"],
        "UserDrafts": ["draftOf", "touchedAt"],
        "OpenAttempts": ["openKey", "touchedAt"],
        "Profiles": ["userId", "timestamp"],
        "Scenarios": ["scenarioId"],
        "ActiveScenarios": ["activeKey", "difficultyKey"],
    }


def test_every_published_access_pattern_is_one_request_of_the_published_kind(
    recorded: tuple[Service, Recording],
) -> None:
    service, recording = recorded
    user, attempt = completed(1).user_id, service.db.run(design.start_attempt(to_stored(completed(1))))
    ProfileConsumer(service.db, service.clock).add(attempt)
    recording.sent.clear()
    service.attempt(user, attempt_id(1))
    service.submitted_attempts(user, 20, None)
    service.profile(user)
    service.history(user, 20, None)
    service.scenario("late-ferry")
    service.active_scenarios(None)
    service.active_scenarios(Difficulty.BEGINNER)
    result = [(operation, request["TableName"], request.get("IndexName")) for operation, request in recording.sent]
    assert result == [
        ("GetItem", "Attempts", None),
        ("Query", "Attempts", "UserAttempts"),
        ("Query", "Profiles", None),
        ("Query", "Profiles", None),
        ("GetItem", "Scenarios", None),
        ("Query", "Scenarios", "ActiveScenarios"),
        ("Query", "Scenarios", "ActiveScenarios"),
    ]


def test_newest_first_is_part_of_the_query(recorded: tuple[Service, Recording]) -> None:
    service, recording = recorded
    service.submitted_attempts("ada", 20, None)
    service.profile("ada")
    service.history("ada", 20, None)
    service.attempts_in_progress("ada", 20, None)
    assert [request["ScanIndexForward"] for _, request in recording.sent] == [False] * 4


def test_reserved_words_use_placeholders(recorded: tuple[Service, Recording]) -> None:
    assert {"TIMESTAMP", "STATUS", "NAME"} <= set(RESERVED_WORDS)
    service, recording = recorded
    service.db.run(design.inactive_attempts(completed(1).touched_at))
    service.submitted_attempts("ada", 20, None)
    service.set_active("late-ferry", active=False)
    for _, request in recording.sent:
        for name, text in request.items():
            if name.endswith("Expression"):
                words = text.replace("(", " ").replace(")", " ").replace(",", " ").split()
                bare = [word for word in words if word[0] not in "#:=<>" and word.upper() in RESERVED_WORDS]
                assert set(bare) <= {"AND", "OR", "NOT", "SET", "REMOVE", "BETWEEN", "IN"}, text


def test_capacity_is_as_published_and_the_index_has_its_own(db: Connection) -> None:
    described = {table: db.describe(table) for table in (design.attempts, design.profiles, design.scenarios)}
    for table in (design.attempts, design.profiles):
        assert (described[table] or {})["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    scenarios = described[design.scenarios]
    assert scenarios is not None
    (index,) = scenarios["GlobalSecondaryIndexes"]
    units = [
        (case["ProvisionedThroughput"]["ReadCapacityUnits"], case["ProvisionedThroughput"]["WriteCapacityUnits"])
        for case in (scenarios, index)
    ]
    assert units == [(5, 1), (10, 5)]


def test_the_stream_has_old_and_new_images(db: Connection) -> None:
    described = db.describe(design.attempts)
    assert described is not None
    assert described["StreamSpecification"] == {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    assert "StreamSpecification" not in (db.describe(design.profiles) or {})


def test_no_table_has_an_expiry(db: Connection) -> None:
    for name in ("Attempts", "Profiles", "Scenarios"):
        result = db.transport.call("DescribeTimeToLive", {"TableName": name})
        assert result["TimeToLiveDescription"]["TimeToLiveStatus"] == "DISABLED"


def test_the_boolean_key_of_the_document_is_rejected_by_the_engine(engine: Engine | ServedEngine) -> None:
    request = {
        "TableName": "Scenarios", "KeySchema": [{"AttributeName": "scenarioId", "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
        "GlobalSecondaryIndexes": [
            {
                "IndexName": "ActiveScenarios", "KeySchema": [{"AttributeName": "active", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
    }  # fmt: skip
    for kind in ("BOOL", "S"):
        types = {"scenarioId": "S", "active": kind}
        defined = [{"AttributeName": name, "AttributeType": code} for name, code in types.items()]
        if kind == "BOOL":
            with pytest.raises(ValidationError):
                engine.call("CreateTable", {**request, "AttributeDefinitions": defined})
            continue
        engine.call("CreateTable", {**request, "AttributeDefinitions": defined})
        item = {"scenarioId": {"S": "s"}, "active": {"BOOL": True}}
        with pytest.raises(ValidationError, match="active"):
            engine.call("PutItem", {"TableName": "Scenarios", "Item": item})
    as_written = check(Design.load(str(units.AS_WRITTEN)))
    assert as_written.failed


def test_a_submission_costs_the_units_that_the_design_predicts(recorded: tuple[Service, Recording]) -> None:
    """An attempt of 8 KB: in the table and in one index; its profile: a transaction over three items."""
    service, inner = recorded
    used, metered = inner.used, service.db
    long = completed(1)
    answer = long.answers[0].model_copy(update={"answer": "word " * 1300, "word_count": 1300})
    result = metered.run(design.start_attempt(to_stored(long.model_copy(update={"answers": (answer,)}))))
    (_, usage) = used.pop()
    assert usage["Table"]["CapacityUnits"] == 8
    assert usage["GlobalSecondaryIndexes"]["UserAttempts"]["CapacityUnits"] == 8
    assert set(usage["GlobalSecondaryIndexes"]) == {"UserAttempts"}
    used.clear()
    assert ProfileConsumer(metered, service.clock).add(result)
    ledger, noted = used
    assert (ledger[0], ledger[1]["CapacityUnits"]) == ("GetItem", 1)  # none exists yet
    by_table = {case["TableName"]: case["CapacityUnits"] for case in noted[1]}
    assert by_table == {"Attempts": 2 * 8 + 8 + 2 * 1, "Profiles": 2 * 1}  # of one attempt: a full one is larger


# Monthly cost.


def test_the_monthly_cost_is_under_ten_dollars_and_the_sum_of_its_parts() -> None:
    result = units.monthly_estimate()
    assert result.total == pytest.approx(sum(units.lines_of(result).values()))
    assert result.total < 10


def test_costs_stated_in_the_document_are_recomputed_from_its_figures() -> None:
    """10,000 submissions of 8 KB, their index entries, a snapshot and ten attempts read for each."""
    result = {pattern.name: pattern for pattern in units.monthly_estimate(Design.load(str(units.AS_WRITTEN))).patterns}
    assert result["submit"].calls == pytest.approx(10_000)
    assert result["submit"].expected.units.total_write == 16
    assert result["submit"].requests == pytest.approx(10_000 * 16 * 0.625e-6)
    assert result["write_profile"].requests == pytest.approx(10_000 * 3 * 0.625e-6)
    assert result["recent_attempts"].requests == pytest.approx(10_000 * 10 * 0.125e-6)


def test_costs_omitted_from_the_document_exceed_the_stated_ones() -> None:
    result = {pattern.name: pattern for pattern in units.monthly_estimate(Design.load(str(units.AS_WRITTEN))).patterns}
    submit = result["submit"].expected.units
    counted = result["submit"].requests * submit.write / submit.total_write
    of_indexes = result["submit"].requests - counted
    scenarios = units.table_of(units.monthly_estimate(), "Scenarios")
    fixed = sum(part.provisioned for part in scenarios.parts)
    left_out = of_indexes + result["write_profile"].requests + result["recent_attempts"].requests + fixed
    assert (round(counted, 2), round(of_indexes, 2), round(fixed, 2)) == (0.05, 0.05, 4.27)
    assert left_out > 50 * counted
    text = readme_of("thinking_trainer").read_text("utf-8")
    for figure in ("$0.05", "$0.02", "$0.01", "$4.27", "$300"):
        assert figure in text
