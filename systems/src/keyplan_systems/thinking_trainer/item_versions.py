"""Upgrades stored items of any version to the current form when they are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic.alias_generators import to_camel

from keyplan_systems.thinking_trainer.domain.errors import ItemUnreadable
from keyplan_systems.thinking_trainer.domain.records import SCHEMA_VERSION
from keyplan_systems.thinking_trainer.domain.versions import Kind, upgrade


def upgrade_values(kind: Kind, values: Any) -> Any:
    """Return the values of an entity upgraded to the current version. The keys of `values` are field or attribute
    names.

    Values without a version are treated as version 0.9. This function is used as the first validator of an entity.
    Raises ValueError for an unknown version.
    """
    if not isinstance(values, Mapping):
        return values
    if values.get("schema_version", values.get("schemaVersion")) == SCHEMA_VERSION:
        return values
    try:
        return upgrade(kind, _with_attribute_names(values))
    except ItemUnreadable as error:
        raise ValueError(str(error)) from error


def _with_attribute_names(value: Any) -> Any:
    """Return the value with the keys of all maps, including nested ones, converted from field names to
    attribute names.
    """
    if isinstance(value, Mapping):
        return {to_camel(name): _with_attribute_names(part) for name, part in value.items()}
    return [_with_attribute_names(part) for part in value] if isinstance(value, list) else value
