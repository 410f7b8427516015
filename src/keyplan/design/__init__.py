"""The design language: tables, entities, keys, patterns, consumers and their load, declared once."""

from keyplan.design.conditions.builders import (
    Change,
    Cond,
    Key,
    add,
    add_at,
    add_to_set,
    append,
    at_version,
    everything,
    key_of,
    known,
    pk,
    put,
    remove,
    remove_at,
    remove_from_set,
    set_,
    set_at,
    set_if_missing,
    sk,
    subtract,
    subtract_at,
    when,
    where,
)
from keyplan.design.conditions.conditions import Condition, F
from keyplan.design.declaring.consumers import Changed, Expired, Inserted, Modified, Removed, changed
from keyplan.design.declaring.consumers import ItemChange as ItemChange
from keyplan.design.declaring.design import Design, accept
from keyplan.design.declaring.patterns import Call, Page, Pattern, Read, Write, WriteCall
from keyplan.design.declaring.tables import Table
from keyplan.design.declaring.transactions import Transaction, transaction
from keyplan.design.entities import Entity, Unique, unique
from keyplan.design.errors import DesignError, Fault, Place
from keyplan.design.fields.annotations import Attribute
from keyplan.design.keys.entity_keys import attr, key
from keyplan.design.parameters import each, every_shard
from keyplan.design.planning.plan import Plan
from keyplan.design.schema import GSI, LSI, TTL
from keyplan.design.workload import Bytes, Claim, Distinct, Items, OnDemand, Provisioned, Rate

__all__ = [
    "GSI", "LSI", "TTL", "Attribute", "Bytes", "Call", "Change", "Changed", "Claim", "Cond", "Condition", "Design",
    "DesignError", "Distinct", "Entity", "Expired", "F", "Fault", "Inserted", "ItemChange", "Items", "Key", "Modified",
    "OnDemand", "Page", "Pattern", "Place", "Plan", "Provisioned", "Rate", "Read", "Removed", "Table", "Transaction",
    "Unique", "Write", "WriteCall", "accept", "add", "add_at", "add_to_set", "append", "at_version", "attr", "changed",
    "each", "every_shard", "everything", "key", "key_of", "known", "pk", "put", "remove", "remove_at",
    "remove_from_set", "set_", "set_at", "set_if_missing", "sk", "subtract", "subtract_at", "transaction", "unique",
    "when", "where",
]  # fmt: skip
