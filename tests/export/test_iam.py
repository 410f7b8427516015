"""Policies of designs: all that patterns send is allowed; another principal's partitions, and the rest, are not."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.export import diary
from tests.export.iam_policies import ARN, AccessRequest, access_requests, allows
from tests.export.iam_watching import AS_WRITTEN, SYSTEMS, RecordedRequest, design_of, requests_of, schemas_of

from keyplan import Entity, Inserted, ItemWrite, Table, connect, item
from keyplan.client.connection import Connection
from keyplan.client.requests import Context
from keyplan.design.declaring.design import Design
from keyplan.design.declaring.patterns import Pattern
from keyplan.design.planning.indexes import all_faults
from keyplan.engine.engine import Engine
from keyplan.export.iam import (
    Account,
    Grant,
    of_checks,
    of_consumers,
    of_creation,
    of_failures,
    of_pattern,
    policies,
    policy,
    size,
)
from keyplan.export.iam_keys import Bindings, Leading
from keyplan.streams import Runner, TableCheckpoints, TableDestination, failure_table
from keyplan.streams.checkpoints_table import checkpoint_table
from keyplan_systems.todo.feed import Feed
from keyplan_systems.todo.lake.lake import Lake

ACCOUNT = Account("eu-west-1", "123456789012")
FREE = Bindings({})
OWN = "${aws:PrincipalTag/user_id}"
DESIGNS = (*SYSTEMS, *map(str, AS_WRITTEN))


def runnable(design: Design) -> list[Pattern[..., Any]]:
    return [pattern for pattern in design.patterns if not all_faults(pattern.plan)]


def policy_of(patterns: list[Pattern[..., Any]], bindings: Bindings = FREE) -> dict[str, Any]:
    return policy([grant for pattern in patterns for grant in of_pattern(pattern, bindings)], ACCOUNT)


def denied(
    policy: Mapping[str, Any], request: RecordedRequest, design: Design, principal: Mapping[str, str] | None = None
) -> bool:
    """Whether something of a request is denied, whether its items are looked at one by one or together."""
    ways = access_requests(request.operation, request.request, schemas_of(design))
    items = [all(allows(policy, access, principal) for access in way) for way in ways]
    assert len(set(items)) == 1, "both ways agree"
    return not items[0]


@pytest.mark.parametrize("name", DESIGNS)
def test_every_sent_request_is_allowed(name: str) -> None:
    design = design_of(name)
    document = policy_of(runnable(design))
    requests = requests_of(name)
    sent, declared = {request.pattern for request in requests}, {pattern.name for pattern in runnable(design)}
    assert sent <= declared
    assert sent == declared or name not in SYSTEMS, "of designs as written not every table can be made"
    refused = [request for request in requests if denied(document, request, design)]
    assert not refused


@pytest.mark.parametrize("name", DESIGNS)
def test_the_policy_of_one_pattern_allows_all_its_requests(name: str) -> None:
    design = design_of(name)
    alone = {pattern.name: policy_of([pattern]) for pattern in runnable(design)}
    refused = [request for request in requests_of(name) if denied(alone[request.pattern], request, design)]
    assert not refused


@pytest.mark.parametrize("name", SYSTEMS)
def test_nothing_that_no_pattern_does_is_allowed(name: str) -> None:
    design = design_of(name)
    document = policy_of(runnable(design))
    requests_sent = {(request.operation, request.request.get("TableName")) for request in requests_of(name)}
    for table in design.tables:
        for action in ("DeleteTable", "UpdateTable", "CreateTable", "DescribeTable", "PartiQLSelect", "GetRecords"):
            assert not allows(document, AccessRequest(action, ARN + table.name, {}))
        for action in ("Scan", "BatchWriteItem", "BatchGetItem"):
            used = {entry for entry in requests_sent if entry[0] == action and entry[1] in {table.name, None}}
            assert used or not allows(
                document, AccessRequest(action, ARN + table.name, {"dynamodb:LeadingKeys": ("x",)})
            )
    assert not allows(document, AccessRequest("GetItem", ARN + "other", {"dynamodb:LeadingKeys": ("USER#x",)}))


@pytest.mark.parametrize("name", DESIGNS)
def test_every_policy_fits_a_managed_policy_and_has_valid_statements(name: str) -> None:
    document = policy_of(runnable(design_of(name)))
    assert size(document) <= 6144
    sids = [statement["Sid"] for statement in document["Statement"]]
    assert len(set(sids)) == len(sids)
    assert all(re.fullmatch(r"[A-Za-z0-9]+", sid) for sid in sids)
    assert document["Version"] == "2012-10-17"


@pytest.fixture(scope="module")
def lint() -> Callable[[str], list[Any]]:
    """Return a function that lints a template with cfn-lint, hints included; loading it takes a second."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what it imports
        from cfnlint.api import lint as found  # noqa: PLC0415
        from cfnlint.config import ManualArgs  # noqa: PLC0415
    config = ManualArgs(include_checks=["I"], regions=["us-east-1"])
    return lambda text: list(found(text, config=config))


