"""Changes that UpdateTable makes to a table and its indexes.

A change takes effect immediately. If the same change takes seconds or minutes in DynamoDB, only the table description
simulates this delay: the table's document records that the change is in progress, together with the values that
override the description until the change is complete.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyplan import limits
from keyplan.dynamodb.messages import tables as messages
from keyplan.engine.store import statements
from keyplan.engine.store.rows import Transaction
from keyplan.engine.streams import logs
from keyplan.engine.tables import admission, descriptions, documents, throughput
from keyplan.engine.tables.catalog import Table
from keyplan.errors import LimitExceededError, ResourceNotFoundError, ValidationError

if TYPE_CHECKING:
    from keyplan.engine.database import Database


Document = dict[str, Any]
Request = dict[str, Any]


def check_combination(request: Request) -> None:
    """Raise ValidationError if the request contains changes that cannot be combined."""
    change_names = {name for name in request if _is_change(request, name)}
    updates = request.get("GlobalSecondaryIndexUpdates")
    if updates == [] and len(change_names) > 1:
        raise ValidationError(messages.INDEX_UPDATES_EMPTY)
    for member, feature in _ALONE.items():
        if member in change_names and len(change_names) > 1:
            raise ValidationError(messages.only_change(feature))
    structural = any(update.get("Update") is None for update in updates or ())
    if "WarmThroughput" in change_names and not _changes_only_warm_throughput(change_names, updates):
        creates = any(update.get("Create") is not None for update in updates or ())
        raise ValidationError(messages.INDEX_WITH_WARM if creates else messages.WARM_ALONE)
    if "OnDemandThroughput" in change_names and change_names - {"OnDemandThroughput", "BillingMode"}:
        raise ValidationError(messages.ON_DEMAND_WITH_OTHERS)
    if "ProvisionedThroughput" in change_names:
        if "StreamSpecification" in change_names:
            raise ValidationError(messages.STREAM_WITH_CAPACITY)
        if structural and request.get("BillingMode") is None:
            raise ValidationError(messages.INDEX_WITH_CAPACITY)
    if structural and "StreamSpecification" in change_names:
        raise ValidationError(messages.INDEX_WITH_STREAM)


def _changes_only_warm_throughput(change_names: set[str], updates: list[Request] | None) -> bool:
    """Return True if the request changes only the warm throughput of the table and its indexes.

    Source: developer guide, "Increase your existing DynamoDB table's warm throughput".
    """
    return change_names <= {"WarmThroughput", "GlobalSecondaryIndexUpdates"} and all(
        (update.get("Update") or {}).keys() == {"IndexName", "WarmThroughput"} for update in updates or ()
    )


def _is_change(request: Request, name: str) -> bool:
    """Return True if the request member `name` requests a change. A maximum or warm throughput without members does not
    request a change.
    """
    if name in {"OnDemandThroughput", "WarmThroughput"}:
        return any(units is not None for units in (request[name] or {}).values())
    return request[name] is not None and name not in {"TableName", "AttributeDefinitions"}


_ALONE = {
    "SSESpecification": "Server-Side Encryption",
    "TableClass": "TableClass",
    "DeletionProtectionEnabled": "DeletionProtection",
}
"""Changes that cannot be combined with other changes in a request, in the order in which DynamoDB reports them."""


def requested_changes(document: Document, request: Request, time_s: float) -> set[str]:
    """Return the kinds of changes that a request makes, in the form that `admission.check_change` expects."""
    kinds = {kind for member, kind in _KINDS.items() if request.get(member) is not None}
    if request.get("BillingMode") not in (None, _settled_mode(document, time_s)):
        kinds.add(descriptions.CAPACITY)
    if any(update.get("Update") is None for update in request.get("GlobalSecondaryIndexUpdates") or ()):
        kinds.add(descriptions.INDEXES)
    return kinds


_KINDS = {
    "ProvisionedThroughput": descriptions.CAPACITY,
    "OnDemandThroughput": admission.ON_DEMAND,
    "StreamSpecification": descriptions.STREAM,
    "TableClass": descriptions.CLASS,
    "SSESpecification": descriptions.ENCRYPTION,
    "WarmThroughput": descriptions.WARM,
}


def _settled_mode(document: Document, time_s: float) -> str:
    """Return the billing mode in effect at the time `time_s`. Until a switch is complete, this is the previous billing
    mode.
    """
    mode = throughput.billing_mode(document["description"])
    if any("BillingModeSummary" in change.get("shown", {}) for change in descriptions.changes(document, time_s)):
        return throughput.ON_DEMAND if mode == throughput.PROVISIONED else throughput.PROVISIONED
    return mode


def change_table(database: Database, transaction: Transaction, document: Document, request: Request) -> None:
    """Make the requested changes to the table itself, excluding its indexes. Raises ValidationError for an invalid
    change.
    """
    _change_capacity(database, document, request)
    description = document["description"]
    mode = throughput.billing_mode(description)
    if request.get("OnDemandThroughput") is not None:
        throughput.set_maxima(description, request["OnDemandThroughput"], mode, None)
    if request.get("WarmThroughput") is not None:
        old_values = throughput.set_warm(description, request["WarmThroughput"], mode, None)
        if old_values is not None:
            add_change(database, document, descriptions.WARM, old_values)
    if request.get("StreamSpecification") is not None:
        _change_stream(database, transaction, document, request["StreamSpecification"])
    if request.get("TableClass") is not None:
        _change_class(database, document, request["TableClass"])
    if request.get("SSESpecification") is not None:
        _change_encryption(database, document, request["SSESpecification"])
    if request.get("DeletionProtectionEnabled") is not None:
        description["DeletionProtectionEnabled"] = bool(request["DeletionProtectionEnabled"])


def add_change(
    database: Database, document: Document, kind: str, shown_values: dict[str, Any] | None = None, **details: str
) -> None:
    """Record that a change to a table is in progress for `state_delay_s` seconds. `kind` is a constant of the module
    `descriptions`, such as STREAM.

    During this time, the table description shows the values in `shown_values`. A member whose value is None is omitted
    from the description. `details` describe the change further, for example with the name of a new index.
    """
    change: dict[str, Any] = {"what": kind, "until": database.clock.now() + database.settings.state_delay_s}
    if shown_values:
        change["shown"] = shown_values
    if details:
        change["details"] = details
    document.setdefault("changes", []).append(change)


def _add_empty_change(database: Database, document: Document, kind: str) -> None:
    """Record a request that changes nothing, so that the response shows UPDATING, as in DynamoDB."""
    document.setdefault("changes", []).append({"what": kind, "until": database.clock.now()})


def _change_capacity(database: Database, document: Document, request: Request) -> None:
    description = document["description"]
    current = _settled_mode(document, database.clock.now())
    mode = request.get("BillingMode") or current
    units = request.get("ProvisionedThroughput")
    if mode != current:
        _check_every_index_has_units(description, mode, request)
        now = database.clock.now()
        new_units: dict[str, Any] = {
            # The new mode is visible at once, but its date only when the switch is complete.
            "BillingModeSummary": {**description.get("BillingModeSummary", {}), "BillingMode": mode},
            **throughput.switch_mode(description, mode, units, now),
        }
        _set_billing_mode(description, mode, now + database.settings.state_delay_s)
        add_change(database, document, descriptions.CAPACITY, new_units)
    elif units is not None:
        if mode == throughput.ON_DEMAND:
            raise ValidationError(messages.UNITS_UNWANTED)
        new_units = throughput.set_provisioned(
            description, units, database.clock.now(), database.settings.state_delay_s, None
        )
        add_change(database, document, descriptions.CAPACITY, new_units)
    elif request.get("BillingMode") is not None:
        _add_empty_change(database, document, descriptions.CAPACITY)


def _check_every_index_has_units(description: dict[str, Any], mode: str, request: Request) -> None:
    if mode == throughput.ON_DEMAND:
        return
    updates = [update.get("Update") or {} for update in request.get("GlobalSecondaryIndexUpdates") or ()]
    names_with_units = {
        update.get("IndexName") for update in updates if update.get("ProvisionedThroughput") is not None
    }
    names = [index["IndexName"] for index in description.get("GlobalSecondaryIndexes", ())]
    missing_names = [name for name in names if name not in names_with_units]
    if missing_names:
        raise ValidationError(messages.index_units_needed(missing_names))


def _set_billing_mode(description: dict[str, Any], mode: str, completed_at: float) -> None:
    summary = {**description.get("BillingModeSummary", {}), "BillingMode": mode}
    if mode == throughput.ON_DEMAND:
        summary["LastUpdateToPayPerRequestDateTime"] = round(completed_at, 3)
    description["BillingModeSummary"] = summary


def _change_stream(
    database: Database, transaction: Transaction, document: Document, specification: dict[str, Any]
) -> None:
    name = document["description"]["TableName"]
    stream = document.get("stream")
    if specification["StreamEnabled"]:
        if stream is not None:
            raise ValidationError(messages.stream_enabled(name))
        logs.begin_stream(database, transaction, document, specification["StreamViewType"])
        label = document["stream"]["label"]
        add_change(database, document, descriptions.STREAM, label=label, operation="ENABLE")
    else:
        if stream is None:
            raise ValidationError(messages.stream_disabled(name))
        logs.end_stream(transaction, document, database.clock.now())
        add_change(database, document, descriptions.STREAM, label=stream["label"], operation="DISABLE")


def _change_class(database: Database, document: Document, table_class: str) -> None:
    description = document["description"]
    before = description.get("TableClassSummary")
    if table_class == (before or {}).get("TableClass", "STANDARD"):
        _add_empty_change(database, document, descriptions.CLASS)
        return
    description["TableClassSummary"] = {
        "TableClass": table_class,
        "LastUpdateDateTime": round(database.clock.now(), 3),
    }
    add_change(database, document, descriptions.CLASS, {"TableClassSummary": before}, **{"class": table_class})


def _change_encryption(database: Database, document: Document, specification: dict[str, Any]) -> None:
    description = document["description"]
    before = description.get("SSEDescription") or {}
    after = documents.encryption(database, specification)
    if after is None:
        if not before:
            raise ValidationError(messages.ENCRYPTED_BY_DEFAULT)
        del description["SSEDescription"]
    elif before and specification.get("KMSMasterKeyId") == before["KMSMasterKeyArn"]:
        raise ValidationError(messages.ALREADY_ENCRYPTED)
    else:
        description["SSEDescription"] = after
    # Until then, the description shows the previous key, or no key if the table used the key of the service.
    add_change(database, document, descriptions.ENCRYPTION, {"SSEDescription": {**before, "Status": "UPDATING"}})


_MEMBER = "GlobalSecondaryIndexes"  # the member of descriptions; the kind of change is `descriptions.INDEXES`


def check_names(table: Table, request: Request, now: float) -> None:
    """Raise the error for the first index change in the request that cannot be made because the index does not exist,
    already exists, or is in a state that prevents the change.
    """
    for update in request.get("GlobalSecondaryIndexUpdates") or ():
        for kind in ("Update", "Delete"):
            if update.get(kind) is not None:
                _check_exists(table, update[kind]["IndexName"], kind.lower(), now)
        new_index = update.get("Create")
        if new_index is not None and new_index["IndexName"] in table.indexes:
            raise ValidationError(messages.INDEX_EXISTS)


def deleted_index(request: Request) -> str | None:
    """Return the name of the index that the request deletes, or None if the request does not delete an index. A request
    deletes at most one index.
    """
    updates = request.get("GlobalSecondaryIndexUpdates") or ()
    return next((update["Delete"]["IndexName"] for update in updates if update.get("Delete") is not None), None)


def _check_exists(table: Table, name: str, verb: str, now: float) -> None:
    index = table.indexes.get(name)
    if index is not None:
        if not index.is_global:
            raise ValidationError(messages.not_global(verb, name))
        if verb == "update":
            admission.check_index_change(table, name, now)
        return
    admission.check_index_change(table, name, now)
    raise ResourceNotFoundError(messages.index_not_found(name, table.name))


def change_indexes(
    database: Database, transaction: Transaction, document: Document, request: Request, is_switch: bool
) -> list[str]:
    """Make the requested changes to indexes, and return the names of new indexes that need a backfill.

    `is_switch` is True if the request changes the billing mode. Raises ValidationError or LimitExceededError for an
    invalid change.
    """
    if is_switch:
        _switch_indexes(database, document)
    new_names: list[str] = []
    for update in request.get("GlobalSecondaryIndexUpdates") or ():
        if update.get("Update") is not None:
            _update(database, document, update["Update"], is_switch)
        elif update.get("Delete") is not None:
            _delete(database, transaction, document, update["Delete"]["IndexName"])
        else:
            _create(database, transaction, document, update["Create"], request)
            new_names.append(update["Create"]["IndexName"])
    return new_names


def _switch_indexes(database: Database, document: Document) -> None:
    """Switch all global indexes to on-demand capacity together with their table.

    If the table switches to provisioned capacity, do nothing, because the request must then update each index.
    """
    description = document["description"]
    if throughput.billing_mode(description) == throughput.PROVISIONED:
        return
    for index in description.get(_MEMBER, ()):
        old_values = throughput.switch_mode(index, throughput.ON_DEMAND, None, database.clock.now())
        _add_index_change(database, document, index["IndexName"], descriptions.CAPACITY, old_values)


def _update(database: Database, document: Document, update: dict[str, Any], is_switch: bool) -> None:
    name = update["IndexName"]
    description = document["description"]
    mode = throughput.billing_mode(description)
    index = next(entry for entry in description[_MEMBER] if entry["IndexName"] == name)
    units = update.get("ProvisionedThroughput")
    if mode == throughput.ON_DEMAND and (units is not None or not _changes_on_demand(update)):
        raise ValidationError(messages.index_update_on_demand(name))
    if units is not None:
        if is_switch:
            new_units = throughput.switch_mode(index, mode, units, database.clock.now())
        else:
            new_units = throughput.set_provisioned(
                index, units, database.clock.now(), database.settings.state_delay_s, name
            )
        _add_index_change(database, document, name, descriptions.CAPACITY, new_units)
    if update.get("OnDemandThroughput") is not None:
        throughput.set_maxima(index, update["OnDemandThroughput"], mode, name)
        _add_index_change(database, document, name, descriptions.CAPACITY, {})
    if update.get("WarmThroughput") is not None:
        warm = throughput.set_warm(index, update["WarmThroughput"], mode, name)
        if warm is not None:
            _add_index_change(database, document, name, descriptions.WARM, warm)


def _changes_on_demand(update: dict[str, Any]) -> bool:
    """Return True if an index update changes the maximum on-demand throughput or the warm throughput."""
    return bool(update.get("OnDemandThroughput") or update.get("WarmThroughput"))


def _add_index_change(
    database: Database, document: Document, name: str, kind: str, shown_values: dict[str, Any]
) -> None:
    document.setdefault("index_changes", {})[name] = {
        "what": kind,
        "until": database.clock.now() + database.settings.state_delay_s,
        "shown": shown_values,
    }


def _create(
    database: Database, transaction: Transaction, document: Document, definition: dict[str, Any], request: Request
) -> None:
    name = definition["IndexName"]
    description = document["description"]
    mode = throughput.billing_mode(description)
    if len(description.get(_MEMBER, ())) >= limits.GLOBAL_INDEXES:
        raise LimitExceededError(messages.too_many_indexes(limits.GLOBAL_INDEXES))
    _check_units(definition, mode)
    _define_attributes(description, definition, request)
    index_description = documents.global_index(definition, description["TableArn"], mode)
    description[_MEMBER] = [*description.get(_MEMBER, ()), index_description]
    document["index_trees"][name] = transaction.create_tree().number
    document["backfills"] = [*document.get("backfills", ()), name]
    add_change(database, document, descriptions.INDEXES, done="created", index=name)


def _check_units(definition: dict[str, Any], mode: str) -> None:
    units = definition.get("ProvisionedThroughput")
    if mode == throughput.PROVISIONED and units is None:
        raise ValidationError(messages.new_index_units_needed(definition["IndexName"]))
    if mode == throughput.ON_DEMAND and units is not None:
        raise ValidationError(messages.new_index_units_unwanted(definition["IndexName"]))


def _define_attributes(description: dict[str, Any], update: dict[str, Any], request: Request) -> None:
    """Add the definitions of a new index's key attributes to a table description. All other attribute definitions in
    the request are ignored.
    """
    defined = {
        definition["AttributeName"]: definition["AttributeType"] for definition in description["AttributeDefinitions"]
    }
    types = {
        attribute["AttributeName"]: attribute["AttributeType"]
        for attribute in request.get("AttributeDefinitions") or ()
    }
    for element in update["KeySchema"]:
        name, role = element["AttributeName"], element["KeyType"]
        if defined.get(name, types[name]) != types[name]:
            existing = (name, defined[name], _role(description, name))
            raise ValidationError(messages.attribute_redefined(existing, (name, types[name], role)))
        defined[name] = types[name]
    _set_definitions(description, defined)


def _set_definitions(description: dict[str, Any], defined: dict[str, str]) -> None:
    description["AttributeDefinitions"] = documents.definitions(
        {"AttributeName": name, "AttributeType": kind} for name, kind in defined.items()
    )


def _role(description: dict[str, Any], name: str) -> str:
    """Return the KeyType of an attribute in the first key schema that contains the attribute. The table's key schema
    comes first.
    """
    return next(element["KeyType"] for element in _key_elements(description) if element["AttributeName"] == name)


def _key_elements(description: dict[str, Any]) -> list[dict[str, str]]:
    """Return the key schema elements of the table, followed by those of all its indexes."""
    indexes = [*description.get("LocalSecondaryIndexes", ()), *description.get(_MEMBER, ())]
    return [*description["KeySchema"], *(element for index in indexes for element in index["KeySchema"])]


def _delete(database: Database, transaction: Transaction, document: Document, name: str) -> None:
    description = document["description"]
    index = next(index for index in description[_MEMBER] if index["IndexName"] == name)
    remaining = [index for index in description[_MEMBER] if index["IndexName"] != name]
    descriptions.set_or_remove(description, _MEMBER, remaining)
    used = {element["AttributeName"] for element in _key_elements(description)}
    defined = {
        definition["AttributeName"]: definition["AttributeType"] for definition in description["AttributeDefinitions"]
    }
    _set_definitions(description, {attribute: kind for attribute, kind in defined.items() if attribute in used})
    tree = statements.tree(document["index_trees"].pop(name))
    documents.drop_tree(database, transaction, tree)
    descriptions.set_or_remove(
        document, "backfills", [entry for entry in document.get("backfills", ()) if entry != name]
    )
    for member in ("index_ready_at", "index_changes"):
        descriptions.set_or_remove(
            document, member, {key: entry for key, entry in document.get(member, {}).items() if key != name}
        )
    gone_at = database.clock.now() + database.settings.state_delay_s
    document.setdefault("indexes_leaving", []).append({"description": index, "gone_at": gone_at})
    add_change(database, document, descriptions.INDEXES, done="deleted", index=name)
