"""Changes between two designs, each with a verdict and the work that it requires on stored items and tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from keyplan.design.declaring.tables import Table
from keyplan.design.entities import EntitySpec
from keyplan.design.errors import Place
from keyplan.design.schema import Index, Request, Schema, index_request

Verdict = Literal["new table", "backfill", "online", "code"]
"""The kind of work that a change requires.

"new table": DynamoDB cannot make the change. "backfill": stored items must be written. "online": DynamoDB makes the
change while the table is in use. "code": only programs change.
"""
VERDICTS: tuple[Verdict, ...] = ("new table", "backfill", "online", "code")
"""All verdicts on changes, from the most to the least work."""

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
"""The kind of a change, such as "index added". Rules select changes by their kind."""

Phase = Literal["prepare", "accept", "write", "backfill", "switch", "read", "remove"]
"""The phase of a rollout.

While a version of a program is deployed, the previous version is still running, and each must be able to read the items
that the other writes. Therefore, a version that reads both forms (accept) is deployed before a version that writes the
new form (write). Stored items are rewritten when no program writes the old form (backfill). The final version reads
only the new form (read). If a table is copied, a version that reads the copy and writes to both tables (switch) is
deployed before the final version. Tables are changed before all these phases (prepare) or after them (remove).
"""


@dataclass(frozen=True)
class RolloutStep:
    """One step in a phase of a rollout."""

    phase: Phase
    text: str
    operation: str = ""
    """The DynamoDB operation that performs the step, or an empty string for other steps, such as deployments."""
    request: Mapping[str, object] | None = field(default=None, compare=False)
    """The request of the operation, or None if it cannot be derived from the two designs."""
    is_first: bool = False
    """True if the step must be completed before other steps of the same phase."""


def form_steps(
    *, accept: str = "", write: str = "", backfill: str = "", operation: str = "UpdateItem", read: str = ""
) -> tuple[RolloutStep, ...]:
    """Return the rollout steps that change the stored form of a value, such as a key, from an old form to a new one.

    Each argument except `operation` is the text of the step for the phase with the same name. Steps without a text are
    omitted. `operation` is the operation with which the backfill writes.
    """
    texts: dict[Phase, str] = {"accept": accept, "write": write, "backfill": backfill, "read": read}
    return tuple(
        RolloutStep(phase, text, operation if phase == "backfill" else "") for phase, text in texts.items() if text
    )


@dataclass(frozen=True)
class ItemRewrite:
    """A change to the stored items of an entity."""

    old: EntitySpec
    new: EntitySpec | None
    """The entity in the new design, or None if its items are deleted."""
    rekeyed: bool = False
    """True if the primary key changes. Each item is then put under its new key and deleted under its old key in one
    transaction.
    """
    attributes: frozenset[str] = frozenset()
    """The names of the attributes to write in each item."""
    indexes: frozenset[str] = frozenset()
    """The names of the indexes in which the rewrite adds, moves or deletes items."""
    sentinels: int = 0
    """For each item, the number of uniqueness guard items to put or delete. A guard item reserves a unique value."""
    items: bool = True
    """True if the items are written, and False if only the items that reserve their unique values are written."""
    share: float = 1.0
    """The share of the entity's items to rewrite, according to the declared shares of values."""


@dataclass(frozen=True)
class IndexBuild:
    """A new index that DynamoDB fills with stored items."""

    table: Table
    index: Index
    entities: tuple[EntitySpec, ...]
    """The entities whose stored items already have the key attributes of the index."""


@dataclass(frozen=True)
class TableCopy:
    """A table whose items are copied into another table."""

    old: Table
    new: Table


@dataclass(frozen=True)
class DesignChange:
    """A difference between two designs."""

    kind: Kind
    verdict: Verdict
    table: str
    """The name of the table that the change is about. For a renamed table, this is the new name."""
    subject: str
    """The name of the table, index, entity, pattern or consumer that changes."""
    summary: str
    """The difference between the two designs, in one sentence."""
    effects: str
    """The effects of the change on the table, on stored items and on the running version of the program."""
    place: Place
    other: Place | None = None
    """The source location in the old design, if `place` is in the new design."""
    migration: ItemRewrite | IndexBuild | TableCopy | None = None
    """The work on stored items that the change requires, or None if no stored items change."""
    steps: tuple[RolloutStep, ...] = ()
    facts: Mapping[str, object] = field(default_factory=dict)
    """Additional details for rules, such as the name of a removed pattern and its uses."""


def copy_steps(old: Table, new: Table) -> tuple[RolloutStep, ...]:
    """Return the steps that copy the items of a table into a new table and then delete the old table.

    While items are copied, programs write to both tables in one transaction, so that both are complete. The transaction
    that copies an item also checks that the original still exists. Without this check, an item that a program deletes
    could reappear.
    """
    old_name, replacement = old.name, new.name if new.name != old.name else f"{new.name} under a new name"
    copy = (
        f"as the new version writes it, in one transaction, if it does not exist there and still exists in {old_name}"
    )
    steps = [
        RolloutStep("prepare", f"create table {replacement}, as the new design declares it", "CreateTable"),
        RolloutStep(
            "write",
            f"a version that writes to {old_name} and to the new table in one transaction, and reads {old_name}",
        ),
        RolloutStep("backfill", f"put each item of {old_name} into the new table {copy}", "TransactWriteItems"),
        RolloutStep("switch", "a version that reads the new table, and still writes to both"),
        RolloutStep("read", "the new version, which uses only the new table"),
        RolloutStep("remove", f"delete the old table {old_name} when no version uses it", "DeleteTable"),
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
    """Return the UpdateTable request that adds a global index to a table. If `name` is given, it replaces the declared
    name of the index.

    `types` contains the types of key attributes, by name. The default is String.
    """
    request = index_request(replace(index, name=name or index.name), schema)
    return {
        "TableName": schema.name,
        "AttributeDefinitions": [
            {"AttributeName": attribute, "AttributeType": types.get(attribute, "S")} for attribute in index.attributes
        ],
        "GlobalSecondaryIndexUpdates": [{"Create": request}],
    }


def delete_index(table: str, index: str) -> Request:
    """Return the UpdateTable request that deletes a global index."""
    return {"TableName": table, "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": index}}]}
