"""Observes the operations of an embedded engine, and applies a model of DynamoDB's partitions to them.

The engine itself does not limit throughput, unless throttling is injected. The model determines which requests DynamoDB
would throttle, and how the load is distributed over partitions. If throttling is injected, the engine's own partitions
are used instead.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from keyplan.console.load.matching import ItemAccess, Matcher, accesses_of, detail_of, summaries
from keyplan.console.load.recorder import TOTAL, LoadPart, LoadRecorder, key_text
from keyplan.cost.units import READS, consumed_units
from keyplan.dynamodb.values.keybytes import join_parts, partition_prefix, scalar_key
from keyplan.engine.faults.partitions import KINDS
from keyplan.engine.faults.throttling import CapacityCharge, Throttle, ThrottledResource
from keyplan.errors import THROTTLED, KeyplanError, ServiceError

if TYPE_CHECKING:
    from keyplan.engine.engine import Engine
    from keyplan.engine.observing import Observation
    from keyplan.engine.tables.catalog import Index, Table

OBSERVED_PER_S: Final = 200.0
UNVISITED_PER_S: Final = 10.0
"""The maximum number of observations per second until a browser visits the console for the first time.

These observations use less than 1% of a core. An observation takes 0.14 ms, or two to three times as long if its code
and data must be loaded into the processor's caches again.
"""
_INTERNAL_TABLES: Final = ("keyplan-checkpoints", "keyplan-failures")
_STATEMENTS: Final = frozenset({"ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction"})


class _KeyLoad(NamedTuple):
    """The capacity units that a request consumed for one partition key value of a table or index."""

    resource: str
    key: str
    stored: bytes
    read: float
    write: float


@dataclass(frozen=True, slots=True)
class _Resource:
    """A table or index of the observed engine."""

    table: Table
    index: Index | None
    names: tuple[str, ...]
    type_codes: tuple[str, ...]

    def values(self, item: Mapping[str, Any]) -> list[Mapping[str, Any]] | None:
        """Return the partition key values in an item or key, or None if one of them is missing."""
        values = [item.get(name) for name in self.names]
        fits = all(
            value is not None and type_code in value for value, type_code in zip(values, self.type_codes, strict=True)
        )
        return [value for value in values if value is not None] if fits else None


class EngineLoad:
    """An observer of an engine that counts the engine's operations in a recorder."""

    def __init__(self, engine: Engine) -> None:
        """Create an observer of `engine`. The observer counts operations only after `start` has been called."""
        self._engine, self.recorder = engine, LoadRecorder(engine.clock)
        self.matcher = Matcher(())
        """The lookup of the pattern that produced an operation. It can be replaced at any time."""
        self.is_console_call: Callable[[], bool] = lambda: False
        """A function that returns True during calls that are not counted, such as those of the console."""
        self._clock = engine.clock
        injected = engine.faults.throttle if engine.faults is not None else None
        self.is_throttling = injected is not None
        """True if the engine itself throttles requests, as DynamoDB does."""
        # Seeded, so that runs are repeatable. The numbers are not secret.
        self._model = injected or Throttle(random.Random(0), engine.catalog.tables)  # noqa: S311
        self._lock = threading.Lock()
        self._resources: dict[str, tuple[Table, _Resource]] = {}

    def start(self, most_per_s: float = OBSERVED_PER_S) -> None:
        """Start observing the engine, and replace any earlier observer.

        If the engine runs more than `most_per_s` operations per second, only a sample of them is observed.
        """
        self._engine.observe(self.observe, most_per_s=most_per_s)

    def stop(self) -> None:
        """Stop observing the engine."""
        self._engine.observe(None)

    def observe(self, observation: Observation) -> None:
        """Count one observed operation in the recorder."""
        if self.is_console_call():
            return
        try:
            self._count(observation)
        except (KeyplanError, KeyError, TypeError, ValueError, AttributeError, StopIteration):
            # A request that the engine rejected can have any form, so its parts are not counted.
            self.recorder.add(
                [LoadPart(TOTAL)],
                elapsed_s=observation.elapsed_s,
                failed=observation.error is not None,
                weight=observation.weight,
            )

    def _count(self, observation: Observation) -> None:
        operation, request, receipts, error, elapsed_s, weight = observation
        items = accesses_of(operation, request, _PartitionNames(self))
        throttled = error is not None and _is_throttled(error)
        failed = error is not None and not throttled
        read, write = _units(operation, request, receipts)
        resource_names = dict.fromkeys((*read, *write)) or dict.fromkeys(_accessed_resources(items))
        sums = sum(read.values()), sum(write.values())
        parts = [LoadPart(TOTAL, *sums, throttled)]
        name = self.matcher.pattern(operation, items) or _bookkeeping(items)
        if name is not None:
            parts.append(LoadPart(("pattern", name), *sums, throttled))
        elif error is None or items:
            summary, detail = _summary(operation, request, items)
            parts.append(LoadPart(("undeclared", summary), *sums, throttled))
            self.recorder.add_undeclared(summary, detail, parts[-1], weight, failed=failed)
        parts += [
            LoadPart(
                ("resource", resource_name), read.get(resource_name, 0.0), write.get(resource_name, 0.0), throttled
            )
            for resource_name in resource_names
        ]
        key_loads = [] if error is not None and not throttled else self._key_loads(items, read, write)
        parts += self._partitions(key_loads, weight, throttled=throttled)
        keys = [(key_load.resource, key_load.key, key_load.read + key_load.write) for key_load in key_loads]
        self.recorder.add(parts, elapsed_s=elapsed_s, failed=failed, keys=keys, weight=weight)

    def _key_loads(
        self, items: Sequence[ItemAccess], read: Mapping[str, float], write: Mapping[str, float]
    ) -> list[_KeyLoad]:
        """Divide the capacity units of each table and index equally among the partition key values in a request.

        `read` and `write` contain the units by table name, or by "table/index" for an index.
        """
        entries: dict[str, list[tuple[str, bytes]]] = {}
        for access in items:
            resource_names = [f"{access.table}/{access.index}" if access.index else access.table]
            if access.operation == "PutItem":  # of other writes, the keys of index entries are unknown
                resource_names += [
                    resource_name for resource_name in write if resource_name.startswith(f"{access.table}/")
                ]
            for resource_name in resource_names:
                resource = self.find_resource(resource_name)
                values = None if resource is None else resource.values(access.values)
                if values is not None:
                    entries.setdefault(resource_name, []).append((key_text(values), _stored(values)))
        key_loads = []
        for resource_name, keys in entries.items():
            count = len(keys)
            reads, writes = read.get(resource_name, 0.0) / count, write.get(resource_name, 0.0) / count
            key_loads += [_KeyLoad(resource_name, key, stored, reads, writes) for key, stored in keys]
        return key_loads

    def _partitions(self, key_loads: Iterable[_KeyLoad], weight: int, *, throttled: bool) -> list[LoadPart]:
        parts = []
        now = self._clock.now()
        with self._lock:
            for key_load in key_loads:
                resource = self.find_resource(key_load.resource)
                if resource is None:
                    continue
                throttled_resource = self._model.resource(resource.table, resource.index, now)
                refused = throttled
                if not self.is_throttling:
                    refused = False
                    for capacity_kind, units in zip(KINDS, (key_load.read, key_load.write), strict=True):
                        if units:
                            charge = CapacityCharge(throttled_resource, capacity_kind, key_load.stored, units * weight)
                            refused |= _is_refused(throttled_resource, charge, now)
                lowest_key = throttled_resource.partitions.low_of(key_load.stored)
                name = f"{_partitioned_resource(key_load.resource, resource.index)} {lowest_key.hex()}"
                parts.append(LoadPart(("partition", name), key_load.read, key_load.write, refused))
        return parts

    def find_resource(self, name: str) -> _Resource | None:
        """Return the table or index with the given name, or None if it does not exist. The name of an index is
        "table/index".
        """
        table_name, _, index_name = name.partition("/")
        table = self._engine.catalog.cached_table(table_name)
        if table is None:
            return None
        cached = self._resources.get(name)
        if cached is not None and cached[0] is table:
            return cached[1]
        index = table.indexes.get(index_name) if index_name else None
        if index_name and index is None:
            return None
        schema = table.key.schema if index is None else index.key.schema
        names, type_codes = zip(*schema.partition, strict=True)
        resource = _Resource(table, index, tuple(names), tuple(type_codes))
        if len(self._resources) >= 1000:
            self._resources.clear()
        self._resources[name] = (table, resource)
        return resource

    def partitions(self, name: str) -> tuple[bytes, ...]:
        """Return the lowest key of each partition of a table or index, or an empty tuple for an unknown name."""
        resource = self.find_resource(name)
        if resource is None:
            return ()
        with self._lock:
            return self._model.resource(resource.table, resource.index, self._clock.now()).partitions.lows


