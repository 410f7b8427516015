"""Consumers imported from event source mappings and from events of SAM functions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.importers.tables import of_design
from tests.importers.templates import TABLE, imported

from keyplan.importers.nodes import ImportSourceError
from keyplan.importers.schemas import ImportSource, SourceConsumer

STREAM: dict[str, Any] = {"Fn::GetAtt": ["Things", "StreamArn"]}
THINGS: dict[str, Any] = {
    "Type": "AWS::DynamoDB::Table",
    "Properties": {**TABLE, "StreamSpecification": {"StreamViewType": "NEW_AND_OLD_IMAGES"}},
}


def mapping(**settings: Any) -> dict[str, Any]:
    properties = {"EventSourceArn": STREAM, "FunctionName": {"Ref": "Mailer"}, "StartingPosition": "LATEST", **settings}
    return {"Type": "AWS::Lambda::EventSourceMapping", "Properties": properties}


def source(table: dict[str, Any] = THINGS, /, **resources: Any) -> ImportSource:
    return imported({"Resources": {"Things": table, "Mailer": {"Type": "AWS::Lambda::Function"}, **resources}})


def consumer(**settings: Any) -> SourceConsumer:
    (result,) = source(Mapping=mapping(**settings)).tables[0].consumers
    return result


def test_a_mapping_without_settings_has_the_defaults_of_lambda() -> None:
    result = consumer()
    assert (result.name, result.batch, result.retries, result.on_failure, result.bisect, result.gaps) == (
        "Mailer", 100, None, None, False, (),
    )  # fmt: skip
    assert result.events == ("Inserted", "Modified", "Removed")


def test_batches_retries_and_failures_are_imported() -> None:
    failed = {"OnFailure": {"Destination": {"Fn::GetAtt": ["Unsent", "Arn"]}}}
    result = consumer(BatchSize=10, MaximumRetryAttempts=3, BisectBatchOnFunctionError=True, DestinationConfig=failed)
    assert (result.batch, result.retries, result.on_failure, result.bisect) == (
        10,
        3,
        "Unsent",
        True,
    )
    assert consumer(MaximumRetryAttempts=-1).retries is None
    assert consumer(MaximumRetryAttempts=0).retries == 0


def test_a_destination_in_another_stack_is_named_by_its_arn() -> None:
    arn = "arn:aws:sqs:eu-west-1:111122223333:unsent"
    assert consumer(DestinationConfig={"OnFailure": {"Destination": arn}}).on_failure == "unsent"


def test_settings_that_a_consumer_does_not_have_are_noted() -> None:
    result = consumer(ParallelizationFactor=2, Novelty=1, Enabled=False)
    assert result.gaps == (
        "ParallelizationFactor: a runner handles the batches of one shard in sequence",
        "Novelty: unknown member",
        "Enabled is false: the function receives no changes until the mapping is enabled",
    )


@pytest.mark.parametrize(
    ("pattern", "events", "is_whole"),
    [
        ({"eventName": ["INSERT"]}, ("Inserted",), True),
        ({"eventName": ["MODIFY", "REMOVE"]}, ("Modified", "Removed", "Expired"), True),
        ({"userIdentity": {"type": ["Service"], "principalId": ["dynamodb.amazonaws.com"]}}, ("Expired",), True),
        (
            {"eventName": ["REMOVE"], "userIdentity": {"principalId": ["dynamodb.amazonaws.com"]}},
            ("Expired",),
            True,
        ),
        ({"eventName": ["INSERT"], "dynamodb": {"NewImage": {"a": {"S": ["x"]}}}}, ("Inserted",), False),
        ({"eventName": [{"prefix": "IN"}]}, ("Inserted", "Modified", "Removed", "Expired"), False),
        ({"userIdentity": {"type": ["x"]}}, ("Inserted", "Modified", "Removed", "Expired"), False),
        ([], ("Inserted", "Modified", "Removed", "Expired"), False),
        ("{", ("Inserted", "Modified", "Removed", "Expired"), False),
    ],
)
def test_filters_by_event_determine_the_accepted_changes(pattern: Any, events: tuple[str, ...], is_whole: bool) -> None:
    text = pattern if isinstance(pattern, str) else json.dumps(pattern)
    properties = {**THINGS["Properties"], "TimeToLiveSpecification": {"AttributeName": "gone", "Enabled": True}}
    table = {**THINGS, "Properties": properties}
    (result,) = source(table, M=mapping(FilterCriteria={"Filters": [{"Pattern": text}]})).tables[0].consumers
    assert result.events == events
    assert (result.gaps == ()) is is_whole
    assert is_whole or f"FilterCriteria {text}: add the remaining conditions with filter=" in result.gaps[0]


def test_filters_are_alternatives() -> None:
    filters = [{"Pattern": '{"eventName": ["REMOVE"]}'}, {"Pattern": '{"eventName": ["INSERT"]}'}]
    assert consumer(FilterCriteria={"Filters": filters}).events == ("Inserted", "Removed")


def test_a_filter_of_expired_items_matches_nothing_in_a_table_without_ttl() -> None:
    pattern = '{"userIdentity": {"principalId": ["dynamodb.amazonaws.com"]}}'
    actual_source = source(M=mapping(FilterCriteria={"Filters": [{"Pattern": pattern}]}))
    assert actual_source.tables[0].consumers == ()
    assert actual_source.gaps == ("Mailer is omitted: its filters match no change of things, which has no ttl",)


@pytest.mark.parametrize(
    ("stream", "is_found"),
    [
        (STREAM, True),
        ({"Fn::GetAtt": "Things.StreamArn"}, True),
        ({"Fn::Sub": "${Things.StreamArn}"}, True),
        ("arn:aws:dynamodb:eu-west-1:111122223333:table/things/stream/2024-01-01T00:00:00.000", True),
        ("arn:aws:dynamodb:eu-west-1:111122223333:table/other/stream/2024-01-01T00:00:00.000", False),
        ({"Fn::GetAtt": ["Other", "StreamArn"]}, False),
    ],
)
def test_a_stream_belongs_to_a_table_of_the_template_or_is_reported(stream: Any, is_found: bool) -> None:
    actual_source = source(M=mapping(EventSourceArn=stream))
    assert bool(actual_source.tables[0].consumers) is is_found
    assert actual_source.gaps == (
        () if is_found else ("Mailer reads the stream of a table that t.json does not declare",)
    )


def test_other_event_sources_are_not_consumers() -> None:
    queue = {"Fn::GetAtt": ["Queue", "Arn"]}
    actual_source = source(M=mapping(EventSourceArn=queue), N=mapping(EventSourceArn="arn:aws:sqs:eu-west-1:1:q"))
    assert (actual_source.tables[0].consumers, actual_source.gaps) == ((), ())


def test_events_of_a_sam_function_are_imported() -> None:
    event = {"Type": "DynamoDB", "Properties": {"Stream": STREAM, "StartingPosition": "LATEST", "BatchSize": 5}}
    function = {
        "Type": "AWS::Serverless::Function",
        "Properties": {"Handler": "mail.handler", "Events": {"Changes": event, "Api": {"Type": "Api"}}},
    }
    (result,) = source(Mailer=function, Plain={"Type": "AWS::Serverless::Function"}).tables[0].consumers
    assert (result.name, result.batch) == ("Mailer", 5)
    assert (
        result.description
        == "Deployed as the Lambda function Mailer (handler mail.handler), which handles the changes."
    )


def test_a_resource_with_a_false_condition_is_not_a_consumer() -> None:
    conditions = {"Never": {"Fn::Equals": ["a", "b"]}}
    resources = {"Things": THINGS, "M": {**mapping(), "Condition": "Never"}}
    (table,) = imported({"Conditions": conditions, "Resources": resources}).tables
    assert table.consumers == ()


def test_a_function_in_another_stack_is_named_by_its_arn() -> None:
    assert consumer(FunctionName="arn:aws:lambda:eu-west-1:111122223333:function:send-mail:live").name == "send-mail"
    assert consumer(FunctionName="send-mail").name == "send-mail"
    assert consumer(FunctionName={"Fn::ImportValue": "x"}).name == "Mapping"


def test_a_setting_that_is_not_a_number_is_rejected_with_its_place() -> None:
    with pytest.raises(ImportSourceError, match=r"Resources\.Mapping\.Properties\.BatchSize: expected a whole number"):
        consumer(BatchSize="many")


def test_the_design_declares_each_consumer_with_its_settings(tmp_path: Path) -> None:
    pattern = {"Filters": [{"Pattern": '{"eventName": ["INSERT"]}'}]}
    actual_source = source(
        A=mapping(BatchSize=10, MaximumRetryAttempts=3, FilterCriteria=pattern),
        B=mapping(BisectBatchOnFunctionError=True, ParallelizationFactor=2),
    )
    text, design = of_design(actual_source, tmp_path)
    first, second = design.tables[0].consumers
    assert (first.name, first.batch, first.retries, first.bisect, first.events) == (
        "mailer", 10, 3, False, frozenset({"inserted"}),
    )  # fmt: skip
    assert (second.name, second.batch, second.retries, second.bisect) == ("mailer_", 100, None, True)
    assert '# Where "Mailer" differs from its source:\n# - ParallelizationFactor:' in text
