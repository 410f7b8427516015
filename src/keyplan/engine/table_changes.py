"""What UpdateTable can change of a table itself; its indexes are in `index_changes`.

A change is made at once; what the service would do over seconds or minutes only shows: each change
that takes time leaves a pending entry, with what the description says meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyplan.dynamodb.messages import schemas as schema_messages
from keyplan.dynamodb.messages import tables as messages
from keyplan.engine import admission, stream_logs, table_documents, tables, throughput
from keyplan.engine.store.rows import Transaction
from keyplan.errors import ValidationError

if TYPE_CHECKING:
    from keyplan.engine.engine import Engine

Document = dict[str, Any]
Request = dict[str, Any]


def check_combination(request: Request) -> None:
    """Raise ValidationError for changes that cannot be asked for together."""
    given = {name for name in request if _is_change(request, name)}
    updates = request.get("GlobalSecondaryIndexUpdates")
    if updates == [] and len(given) > 1:
        raise ValidationError(messages.INDEX_UPDATES_EMPTY)
    for member, what in _ALONE.items():
        if member in given and len(given) > 1:
            raise ValidationError(messages.only_change(what))
    structural = any(update.get("Update") is None for update in updates or ())
    if "WarmThroughput" in given and not _is_about_warmth(given, updates):
        creates = any(update.get("Create") is not None for update in updates or ())
        raise ValidationError(messages.INDEX_WITH_WARM if creates else messages.WARM_ALONE)
    if "OnDemandThroughput" in given and given - {"OnDemandThroughput", "BillingMode"}:
        raise ValidationError(messages.ON_DEMAND_WITH_OTHERS)
    if "ProvisionedThroughput" in given:
        if "StreamSpecification" in given:
            raise ValidationError(messages.STREAM_WITH_CAPACITY)
        if structural and request.get("BillingMode") is None:
            raise ValidationError(messages.INDEX_WITH_CAPACITY)
    if structural and "StreamSpecification" in given:
        raise ValidationError(messages.INDEX_WITH_STREAM)


def _is_about_warmth(given: set[str], updates: list[Request] | None) -> bool:
    """Whether all that is asked for is warm throughput, of the table and of indexes.

    Source: developer guide, "Increase your existing DynamoDB table's warm throughput".
    """
    return given <= {"WarmThroughput", "GlobalSecondaryIndexUpdates"} and all(
        (update.get("Update") or {}).keys() == {"IndexName", "WarmThroughput"} for update in updates or ()
    )


def _is_change(request: Request, name: str) -> bool:
    """Whether a member counts as a change; an empty maximum or warm throughput does not."""
    if name in {"OnDemandThroughput", "WarmThroughput"}:
        return any(units is not None for units in (request[name] or {}).values())
    return request[name] is not None and name not in {"TableName", "AttributeDefinitions"}


_ALONE = {
    "SSESpecification": "Server-Side Encryption",
    "TableClass": "TableClass",
    "DeletionProtectionEnabled": "DeletionProtection",
}
"""Changes that must be alone in their request, in the order in which the service complains."""


def wanted(document: Document, request: Request, at: float) -> set[str]:
    """The kinds of change that a request asks for, as `admission` knows them."""
    kinds = {kind for member, kind in _KINDS.items() if request.get(member) is not None}
    if request.get("BillingMode") not in (None, _settled_mode(document, at)):
        kinds.add(tables.CAPACITY)
    if any(update.get("Update") is None for update in request.get("GlobalSecondaryIndexUpdates") or ()):
        kinds.add(tables.INDEXES)
    return kinds


_KINDS = {
    "ProvisionedThroughput": tables.CAPACITY,
    "OnDemandThroughput": admission.ON_DEMAND,
    "StreamSpecification": tables.STREAM,
    "TableClass": tables.CLASS,
    "SSESpecification": tables.ENCRYPTION,
    "WarmThroughput": tables.WARM,
}


def _settled_mode(document: Document, at: float) -> str:
    """The billing mode; while it is being switched, the one before, by which the service goes until that is done."""
    mode = throughput.billing_mode(document["description"])
    if any("BillingModeSummary" in change.get("shown", {}) for change in tables.changes(document, at)):
        return throughput.ON_DEMAND if mode == throughput.PROVISIONED else throughput.PROVISIONED
    return mode


def change_table(engine: Engine, transaction: Transaction, document: Document, request: Request) -> None:
    """Make every change of the table itself that the request asks for. Raises ValidationError."""
    _change_capacity(engine, document, request)
    description = document["description"]
    mode = throughput.billing_mode(description)
    if request.get("OnDemandThroughput") is not None:
        throughput.set_maxima(description, request["OnDemandThroughput"], mode, None)
    if request.get("WarmThroughput") is not None:
        shown = throughput.set_warm(description, request["WarmThroughput"], mode, None)
        if shown is not None:
            pend(engine, document, tables.WARM, shown)
    if request.get("StreamSpecification") is not None:
        _change_stream(engine, transaction, document, request["StreamSpecification"])
    if request.get("TableClass") is not None:
        _change_class(engine, document, request["TableClass"])
    if request.get("SSESpecification") is not None:
        _change_encryption(engine, document, request["SSESpecification"])
    if request.get("DeletionProtectionEnabled") is not None:
        description["DeletionProtectionEnabled"] = bool(request["DeletionProtectionEnabled"])


def pend(engine: Engine, document: Document, what: str, shown: dict[str, Any] | None = None, **details: str) -> None:
    """Let a change be under way for the engine's delay; None in `shown`: the member is absent meanwhile."""
    change: dict[str, Any] = {"what": what, "until": engine.clock.now() + engine.state_delay_s}
    if shown:
        change["shown"] = shown
    if details:
        change["details"] = details
    document.setdefault("changes", []).append(change)


