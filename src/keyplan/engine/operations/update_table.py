"""UpdateTable: capacity, stream, class, encryption, protection and global indexes of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyplan.dynamodb.values.encoding import Form
from keyplan.engine import admission, backfill, index_changes, table_changes, tables, throughput
from keyplan.engine.catalog import Table
from keyplan.engine.requests.capacity import with_billing_mode
from keyplan.engine.requests.update_table import check, check_late
from keyplan.engine.store.rows import Transaction

if TYPE_CHECKING:
    from keyplan.engine.engine import Engine


def run(engine: Engine, request: dict[str, Any], _form: Form) -> dict[str, Any]:
    """Check, find the table, change it in one transaction, fill its new index."""
    request = with_billing_mode(request)
    check(request)
    table_changes.check_combination(request)

    def work(transaction: Transaction) -> tuple[dict[str, Any], list[str]]:
        table = tables.find_known(engine, request["TableName"])
        _check_admitted(engine, table, request)
        document = tables.settle(table.document, engine.clock.now())
        before = throughput.billing_mode(document["description"])
        table_changes.change_table(engine, transaction, document, request)
        switched = throughput.billing_mode(document["description"]) != before
        created = index_changes.change_indexes(engine, transaction, document, request, switched)
        changed = engine.catalog.save(transaction, document)
        return tables.describe(engine, transaction, changed, tables.PENDING, writing=True), created

    tables.count(engine, request["TableName"])
    description, created = engine.alter(work)
    _show_lifted(description, request.get("OnDemandThroughput") or {})
    for name in created:
        backfill.begin(engine, description["TableName"], name)
    return {"TableDescription": description}


def _show_lifted(description: dict[str, Any], maxima: dict[str, Any]) -> None:
    """A maximum that is lifted stands in this answer as it was asked for, -1, and in no later one."""
    lifted = {member: maximum for member, maximum in maxima.items() if maximum == throughput.NO_MAXIMUM}
    if lifted:
        description["OnDemandThroughput"] = {**description.get("OnDemandThroughput", {}), **lifted}


def _check_admitted(engine: Engine, table: Table, request: dict[str, Any]) -> None:
    now = engine.clock.now()
    admission.check_state(table, now)
    check_late(request)
    index_changes.check_names(table, request, now)
    deleted = index_changes.deleted(request)
    admission.check_change(table, table_changes.wanted(table.document, request, now), deleted, now)
