"""What UpdateTable can change of a table's global indexes: create, update, delete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyplan import limits
from keyplan.dynamodb.messages import tables as messages
from keyplan.engine import admission, table_documents, tables, throughput
from keyplan.engine.catalog import Table
from keyplan.engine.store import statements
from keyplan.engine.store.rows import Transaction
from keyplan.engine.table_changes import Document, Request, pend
from keyplan.errors import LimitExceededError, ResourceNotFoundError, ValidationError

if TYPE_CHECKING:
    from keyplan.engine.engine import Engine

_MEMBER = "GlobalSecondaryIndexes"  # of descriptions: the kind of change is `tables.INDEXES`


def check_names(table: Table, request: Request, now: float) -> None:
    """Raise the error of the first update that names no index that it could be about."""
    for update in request.get("GlobalSecondaryIndexUpdates") or ():
        for kind in ("Update", "Delete"):
            if update.get(kind) is not None:
                _check_exists(table, update[kind]["IndexName"], kind.lower(), now)
        created = update.get("Create")
        if created is not None and created["IndexName"] in table.indexes:
            raise ValidationError(messages.INDEX_EXISTS)


def deleted(request: Request) -> str | None:
    """The index that the request deletes; there is at most one."""
    updates = request.get("GlobalSecondaryIndexUpdates") or ()
    return next((each["Delete"]["IndexName"] for each in updates if each.get("Delete") is not None), None)


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
    engine: Engine, transaction: Transaction, document: Document, request: Request, switched: bool
) -> list[str]:
    """Make every change of indexes that the request asks for; the names of new indexes, to be filled.

    `switched`: the request changed the billing mode. Raises ValidationError or LimitExceededError.
    """
    if switched:
        _switch_others(engine, document)
    created: list[str] = []
    for update in request.get("GlobalSecondaryIndexUpdates") or ():
        if update.get("Update") is not None:
            _update(engine, document, update["Update"], switched)
        elif update.get("Delete") is not None:
            _delete(engine, transaction, document, update["Delete"]["IndexName"])
        else:
            _create(engine, transaction, document, update["Create"], request)
            created.append(update["Create"]["IndexName"])
    return created


def _switch_others(engine: Engine, document: Document) -> None:
    """Indexes follow the table to on-demand capacity; to provisioned capacity each by its own update."""
    description = document["description"]
    if throughput.billing_mode(description) == throughput.PROVISIONED:
        return
    for index in description.get(_MEMBER, ()):
        shown = throughput.switch(index, throughput.ON_DEMAND, None, engine.clock.now())
        _pend_index(engine, document, index["IndexName"], tables.CAPACITY, shown)


def _update(engine: Engine, document: Document, given: dict[str, Any], switched: bool) -> None:
    name = given["IndexName"]
    description = document["description"]
    mode = throughput.billing_mode(description)
    index = next(each for each in description[_MEMBER] if each["IndexName"] == name)
    units = given.get("ProvisionedThroughput")
    if mode == throughput.ON_DEMAND and (units is not None or not _is_about_demand(given)):
        raise ValidationError(messages.index_update_on_demand(name))
    if units is not None:
        if switched:
            shown = throughput.switch(index, mode, units, engine.clock.now())
        else:
            shown = throughput.set_provisioned(index, units, engine.clock.now(), engine.state_delay_s, name)
        _pend_index(engine, document, name, tables.CAPACITY, shown)
    if given.get("OnDemandThroughput") is not None:
        throughput.set_maxima(index, given["OnDemandThroughput"], mode, name)
        _pend_index(engine, document, name, tables.CAPACITY, {})
    if given.get("WarmThroughput") is not None:
        warm = throughput.set_warm(index, given["WarmThroughput"], mode, name)
        if warm is not None:
            _pend_index(engine, document, name, tables.WARM, warm)


def _is_about_demand(given: dict[str, Any]) -> bool:
    """Whether an update of an index changes what one of an on-demand table has."""
    return bool(given.get("OnDemandThroughput") or given.get("WarmThroughput"))


def _pend_index(engine: Engine, document: Document, name: str, what: str, shown: dict[str, Any]) -> None:
    document.setdefault("index_changes", {})[name] = {
        "what": what,
        "until": engine.clock.now() + engine.state_delay_s,
        "shown": shown,
    }


def _create(
    engine: Engine, transaction: Transaction, document: Document, given: dict[str, Any], request: Request
) -> None:
    name = given["IndexName"]
    description = document["description"]
    mode = throughput.billing_mode(description)
    if len(description.get(_MEMBER, ())) >= limits.GLOBAL_INDEXES:
        raise LimitExceededError(messages.too_many_indexes(limits.GLOBAL_INDEXES))
    _check_units(given, mode)
    _define_attributes(description, given, request)
    described = table_documents.global_index(given, description["TableArn"], mode)
    description[_MEMBER] = [*description.get(_MEMBER, ()), described]
    document["index_trees"][name] = transaction.create_tree().number
    document["backfills"] = [*document.get("backfills", ()), name]
    pend(engine, document, tables.INDEXES, done="created", index=name)


def _check_units(given: dict[str, Any], mode: str) -> None:
    units = given.get("ProvisionedThroughput")
    if mode == throughput.PROVISIONED and units is None:
        raise ValidationError(messages.new_index_units_needed(given["IndexName"]))
    if mode == throughput.ON_DEMAND and units is not None:
        raise ValidationError(messages.new_index_units_unwanted(given["IndexName"]))


def _define_attributes(description: dict[str, Any], given: dict[str, Any], request: Request) -> None:
    """Add the definitions that the new index needs; others in the request count for nothing."""
    defined = {each["AttributeName"]: each["AttributeType"] for each in description["AttributeDefinitions"]}
    wanted = {each["AttributeName"]: each["AttributeType"] for each in request.get("AttributeDefinitions") or ()}
    for element in given["KeySchema"]:
        name, role = element["AttributeName"], element["KeyType"]
        if defined.get(name, wanted[name]) != wanted[name]:
            existing = (name, defined[name], _role(description, name))
            raise ValidationError(messages.attribute_redefined(existing, (name, wanted[name], role)))
        defined[name] = wanted[name]
    _set_definitions(description, defined)


def _set_definitions(description: dict[str, Any], defined: dict[str, str]) -> None:
    description["AttributeDefinitions"] = table_documents.definitions(
        {"AttributeName": name, "AttributeType": kind} for name, kind in defined.items()
    )


def _role(description: dict[str, Any], name: str) -> str:
    """The KeyType that an attribute has where it is a key first."""
    return next(each["KeyType"] for each in _key_elements(description) if each["AttributeName"] == name)


def _key_elements(description: dict[str, Any]) -> list[dict[str, str]]:
    """The key elements of the table and all its indexes."""
    indexes = [*description.get("LocalSecondaryIndexes", ()), *description.get(_MEMBER, ())]
    return [*description["KeySchema"], *(element for index in indexes for element in index["KeySchema"])]


def _delete(engine: Engine, transaction: Transaction, document: Document, name: str) -> None:
    description = document["description"]
    gone = next(each for each in description[_MEMBER] if each["IndexName"] == name)
    rest = [each for each in description[_MEMBER] if each["IndexName"] != name]
    tables.keep(description, _MEMBER, rest)
    used = {each["AttributeName"] for each in _key_elements(description)}
    defined = {each["AttributeName"]: each["AttributeType"] for each in description["AttributeDefinitions"]}
    _set_definitions(description, {attribute: kind for attribute, kind in defined.items() if attribute in used})
    tree = statements.tree(document["index_trees"].pop(name))
    table_documents.drop_tree(engine, transaction, tree)
    tables.keep(document, "backfills", [each for each in document.get("backfills", ()) if each != name])
    for member in ("index_ready_at", "index_changes"):
        tables.keep(document, member, {key: each for key, each in document.get(member, {}).items() if key != name})
    gone_at = engine.clock.now() + engine.state_delay_s
    document.setdefault("indexes_leaving", []).append({"description": gone, "gone_at": gone_at})
    pend(engine, document, tables.INDEXES, done="deleted", index=name)