def in_template(document: Mapping[str, Any]) -> str:
    resource = {"Type": "AWS::IAM::ManagedPolicy", "Properties": {"PolicyDocument": document}}
    return json.dumps({"AWSTemplateFormatVersion": "2010-09-09", "Resources": {"Policy": resource}})


@pytest.mark.parametrize("name", SYSTEMS)
def test_cfn_lint_reports_nothing(name: str, lint: Callable[[str], list[Any]]) -> None:
    design = design_of(name)
    bindings = Bindings({}) if name != "todo" else Bindings({"user_id": OWN})
    grants = [grant for pattern in runnable(design) for grant in of_pattern(pattern, bindings)]
    grants += [grant for table in design.tables for grant in of_consumers(table, "", checkpoint_table())]
    grants += [grant for table in (*design.tables, checkpoint_table()) for grant in of_creation(table)]
    assert lint(in_template(policy(grants, ACCOUNT))) == []


def test_cfn_lint_reports_a_damaged_policy(lint: Callable[[str], list[Any]]) -> None:
    document = policy_of([diary.entry])
    document["Statement"][0]["Action"] = ["dynamodb:GetItems"]
    assert lint(in_template(document))


# Bound to the principal.


def partitions(request: RecordedRequest, design: Design) -> set[str]:
    ways = access_requests(request.operation, request.request, schemas_of(design))
    return {key for access in next(iter(ways)) for key in access.context.get("dynamodb:LeadingKeys", ())}


def test_a_bound_pattern_accesses_only_the_principals_partitions() -> None:
    design = design_of("todo")
    bindings = Bindings({"user_id": OWN})
    tried = 0
    for pattern in runnable(design):
        grants = list(of_pattern(pattern, bindings))
        if not all("user_id" in grant.leading.bound for grant in grants):
            continue
        own = policy(grants, ACCOUNT)
        for request in requests_of("todo"):
            if request.pattern != pattern.name or request.pattern in {
                "answer_given",
                "remember_answer",
                "finish_answer",
            }:
                continue
            ids = {key.partition("#")[2] for key in partitions(request, design)}
            assert denied(own, request, design, {"aws:PrincipalTag/user_id": "somebody else"})
            assert denied(own, request, design), "and a principal without the tag is nobody"
            if len(ids) == 1:
                assert not denied(own, request, design, {"aws:PrincipalTag/user_id": ids.pop()})
                tried += 1
    assert tried > 100


def test_a_field_of_a_whole_item_is_bound_by_name_or_with_its_parameter() -> None:
    for name in ("author", "entry.author"):
        (statement,) = policy_of([diary.write], Bindings({name: OWN}))["Statement"]
        assert statement["Condition"]["ForAllValues:StringLike"] == {"dynamodb:LeadingKeys": [f"AUTHOR#{OWN}"]}


# What statements say.


def test_the_policy_of_a_small_design_has_the_expected_statements() -> None:
    assert policy_of([diary.entry, diary.of_day, diary.publish])["Statement"] == [
        {
            "Sid": "DiaryGetUpdate",
            "Effect": "Allow",
            "Action": ["dynamodb:GetItem", "dynamodb:UpdateItem"],
            "Resource": [ARN + "diary"],
            "Condition": {
                "ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["AUTHOR#*"]},
                "Null": {"dynamodb:LeadingKeys": "false"},
            },
        },
        {
            "Sid": "DiaryByDayQuery",
            "Effect": "Allow",
            "Action": ["dynamodb:Query"],
            "Resource": [ARN + "diary/index/by_day"],
            "Condition": {
                "ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["DAY#*#*"]},
                "Null": {"dynamodb:LeadingKeys": "false"},
            },
        },
    ]


def test_a_scan_has_no_condition() -> None:
    (statement,) = policy_of([diary.everything_there])["Statement"]
    assert "Condition" not in statement