def _pend_nothing(engine: Engine, document: Document, what: str) -> None:
    """What is asked for is so already: the answer says that the table is UPDATING, and nothing after it does."""
    document.setdefault("changes", []).append({"what": what, "until": engine.clock.now()})


def _change_capacity(engine: Engine, document: Document, request: Request) -> None:
    description = document["description"]
    current = _settled_mode(document, engine.clock.now())
    mode = request.get("BillingMode") or current
    units = request.get("ProvisionedThroughput")
    if mode != current:
        _check_every_index_has_units(description, mode, request)
        now = engine.clock.now()
        shown: dict[str, Any] = {
            # The new mode shows at once, its date only when that is done.
            "BillingModeSummary": {**description.get("BillingModeSummary", {}), "BillingMode": mode},
            **throughput.switch(description, mode, units, now),
        }
        _set_billing_mode(description, mode, now + engine.state_delay_s)
        pend(engine, document, tables.CAPACITY, shown)
    elif units is not None:
        if mode == throughput.ON_DEMAND:
            raise ValidationError(schema_messages.UNITS_UNWANTED)
        shown = throughput.set_provisioned(description, units, engine.clock.now(), engine.state_delay_s, None)
        pend(engine, document, tables.CAPACITY, shown)
    elif request.get("BillingMode") is not None:
        _pend_nothing(engine, document, tables.CAPACITY)


def _check_every_index_has_units(description: dict[str, Any], mode: str, request: Request) -> None:
    if mode == throughput.ON_DEMAND:
        return
    updates = [update.get("Update") or {} for update in request.get("GlobalSecondaryIndexUpdates") or ()]
    given = {update.get("IndexName") for update in updates if update.get("ProvisionedThroughput") is not None}
    names = [index["IndexName"] for index in description.get("GlobalSecondaryIndexes", ())]
    forgotten = [name for name in names if name not in given]
    if forgotten:
        raise ValidationError(messages.index_units_needed(forgotten))


def _set_billing_mode(description: dict[str, Any], mode: str, done: float) -> None:
    summary = {**description.get("BillingModeSummary", {}), "BillingMode": mode}
    if mode == throughput.ON_DEMAND:
        summary["LastUpdateToPayPerRequestDateTime"] = round(done, 3)
    description["BillingModeSummary"] = summary


def _change_stream(engine: Engine, transaction: Transaction, document: Document, given: dict[str, Any]) -> None:
    name = document["description"]["TableName"]
    stream = document.get("stream")
    if given["StreamEnabled"]:
        if stream is not None:
            raise ValidationError(messages.stream_enabled(name))
        stream_logs.begin(engine, transaction, document, given["StreamViewType"])
        label = document["stream"]["label"]
        pend(engine, document, tables.STREAM, label=label, operation="ENABLE")
    else:
        if stream is None:
            raise ValidationError(messages.stream_disabled(name))
        stream_logs.end(transaction, document, engine.clock.now())
        pend(engine, document, tables.STREAM, label=stream["label"], operation="DISABLE")


def _change_class(engine: Engine, document: Document, table_class: str) -> None:
    description = document["description"]
    before = description.get("TableClassSummary")
    if table_class == (before or {}).get("TableClass", "STANDARD"):
        _pend_nothing(engine, document, tables.CLASS)
        return
    description["TableClassSummary"] = {
        "TableClass": table_class,
        "LastUpdateDateTime": round(engine.clock.now(), 3),
    }
    pend(engine, document, tables.CLASS, {"TableClassSummary": before}, **{"class": table_class})


def _change_encryption(engine: Engine, document: Document, given: dict[str, Any]) -> None:
    description = document["description"]
    before = description.get("SSEDescription") or {}
    after = table_documents.encryption(engine, given)
    if after is None:
        if not before:
            raise ValidationError(messages.ENCRYPTED_BY_DEFAULT)
        del description["SSEDescription"]
    elif before and given.get("KMSMasterKeyId") == before["KMSMasterKeyArn"]:
        raise ValidationError(messages.ALREADY_ENCRYPTED)
    else:
        description["SSEDescription"] = after
    # Meanwhile it still names the key that was, and none where that was the service's own.
    pend(engine, document, tables.ENCRYPTION, {"SSEDescription": {**before, "Status": "UPDATING"}})
