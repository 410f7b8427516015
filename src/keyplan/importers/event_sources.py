"""Importer for Lambda functions that read the streams of the tables in a template.

Source: CloudFormation Template Reference, "AWS::Lambda::EventSourceMapping"; AWS SAM developer guide, "DynamoDB" event
source of AWS::Serverless::Function; Lambda developer guide, "Lambda parameters for Amazon DynamoDB event source
mappings" (defaults) and "Using event filtering with a DynamoDB event source" (filter criteria).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from keyplan.importers.intrinsics import Resolver
from keyplan.importers.nodes import Node, UnresolvedAttribute, UnresolvedValue
from keyplan.importers.schemas import SourceConsumer

_MAPPING = "AWS::Lambda::EventSourceMapping"
_FUNCTIONS = ("AWS::Serverless::Function", "AWS::Lambda::Function")
_BATCH = 100
_IMPORTED_MEMBERS = frozenset({
    "BatchSize", "BisectBatchOnFunctionError", "DestinationConfig", "Enabled", "EventSourceArn", "FilterCriteria",
    "FunctionName", "MaximumRetryAttempts", "StartingPosition", "StartingPositionTimestamp", "Stream",
})  # fmt: skip
_UNSUPPORTED_MEMBERS = {
    "FunctionResponseTypes": "a consumer reports a failure by raising an exception",
    "KmsKeyArn": "encryption is not part of a design",
    "MaximumBatchingWindowInSeconds": "a consumer receives records as soon as they are read",
    "MaximumRecordAgeInSeconds": "a design limits retries, not the age of records",
    "MetricsConfig": "metrics are not part of a design",
    "ParallelizationFactor": "a runner handles the batches of one shard in sequence",
    "Tags": "tags are not part of a design",
    "TumblingWindowInSeconds": "a consumer has no state between batches",
}
_EVENTS = {"INSERT": ("Inserted",), "MODIFY": ("Modified",), "REMOVE": ("Removed", "Expired")}
"""The keyplan change types for each event name in a stream record.

Source: API reference of DynamoDB Streams, Record.
"""
_EXPIRY = {"type": ["Service"], "principalId": ["dynamodb.amazonaws.com"]}
"""The user identity in the stream record of an expired item.