def test_steps_of_a_transaction_are_allowed_only_in_a_transaction() -> None:
    document = policy_of([diary.write_counted])
    leading = {"dynamodb:LeadingKeys": ("AUTHOR#ada",)}
    put = AccessRequest("PutItem", ARN + "diary", leading)
    assert not allows(document, put)
    enclosed = {**leading, "dynamodb:EnclosingOperation": ("TransactWriteItems",)}
    assert allows(document, AccessRequest("PutItem", ARN + "diary", enclosed))


def test_a_missing_key_does_not_grant_permission() -> None:
    assert not allows(policy_of([diary.entry]), AccessRequest("GetItem", ARN + "diary", {}))


def test_partitions_of_several_attributes_are_not_mixed() -> None:
    grants = [
        Grant("Query", "t", "index/i", Leading(texts)) for texts in (("a", "x"), ("b", "y"), ("c", "*"), ("*", "*"))
    ]
    document = policy(grants[:3], ACCOUNT)

    def is_allowed(first: str, second: str) -> bool:
        context = {"dynamodb:LeadingKeys": (first,), "dynamodb:SecondPartitionKeyValues": (second,)}
        return allows(document, AccessRequest("Query", ARN + "t/index/i", context))

    assert [is_allowed("a", "x"), is_allowed("b", "y"), is_allowed("c", "z")] == [True, True, True]
    assert [is_allowed("a", "y"), is_allowed("b", "x"), is_allowed("d", "z")] == [False, False, False]
    (open_statement,) = policy(grants, ACCOUNT)["Statement"]
    assert "Condition" not in open_statement


def test_oversized_statements_are_split() -> None:
    grants = [Grant("GetItem", f"table-{number}", leading=Leading((f"K{number}#*",))) for number in range(9)]
    parts = policies(grants, ACCOUNT, max_characters=700)
    assert len(parts) > 1
    assert all(size(part) <= 700 for part in parts)
    assert [statement["Resource"] for part in parts for statement in part["Statement"]] == [
        statement["Resource"] for statement in policy(grants, ACCOUNT)["Statement"]
    ]


# Consumers.


