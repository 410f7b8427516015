"""Information about a table for the Data pages: its description, TTL settings, backups and tags."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

from keyplan.console.frame import error_text
from keyplan.console.source import Source
from keyplan.errors import ServiceError, UnknownOperationError

_CONCURRENT: Final = 8
UNSUPPORTED: Final = "not supported"
"""The text that is shown for an operation that the endpoint does not support."""
T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class IndexKeys:
    """The key attributes of a table or of one of its indexes."""

    name: str
    """The name of the index, or an empty string for the table."""
    pk: str
    sk: str = ""
    kind: str = "table"
    """"table" for the primary key, and "global" or "local" for the key of a secondary index."""
    projection: str = "ALL"
    attributes: tuple[str, ...] = ()
    """The projected non-key attributes of an index with the projection INCLUDE."""
    status: str = "ACTIVE"
    items: int = 0
    size: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the key attributes, starting with the partition key."""
        return (self.pk, self.sk) if self.sk else (self.pk,)


@dataclass
class TableFacts:
    """A table's description, with its TTL settings, backups and tags."""

    name: str
    description: Mapping[str, Any]
    ttl: Mapping[str, Any] = field(default_factory=dict)
    backups: Mapping[str, Any] = field(default_factory=dict)
    tags: list[Mapping[str, str]] = field(default_factory=list)
    failed_operations: dict[str, str] = field(default_factory=dict)
    """The error messages of operations that failed, by operation. Some endpoints do not support all operations."""

    @property
    def keys(self) -> IndexKeys:
        """Return the key attributes of the table itself."""
        pk, sk = _key_names(self.description.get("KeySchema", ()))
        return IndexKeys(
            "", pk, sk, items=self.description.get("ItemCount", 0), size=self.description.get("TableSizeBytes", 0)
        )

    @property
    def size(self) -> str:
        """Return the size of the table as text.

        If the database reports a size of 0 for a table that contains items, return "not reported".
        """
        keys = self.keys
        return "not reported" if keys.items and not keys.size else size_text(keys.size)

    @property
    def indexes(self) -> list[IndexKeys]:
        """Return the key attributes of each index."""
        details = []
        for kind, member in (("global", "GlobalSecondaryIndexes"), ("local", "LocalSecondaryIndexes")):
            for index in self.description.get(member, None) or ():
                pk, sk = _key_names(index["KeySchema"])
                projection = index.get("Projection", {})
                details.append(
                    IndexKeys(
                        index["IndexName"],
                        pk,
                        sk,
                        kind,
                        projection.get("ProjectionType", "ALL"),
                        tuple(projection.get("NonKeyAttributes", ())),
                        index.get("IndexStatus", "ACTIVE"),
                        index.get("ItemCount", 0),
                        index.get("IndexSizeBytes", 0),
                    )
                )
        return details

    def keys_of(self, index: str) -> IndexKeys | None:
        """Return the key attributes of an index or, if the name is empty, of the table. Return None for an unknown
        index.
        """
        return next((keys for keys in [self.keys, *self.indexes] if keys.name == index), None)

    def type_of(self, attribute: str) -> str:
        """Return the DynamoDB type of a key attribute: S, N or B."""
        definitions = self.description.get("AttributeDefinitions", ())
        return next(
            (definition["AttributeType"] for definition in definitions if definition["AttributeName"] == attribute), "S"
        )

    def is_key(self, attribute: str) -> bool:
        """Return True if the attribute is a key attribute of the table or of an index."""
        definitions = self.description.get("AttributeDefinitions", ())
        return any(definition["AttributeName"] == attribute for definition in definitions)

    @property
    def arn(self) -> str:
        """Return the table's ARN, or an empty string if the endpoint does not report one."""
        return str(self.description.get("TableArn", ""))

    @property
    def billing(self) -> str:
        """Return the billing mode as text."""
        mode = (self.description.get("BillingModeSummary") or {}).get("BillingMode")
        throughput = self.description.get("ProvisionedThroughput") or {}
        read, write = throughput.get("ReadCapacityUnits", 0), throughput.get("WriteCapacityUnits", 0)
        if mode == "PAY_PER_REQUEST" or not (read or write):
            return "on demand"
        return f"provisioned, {read} RCU, {write} WCU"

    @property
    def created(self) -> datetime | None:
        """Return the creation time of the table, or None if it is unknown."""
        return instant(self.description.get("CreationDateTime"))

    @property
    def stream(self) -> str:
        """Return the view type of the stream, or an empty string if the table has no stream."""
        stream = self.description.get("StreamSpecification") or {}
        return str(stream.get("StreamViewType", "enabled")) if stream.get("StreamEnabled") else ""

    @property
    def stream_arn(self) -> str:
        """Return the ARN of the latest stream, or an empty string if the table has never had a stream."""
        return str(self.description.get("LatestStreamArn", ""))

    @property
    def ttl_attribute(self) -> str:
        """Return the time-to-live attribute, or an empty string if time to live is disabled."""
        status = self.ttl.get("TimeToLiveStatus", "DISABLED")
        return str(self.ttl.get("AttributeName", "")) if status in {"ENABLED", "ENABLING"} else ""

    @property
    def has_recovery(self) -> bool:
        """Return True if point-in-time recovery is enabled."""
        return self._recovery.get("PointInTimeRecoveryStatus") == "ENABLED"

    @property
    def restorable(self) -> tuple[datetime, datetime] | None:
        """Return the earliest and the latest time for a point-in-time restore, or None if they are unknown."""
        first = instant(self._recovery.get("EarliestRestorableDateTime"))
        last = instant(self._recovery.get("LatestRestorableDateTime"))
        return (first, last) if first is not None and last is not None else None

    @property
    def _recovery(self) -> Mapping[str, Any]:
        return self.backups.get("PointInTimeRecoveryDescription") or {}

    @property
    def is_protected(self) -> bool:
        """Return True if deletion protection is enabled."""
        return bool(self.description.get("DeletionProtectionEnabled"))


