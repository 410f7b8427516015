"""What a comparison says: changes, each with its verdict, and what becomes of the items that are stored."""

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
"""new table: the service cannot change it. backfill: stored items have to be written. online: the service changes it
while the table is used. code: only programs change."""
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
"""What a change is about; rules look for kinds."""

Phase = Literal["prepare", "accept", "write", "backfill", "switch", "read", "remove"]
"""When in a roll-out something is done. While a version is deployed, the one before it runs beside it: each has to
read what the other writes. So a version that reads both forms (accept) comes before one that writes the new form
(write), the stored items are written when nothing writes the old form any more (backfill), and the new version, which
knows the new form only, is the last (read). A version that reads a copy of a table and writes the table too comes
before it (switch). Tables are changed before all of that (prepare), or after it (remove)."""


@dataclass(frozen=True)
class RolloutStep:
    """Something to do in a roll-out."""

    phase: Phase
    text: str
    operation: str = ""
    """The operation of the service that does it, where one does."""
    request: Mapping[str, object] | None = field(default=None, compare=False)
    """The request, where it follows from the designs."""
    is_first: bool = False
    """Whether it comes before other steps of its phase: what an index is created with depends on it."""


def staged(
    *, accept: str = "", write: str = "", backfill: str = "", by: str = "UpdateItem", read: str = ""
) -> tuple[RolloutStep, ...]:
    """The steps by which programs and stored items come to a new form; `by`: the operation that writes the items."""
    texts: dict[Phase, str] = {"accept": accept, "write": write, "backfill": backfill, "read": read}
    return tuple(RolloutStep(phase, text, by if phase == "backfill" else "") for phase, text in texts.items() if text)


@dataclass(frozen=True)
class Rewrite:
    """What has to be done to the stored items of an entity."""

    old: EntitySpec
    new: EntitySpec | None
    """None where they are deleted."""
    rekeyed: bool = False
    """Whether they lie under another primary key: each is put there, and deleted where it was, in a transaction."""
    attributes: frozenset[str] = frozenset()
    """The attributes that are written."""
    indexes: frozenset[str] = frozenset()
    """The indexes in which their entry moves, comes or goes."""
    sentinels: int = 0
    """How many sentinels are put, or deleted, with each."""
    items: bool = True
    """Whether the items themselves are written; False where only sentinels are."""
    share: float = 1.0
    """Which part of them, as far as the declared numbers tell."""


@dataclass(frozen=True)
class Build:
    """An index that the service fills from the items that are there."""

    table: Table
    index: Index
    entities: tuple[EntitySpec, ...]
    """Those whose stored items have the index's key already."""


@dataclass(frozen=True)
class Move:
    """A table that is copied into another."""

    old: Table
    new: Table


@dataclass(frozen=True)
class DesignChange:
    """One thing that differs."""

    kind: Kind
    verdict: Verdict
    table: str
    """The table's name, as the new design has it where it has it."""
    subject: str
    """The name of the table, index, entity, pattern or consumer."""
    what: str
    """What differs, in one sentence."""
    how: str
    """What becomes of it: what the service does meanwhile, what stored items and the running version see."""
    place: Place
    other: Place | None = None
    """In the old design, where the new one has a place for it too."""
    work: Rewrite | Build | Move | None = None
    steps: tuple[RolloutStep, ...] = ()
    facts: Mapping[str, object] = field(default_factory=dict)
    """What rules want to know beside: values that are gone, the rate of a pattern."""