def _bookkeeping(items: Sequence[ItemAccess]) -> str | None:
    """Return a label for a request that accesses only keyplan's internal tables, such as the checkpoints of consumers.

    Return None for any other request.
    """
    tables = {access.table for access in items}
    is_console_call = tables and all(table.startswith(_INTERNAL_TABLES) for table in tables)
    return f"bookkeeping in {min(tables)}" if is_console_call else None


def _summary(operation: str, request: Mapping[str, Any], items: Sequence[ItemAccess]) -> tuple[str, str]:
    """Return a short and a detailed description of a request that matches no pattern.

    Requests with the same short description are counted together.
    """
    if operation in _STATEMENTS:
        statement = str(request.get("Statement", ""))[:400]
        return f"{operation} {statement[:80]}".strip(), statement
    return " + ".join(summaries(items, operation)) or operation, detail_of(items[0]) if items else ""


class _PartitionNames(Mapping[str, Sequence[str]]):
    """The names of the partition key attributes, by table name, or by "table/index" for an index."""

    def __init__(self, load: EngineLoad) -> None:
        self._load = load

    def __getitem__(self, name: str) -> Sequence[str]:
        resource = self._load.find_resource(name)
        if resource is None:
            raise KeyError(name)
        return resource.names

    def __iter__(self) -> Any:
        return iter(())

    def __len__(self) -> int:
        return 0