class Noted:
    """An engine's transport that notes what passes."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.seen: list[tuple[str, dict[str, Any]]] = []

    def call(self, operation: str, request: dict[str, Any]) -> Any:
        """Run one operation."""
        self.seen.append((operation, request))
        return self.engine.call(operation, request)

    def close(self) -> None:
        """Do nothing: the owner of the engine closes it."""


def test_every_request_of_a_runner_is_allowed() -> None:
    table = diary.diary
    store = checkpoint_table()
    with Engine.memory() as engine, connect(engine=engine) as db:
        db.create_tables(table, store)
        noted = Noted(engine)
        checkpoints = TableCheckpoints(noted, create=False)
        handlers: dict[Callable[..., Any] | str, Callable[[Any], Any]] = {"mirror": lambda _change: None}
        with Runner(noted, table, checkpoints=checkpoints, handlers=handlers, destinations={"later": Kept()}) as runner:
            runner.run_once()
    document = policy(of_consumers(table, "", store), ACCOUNT)
    schemas = {source.name: source.schema for source in (table, store)}
    assert {"ListStreams", "DescribeStream", "PutItem", "UpdateItem", "Query"} <= {
        sent_request for sent_request, _ in noted.seen
    }
    for operation, request in noted.seen:
        if operation == "GetRecords":
            continue  # an iterator does not say which stream's it is
        built_request = {**request, "StreamArn": f"{ARN}diary/stream/x"} if "StreamArn" in request else request
        ways = access_requests(operation, built_request, schemas)
        assert all(allows(document, access) for way in ways for access in way), operation
    assert allows(document, AccessRequest("GetRecords", f"{ARN}diary/stream/x", {}))
    other = {"dynamodb:LeadingKeys": ("diary/other",)}
    assert not allows(document, AccessRequest("PutItem", f"{ARN}keyplan-checkpoints", other))


class Sent:
    """Requests that went out, held against a policy."""

    def __init__(self, noted: Noted, tables: Sequence[Table]) -> None:
        self.noted, self.schemas = noted, {table.name: table.schema for table in tables}

    @property
    def operations(self) -> set[str]:
        """The names of all operations."""
        return {operation for operation, _ in self.noted.seen}

    def denied(self, document: Mapping[str, Any], stream_of: str) -> set[str]:
        """Return the operations that the policy denies. Streams are those of one table."""
        refused = set()
        for operation, request in self.noted.seen:
            # An iterator does not say which stream's it is; ListStreams has no resource in the authorization reference.
            of_stream = operation == "GetRecords" or "StreamArn" in request
            built_request = {**request, "StreamArn": f"{ARN}{stream_of}/stream/x"} if of_stream else request
            ways = access_requests(operation, built_request, self.schemas)
            if not all(allows(document, access) for way in ways for access in way):
                refused.add(operation)
        return refused


posts = Table("posts", pk="post", ttl="until", stream="NEW_AND_OLD_IMAGES", point_in_time_recovery=True)


@posts.entity()
class Post(Entity):
    post: str
    until: int | None = None


@posts.put(Post)
def keep(post: Post) -> ItemWrite:
    return item(post)


@posts.on_change(Post, on_failure="dead", retries=0)
def tell(change: Inserted[Post]) -> None:
    raise ValueError(change.new.post)


def run_of_consumers(engine: Engine) -> Sent:
    """Everything that is sent from an empty database to a failed record, by runners that make what they need."""
    noted = Noted(engine)
    db = Connection(noted, Context(engine.clock, b"key"))
    db.create_tables(posts)
    runners = [
        Runner(
            db,
            posts,
            checkpoints=TableCheckpoints(db, create=True),
            destinations={"dead": TableDestination(db, create=True)},
            runner=name,
        )
        for name in ("one", "other")
    ]
    for runner in runners:
        runner.run_once()
    db.run(keep(Post(post="a")))
    failed = sum(runner.run_once().failed for runner in runners)
    assert failed == 1
    for runner in runners:
        runner.close()
    return Sent(noted, (posts, checkpoint_table(), failure_table()))


@pytest.mark.parametrize("exists", [False, True], ids=["from nothing", "with all tables there"])
def test_a_policy_allows_every_operation_of_a_program_that_runs_consumers(*, exists: bool) -> None:
    checkpoints, failures = checkpoint_table(), failure_table()
    needed = (posts, checkpoints, failures)
    with Engine.memory() as engine:
        if exists:
            Connection(Noted(engine), Context(engine.clock, b"key")).create_tables(*needed)
        sent = run_of_consumers(engine)
    of_table = of_checks if exists else of_creation
    grants = [
        *(grant for pattern in posts.patterns for grant in of_pattern(pattern, FREE)),
        *of_consumers(posts, "", checkpoints),
        *of_failures(failures, posts, ""),
        *(grant for source in needed for grant in of_table(source)),
    ]
    assert sent.denied(policy(grants, ACCOUNT), "posts") == set()
    entries = {"CreateTable", "UpdateTimeToLive", "UpdateContinuousBackups"}
    assert sent.operations & entries == (set() if exists else entries)
    for action in sent.operations:  # nothing in it can be left out
        less = policy([grant for grant in grants if grant.action != action], ACCOUNT)
        assert action in sent.denied(less, "posts"), action


def test_an_undeclared_consumer_may_read_the_stream_and_write_only_its_tables_checkpoints(tmp_path: Path) -> None:
    design = design_of("todo")
    (table,) = design.tables
    checkpoints = checkpoint_table()
    with Engine.memory() as engine:
        noted = Noted(engine)
        db = Connection(noted, Context(engine.clock, b"key"))
        db.create_tables(table)
        feed = Feed(db, Lake.open(tmp_path, clock=engine.clock), clock=engine.clock)
        feed.run_once()
        feed.close()
        sent = Sent(noted, (table, checkpoints))
    assert {"GetRecords", "GetShardIterator", "CreateTable"} <= sent.operations
    grants = [grant for pattern in runnable(design) for grant in of_pattern(pattern, FREE)]
    grants += [*of_consumers(table, "", checkpoints), *of_creation(table), *of_creation(checkpoints)]
    document = policy(grants, ACCOUNT)
    assert sent.denied(document, table.name) == set()
    other = {"dynamodb:LeadingKeys": ("forum/x",)}
    assert not allows(document, AccessRequest("PutItem", f"{ARN}keyplan-checkpoints", other))


class Kept:
    """A destination that keeps nothing."""

    def send(self, failures: Any) -> None:
        """Take failures."""


def test_describing_tables_is_allowed_on_request() -> None:
    document = policy(of_checks(diary.diary), ACCOUNT)
    (statement,) = document["Statement"]
    looks = ("DescribeTable", "DescribeTimeToLive", "DescribeContinuousBackups")
    assert statement["Action"] == [f"dynamodb:{action}" for action in looks]
    assert json.loads(json.dumps(document)) == document