def copying(old: Table, new: Table) -> tuple[RolloutStep, ...]:
    """Copy a table's items into a new one, and then do without the old one.

    What is written to both tables in one transaction is the same in both: whoever reads either misses nothing. What is
    copied is checked in the same transaction, or an item that is deleted meanwhile would come back.
    """
    was, made = old.name, new.name if new.name != old.name else f"{new.name} under another name"
    copy = f"as the new version writes it, in one transaction, if it is not there and {was} has it still"
    steps = [
        RolloutStep("prepare", f"create table {made}, as the new design has it", "CreateTable"),
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
        told = "what both tell in between comes twice, and what was copied is not told again"
        steps.insert(
            4,
            RolloutStep("switch", f"start {names} at the end of the new table's stream, then stop on the old: {told}"),
        )
    return tuple(steps)


def create_index(schema: Schema, index: Index, types: Mapping[str, str], name: str | None = None) -> Request:
    """UpdateTable: a global index of a new design, of another name if one is given."""
    made = index_request(replace(index, name=name or index.name), schema)
    return {
        "TableName": schema.name,
        "AttributeDefinitions": [
            {"AttributeName": one, "AttributeType": types.get(one, "S")} for one in index.attributes
        ],
        "GlobalSecondaryIndexUpdates": [{"Create": made}],
    }


def delete_index(table: str, index: str) -> Request:
    """UpdateTable: without an index."""
    return {"TableName": table, "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": index}}]}


def capacity(table: str, bought: Provisioned) -> Request:
    """UpdateTable: other units of a provisioned table."""
    return {"TableName": table, "ProvisionedThroughput": capacity_units(bought)}


def index_capacity(table: str, index: str, bought: Provisioned) -> Request:
    """UpdateTable: other units of an index of a provisioned table."""
    update = {"IndexName": index, "ProvisionedThroughput": capacity_units(bought)}
    return {"TableName": table, "GlobalSecondaryIndexUpdates": [{"Update": update}]}


def on_demand(table: str) -> Request:
    """UpdateTable: paid by the request."""
    return {"TableName": table, "BillingMode": "PAY_PER_REQUEST"}


def provisioned(old: Schema, new: Schema, bought: Provisioned) -> Request:
    """UpdateTable: paid by the hour, with every index that is there at that moment."""
    own = {index.name: index.billing for index in new.indexes}
    updates = [
        {"Update": {"IndexName": index.name, "ProvisionedThroughput": capacity_units(own.get(index.name) or bought)}}
        for index in old.indexes
        if index.kind == "GSI"
    ]
    request = {"TableName": new.name, "BillingMode": "PROVISIONED", "ProvisionedThroughput": capacity_units(bought)}
    return {**request, "GlobalSecondaryIndexUpdates": updates} if updates else request


def warm(table: str, was: OnDemand, now: OnDemand) -> Request:
    """UpdateTable: more that is served at once; what would be less is left."""
    return {"TableName": table, **_served(was, now)}


def index_warm(table: str, index: str, was: OnDemand, now: OnDemand) -> Request:
    """UpdateTable: more that an index serves at once."""
    update = {"IndexName": index, **_served(was, now)}
    return {"TableName": table, "GlobalSecondaryIndexUpdates": [{"Update": update}]}


def _served(was: OnDemand, now: OnDemand) -> Request:
    read, write = map(max, was.served, now.served)
    return {"WarmThroughput": {"ReadUnitsPerSecond": read, "WriteUnitsPerSecond": write}}


def table_class(table: str, name: str) -> Request:
    """UpdateTable: another class."""
    return {"TableName": table, "TableClass": name}


def protection(table: str, is_on: bool) -> Request:
    """UpdateTable: protected from deletion, or not."""
    return {"TableName": table, "DeletionProtectionEnabled": is_on}


def recovery(table: str, is_on: bool) -> Request:
    """UpdateContinuousBackups: recovery to a point in time, or none."""
    return {"TableName": table, "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": is_on}}


def stream(table: str, view: StreamView | None) -> Request:
    """UpdateTable: a stream, or none."""
    told = {"StreamEnabled": False} if view is None else {"StreamEnabled": True, "StreamViewType": view}
    return {"TableName": table, "StreamSpecification": told}


def expiry(table: str, attribute: str, is_on: bool) -> Request:
    """UpdateTimeToLive: expiry by an attribute, or by it no more."""
    return {"TableName": table, "TimeToLiveSpecification": {"Enabled": is_on, "AttributeName": attribute}}