def _is_refused(resource: ThrottledResource, charge: CapacityCharge, now: float) -> bool:
    """Return True if DynamoDB would throttle a request that consumes the capacity units in `charge`.

    Otherwise, count the units as consumed at the time `now` and return False.
    """
    if resource.throttling_cause(charge, now) is not None:
        return True
    resource.consume(charge)
    return False


def _partitioned_resource(resource_name: str, index: Index | None) -> str:
    """Return the name of the table or index whose partitions contain the entries of `resource_name`.

    This is `resource_name` itself or, for a local secondary index, the name of its table.
    """
    return resource_name if index is None or index.is_global else resource_name.partition("/")[0]


def _stored(values: Sequence[Mapping[str, Any]]) -> bytes:
    """Return partition key values as bytes, in the engine's storage format."""
    parts = []
    for value in values:
        ((kind, content),) = value.items()
        parts.append(bytes(content) if isinstance(content, (bytes, bytearray)) else scalar_key(kind, content))
    return partition_prefix(parts[0] if len(parts) == 1 else join_parts(parts))


def _units(
    operation: str, request: Mapping[str, Any], receipts: Any
) -> tuple[Mapping[str, float], Mapping[str, float]]:
    """Return the read units and the write units of a request. Each result maps a table name, or "table/index", to a
    number.
    """
    if not receipts:
        return {}, {}
    counted_operation = operation
    if operation in _STATEMENTS:
        statements = [request, *request.get("Statements", ()), *request.get("TransactStatements", ())]
        texts = [str(statement["Statement"]) for statement in statements if "Statement" in statement]
        counted_operation = "Query" if all(text.lstrip()[:6].lower() == "select" for text in texts) else "PutItem"
    elif operation == "TransactWriteItems" and _is_repeated(receipts):
        counted_operation = "TransactGetItems"
    consumed = consumed_units(
        counted_operation if counted_operation in READS else "PutItem", {"ConsumedCapacity": _by_name(receipts)}
    )
    return consumed.read, consumed.write


def _is_repeated(receipts: Any) -> bool:
    """Return True if `receipts` belong to a transaction that was repeated with the same idempotency token.

    A repeated transaction writes nothing and consumes only read units.
    """
    return isinstance(receipts, list) and any("ReadCapacityUnits" in receipt for receipt in receipts)


def _by_name(receipts: Any) -> Any:
    """Return the consumed capacity of a response, with table ARNs replaced by table names."""
    if isinstance(receipts, list):
        return [_by_name(receipt) for receipt in receipts]
    name = receipts["TableName"]
    return {**receipts, "TableName": name.rpartition("/")[2]} if name.startswith("arn:") else receipts


def _accessed_resources(items: Iterable[ItemAccess]) -> list[str]:
    return [f"{access.table}/{access.index}" if access.index else access.table for access in items]


def _is_throttled(error: ServiceError) -> bool:
    reasons = error.members.get("CancellationReasons", ())
    return error.code in THROTTLED or any(reason.get("Code") in THROTTLED for reason in reasons)
