"""Throttling: the partition model put to the tables and indexes of an engine.

A write must fit its table and every global index it touches, or nothing of it happens. Local indexes lie in the
partitions of their table: the key of an entry begins as its item's does, and what begins so is never parted.
The model is kept in memory: a reopened database begins anew with as many partitions as its tables'
settings call for.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from keyplan.dynamodb.messages import faults as messages
from keyplan.dynamodb.values import units
from keyplan.engine import throughput
from keyplan.engine.catalog import Index, Table
from keyplan.engine.keys import partition_bytes_of
from keyplan.engine.partitions import (
    KINDS,
    Bucket,
    Cause,
    Kind,
    OnDemandCeiling,
    Partitions,
    ProvisionedCeiling,
)
from keyplan.errors import ProvisionedThroughputExceededError, ServiceError, ThrottlingError

if TYPE_CHECKING:
    from keyplan.engine.writes import Version

_SETTINGS: dict[Kind, tuple[str, str]] = {
    "Read": ("ReadCapacityUnits", "MaxReadRequestUnits"),
    "Write": ("WriteCapacityUnits", "MaxWriteRequestUnits"),
}


class Charge(NamedTuple):
    """Units wanted of the partition of a key."""

    resource: Resource
    kind: Kind
    key: bytes
    units: float


class Resource:
    """One table, or one global index, with its partitions and ceilings."""

    def __init__(self, table: Table, index: Index | None, source: random.Random) -> None:
        self.index = index
        self._table = table
        described = self._described()
        self._mode = throughput.billing_mode(table.document["description"])
        since: float = table.document["description"]["CreationDateTime"]
        whole = index is not None and not index.key.schema.sort
        no_inner_splits = whole or (index is None and any(not each.is_global for each in table.indexes.values()))
        self.partitions = Partitions(
            throughput.partitions(described, self._mode),
            since,
            source,
            **({"collection": partition_bytes_of} if no_inner_splits else {}),
        )
        self.ceilings: dict[Kind, ProvisionedCeiling | OnDemandCeiling] = {}
        self._maxima: dict[Kind, Bucket] = {}
        self._configure(since)

    def follow(self, table: Table, now: float) -> None:
        """Take over the settings of the table as it is now."""
        if table is not self._table:
            self._table = table
            self._configure(now)

    def refusal(self, charge: Charge, now: float) -> Cause | None:
        """Why the units are not to be had now; None: they are."""
        ceiling = self.ceilings[charge.kind]
        if not ceiling.admits(charge.units, now):
            return ceiling.cause
        if isinstance(ceiling, OnDemandCeiling):
            self.partitions.grow(ceiling.partitions(charge.kind), now)
        maximum = self._maxima.get(charge.kind)
        if maximum is not None and not maximum.has(charge.units, now):
            return "MaxOnDemandThroughputExceeded"
        if not self.partitions.admits(charge.kind, charge.key, charge.units, now):
            return "KeyRangeThroughputExceeded"
        return None

    def take(self, charge: Charge) -> None:
        """Use the units."""
        self.ceilings[charge.kind].take(charge.units)
        self.partitions.take(charge.kind, charge.key, charge.units)
        if charge.kind in self._maxima:
            self._maxima[charge.kind].take(charge.units)

    def error(self, kind: Kind, cause: Cause) -> ServiceError:
        """What the service answers."""
        described = self._described()
        resource = "Table" if self.index is None else "Index"
        arn = described["TableArn"] if self.index is None else described["IndexArn"]
        reasons = [{"reason": f"{resource}{kind}{cause}", "resource": arn}]
        if self._mode == throughput.PROVISIONED:
            message = messages.TABLE_PROVISIONED if self.index is None else messages.INDEX_PROVISIONED
            return ProvisionedThroughputExceededError(message, ThrottlingReasons=reasons)
        if cause == "MaxOnDemandThroughputExceeded":
            message = messages.ON_DEMAND_MAXIMUM
        else:
            message = messages.TABLE_ON_DEMAND if self.index is None else messages.INDEX_ON_DEMAND
        return ThrottlingError(message, throttlingReasons=reasons)

    def _described(self) -> dict[str, Any]:
        description: dict[str, Any] = self._table.document["description"]
        if self.index is None:
            return description
        name = self.index.name
        return next(each for each in description["GlobalSecondaryIndexes"] if each["IndexName"] == name)

    def _configure(self, now: float) -> None:
        described = self._described()
        self._mode = throughput.billing_mode(self._table.document["description"])
        self.partitions.grow(throughput.partitions(described, self._mode), now)
        for kind in KINDS:
            if self._mode == throughput.PROVISIONED:
                self._provision(kind, described["ProvisionedThroughput"], now)
            else:
                self._warm(kind, throughput.warm(described, self._mode), now)
            self._limit(kind, described.get("OnDemandThroughput") or {}, now)

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
            ceiling.warm(rate, now)
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
    """All tables' and indexes' throughput."""

    def __init__(self, source: random.Random, known: Callable[[], list[Table]]) -> None:
        """`known`: all tables that there are."""
        self._random = source
        self._known = known
        self._lock = threading.Lock()
        self._resources: dict[int, Resource] = {}

    def resource(self, table: Table, index: Index | None, now: float) -> Resource:
        """The table's or global index's throughput; a local index shares its table's."""
        if index is not None and not index.is_global:
            index = None
        tree = table.tree if index is None else index.tree
        resource = self._resources.get(tree.number)
        if resource is None:
            self._forget_gone()
            resource = self._resources[tree.number] = Resource(table, index, self._random)
        resource.follow(table, now)
        return resource

    def _forget_gone(self) -> None:
        """Tables and indexes that are gone leave nothing behind: trees are never numbered alike."""
        there: set[int] = set()
        for table in self._known():
            there |= {table.tree.number, *(index.tree.number for index in table.indexes.values())}
        self._resources = {number: one for number, one in self._resources.items() if number in there}

    def write(
        self, table: Table, key: bytes, old: Version | None, new: Version | None, *, factor: int, now: float
    ) -> None:
        """Charge a write to its table and indexes. Raises ProvisionedThroughputExceededError, ThrottlingError.

        `factor`: 2 in a transaction, for the table alone.
        """
        size = max(new.size if new is not None else 0, old.size if old is not None else 0)
        with self._lock:
            own = self.resource(table, None, now)
            charges = [Charge(own, "Write", key, units.write_units(size) * factor)]
            for index in table.indexes.values():
                charges += _entry_charges(self.resource(table, index, now), index, key, old, new)
            self._charge(charges, now)

    def read(self, table: Table, index: Index | None, key: bytes, read_units: float, now: float) -> None:
        """Charge a read. Raises ProvisionedThroughputExceededError, ThrottlingError."""
        with self._lock:
            self._charge([Charge(self.resource(table, index, now), "Read", key, read_units)], now)

    def read_page(self, table: Table, index: Index | None, rows: Sequence[tuple[bytes, float]], now: float) -> None:
        """Charge the rows of a page, each with its units, all or none.

        Raises ProvisionedThroughputExceededError, ThrottlingError.
        """
        with self._lock:
            resource = self.resource(table, index, now)
            taken: list[Charge] = []
            try:
                for key, read_units in rows:
                    charge = Charge(resource, "Read", key, read_units)
                    self._charge([charge], now)
                    taken.append(charge)
            except (ProvisionedThroughputExceededError, ThrottlingError):
                # A page that is refused costs nothing; else whoever repeats it would never let enough gather.
                for charge in taken:
                    resource.take(charge._replace(units=-charge.units))
                raise

    def _charge(self, charges: list[Charge], now: float) -> None:
        refusals = [(charge, charge.resource.refusal(charge, now)) for charge in charges]
        for charge, cause in refusals:
            if cause is not None:
                raise charge.resource.error(charge.kind, cause)
        for charge in charges:
            charge.resource.take(charge)


def _entry_charges(
    resource: Resource, index: Index, key: bytes, old: Version | None, new: Version | None
) -> list[Charge]:
    before, after = _entry(index, key, old), _entry(index, key, new)
    if before is not None and after is not None and before[0] == after[0]:
        if before[2] == after[2]:
            return []
        return [Charge(resource, "Write", after[0], units.write_units(max(before[1], after[1])))]
    there = [each for each in (before, after) if each is not None]
    return [Charge(resource, "Write", entry_key, units.write_units(size)) for entry_key, size, _ in there]


def _entry(index: Index, key: bytes, version: Version | None) -> tuple[bytes, int, bytes] | None:
    """Key, size and body of the entry of one version of an item."""
    entry_key = index.key.entry(version.item, key) if version is not None else None
    if version is None or entry_key is None:
        return None
    return (entry_key, *index.row(version.item, version.size, version.body))