Source: developer guide, "DynamoDB Streams and Time to Live".
"""


@dataclass(frozen=True)
class EventSource:
    """A stream consumer, and the table whose stream it reads."""

    table: str
    """The logical ID of the table whose stream is read, or the table name in the stream's ARN.

    The string is empty if both are unknown.
    """
    consumer: SourceConsumer


def event_sources(resources: Mapping[str, Any], name: str, resolver: Resolver) -> Iterator[EventSource]:
    """Yield the consumers of DynamoDB streams that a template defines.

    `name` is the name of the document for error messages. Raises ImportSourceError if a definition is invalid.
    """
    for logical_id, resource in resources.items():
        resource_type = resource.get("Type") if isinstance(resource, Mapping) else None
        if resource_type not in (_MAPPING, "AWS::Serverless::Function"):
            continue
        if "Condition" in resource and resolver.condition(resource["Condition"]) is False:
            continue
        node = Node(resolver.resolve(resource.get("Properties") or {}), f"{name}: Resources.{logical_id}.Properties")
        if resource_type == _MAPPING and (source := node.get("EventSourceArn")) is not None and _is_stream(source):
            function_name = _function(node, str(logical_id))
            yield EventSource(_table(source), _consumer(node, function_name, _description(function_name, resources)))
        elif resource_type == "AWS::Serverless::Function":
            for event in _events(node):
                settings = event.need("Properties")
                description = _description(str(logical_id), resources)
                yield EventSource(_table(settings.need("Stream")), _consumer(settings, str(logical_id), description))


def _events(function: Node) -> Iterator[Node]:
    """Yield the event definitions of type DynamoDB in a SAM function."""
    events = function.get("Events")
    if events is None or isinstance(events.value, UnresolvedValue):
        return
    for name in events.mapping():
        event = events.need(name)
        if (
            not isinstance(event.value, UnresolvedValue)
            and (event_type := event.get("Type"))
            and event_type.value == "DynamoDB"
        ):
            yield event


def _is_stream(source: Node) -> bool:
    """Return True if an event source is the stream of a DynamoDB table, not a queue or another source."""
    if isinstance(source.value, UnresolvedAttribute):
        return source.value.attribute == "StreamArn"
    return isinstance(source.value, str) and ":dynamodb:" in source.value


def _table(source: Node) -> str:
    """Return the logical ID of a stream's table, or the table name in the stream's ARN. Return "" if both
    are unknown.
    """
    if isinstance(source.value, UnresolvedAttribute):
        return source.value.logical_id
    if isinstance(source.value, UnresolvedValue):
        return ""
    return source.text().partition(":table/")[2].partition("/")[0]


def _function(mapping: Node, default: str) -> str:
    """Return the name of the function in an event source mapping: its logical ID or the name in its ARN.

    If neither is known, return `default`.
    """
    name_node = mapping.need("FunctionName")
    if isinstance(name_node.value, UnresolvedAttribute):
        return name_node.value.logical_id
    if isinstance(name_node.value, UnresolvedValue):
        return default
    return name_node.text().partition(":function:")[2].partition(":")[0] or name_node.text()


def _description(function: str, resources: Mapping[str, Any]) -> str:
    resource = resources.get(function)
    is_function = isinstance(resource, Mapping) and resource.get("Type") in _FUNCTIONS
    properties = resource.get("Properties") if is_function and isinstance(resource, Mapping) else None
    handler = properties.get("Handler") if isinstance(properties, Mapping) else None
    handler_text = f" (handler {handler})" if isinstance(handler, str) else ""
    return f"Deployed as the Lambda function {function}{handler_text}, which handles the changes."


def _consumer(settings: Node, name: str, description: str) -> SourceConsumer:
    gaps = [
        f"{member}: {_UNSUPPORTED_MEMBERS.get(member, 'unknown member')}"
        for member in settings.mapping()
        if member not in _IMPORTED_MEMBERS
    ]
    batch, retries = settings.get("BatchSize"), settings.get("MaximumRetryAttempts")
    bisect, enabled = settings.get("BisectBatchOnFunctionError"), settings.get("Enabled")
    if enabled is not None and not isinstance(enabled.value, UnresolvedValue) and not enabled.flag():
        gaps.append("Enabled is false: the function receives no changes until the mapping is enabled")
    return SourceConsumer(
        name=name,
        description=description,
        events=_change_types(settings, gaps),
        batch=_BATCH if batch is None else batch.integer(1),
        retries=None if retries is None or retries.value in (-1, "-1") else retries.integer(),
        on_failure=_destination(settings),
        bisect=bisect is not None and bisect.flag(),
        gaps=tuple(gaps),
    )


def _destination(settings: Node) -> str | None:
    """Return the logical ID of the destination for failed records, or the last part of its ARN.

    Return None if a destination is not defined.
    """
    destination = settings.at("DestinationConfig", "OnFailure", "Destination")
    if destination is None:
        return None
    if isinstance(destination.value, UnresolvedAttribute):
        return destination.value.logical_id
    return destination.text().rpartition(":")[2]


def _change_types(settings: Node, gaps: list[str]) -> tuple[str, ...]:
    """Return the change types that pass the filters of an event source.

    Only filter conditions on the change type are imported. If a filter has other conditions, a sentence is added to
    `gaps`.
    """
    all_types = tuple(event for events in _EVENTS.values() for event in events)
    criteria = settings.get("FilterCriteria")
    filters = [] if criteria is None else list(criteria.elements("Filters"))
    passing_types: set[str] = set()
    for filter_node in filters:
        pattern = filter_node.need("Pattern").text()
        matched_types, is_complete = _matched_events(pattern)
        passing_types |= set(matched_types)
        if not is_complete:
            gaps.append(
                f"FilterCriteria {pattern}: add the remaining conditions with filter=, for example F.status == 'done'"
            )
    return tuple(event for event in all_types if event in passing_types) if filters else all_types


def _matched_events(pattern: str) -> tuple[tuple[str, ...], bool]:
    """Return the change types that a filter pattern can match, and whether it filters only by change type."""
    all_types = tuple(event for events in _EVENTS.values() for event in events)
    try:
        conditions = json.loads(pattern)
    except ValueError:
        return all_types, False
    if not isinstance(conditions, dict):
        return all_types, False
    names, identity = conditions.get("eventName"), conditions.get("userIdentity")
    is_known = names is None or (isinstance(names, list) and all(str(name) in _EVENTS for name in names))
    matched_types = (
        all_types if names is None or not is_known else tuple(event for name in names for event in _EVENTS[name])
    )
    if isinstance(identity, dict) and identity and all(_EXPIRY.get(name) == value for name, value in identity.items()):
        matched_types, identity = tuple(event for event in matched_types if event == "Expired"), None
    return matched_types, is_known and identity is None and not set(conditions) - {"eventName", "userIdentity"}
