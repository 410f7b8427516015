"""Changes between two designs, each with its verdict and the work on stored items and tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from keyplan.design.declaring.tables import Table
from keyplan.design.entities import EntitySpec
from keyplan.design.errors import Place
from keyplan.design.schema import Index, Request, Schema, StreamView, capacity_units, index_request
from keyplan.design.workload import OnDemand, Provisioned

Verdict = Literal["new table", "backfill", "online", "code"]
"""new table: the service cannot change it. backfill: stored items must be written. online: the service changes it
while the table is in use. code: only programs change.
"""
VERDICTS: tuple[Verdict, ...] = ("new table", "backfill", "online", "code")
"""From the most work to the least."""

Kind = Literal[
    "table added",
    "table removed",
    "table renamed",
    "primary key changed",
    "local index changed",
    "index added",
    "index removed",
    "index changed in place",
    "setting changed",
    "stream changed",
    "expiry changed",
    "key changed",
    "entity added",
    "entity removed",
    "entity moved",
    "entity renamed",
    "facts changed",
    "type changed",
    "values narrowed",
    "field removed",
    "field lacking",
    "field changed",
    "unique added",
    "unique removed",
    "version changed",
    "pattern added",
    "pattern removed",
    "pattern renamed",
    "pattern changed",
    "consumer changed",
]
"""What a change concerns; rules select changes by kind."""

Phase = Literal["prepare", "accept", "write", "backfill", "switch", "read", "remove"]
"""The phase of a roll-out. While a version is deployed, the previous one still runs: each must read what the other
writes. So a version that reads both forms (accept) precedes one that writes the new form (write); stored items are
rewritten when nothing writes the old form any more (backfill); the final version reads only the new form (read). A
version that reads the copy of a table and still writes the original precedes it (switch). Tables are changed before
all of that (prepare) or after it (remove).
"""


@dataclass(frozen=True)
class RolloutStep:
    """A step of a roll-out."""

    phase: Phase
    text: str
    operation: str = ""
    """The operation of the service that performs the step, if any."""
    request: Mapping[str, object] | None = field(default=None, compare=False)
    """The request, if it follows from the designs."""
    is_first: bool = False
    """True if the step precedes other steps of its phase because they depend on it."""


def staged(
    *, accept: str = "", write: str = "", backfill: str = "", by: str = "UpdateItem", read: str = ""
) -> tuple[RolloutStep, ...]:
    """Return the steps that bring programs and stored items to a new form; `by`: the operation that writes items."""
    texts: dict[Phase, str] = {"accept": accept, "write": write, "backfill": backfill, "read": read}
    return tuple(RolloutStep(phase, text, by if phase == "backfill" else "") for phase, text in texts.items() if text)


@dataclass(frozen=True)
class Rewrite:
    """The work on the stored items of an entity."""

    old: EntitySpec
    new: EntitySpec | None
    """None if the items are deleted."""
    rekeyed: bool = False
    """True if the primary key changes: each item is put under the new key and deleted under the old in one
    transaction.
    """
    attributes: frozenset[str] = frozenset()
    """The attributes to write."""
    indexes: frozenset[str] = frozenset()
    """The indexes whose entries move, appear or disappear."""
    sentinels: int = 0
    """The number of sentinels to put or delete with each item."""
    items: bool = True
    """True if the items are written; False if only their sentinels are."""
    share: float = 1.0
    """The share of items, as far as the declared numbers say."""


@dataclass(frozen=True)
class Build:
    """An index that the service fills from stored items."""

    table: Table
    index: Index
    entities: tuple[EntitySpec, ...]
    """The entities whose stored items already have the index's key."""


@dataclass(frozen=True)
class Move:
    """A table to copy into another."""

    old: Table
    new: Table


@dataclass(frozen=True)
class DesignChange:
    """One difference between two designs."""

    kind: Kind
    verdict: Verdict
    table: str
    """The table's name, in the new design if it exists there."""
    subject: str
    """The name of the table, index, entity, pattern or consumer."""
    what: str
    """The difference, in one sentence."""
    how: str
    """The consequence: what the service does, and what stored items and the running version see."""
    place: Place
    other: Place | None = None
    """The place in the old design if `place` is in the new one."""
    work: Rewrite | Build | Move | None = None
    steps: tuple[RolloutStep, ...] = ()
    facts: Mapping[str, object] = field(default_factory=dict)
    """Additional values for rules: removed values, the rate of a pattern."""


