"""Checks whether a table can be changed while other changes are in progress.

DynamoDB reports the state that prevents a change, and has specific rules for each kind of change. If `state_delay_s` is
0, the only change that takes time is the backfill of an index. These rules were observed in DynamoDB in October 2026.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyplan.dynamodb.messages import tables as messages
from keyplan.engine.tables import descriptions
from keyplan.engine.tables.catalog import Table
from keyplan.errors import LimitExceededError, ResourceInUseError

if TYPE_CHECKING:
    from keyplan.engine.database import Database

ON_DEMAND = "on-demand"


def check_state(table: Table, now: float) -> None:
    """Raise ResourceInUseError if the table is being created or deleted at the time `now`."""
    state = descriptions.status(table, now)
    if state == "CREATING":
        raise ResourceInUseError(messages.being_created(table.name))
    if state == "DELETING":
        raise ResourceInUseError(messages.being_deleted(table.name))


def check_change(table: Table, changes: set[str], deleted_index: str | None, now: float) -> None:
    """Raise an error if the state of the table prevents one of the requested `changes`.

    The elements of `changes` are ON_DEMAND or constants of the module `descriptions`. `deleted_index` is the name of
    the index to delete, or None. Raises ResourceInUseError, or LimitExceededError if another index is being created or
    deleted.
    """
    if deleted_index is not None and descriptions.allocated_at(table.document, deleted_index) > now:
        raise ResourceInUseError(messages.index_allocating(table.name, deleted_index))
    for kind in sorted(changes):
        for change in descriptions.changes(table.document, now):
            _check_pair(table, kind, change)
        _check_indexes(table, kind, deleted_index, now)


def _check_pair(table: Table, change_kind: str, change: dict[str, Any]) -> None:
    pending_kind, details = change["what"], change.get("details", {})
    if change_kind == descriptions.ENCRYPTION:
        if pending_kind == descriptions.ENCRYPTION:
            raise ResourceInUseError(messages.ENCRYPTION_CHANGING)
    elif change_kind == descriptions.WARM:
        return
    elif pending_kind == descriptions.CAPACITY:
        raise ResourceInUseError(messages.capacity_changing(table.name, change_kind))
    elif pending_kind == descriptions.STREAM:
        raise ResourceInUseError(
            messages.stream_changing(table.name, change_kind, details["label"], details["operation"])
        )
    elif pending_kind == descriptions.CLASS:
        raise ResourceInUseError(messages.class_changing(table.name, change_kind, details["class"]))
    elif pending_kind == descriptions.INDEXES and details["done"] == "created" and change_kind != descriptions.INDEXES:
        raise ResourceInUseError(messages.index_changing(table.name, change_kind, [details["index"]], "created"))


def _check_indexes(table: Table, change_kind: str, deleted_index: str | None, now: float) -> None:
    deleting_names = [index["IndexName"] for index in descriptions.deleting_indexes(table.document, now)]
    if change_kind == descriptions.INDEXES:
        other_names = table.indexes.keys() - {deleted_index}  # an index that is being filled can be deleted
        if deleting_names or any(descriptions.index_status(table, name, now) == "CREATING" for name in other_names):
            raise LimitExceededError(messages.INDEXES_AT_ONCE)
    elif deleting_names and change_kind in (descriptions.CAPACITY, descriptions.STREAM, descriptions.CLASS, ON_DEMAND):
        raise ResourceInUseError(messages.index_changing(table.name, change_kind, deleting_names, "deleted"))


def check_index_change(table: Table, index: str, now: float) -> None:
    """Raise ResourceInUseError if the index is being created, updated or deleted at the time `now`."""
    if index not in table.indexes:
        if any(entry["IndexName"] == index for entry in descriptions.deleting_indexes(table.document, now)):
            raise ResourceInUseError(messages.index_state("deleted", table.name, index))
        return
    state = descriptions.index_status(table, index, now)
    if state == "CREATING" and descriptions.allocated_at(table.document, index) > now:
        raise ResourceInUseError(messages.index_not_filling(table.name, index))
    if state != "ACTIVE":
        participle = {"CREATING": "created", "UPDATING": "updated", "DELETING": "deleted"}[state]
        raise ResourceInUseError(messages.index_state(participle, table.name, index))


def check_deletion(database: Database, table: Table) -> None:
    """Raise ResourceInUseError if the table cannot be deleted now, because the table or one of its indexes is being
    changed.
    """
    now = database.clock.now()
    check_state(table, now)
    if descriptions.deleting_indexes(table.document, now) or any(
        index.is_global and descriptions.index_status(table, index.name, now) != "ACTIVE"
        for index in table.indexes.values()
    ):
        raise ResourceInUseError(messages.INDEXES_CHANGING)
    for change in descriptions.changes(table.document, now):
        if change["what"] == descriptions.STREAM:
            raise ResourceInUseError(messages.STREAM_CHANGING)
        raise ResourceInUseError(messages.being_updated(table.name))