def describe(source: Source, name: str) -> TableFacts:
    """Return a table's description. Raises ResourceNotFoundError if the table does not exist."""
    return TableFacts(name, source.call("DescribeTable", {"TableName": name})["Table"])


def describe_fully(source: Source, name: str, *, tags: bool = True) -> TableFacts:
    """Return a table's description with its TTL settings, backups and, if `tags` is True, its tags.

    If one of the operations that read these settings fails, the error is stored in the attribute `failed_operations` of
    the result.
    """
    facts = describe(source, name)
    ttl = attempt(source, facts.failed_operations, "DescribeTimeToLive", {"TableName": name})
    facts.ttl = ttl.get("TimeToLiveDescription") or {}
    backups = attempt(source, facts.failed_operations, "DescribeContinuousBackups", {"TableName": name})
    facts.backups = backups.get("ContinuousBackupsDescription") or {}
    if tags and facts.arn:
        response = attempt(source, facts.failed_operations, "ListTagsOfResource", {"ResourceArn": facts.arn})
        facts.tags = response.get("Tags") or []
    return facts


def attempt(source: Source, failures: dict[str, str], operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """Run an operation and return its response.

    If the operation is rejected, store the error in `failures` and return an empty response. Raises NoAnswerError if
    the endpoint cannot be reached.
    """
    if not source.supports(operation):
        failures[operation] = UNSUPPORTED
        return {}
    try:
        return source.call(operation, request)
    except UnknownOperationError:
        failures[operation] = UNSUPPORTED
        return {}
    except ServiceError as error:
        failures[operation] = error_text(error)
        return {}


def in_parallel(source: Source, function: Callable[[T], R], subjects: Iterable[T]) -> list[R]:
    """Call `function` for each subject and return the results in order. The calls run concurrently if the
    source is remote.
    """
    if source.engine is not None:
        return [function(subject) for subject in subjects]
    with ThreadPoolExecutor(_CONCURRENT) as pool:
        futures = [pool.submit(copy_context().run, function, subject) for subject in subjects]
        return [future.result() for future in futures]


def instant(value: Any) -> datetime | None:
    """Convert a timestamp in a response to a datetime. `value` is either a datetime or a number of seconds
    since 1970.
    """
    if isinstance(value, datetime):
        return value
    return datetime.fromtimestamp(float(value), UTC) if isinstance(value, (int, float)) else None


def size_text(size: float) -> str:
    """Return a number of bytes as text with a suitable unit."""
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1024:
            return f"{size:,.0f} {unit}" if unit == "B" or size >= 100 else f"{size:,.1f} {unit}"
        size /= 1024
    return f"{size:,.1f} TB"


def _key_names(schema: Iterable[Mapping[str, str]]) -> tuple[str, str]:
    by_type = {element["KeyType"]: element["AttributeName"] for element in schema}
    return by_type.get("HASH", ""), by_type.get("RANGE", "")
