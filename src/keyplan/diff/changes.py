"""Changes between two designs, each with its verdict and the required work on stored items and tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from keyplan.design.declaring.tables import Table
from keyplan.design.entities import EntitySpec
from keyplan.design.errors import Place
from keyplan.design.schema import Index, Request, Schema, index_request

Verdict = Literal["new table", "backfill", "online", "code"]
"""new table: the service cannot change it. backfill: stored items must be written. online: the service changes it while
the table is in use. code: only programs change.
"""
VERDICTS: tuple[Verdict, ...] = ("new table", "backfill", "online", "code")
"""The verdicts, from the most work to the least."""

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
    "field missing",
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
"""The kind of a change, by which rules select changes."""

Phase = Literal["prepare", "accept", "write", "backfill", "switch", "read", "remove"]
"""The phase of a roll-out.

While a version is deployed, the previous version still runs, and each must read the items that the other writes.
Therefore a version that reads both forms (accept) precedes a version that writes the new form (write). Stored items are
rewritten when no program writes the old form any more (backfill). The final version reads only the new form (read). If
a table is copied, a version that reads the copy and still writes the original (switch) precedes the final version.
Tables are changed before all these phases (prepare) or after them (remove).
"""


@dataclass(frozen=True)
class RolloutStep:
    """A step of a rollout."""

    phase: Phase
    text: str
    operation: str = ""
    """The operation of the service that performs the step, if any."""
    request: Mapping[str, object] | None = field(default=None, compare=False)
    """The request, if it follows from the designs."""
    is_first: bool = False
    """True if the step precedes other steps of its phase because they depend on it."""


def form_steps(
    *, accept: str = "", write: str = "", backfill: str = "", by: str = "UpdateItem", read: str = ""
) -> tuple[RolloutStep, ...]:
    """Return the steps that migrate programs and stored items to a new form. `by` is the operation that writes."""
    texts: dict[Phase, str] = {"accept": accept, "write": write, "backfill": backfill, "read": read}
    return tuple(RolloutStep(phase, text, by if phase == "backfill" else "") for phase, text in texts.items() if text)


@dataclass(frozen=True)
class Rewrite:
    """A rewrite of the stored items of an entity."""

    old: EntitySpec
    new: EntitySpec | None
    """The entity in the new design, or None if the items are deleted."""
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
    """True if the items are written, or False if only their sentinels are written."""
    share: float = 1.0
    """The share of items to rewrite, according to the declared numbers."""


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
    """A difference between two designs."""

    kind: Kind
    verdict: Verdict
    table: str
    """The table's name, in the new design if it exists there."""
    subject: str
    """The name of the table, index, entity, pattern or consumer."""
    what: str
    """The difference, in one sentence."""
    how: str
    """The consequence for the service, for stored items and for the running version."""
    place: Place
    other: Place | None = None
    """The place in the old design if `place` is in the new one."""
    work: Rewrite | Build | Move | None = None
    steps: tuple[RolloutStep, ...] = ()
    facts: Mapping[str, object] = field(default_factory=dict)
    """Additional values for rules, such as removed values or the rate of a pattern."""


def copy_steps(old: Table, new: Table) -> tuple[RolloutStep, ...]:
    """Return the steps that copy a table's items into a new table and then remove the old table.

    Every write goes to both tables in one transaction, so that both are complete for readers. A copied item is checked
    in the same transaction, because a concurrently deleted item would otherwise reappear.
    """
    was, replacement = old.name, new.name if new.name != old.name else f"{new.name} under a new name"
    copy = f"as the new version writes it, in one transaction, if it does not exist there and still exists in {was}"
    steps = [
        RolloutStep("prepare", f"create table {replacement}, as the new design declares it", "CreateTable"),
        RolloutStep(
            "write", f"a version that writes to {was} and to the new table in one transaction, and reads {was}"
        ),
        RolloutStep("backfill", f"put each item of {was} into the new table {copy}", "TransactWriteItems"),
        RolloutStep("switch", "a version that reads the new table, and still writes to both"),
        RolloutStep("read", "the new version, which uses only the new table"),
        RolloutStep("remove", f"delete the old table {was} when no version uses it", "DeleteTable"),
    ]
    if old.consumers and new.schema.stream is not None:
        names = ", ".join(consumer.name for consumer in old.consumers)
        duplicates = "changes in between are delivered twice, copied items not at all"
        steps.insert(
            4,
            RolloutStep(
                "switch", f"start {names} at the end of the new table's stream, then stop on the old: {duplicates}"
            ),
        )
    return tuple(steps)


def create_index(schema: Schema, index: Index, types: Mapping[str, str], name: str | None = None) -> Request:
    """Return the UpdateTable request that adds a global index, optionally under another name."""
    request = index_request(replace(index, name=name or index.name), schema)
    return {
        "TableName": schema.name,
        "AttributeDefinitions": [
            {"AttributeName": attribute, "AttributeType": types.get(attribute, "S")} for attribute in index.attributes
        ],
        "GlobalSecondaryIndexUpdates": [{"Create": request}],
    }


def delete_index(table: str, index: str) -> Request:
    """Return the UpdateTable request that deletes an index."""
    return {"TableName": table, "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": index}}]}
