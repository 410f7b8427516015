"""Whose items expire."""

from __future__ import annotations

from keyplan.design.entities import EntitySpec


def may_expire(entity: EntitySpec) -> bool:
    """Return True if items of an entity can have an expiry, which may be optional."""
    return any(field.attribute == entity.schema.ttl for field in entity.fields.values())


def always_expires(entity: EntitySpec) -> bool:
    """Whether every item of an entity expires: an optional expiry, such as that of finished tasks, lets others stay."""
    return any(field.attribute == entity.schema.ttl and not field.optional for field in entity.fields.values())
