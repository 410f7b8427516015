"""A stream that a test writes down: shards with parents that split, close, trim and expire by script."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from keyplan.errors import (
    ExpiredIteratorError,
    LimitExceededError,
    ResourceNotFoundError,
    ServiceError,
    TrimmedDataAccessError,
)

ARN = "arn:aws:dynamodb:us-east-1:1:table/shop/stream/2026-01-01T00:00:00.000"


@dataclass
class ScriptedShard:
    """A shard: its parent, its records by sequence, and whether it is closed."""

    parent: str | None = None
    records: list[int] = field(default_factory=list)
    closed: bool = False
    trimmed: int = 0
    """Sequences up to here are gone."""


@dataclass
class ScriptedStream:
    """Answers stream operations. The record of sequence N is the insert of order N."""

    shards: dict[str, ScriptedShard]
    arn: str = ARN
    page: int = 1000
    empty_first: bool = False
    """Whether each iterator gives an empty page before it gives records, as the service may."""
    unlisted: set[str] = field(default_factory=set)
    """Shards that the list does not hold yet."""
    repeats: bool = False
    """True if each page starts with the last record of the previous page."""
    expired: set[str] = field(default_factory=set)
    busy: int = 0
    """How many reads are refused yet."""
    iterator_requests: list[tuple[str, str]] = field(default_factory=list)
    """Shards and kinds of iterators that were asked for."""
    reads: int = 0

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Return the answer of a stream operation."""
        response: dict[str, Any] = getattr(self, f"_{operation}")(request)
        return response

    def close(self) -> None:
        """Nothing is held."""

    def _ListStreams(self, request: dict[str, Any]) -> dict[str, Any]:  # noqa: N802 - the operation's name
        return {"Streams": [{"StreamArn": self.arn, "TableName": request["TableName"]}]}

    def _DescribeStream(self, request: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        """Return one shard per page."""
        names = sorted(set(self.shards) - self.unlisted)
        start = request.get("ExclusiveStartShardId")
        index = 0 if start is None else names.index(start) + 1
        description: dict[str, Any] = {"StreamStatus": "ENABLED", "StreamViewType": "NEW_AND_OLD_IMAGES", "Shards": []}
        if index < len(names):
            description["Shards"] = [self._describe_shard(names[index])]
            if index + 1 < len(names):
                description["LastEvaluatedShardId"] = names[index]
        return {"StreamDescription": description}

    def _describe_shard(self, name: str) -> dict[str, Any]:
        shard = self.shards[name]
        span = {"StartingSequenceNumber": str(min(shard.records, default=1))}
        if shard.closed:
            span["EndingSequenceNumber"] = str(max(shard.records, default=1))
        shard_description: dict[str, Any] = {"ShardId": name, "SequenceNumberRange": span}
        return shard_description if shard.parent is None else {**shard_description, "ParentShardId": shard.parent}

    def _GetShardIterator(self, request: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        name, kind = request["ShardId"], request["ShardIteratorType"]
        self.iterator_requests.append((name, kind))
        if name not in self.shards:
            raise ResourceNotFoundError("no such shard")
        shard = self.shards[name]
        position = {"TRIM_HORIZON": 0, "LATEST": max(shard.records, default=0)}.get(kind)
        if position is None:
            position = int(request["SequenceNumber"])
            if position <= shard.trimmed:
                raise TrimmedDataAccessError("trimmed")
        return {"ShardIterator": f"{name}|{position}|{len(self.iterator_requests)}"}

    def _GetRecords(self, request: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        self.reads += 1
        if self.busy:
            self.busy -= 1
            raise LimitExceededError("too many readers")
        iterator = request["ShardIterator"]
        if iterator in self.expired:
            raise ExpiredIteratorError("expired")
        name, position, rest = iterator.split("|", 2)
        shard = self.shards[name]
        if self.empty_first and not rest.endswith("+"):
            return {"Records": [], "NextShardIterator": f"{iterator}+"}
        after = max(int(position) - self.repeats, shard.trimmed)
        remaining = [record for record in shard.records if record > after]
        records = remaining[: min(self.page, request["Limit"])]
        response: dict[str, Any] = {"Records": [self._record(record) for record in records]}
        if not shard.closed or len(records) < len(remaining):
            last = max(records) if records else position
            response["NextShardIterator"] = f"{name}|{last}|{rest}"
        return response

    def _record(self, sequence: int) -> dict[str, Any]:
        keys = {"PK": {"S": "CUSTOMER#ada"}, "SK": {"S": f"ORDER#{sequence}"}}
        image = {**keys, "customer": {"S": "ada"}, "number": {"N": str(sequence)}}
        return {
            "eventID": f"event-{sequence}",
            "eventName": "INSERT",
            "dynamodb": {
                "SequenceNumber": str(sequence),
                "ApproximateCreationDateTime": datetime.fromtimestamp(1_700_000_000 + sequence, UTC),
                "Keys": keys,
                "NewImage": image,
            },
        }


class UnreachableError(ServiceError):
    """The service fails."""

    code = "InternalServerError"
    status = 500
