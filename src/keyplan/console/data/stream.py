"""The page that shows new records in a table's stream as they arrive."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from keyplan.console.data.documents import encoded_key, is_same, plain_text
from keyplan.console.data.facts import TableFacts, describe, instant
from keyplan.console.frame import Frame, error_text, posted_form
from keyplan.console.source import Source, receipts_of_page
from keyplan.errors import ServiceError

_RECORDS: Final = 100
_SHARDS: Final = 20
_MAX_SHARDS: Final = 1000


def routes(console: Frame) -> list[Route]:
    """Return the routes of the pages for streams."""
    source = console.source

    def stream(request: Request) -> Response:
        """Show the oldest records in the stream. The page's script then adds new records as they arrive."""
        facts = describe(source, request.path_params["table"])
        shards: list[dict[str, Any]] = []
        records: list[dict[str, Any]] = []
        iterators = _read_iterators(request.query_params.get("at", ""))
        failure = ""
        try:
            if facts.stream_arn:
                shards = _shards(source, facts)
                names = [shard["ShardId"] for shard in shards[:_SHARDS]]
                positions = iterators or {name: iterator(source, facts, name, "TRIM_HORIZON") for name in names}
                records, iterators = _read_records(source, facts, positions)
        except ServiceError as error:  # other makers' engines may have no streams
            detail, operation = error_text(error), receipts_of_page()[-1].operation
            failure = (
                f"The stream cannot be read: {source.name} rejected {operation} ({detail}). The table has a stream, "
                "but its records are not available here."
            )
        return console.render(
            request,
            "data/stream.html.j2",
            facts=facts,
            tab="stream",
            shards=shards,
            records=records,
            failure=failure,
            next=json.dumps(iterators) if iterators else "",
        )

    def tail(request: Request) -> Response:
        """Return new stream records as HTML table rows, with the iterators for the next request."""
        facts = describe(source, request.path_params["table"])
        known_positions = _read_iterators(posted_form(request)["iterators"])
        positions = dict(known_positions)
        for shard in _shards(source, facts):
            if shard["ShardId"] not in positions:
                # A shard that appears later starts at its first record, so that none is missed.
                position = "TRIM_HORIZON" if known_positions else "LATEST"
                positions[shard["ShardId"]] = iterator(source, facts, shard["ShardId"], position)
        records, iterators = _read_records(source, facts, positions)
        html = console.render(request, "data/records.html.j2", records=records, facts=facts)
        return JSONResponse({"html": bytes(html.body).decode(), "iterators": iterators, "count": len(records)})

    return [
        console.route("/data/tables/{table}/stream", stream),
        console.route("/data/tables/{table}/stream/tail", tail, methods=("POST",)),
    ]


def _shards(source: Source, facts: TableFacts) -> list[dict[str, Any]]:
    shards: list[dict[str, Any]] = []
    request: dict[str, Any] = {"StreamArn": facts.stream_arn}
    while len(shards) < _MAX_SHARDS:
        description = source.call("DescribeStream", request)["StreamDescription"]
        shards += description.get("Shards", [])
        if not description.get("LastEvaluatedShardId"):
            break
        request["ExclusiveStartShardId"] = description["LastEvaluatedShardId"]
    return shards


def iterator(source: Source, facts: TableFacts, shard: str, kind: str) -> str:
    """Return an iterator for a stream shard. `kind` is the ShardIteratorType of the request, such as LATEST."""
    request = {"StreamArn": facts.stream_arn, "ShardId": shard, "ShardIteratorType": kind}
    return str(source.call("GetShardIterator", request)["ShardIterator"])


def _read_records(
    source: Source, facts: TableFacts, positions: Mapping[str, str]
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Return the records of all shards, newest first, and the next iterator of each shard.

    `positions` maps the ID of each shard to its iterator. The iterator of a shard that is closed and fully read is an
    empty string.
    """
    records: list[dict[str, Any]] = []
    next_iterators: dict[str, str] = {}
    for shard, position in positions.items():
        if not position:
            next_iterators[shard] = ""
            continue
        try:
            response = source.call("GetRecords", {"ShardIterator": position, "Limit": _RECORDS})
        except ServiceError as error:
            if error.code not in {"ExpiredIteratorException", "TrimmedDataAccessException"}:
                raise
            next_iterators[shard] = iterator(source, facts, shard, "LATEST")
            continue
        next_iterators[shard] = response.get("NextShardIterator") or ""
        records += [_record(record, facts) for record in response.get("Records", [])]
    records.sort(key=lambda record: (record["at"] is not None, record["at"], record["sequence"]), reverse=True)
    return records, next_iterators


def _record(record: Mapping[str, Any], facts: TableFacts) -> dict[str, Any]:
    change = record.get("dynamodb", {})
    new, old = change.get("NewImage"), change.get("OldImage")
    changed_names = []
    if new is not None and old is not None:
        names = sorted({*new, *old})
        changed_names = [
            name for name in names if name not in new or name not in old or not is_same(new[name], old[name])
        ]
    identity = record.get("userIdentity") or {}
    keys = change.get("Keys") or {}
    return {
        "event": record.get("eventName", ""),
        "at": instant(change.get("ApproximateCreationDateTime")),
        "sequence": int(change.get("SequenceNumber") or 0),
        "key": " / ".join(str(next(iter(keys[name].values()))) for name in facts.keys.names if name in keys),
        "encoded": encoded_key(keys) if keys else "",
        "changed": changed_names,
        "new": plain_text(new) if new is not None else "",
        "old": plain_text(old) if old is not None else "",
        "by_ttl": (identity.get("principalId") or identity.get("PrincipalId")) == "dynamodb.amazonaws.com",
    }


def _read_iterators(text: str) -> dict[str, str]:
    try:
        iterators = json.loads(text) if text else {}
    except json.JSONDecodeError:
        return {}
    if not isinstance(iterators, dict):
        return {}
    return {str(shard): str(position) for shard, position in iterators.items() if isinstance(position, str)}