def copying(old: Table, new: Table) -> tuple[RolloutStep, ...]:
    """Return the steps that copy a table's items into a new table and then remove the old one.

    Every write goes to both tables in one transaction, so both are complete for readers. A copied item is checked
    in the same transaction; otherwise an item that is deleted concurrently would reappear.
    """
    was, replacement = old.name, new.name if new.name != old.name else f"{new.name} under another name"
    copy = f"as the new version writes it, in one transaction, if it is not there and {was} has it still"
    steps = [
        RolloutStep("prepare", f"create table {replacement}, as the new design has it", "CreateTable"),
        RolloutStep(
            "write", f"a version that writes to {was} and to the new table in one transaction, and reads {was}"
        ),
        RolloutStep("backfill", f"put each item of {was} into the new table {copy}", "TransactWriteItems"),
        RolloutStep("switch", "a version that reads the new table, and writes to both as before"),
        RolloutStep("read", "the new version, which knows the new table only"),
        RolloutStep("remove", f"delete the old table {was}, once no version uses it", "DeleteTable"),
    ]
    if old.consumers and new.schema.stream is not None:
        names = ", ".join(consumer.name for consumer in old.consumers)
        duplicates = "what both tell in between comes twice, and what was copied is not told again"
        steps.insert(
            4,
            RolloutStep(
                "switch", f"start {names} at the end of the new table's stream, then stop on the old: {duplicates}"
            ),
        )
    return tuple(steps)


def create_index(schema: Schema, index: Index, types: Mapping[str, str], name: str | None = None) -> Request:
    """Return UpdateTable with a new global index, optionally under another name."""
    request = index_request(replace(index, name=name or index.name), schema)
    return {
        "TableName": schema.name,
        "AttributeDefinitions": [
            {"AttributeName": attribute, "AttributeType": types.get(attribute, "S")} for attribute in index.attributes
        ],
        "GlobalSecondaryIndexUpdates": [{"Create": request}],
    }


def delete_index(table: str, index: str) -> Request:
    """Return UpdateTable that deletes an index."""
    return {"TableName": table, "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": index}}]}


def capacity(table: str, bought: Provisioned) -> Request:
    """Return UpdateTable with other units of a provisioned table."""
    return {"TableName": table, "ProvisionedThroughput": capacity_units(bought)}


def index_capacity(table: str, index: str, bought: Provisioned) -> Request:
    """Return UpdateTable with other units of an index of a provisioned table."""
    update = {"IndexName": index, "ProvisionedThroughput": capacity_units(bought)}
    return {"TableName": table, "GlobalSecondaryIndexUpdates": [{"Update": update}]}


def on_demand(table: str) -> Request:
    """Return UpdateTable to on-demand billing."""
    return {"TableName": table, "BillingMode": "PAY_PER_REQUEST"}


def provisioned(old: Schema, new: Schema, bought: Provisioned) -> Request:
    """Return UpdateTable to provisioned billing, with capacity for every index that exists at that time."""
    own = {index.name: index.billing for index in new.indexes}
    updates = [
        {"Update": {"IndexName": index.name, "ProvisionedThroughput": capacity_units(own.get(index.name) or bought)}}
        for index in old.indexes
        if index.kind == "GSI"
    ]
    request = {"TableName": new.name, "BillingMode": "PROVISIONED", "ProvisionedThroughput": capacity_units(bought)}
    return {**request, "GlobalSecondaryIndexUpdates": updates} if updates else request


def warm(table: str, was: OnDemand, now: OnDemand) -> Request:
    """Return UpdateTable with higher warm throughput; lower values are left out."""
    return {"TableName": table, **_served(was, now)}


def index_warm(table: str, index: str, was: OnDemand, now: OnDemand) -> Request:
    """Return UpdateTable with higher warm throughput of an index."""
    update = {"IndexName": index, **_served(was, now)}
    return {"TableName": table, "GlobalSecondaryIndexUpdates": [{"Update": update}]}


def _served(was: OnDemand, now: OnDemand) -> Request:
    read, write = map(max, was.served, now.served)
    return {"WarmThroughput": {"ReadUnitsPerSecond": read, "WriteUnitsPerSecond": write}}


def table_class(table: str, name: str) -> Request:
    """Return UpdateTable with another table class."""
    return {"TableName": table, "TableClass": name}


def protection(table: str, is_on: bool) -> Request:
    """Return UpdateTable that turns deletion protection on or off."""
    return {"TableName": table, "DeletionProtectionEnabled": is_on}


def recovery(table: str, is_on: bool) -> Request:
    """Return UpdateContinuousBackups that turns point-in-time recovery on or off."""
    return {"TableName": table, "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": is_on}}


def stream(table: str, view: StreamView | None) -> Request:
    """Return UpdateTable that turns a stream on or off."""
    specification = {"StreamEnabled": False} if view is None else {"StreamEnabled": True, "StreamViewType": view}
    return {"TableName": table, "StreamSpecification": specification}


def expiry(table: str, attribute: str, is_on: bool) -> Request:
    """Return UpdateTimeToLive that turns expiry by an attribute on or off."""
    return {"TableName": table, "TimeToLiveSpecification": {"Enabled": is_on, "AttributeName": attribute}}
