"""Throttling: applies the partition model to the tables and indexes of an engine, and computes the capacity that calls
consume.

A write succeeds only if its table and every global index that it changes have enough capacity. Otherwise, the write is
rejected and consumes no capacity. Local indexes share the partitions of their table: an entry's key starts with the
partition key of its item, and a table with local indexes keeps rows with the same partition key in one partition. The
model is kept in memory. After a database is reopened, the number of partitions is derived from the table settings.

A read of a single item consumes capacity immediately. For a Query or Scan, the row sizes are added up, and the total is
rounded once, at the end of the page. Each partition is charged for its share of the bytes.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from keyplan.dynamodb.messages import protocol as messages
from keyplan.dynamodb.values import units
from keyplan.engine.faults.partitions import KINDS, Bucket, Cause, Kind, OnDemandCeiling, Partitions, ProvisionedCeiling
from keyplan.engine.items.keys import partition_bytes_of
from keyplan.engine.store.rows import Tree
from keyplan.engine.tables import throughput
from keyplan.engine.tables.catalog import Index, Table, table_name
from keyplan.errors import ProvisionedThroughputExceededError, ServiceError, ThrottlingError

if TYPE_CHECKING:
    from keyplan.engine.items.versions import Version


_SETTINGS: dict[Kind, tuple[str, str]] = {
    "Read": ("ReadCapacityUnits", "MaxReadRequestUnits"),
    "Write": ("WriteCapacityUnits", "MaxWriteRequestUnits"),
}


class CapacityCharge(NamedTuple):
    """The capacity units that a request consumes from the partition that contains `key`."""

    resource: ThrottledResource
    kind: Kind
    key: bytes
    units: float


class ThrottledResource:
    """The partitions and throughput limits of a table or global index."""

    def __init__(self, table: Table, index: Index | None, random_source: random.Random) -> None:
        self.index = index
        self._table = table
        description = self._description()
        self._mode = throughput.billing_mode(table.document["description"])
        since: float = table.document["description"]["CreationDateTime"]
        shares_collection = index is not None and not index.key.schema.sort
        no_inner_splits = shares_collection or (
            index is None and any(not local_index.is_global for local_index in table.indexes.values())
        )
        self.partitions = Partitions(
            throughput.partition_count(description, self._mode),
            since,
            random_source,
            **({"collection": partition_bytes_of} if no_inner_splits else {}),
        )
        self.ceilings: dict[Kind, ProvisionedCeiling | OnDemandCeiling] = {}
        self._maxima: dict[Kind, Bucket] = {}
        self._configure(since)

    def apply_settings(self, table: Table, now: float) -> None:
        """Update the throughput limits if the settings of the table have changed."""
        if table is not self._table:
            self._table = table
            self._configure(now)

    def throttling_cause(self, charge: CapacityCharge, now: float) -> Cause | None:
        """Return the reason why the capacity units of a charge are not available, or None if they are available."""
        ceiling = self.ceilings[charge.kind]
        if not ceiling.admits(charge.units, now):
            return ceiling.cause
        if isinstance(ceiling, OnDemandCeiling):
            self.partitions.grow(ceiling.partition_count(charge.kind), now)
        maximum = self._maxima.get(charge.kind)
        if maximum is not None and not maximum.has_units(charge.units, now):
            return "MaxOnDemandThroughputExceeded"
        if not self.partitions.admits(charge.kind, charge.key, charge.units, now):
            return "KeyRangeThroughputExceeded"
        return None

    def consume(self, charge: CapacityCharge) -> None:
        """Consume the capacity units of a charge."""
        self.ceilings[charge.kind].consume(charge.units)
        self.partitions.consume(charge.kind, charge.key, charge.units)
        if charge.kind in self._maxima:
            self._maxima[charge.kind].consume(charge.units)

    def error(self, kind: Kind, cause: Cause) -> ServiceError:
        """Return the error that DynamoDB would return for a throttled request. `kind` is the kind of request (read or
        write), and `cause` is the reason for the throttling.
        """
        description = self._description()
        resource = "Table" if self.index is None else "Index"
        arn = description["TableArn"] if self.index is None else description["IndexArn"]
        reasons = [{"reason": f"{resource}{kind}{cause}", "resource": arn}]
        if self._mode == throughput.PROVISIONED:
            message = messages.TABLE_PROVISIONED if self.index is None else messages.INDEX_PROVISIONED
            return ProvisionedThroughputExceededError(message, ThrottlingReasons=reasons)
        if cause == "MaxOnDemandThroughputExceeded":
            message = messages.ON_DEMAND_MAXIMUM
        else:
            message = messages.TABLE_ON_DEMAND if self.index is None else messages.INDEX_ON_DEMAND
        return ThrottlingError(message, throttlingReasons=reasons)

    def _description(self) -> dict[str, Any]:
        description: dict[str, Any] = self._table.document["description"]
        if self.index is None:
            return description
        name = self.index.name
        return next(index for index in description["GlobalSecondaryIndexes"] if index["IndexName"] == name)

    def _configure(self, now: float) -> None:
        description = self._description()
        self._mode = throughput.billing_mode(self._table.document["description"])
        self.partitions.grow(throughput.partition_count(description, self._mode), now)
        for kind in KINDS:
            if self._mode == throughput.PROVISIONED:
                self._provision(kind, description["ProvisionedThroughput"], now)
            else:
                self._warm(kind, throughput.warm_throughput(description, self._mode), now)
            self._limit(kind, description.get("OnDemandThroughput") or {}, now)

    def _provision(self, kind: Kind, capacity: dict[str, Any], now: float) -> None:
        rate: float = capacity[_SETTINGS[kind][0]]
        ceiling = self.ceilings.get(kind)
        if isinstance(ceiling, ProvisionedCeiling):
            ceiling.change(rate, throughput.changed_at(capacity, now))
        else:
            self.ceilings[kind] = ProvisionedCeiling(rate, now)

    def _warm(self, kind: Kind, warm: dict[str, Any], now: float) -> None:
        rate: float = warm[f"{kind}UnitsPerSecond"]
        ceiling = self.ceilings.get(kind)
        if isinstance(ceiling, OnDemandCeiling):
            ceiling.raise_limit(rate, now)
        else:
            self.ceilings[kind] = OnDemandCeiling(rate, now)

    def _limit(self, kind: Kind, maxima: dict[str, Any], now: float) -> None:
        maximum = maxima.get(_SETTINGS[kind][1])
        if maximum is None:
            self._maxima.pop(kind, None)
        elif kind in self._maxima:
            self._maxima[kind].change_rate(maximum, now)
        else:
            self._maxima[kind] = Bucket(maximum, now)


class Throttle:
    """The throughput model of all tables and indexes of an engine."""

    def __init__(self, random_source: random.Random, tables: Callable[[], list[Table]]) -> None:
        """Create a throughput model. `random_source` selects the sampled keys, and `tables` returns
        the existing tables.
        """
        self._random = random_source
        self._tables = tables
        self._lock = threading.Lock()
        self._resources: dict[int, ThrottledResource] = {}

    def resource(self, table: Table, index: Index | None, now: float) -> ThrottledResource:
        """Return the throughput model of a table or, if `index` is a global index, of that index.

        A local index shares the model of its table.
        """
        if index is not None and not index.is_global:
            index = None
        tree = table.tree if index is None else index.tree
        resource = self._resources.get(tree.number)
        if resource is None:
            self._remove_dropped()
            resource = self._resources[tree.number] = ThrottledResource(table, index, self._random)
        resource.apply_settings(table, now)
        return resource

    def _remove_dropped(self) -> None:
        """Remove dropped tables and indexes from the model, which identifies each of them by the number of its tree of
        rows. The store never uses a tree number again.
        """
        trees: set[int] = set()
        for table in self._tables():
            trees |= {table.tree.number, *(index.tree.number for index in table.indexes.values())}
        self._resources = {number: resource for number, resource in self._resources.items() if number in trees}

    def write(
        self, table: Table, key: bytes, old: Version | None, new: Version | None, *, factor: int, now: float
    ) -> None:
        """Consume the capacity that a write requires from its table and indexes.

        If the capacity is not available, ProvisionedThroughputExceededError or ThrottlingError is raised and no
        capacity is consumed. The capacity units of the table, but not those of indexes, are multiplied by `factor`,
        which is 2 in a transaction.
        """
        size = max(new.size if new is not None else 0, old.size if old is not None else 0)
        with self._lock:
            table_resource = self.resource(table, None, now)
            charges = [CapacityCharge(table_resource, "Write", key, units.write_units(size) * factor)]
            for index in table.indexes.values():
                charges += _entry_charges(self.resource(table, index, now), index, key, old, new)
            self._charge(charges, now)

    def read(self, table: Table, index: Index | None, key: bytes, read_units: float, now: float) -> None:
        """Consume `read_units` read capacity units from the partition of the table or index that contains the key.

        If the capacity is not available, ProvisionedThroughputExceededError or ThrottlingError is raised.
        """
        with self._lock:
            self._charge([CapacityCharge(self.resource(table, index, now), "Read", key, read_units)], now)

    def read_page(self, table: Table, index: Index | None, rows: Sequence[tuple[bytes, float]], now: float) -> None:
        """Consume the capacity for all rows that a page of a Query or Scan reads.

        `rows` contains the key and the read capacity units of each row. If the capacity is not available,
        ProvisionedThroughputExceededError or ThrottlingError is raised and no capacity is consumed.
        """
        with self._lock:
            resource = self.resource(table, index, now)
            charges: list[CapacityCharge] = []
            try:
                for key, read_units in rows:
                    charge = CapacityCharge(resource, "Read", key, read_units)
                    self._charge([charge], now)
                    charges.append(charge)
            except (ProvisionedThroughputExceededError, ThrottlingError):
                # A rejected page uses no units. Otherwise, enough units for the page would never accumulate while a
                # caller retries.
                for charge in charges:
                    resource.consume(charge._replace(units=-charge.units))
                raise

    def _charge(self, charges: list[CapacityCharge], now: float) -> None:
        causes = [(charge, charge.resource.throttling_cause(charge, now)) for charge in charges]
        for charge, cause in causes:
            if cause is not None:
                raise charge.resource.error(charge.kind, cause)
        for charge in charges:
            charge.resource.consume(charge)


def _entry_charges(
    resource: ThrottledResource, index: Index, key: bytes, old: Version | None, new: Version | None
) -> list[CapacityCharge]:
    before, after = _entry(index, key, old), _entry(index, key, new)
    if before is not None and after is not None and before[0] == after[0]:
        if before[2] == after[2]:
            return []
        return [CapacityCharge(resource, "Write", after[0], units.write_units(max(before[1], after[1])))]
    versions = [version for version in (before, after) if version is not None]
    return [CapacityCharge(resource, "Write", entry_key, units.write_units(size)) for entry_key, size, _ in versions]


def _entry(index: Index, key: bytes, version: Version | None) -> tuple[bytes, int, bytes] | None:
    """Return the key, size and body of the index entry for an item version, or None if the version has no entry."""
    entry_key = index.key.entry_key(version.item, key) if version is not None else None
    if version is None or entry_key is None:
        return None
    return (entry_key, *index.row(version.item, version.size, version.body))


_TRANSACTIONS = frozenset(("TransactGetItems", "TransactWriteItems", "ExecuteTransaction"))


class MeteredCall:
    """A call to a data operation. Records the rows that the call has read and the capacity that these rows consume."""

    __slots__ = ("_request", "_skipped", "_spans", "_time_s", "_tree_owners", "operation", "point_reads")

    def __init__(
        self, operation: str, request: dict[str, Any], time_s: float | None, skipped: frozenset[int] = frozenset()
    ) -> None:
        """Create an empty record of an API call.

        Eventually consistent reads return the data as of `time_s` or, if `time_s` is None, the current data. `skipped`
        contains the positions of the reads in a batch that are left unprocessed.
        """
        self.operation = operation
        self._skipped = skipped
        self.point_reads = 0
        """Number of single rows read so far."""
        self._request = request
        self._time_s = time_s
        self._tree_owners: dict[int, tuple[Table, Index | None]] = {}
        self._spans: dict[int, list[tuple[bytes, int]]] = {}

    @property
    def factor(self) -> int:
        """The factor by which capacity units are multiplied: 2 for transactions, otherwise 1."""
        return units.TRANSACTIONAL if self.operation in _TRANSACTIONS else 1

    def add_tables(self, tables: Iterable[Table]) -> None:
        """Record the trees of rows that belong to these tables and their indexes."""
        for table in tables:
            self._tree_owners[table.tree.number] = (table, None)
            for index in table.indexes.values():
                self._tree_owners[index.tree.number] = (table, index)

    def time_of(self, tree: Tree) -> float | None:
        """Return the time as of which a tree of rows is read, or None to read its current state."""
        owner = self._tree_owners.get(tree.number)
        return None if owner is None or self._consistent(*owner) else self._time_s

    def record_row(
        self, throttle: Throttle | None, tree: Tree, key: bytes, size: int, now: float, *, in_span: bool
    ) -> None:
        """Record a row that was read. `size` is its size in bytes.

        `in_span` is True for a row of a Query or Scan, whose capacity `charge_spans` consumes at the end of the page.
        For any other row, the capacity is consumed immediately. If it is not available,
        ProvisionedThroughputExceededError or ThrottlingError is raised.
        """
        owner = self._tree_owners.get(tree.number)
        if owner is None:
            return
        if in_span:
            self._spans.setdefault(tree.number, []).append((key, size))
            return
        self.point_reads += 1
        if self.point_reads - 1 in self._skipped:
            raise ProvisionedThroughputExceededError(messages.TABLE_PROVISIONED)
        if throttle is None:
            return
        read_units = units.read_units(size, consistent=self._consistent(*owner)) * self.factor
        throttle.read(*owner, key, read_units, now)

    def charge_spans(self, throttle: Throttle, now: float) -> None:
        """Consume the capacity for all rows that a page of a Query or Scan has read.

        If the capacity is not available, ProvisionedThroughputExceededError or ThrottlingError is raised.
        """
        for number, rows in self._spans.items():
            table, index = owner = self._tree_owners[number]
            total = sum(size for _, size in rows)
            page_units = units.read_units(total, consistent=self._consistent(*owner))
            shares = [(key, size / total if total else 1 / len(rows)) for key, size in rows]
            throttle.read_page(table, index, [(key, page_units * share) for key, share in shares if share], now)

    def _consistent(self, table: Table, index: Index | None) -> bool:
        if self.operation in _TRANSACTIONS:
            return True
        if index is not None and index.is_global:
            return False
        if self.operation == "BatchGetItem":
            blocks = self._request["RequestItems"].items()
            return any(table_name(name) == table.name and block.get("ConsistentRead") for name, block in blocks)
        return bool(self._request.get("ConsistentRead"))
