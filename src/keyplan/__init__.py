"""Keyplan, a toolkit for data layers on Amazon DynamoDB.

This package exports the names that most programs need: the design language (`Table`, `Entity`, `key`, `pk`, `item`,
...), `connect` and `connect_async`, stream consumers, and the embedded `Engine`. Errors are in `keyplan.errors`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keyplan.client.connect import connect, connect_async
    from keyplan.design.conditions.builders import ItemKey, ItemWrite, KeyCondition, everything, item, pk
    from keyplan.design.conditions.conditions import F
    from keyplan.design.declaring.consumers import Expired, Inserted, Modified, Removed, changed
    from keyplan.design.declaring.design import Design, suppress
    from keyplan.design.declaring.patterns import Page, WriteCall
    from keyplan.design.declaring.tables import Table
    from keyplan.design.declaring.transactions import transaction
    from keyplan.design.entities import Entity, View, unique
    from keyplan.design.errors import DesignError
    from keyplan.design.fields.annotations import UNSET, Attribute, Created, Unset, Updated
    from keyplan.design.keys.entity_keys import attr, key
    from keyplan.design.parameters import each, every_shard
    from keyplan.design.schema import GSI, LSI, TTL
    from keyplan.design.workload import Bytes, Claim, Distinct, OnDemand, Provisioned, Rate, Volume
    from keyplan.engine.engine import Engine
    from keyplan.engine.faults.settings import Faults

__all__ = [
    "GSI", "LSI", "TTL", "UNSET", "Attribute", "Bytes", "Claim", "Created", "Design", "DesignError", "Distinct",
    "Engine", "Entity", "Expired", "F", "Faults", "Inserted", "ItemKey", "ItemWrite", "KeyCondition", "Modified",
    "OnDemand", "Page", "Provisioned", "Rate", "Removed", "Table", "Unset", "Updated", "View", "Volume", "WriteCall",
    "attr",
    "changed", "connect", "connect_async", "each", "every_shard", "everything", "item", "key", "pk", "suppress",
    "transaction", "unique",
]  # fmt: skip
__version__ = "0.1.0"

_MODULES = {
    "client.connect": ("connect", "connect_async"),
    "design.conditions.builders": ("ItemKey", "ItemWrite", "KeyCondition", "everything", "item", "pk"),
    "design.conditions.conditions": ("F",),
    "design.declaring.consumers": (
        "Expired", "Inserted", "Modified", "Removed", "changed",
    ),
    "design.declaring.design": ("Design", "suppress"),
    "design.declaring.patterns": ("Page", "WriteCall"),
    "design.declaring.tables": ("Table",),
    "design.declaring.transactions": ("transaction",),
    "design.entities": ("Entity", "View", "unique"),
    "design.errors": ("DesignError",),
    "design.fields.annotations": ("UNSET", "Attribute", "Created", "Unset", "Updated"),
    "design.keys.entity_keys": ("attr", "key"),
    "design.parameters": ("each", "every_shard"),
    "design.schema": ("GSI", "LSI", "TTL"),
    "design.workload": ("Bytes", "Claim", "Distinct", "OnDemand", "Provisioned", "Rate", "Volume"),
    "engine.engine": ("Engine",),
    "engine.faults.settings": ("Faults",),
}  # fmt: skip
"""Maps each module to the public names that it defines.

Modules are imported on first use, because pytest loads this package in every run.
"""
_HOMES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'keyplan' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"keyplan.{_HOMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
